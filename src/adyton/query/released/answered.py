"""The values of expressions over what is released, in each row of an answer.

A value that is not a number is missing, as NULL is in SQL: a comparison with it is neither true nor false,
it comes last in every order, and whatever is computed from it is missing too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isnan
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_down, float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.terms.expressions import MIRRORED
from adyton.query.labels import KeyLabel
from adyton.query.released.nodes import (
    SIGNS,
    Apply,
    ComputedLabel,
    Every,
    Having,
    IsNull,
    Node,
    Opposite,
    Relation,
    Released,
    ReleasedName,
    Side,
    Sign,
    Some,
    Term,
    When,
    Window,
    has_window,
    is_label,
)

Places = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
# A column of an answer: its values, or for a key the labels there are and the number of each row's label.
Told = Floats | tuple[Sequence[KeyLabel], npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Numbers:
    """One number for each row, and where it is NULL; elsewhere one that is not a number is unknown."""

    values: Floats
    null: Truths


@dataclass(frozen=True, slots=True)
class Answered:
    """The columns of an answer, and what is computed from them.

    ``said`` are expressions whose values are known already.
    """

    columns: Mapping[str, Told]
    rows: int
    said: Mapping[Node, Floats]

    def told(self, node: Released) -> Told:
        """As keys and values are told: not a number where it is missing."""
        if isinstance(node, ReleasedName):
            return self.columns[node.name]
        if isinstance(node, Fraction | str | bool):
            return (_label(node),), np.zeros(self.rows, np.int32)
        if node in self.said:
            return self.said[node]
        if is_label(node):
            return _numbered(self.labels(node))
        found = self.numbers(node)
        return np.where(found.null, np.nan, found.values)

    def numbers(self, node: Released) -> Numbers:
        match node:
            case None:
                return Numbers(np.full(self.rows, np.nan), np.ones(self.rows, np.bool_))
            case Fraction():
                return self._never_null(np.full(self.rows, float(node)))
            case ReleasedName(name):
                told = self.columns[name]
                if isinstance(told, np.ndarray):
                    return self._never_null(told)
                return Numbers(as_floats(told, self.rows), missing(told, self.rows))
            case Apply("COALESCE", inner):
                return self._first_that_is(inner)
            case Apply(function, inner):
                parts = [self.numbers(part) for part in inner]
                with np.errstate(all="ignore"):
                    found = FUNCTIONS[function](*(part.values for part in parts))
                nulls = np.logical_or.reduce([part.null for part in parts])
                if function == "NULLIF":
                    nulls = parts[0].null | (parts[0].values == parts[1].values)
                    found = np.where(parts[1].null, parts[0].values, found)
                return Numbers(found, nulls)
            case When(branches, otherwise):
                return self._chosen(branches, otherwise)
            case ComputedLabel("NUMBER", (inner,)):
                return self.numbers(inner)
            case Window():
                from adyton.query.released.windows import window_numbers  # needs this module

                return window_numbers(self, node)
        raise InvalidRequest("a number is needed here, not a string or a boolean")

    def holds(self, having: Having, wanted: bool = True) -> Truths:
        """Where it is surely true, or surely not if that is not ``wanted``; neither if a value is missing."""
        match having:
            case Relation(left, sign, right):
                return self._related(left, sign, right, wanted)
            case Every(parts) | Some(parts):
                together = np.logical_and if isinstance(having, Every) == wanted else np.logical_or
                return np.asarray(together.reduce([self.holds(part, wanted) for part in parts]))
            case Opposite(inner):
                return self.holds(inner, not wanted)
            case IsNull(inner):
                return np.asarray(missing(self.told(inner), self.rows) == wanted)
            case _:
                assert_never(having)

    def order(self, terms: Sequence[Term], among: Places) -> Places:
        """``among`` in this order; what is missing comes last, what is equal stays."""
        for term in reversed(terms):
            told = self.told(term.value)
            places = ranks(told)[among]
            places = np.where(
                missing(told, self.rows)[among], self.rows, -places if term.descending else places
            )
            among = among[np.argsort(places, kind="stable")]
        return among

    def at(self, places: Places) -> Answered:
        """The same of some rows alone; what was said of windows over others is forgotten."""
        columns: dict[str, Told] = {
            name: told[places] if isinstance(told, np.ndarray) else (told[0], told[1][places])
            for name, told in self.columns.items()
        }
        kept = {node: told[places] for node, told in self.said.items() if not has_window(node)}
        return Answered(columns, len(places), kept)

    def _related(self, left: Side, sign: Sign, right: Side, wanted: bool) -> Truths:
        one, other = self._side(left), self._side(right)
        known = ~(missing(one, self.rows) | missing(other, self.rows))
        return np.asarray(known & (_related(one, sign, other, self.rows) == wanted))

    def _side(self, side: Side) -> _Told:
        return side if isinstance(side, Fraction | str | bool) else self.told(side)

    def _never_null(self, values: Floats) -> Numbers:
        return Numbers(values, np.zeros(self.rows, np.bool_))

    def _first_that_is(self, inner: Sequence[Released]) -> Numbers:
        found = self.numbers(inner[0])
        for node in inner[1:]:
            other = self.numbers(node)
            found = Numbers(np.where(found.null, other.values, found.values), found.null & other.null)
        return found

    def _chosen(self, branches: Sequence[tuple[Having, Released]], otherwise: Released) -> Numbers:
        found = self.numbers(otherwise)
        for condition, node in reversed(branches):
            true, other = self.holds(condition), self.numbers(node)
            values = np.where(true, other.values, found.values)
            found = Numbers(values, np.where(true, other.null, found.null))
        return found

    def labels(self, node: Released) -> list[KeyLabel]:
        """In each row a text, or what else it is; None where it is missing."""
        match node:
            case When(branches, otherwise) if is_label(node):
                found = self.labels(otherwise)
                for condition, then in reversed(branches):
                    chosen = zip(self.holds(condition).tolist(), self.labels(then), found, strict=True)
                    found = [own if true else other for true, own, other in chosen]
                return found
            case ComputedLabel("NUMBER", (inner,)):
                return _listed_numbers(self.told(inner))
            case ComputedLabel("GROUPED", (inner,)):
                return [None if inner is None else ""] * self.rows
            case ComputedLabel(function, inner):
                rows = zip(*map(self.labels, inner), strict=True)
                return [None if None in row else TEXTS[function](*map(as_text, row)) for row in rows]
            case None:
                return [None] * self.rows
        return _listed_numbers(self.told(node))


def as_text(label: KeyLabel) -> str:
    """As it is shown in a text: a number that is whole without a point."""
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(label)


def _listed_numbers(told: Told) -> list[KeyLabel]:
    """What stands in each row: whole numbers as such, None for what is missing."""
    if not isinstance(told, np.ndarray):
        return [told[0][code] for code in told[1].tolist()]
    return [None if isnan(value) else int(value) if value.is_integer() else value for value in told.tolist()]


def _numbered(labels: Sequence[KeyLabel]) -> Told:
    """The labels there are, in the order in which they first come, and the number of each row's."""
    places: dict[KeyLabel, int] = {}
    codes = [places.setdefault(label, len(places)) for label in labels]
    return tuple(places), np.array(codes, np.int32)


