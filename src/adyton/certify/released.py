"""Values and intervals of what is computed from released values: arithmetic, functions, windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from adyton.arithmetic.boxes import BOXES, Box, outward
from adyton.certify.linear import GaussianValue, LinearCombination, linear_of
from adyton.certify.ratio_of_sums import ratio_box
from adyton.certify.rows import Intervals, Values, joined_way
from adyton.certify.values import Absent
from adyton.certify.window_boxes import occurring_box, rank_box, shifted_box, total_box
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact import float_up
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import each_of
from adyton.query.released.answered import Answered, Truths, as_floats, missing
from adyton.query.released.nodes import (
    Apply,
    ComputedLabel,
    Every,
    Having,
    IsNull,
    Opposite,
    Relation,
    Released,
    ReleasedName,
    Some,
    When,
    Window,
    inside,
    is_null_by_value,
    names_in,
)
from adyton.query.released.windows import ENDS, OCCURRING, RANKS, SHIFTS, laid_out

Part = tuple[object, ...]
Levels = Callable[[float], Mapping[str, Values]]
# Where their arguments are numbers, so is what they give.
_NEVER_NULL = (
    *(
        "+",
        "-",
        "*",
        "NEG",
        "ABS",
        "SIGN",
        "FLOOR",
        "CEIL",
        "TRUNC",
        "ROUND",
        "UNROUNDED",
        "GREATEST",
        "LEAST",
    ),
)


class CertifiedRows:
    """The rows that HAVING left of an answer, and values with intervals of expressions over them.

    ``levels`` tells the released values of these rows with noise intervals at a level; ``all_rows`` is how
    many there were before; ``chosen`` says that released values decided which are left.
    """

    def __init__(
        self,
        answered: Answered,
        levels: Levels,
        gaussian: Mapping[str, GaussianValue],
        all_rows: int,
        *,
        chosen: bool,
    ) -> None:
        self.answered, self._levels, self._gaussian = answered, levels, gaussian
        self._all_rows, self._chosen = max(1, all_rows), chosen
        self._forms: dict[Released, LinearCombination | None] = {}

    def values(self, node: Released) -> Values:
        """The value of an expression in each row, with its intervals.

        Claim:    the noise interval contains the value that the expression has for the exact values, in the
                  rows that the windows look at, with probability at least its level; the population
                  interval the value that it has for those of the population, together with everything else
                  that the study says.
        Source:   derived here.  Theorem: BOX-OF-PARTS.
        """
        number = self._number(self._parts(node))
        level = LEVEL if number <= 1 else float_up(each_of(LEVEL, number))
        noise = self._box(node, self._atoms(level), level)
        told = noise.low if _is_occurring(node) else self.answered.told(node)
        assert isinstance(told, np.ndarray)
        nothing = np.isnan(told) | (np.isinf(noise.low) & np.isinf(noise.high))
        noise = Box.everything(len(told)).where(nothing, noise)
        value = np.where(nothing, np.nan, told)
        low, high = np.fmin(noise.low, value), np.fmax(noise.high, value)
        return Values(value, Intervals(LEVEL, low, high), self._population(node, nothing))

    def _population(self, node: Released, nothing: Truths) -> Intervals | Absent:
        """The parts hold all at once, at the study's confidence; so does what they imply."""
        found = self._levels(LEVEL)
        wide = {name: found[name].population for name in sorted(names_in(node) & found.keys())}
        for one in wide.values():
            if isinstance(one, Absent):
                return one
        told = {name: one for name, one in wide.items() if isinstance(one, Intervals)}
        if not told:
            return Absent("it is the same whatever the population is")
        box = self._box(node, {name: Box(one.low, one.high) for name, one in told.items()}, None)
        box = Box.everything(len(nothing)).where(nothing, box)
        way = joined_way(one.way for one in told.values())
        return Intervals(next(iter(told.values())).level, box.low, box.high, way=way)

    def _atoms(self, level: float) -> dict[str, Box]:
        return {name: Box(one.noise.low, one.noise.high) for name, one in self._levels(level).items()}

    # What must hold at once ------------------------------------------------------------------------------

    def _number(self, parts: Iterable[Part]) -> int:
        """How many intervals must hold at once; one that may be of any row counts for all rows."""
        return sum(self._all_rows if part[0] == "any row" else 1 for part in parts)

    def _parts(self, node: Released | Having) -> set[Part]:
        if not isinstance(node, Every | Some | Opposite | IsNull | Relation) and self._form(node):
            return {("sum", node)}
        if isinstance(node, Apply) and self._quotient(node) is not None:
            return {("quotient", node)}
        match node:
            case ReleasedName(name):
                return {("value", name)} if self._is_value(name) else set()
            case Apply(_, inner) | ComputedLabel(_, inner):
                return self._all(inner)
            case When(branches, otherwise):
                return self._all([part for branch in branches for part in branch]) | self._parts(otherwise)
            case Relation(left, _, right):
                return self._all([left, right])
            case Every(parts) | Some(parts):
                return self._all(parts)
            case Opposite(inner) | IsNull(inner):
                return self._parts(inner)
            case Window():
                return self._window_parts(node)
        return set()

    def _all(self, nodes: Iterable[Released | Having]) -> set[Part]:
        return set().union(*map(self._parts, nodes))

    def _window_parts(self, window: Window) -> set[Part]:
        parts = self._all(window.inner)
        if window.function in RANKS:
            parts = self._all([term.value for term in window.order])
        if self._is_fixed(window) and window.function in (*SHIFTS, *ENDS):
            return {("other row", window, part) for part in parts}  # one more, and it is known which
        return {("any row", part) for part in parts}

    def _is_fixed(self, window: Window) -> bool:
        """Whether no released value decides which rows it looks at."""
        noisy = any(self._is_value(name) for term in window.order for name in names_in(term))
        return not self._chosen and not noisy

    def _is_value(self, name: str) -> bool:
        return name in self._levels(LEVEL)

    def _form(self, node: Released) -> LinearCombination | None:
        """The sum that it is, where several Gaussian noises add up."""
        form = self._linear(node)
        return form if form is not None and form.mixes else None

    def _linear(self, node: Released) -> LinearCombination | None:
        if node not in self._forms:
            self._forms[node] = linear_of(node, self.answered, self._gaussian, self._is_fixed)
        return self._forms[node]

    def _quotient(
        self, node: Apply
    ) -> tuple[tuple[Released, LinearCombination], tuple[Released, LinearCombination]] | None:
        """The two Gaussian sums whose quotient it is, if so; NULLIF(divisor, 0) is looked through."""
        if node.function != "/":
            return None
        top, bottom = node.inner
        if isinstance(bottom, Apply) and bottom.function == "NULLIF" and bottom.inner[1] == 0:
            bottom = bottom.inner[0]
        one, other = self._linear(top), self._linear(bottom)
        if one is None or other is None or not (one.weights and other.weights):
            return None
        return (top, one), (bottom, other)

    # Boxes -----------------------------------------------------------------------------------------------

    def _box(self, node: Released, atoms: Mapping[str, Box], level: float | None) -> Box:
        """Where ``node`` lies if everything in it lies in ``atoms``; ``level``: of sums with their noise."""
        form = self._form(node) if level is not None else None
        if form is not None and level is not None:
            return self._sum(node, form, level)
        if level is not None and isinstance(node, Apply) and (both := self._quotient(node)) is not None:
            top, bottom = (self._released_sum(*one) for one in both)
            return ratio_box(top, bottom, self._gaussian, level)
        match node:
            case ReleasedName(name) if name in atoms:
                return atoms[name]
            case ReleasedName(name):
                keys = as_floats(self.answered.columns[name], self.answered.rows)
                beside = outward(keys, keys)
                return Box(keys, keys).where(keys == np.floor(keys), beside)
            case Fraction():
                return Box.of(node, self.answered.rows)
            case ComputedLabel("NUMBER", (inner,)):
                return self._box(inner, atoms, level)
            case Apply("COALESCE", inner):
                return self._first_that_is(inner, atoms, level)
            case Apply(function, inner):
                with np.errstate(all="ignore"):
                    return BOXES[function](*(self._box(part, atoms, level) for part in inner))
            case When():
                return self._chosen_box(node, atoms, level)
            case Window():
                return self._window_box(node, atoms, level)
        return Box.everything(self.answered.rows)

    def _sum(self, node: Released, form: LinearCombination, level: float) -> Box:
        """Theorem: BOX-OF-PARTS."""
        _, told, slack = self._released_sum(node, form)
        half = form.width(self._gaussian, level) + slack
        return outward(told - half, told + half)

    def _released_sum(
        self, node: Released, form: LinearCombination
    ) -> tuple[LinearCombination, Floats, Floats]:
        """A sum, its released value, and what the roundings on the way to that may have cost."""
        told = as_floats(self.answered.told(node), self.answered.rows)
        released = {name: self._levels(LEVEL)[name].value for name in form.weights}
        return form, told, form.slack(released, np.nan_to_num(told))

    def _first_that_is(self, inner: Sequence[Released], atoms: Mapping[str, Box], level: float | None) -> Box:
        """The first that is not NULL; any of them, from one on of which released values decide that."""
        *before, last = inner
        found = self._box(last, atoms, level)
        for node in reversed(before):
            own = self._box(node, atoms, level)
            null = self.answered.numbers(node).null
            found = own.hull(found) if is_null_by_value(node) else own.where(~null, found)
        return found

    def _chosen_box(self, node: When, atoms: Mapping[str, Box], level: float | None) -> Box:
        """All branches that may be the one."""
        rows = self.answered.rows
        nowhere = Box(np.full(rows, np.inf), np.full(rows, -np.inf))
        found, reached = nowhere, np.ones(rows, np.bool_)
        for condition, then in node.branches:
            true, false = self._decided(condition, atoms, level)
            found = found.hull(self._box(then, atoms, level).where(reached & ~false, nowhere))
            reached = reached & ~true
        return found.hull(self._box(node.otherwise, atoms, level).where(reached, nowhere))

    def _decided(
        self, having: Having, atoms: Mapping[str, Box], level: float | None
    ) -> tuple[Truths, Truths]:
        """Where it is surely true, and where surely false."""
        match having:
            case Every(parts) | Some(parts):
                each = [self._decided(part, atoms, level) for part in parts]
                both, one = np.logical_and.reduce, np.logical_or.reduce
                if isinstance(having, Some):
                    both, one = one, both
                return np.asarray(both([t for t, _ in each])), np.asarray(one([f for _, f in each]))
            case Opposite(inner):
                true, false = self._decided(inner, atoms, level)
                return false, true
            case Relation(left, sign, right) if names_in(having) & atoms.keys():
                return _compared(self._box(left, atoms, level), sign, self._box(right, atoms, level))
            case Relation():
                return self.answered.holds(having), self.answered.holds(having, wanted=False)
            case IsNull(inner):
                return self._decided_null(inner)

    def _decided_null(self, node: Released) -> tuple[Truths, Truths]:
        """By which rows there are, where nothing in it is NULL by its value; what is unknown is neither."""
        told = missing(self.answered.told(node), self.answered.rows)
        if not names_in(node) & self._levels(LEVEL).keys():
            return told, ~told
        parts = [one for one in inside(node) if isinstance(one, Apply | When)]
        if not all(isinstance(part, Apply) and part.function in _NEVER_NULL for part in parts):
            return np.zeros_like(told), np.zeros_like(told)
        return self.answered.numbers(node).null, ~told

    def _window_box(self, window: Window, atoms: Mapping[str, Box], level: float | None) -> Box:
        laid = laid_out(self.answered, window)
        if window.function in RANKS:
            first = window.order[0].value
            noisy = any(names_in(term) & atoms.keys() for term in window.order)
            ordered = self._box(first, atoms, level) if names_in(first) & atoms.keys() else None
            told = self.answered.told(window)
            assert isinstance(told, np.ndarray)
            return rank_box(window, laid, ordered, told, noisy=noisy)
        if window.function == OCCURRING:
            return occurring_box(laid, self._box(window.inner[0], atoms, level), whole=level is not None)
        boxes = [self._box(part, atoms, level) for part in window.inner]
        null = self.answered.numbers(window.inner[0]).null if window.inner else None
        if window.function in (*SHIFTS, *ENDS):
            return shifted_box(window, laid, boxes)
        return total_box(window, laid, boxes[0] if boxes else None, null)


def _is_occurring(node: Released) -> bool:
    return isinstance(node, Window) and node.function == OCCURRING


def _compared(left: Box, sign: str, right: Box) -> tuple[Truths, Truths]:
    match sign:
        case "<":
            return left.high < right.low, left.low >= right.high
        case "<=":
            return left.high <= right.low, left.low > right.high
        case ">":
            return left.low > right.high, left.high <= right.low
        case ">=":
            return left.low >= right.high, left.high < right.low
    apart = (left.high < right.low) | (left.low > right.high)
    same = (left.low == left.high) & (right.low == right.high) & (left.low == right.low)
    return (same, apart) if sign == "=" else (apart, same)