def _label(written: Fraction | str | bool) -> KeyLabel:
    if isinstance(written, str | bool):
        return written
    return int(written) if written.denominator == 1 else float(written)


def as_floats(told: Told, rows: int) -> Floats:
    """Numbers, also where they are keys."""
    if isinstance(told, np.ndarray):
        return told
    labels, codes = told
    numbers = [np.nan if label is None else float(label) for label in labels]
    return np.array(numbers, float)[codes] if rows else np.zeros(0)


def rounded(values: Floats, places: Floats) -> Floats:
    """To so many digits behind the point, a half away from 0."""
    power = 10.0 ** places[0] if len(places) else 1.0
    return _half_away(values * power) / power


def _half_away(values: Floats) -> Floats:
    return np.where(values >= 0, np.floor(values + 0.5), np.ceil(values - 0.5))


def _divided(top: Floats, bottom: Floats) -> Floats:
    return np.where(bottom == 0, np.nan, top / bottom)


def _no_pole(function: Callable[..., Floats]) -> Callable[..., Floats]:
    def of(*values: Floats) -> Floats:
        found = function(*values)
        return np.where(np.isfinite(found), found, np.nan)

    return of


FUNCTIONS: dict[str, Callable[..., Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divided,
    "MOD": np.fmod,
    "NEG": np.negative,
    "ABS": np.abs,
    "SIGN": np.sign,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "TRUNC": np.trunc,
    "ROUND": rounded,
    "SQRT": np.sqrt,
    "LN": _no_pole(np.log),
    "LOG10": _no_pole(np.log10),
    "LOG2": _no_pole(np.log2),
    "EXP": _no_pole(np.exp),
    "POWER": _no_pole(np.power),
    "GREATEST": lambda *values: np.maximum.reduce(values),
    "LEAST": lambda *values: np.minimum.reduce(values),
    "NULLIF": lambda values, _: values,
    "COALESCE": lambda *values: values[0],
    "UNROUNDED": lambda values, _: values,
}


TEXTS: dict[str, Callable[..., str]] = {
    "||": lambda *texts: "".join(texts),
    "TEXT": str,
    "UPPER": str.upper,
    "LOWER": str.lower,
}


# Comparisons -----------------------------------------------------------------------------------------------

_Told = Told | Fraction | str | bool


def _related(left: _Told, sign: Sign, right: _Told, rows: int) -> Truths:
    """Exactly as Python compares each two of them: a float with a fraction without rounding."""
    if isinstance(right, tuple | np.ndarray) and not isinstance(left, tuple | np.ndarray):
        return _related(right, MIRRORED[sign], left, rows)
    compare = SIGNS[sign]
    match left, right:
        case np.ndarray(), np.ndarray():
            return np.asarray(compare(left, right))
        case (labels, codes), Fraction() | str() | bool():
            return np.array([_compared(compare, label, right) for label in labels], np.bool_)[codes]
        case np.ndarray(), Fraction():
            return _beside_fraction(left, sign, right)
    pairs = zip(_listed(left, rows), _listed(right, rows), strict=True)
    return np.array([_compared(compare, a, b) for a, b in pairs], np.bool_)


def _compared(compare: Callable[[Any, Any], Any], left: object, right: object) -> bool:
    return left is not None and right is not None and bool(compare(left, right))


def _beside_fraction(values: Floats, sign: Sign, exact: Fraction) -> Truths:
    """No float lies between the two floats beside the fraction."""
    up, down = float_up(exact), float_down(exact)
    if up != down and sign in ("=", "<>"):
        return np.full(len(values), sign == "<>")
    return np.asarray(SIGNS[sign](values, up if sign in ("<", ">=") else down))


def _listed(side: _Told, rows: int) -> list[KeyLabel | Fraction]:
    match side:
        case np.ndarray():
            return list(side.tolist())
        case (labels, codes):
            return [labels[code] for code in codes.tolist()]
    return [side] * rows


def ranks(told: Told) -> Places:
    """Equal numbers for what is equal, greater ones for what comes later in a rising order.

    NaN comes last in it, so that every order is one.
    """
    if isinstance(told, np.ndarray):
        places = np.unique(told, return_inverse=True)[1]  # one place for all NaN, the last
        return places.astype(np.int64)
    labels, codes = told
    present = {label for label in labels if label is not None}
    order: dict[KeyLabel, int] = {label: rank for rank, label in enumerate(sorted(present, key=_rank))}
    order[None] = len(order)
    return np.array([order[label] for label in labels], np.int64)[codes]


def missing(told: _Told, rows: int) -> Truths:
    """Where there is no value to compare or to order by."""
    if isinstance(told, np.ndarray):
        return np.isnan(told)
    if isinstance(told, tuple):
        return np.array([label is None for label in told[0]], np.bool_)[told[1]]
    return np.zeros(rows, np.bool_)


def _rank(value: KeyLabel) -> tuple[bool, KeyLabel]:
    missing = isinstance(value, float) and isnan(value)
    return missing, 0.0 if missing else value
