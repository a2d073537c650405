"""Rules that a holdout applies itself: a vector of predictions proves no class, the numbers of a rule do.

Every rule is applied exactly: a weighted sum whose sign floats cannot tell is added up in fractions.
Otherwise rounding would make rules that are in no class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, get_args

import numpy as np

from adyton.errors import InvalidRequest
from adyton.holdout.metrics import Array, Submission, digest_of, finite_numbers
from adyton.kernel.exact.outward import COARSE
from adyton.validity.classes.growth import Kind

_LARGEST_WHOLE = 2**53
NOT_OVER_A_NETWORK = (
    "a holdout with a hypothesis class is scored where its file lies, and not over a network: its scores may "
    "be exact, and so reveal the labels; nothing was charged"
)
_TINY = 2.0**-1000  # smaller products lose digits that a relative margin does not know of


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Yes where one feature is above a cut, or where it is at most the cut.

    A rule is ``{"column": 0, "above": 3.5}`` or ``{"column": 0, "at_most": 3.5}``.

    >>> Thresholds().kind
    'thresholds'
    """

    kind: ClassVar[Kind] = "thresholds"

    def rule(self, given: object, features: int) -> Array:
        said = _words(given, ("column", "above", "at_most"))
        ways = [way for way in ("above", "at_most") if way in said]
        column = said.get("column")
        if len(ways) != 1 or isinstance(column, bool) or not isinstance(column, int | np.integer):
            raise InvalidRequest(
                'a threshold is {"column": 0, "above": 3.5}, or "at_most" in place of "above"'
            )
        if not 0 <= column < features:
            raise InvalidRequest(
                f"columns are counted from 0 to {features - 1}, and {column} is none of them"
            )
        (cut,) = _numbers(said[ways[0]], 1, "the cut")
        return np.array([column, cut, ways[0] == "above"], dtype=np.float64)

    def apply(self, rule: Array, features: Array) -> Array:
        above: Array = features[:, int(rule[0])] > rule[1]
        return above if rule[2] else ~above


@dataclass(frozen=True, slots=True)
class Boxes:
    """Yes where every feature is between a low and a high end of its own; None is no end.

    A rule is ``{"low": [0, 1.5], "high": [2, None]}``.

    >>> Boxes().kind
    'boxes'
    """

    kind: ClassVar[Kind] = "boxes"

    def rule(self, given: object, features: int) -> Array:
        said = _words(given, ("low", "high"))
        ends = []
        for side, none in (("low", -np.inf), ("high", np.inf)):
            listed = said.get(side)
            if not isinstance(listed, list | tuple | np.ndarray):
                raise InvalidRequest('a box is {"low": [...], "high": [...]}, with one end for each feature')
            ends.append(_numbers([none if end is None else end for end in listed], features, side, True))
        return np.concatenate(ends)

    def apply(self, rule: Array, features: Array) -> Array:
        low, high = rule[: features.shape[1]], rule[features.shape[1] :]
        inside = (features >= low) & (features <= high)
        return np.asarray(inside.all(axis=1))


@dataclass(frozen=True, slots=True)
class LinearSeparators:
    """Yes where the weighted sum of the features plus the intercept is above 0.

    A rule is ``{"weights": [1, -2], "intercept": 0.5}``, or a fitted model of scikit-learn that has ``coef_``
    and ``intercept_``.

    >>> LinearSeparators().kind
    'linear'
    """

    kind: ClassVar[Kind] = "linear"

    def rule(self, given: object, features: int) -> Array:
        if hasattr(given, "coef_") and hasattr(given, "intercept_"):
            given = {"weights": np.ravel(given.coef_), "intercept": np.ravel(given.intercept_)}
        said = _words(given, ("weights", "intercept"))
        weights = _numbers(said.get("weights", ()), features, "weights")
        (intercept,) = _numbers(said.get("intercept", 0.0), 1, "the intercept")
        return np.append(weights, intercept)

    def apply(self, rule: Array, features: Array) -> Array:
        """Exactly: what floats leave open is added up in fractions."""
        weights, intercept = rule[:-1], rule[-1]
        with np.errstate(over="ignore", invalid="ignore"):
            sums = features @ weights + intercept
            sizes = np.abs(features) @ np.abs(weights) + abs(intercept) + _TINY
        found: Array = sums > 0
        unsure = ~np.isfinite(sizes) | (np.abs(sums) <= COARSE * sizes)
        exact = [Fraction(float(weight)) for weight in rule]
        for i in np.flatnonzero(unsure):
            parts = zip(exact, [*map(float, features[i]), 1.0], strict=True)
            found[i] = sum((weight * Fraction(x) for weight, x in parts), Fraction(0)) > 0
        return found


HypothesisClass = Thresholds | Boxes | LinearSeparators
_NAMED = {one.kind: one for one in get_args(HypothesisClass)}


def checked_class(given: object) -> HypothesisClass | None:
    """An object such as LinearSeparators(), or its name."""
    if given is None or isinstance(given, get_args(HypothesisClass)):
        return given
    if isinstance(given, str) and given in _NAMED:
        made: HypothesisClass = _NAMED[given]()
        return made
    told = f", not {given!r}" if isinstance(given, str) else "; in Python also an object such as Boxes()"
    raise InvalidRequest(f"a hypothesis class is thresholds, boxes or linear{told}")


def features_from(given: object, items: int) -> Array:
    """A table of finite numbers, a row for each item."""
    try:
        table = np.asarray(given)
    except (ValueError, TypeError, RuntimeError):
        table = np.empty(0)
    if table.ndim == 1 and table.dtype.kind in "biuf":
        table = table[:, None]
    if table.ndim != 2 or table.shape[0] != items or table.shape[1] < 1:
        raise InvalidRequest(f"features are a table of numbers with {items:,} rows, one for each label")
    numbers = finite_numbers(table.reshape(-1), "features")
    if table.dtype.kind in "iu" and ((table > _LARGEST_WHOLE) | (table < -_LARGEST_WHOLE)).any():
        raise InvalidRequest("features that are whole numbers must be below 2**53: a double holds no others")
    return numbers.reshape(table.shape)


def applied(kind: HypothesisClass, given: object, features: Array) -> Submission:
    """What a rule says about every item; known by its own numbers, never by what it says of the features."""
    rule = kind.rule(given, features.shape[1])
    return Submission(kind.apply(rule, features).astype(np.int64), f"{kind.kind} {digest_of(rule + 0.0)}")


def _words(given: object, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or any(word not in known for word in given):
        listed = " and ".join(f'"{word}"' for word in known)
        raise InvalidRequest(
            f"this holdout applies rules of its class itself: send the numbers of a rule, with {listed}, "
            f"not predictions"
        )
    return given


def _numbers(given: object, count: int, what: str, infinite: bool = False) -> Array:
    try:
        array = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (ValueError, TypeError, OverflowError, RuntimeError):
        array = np.empty(0)
    bad = np.isnan(array).any() if infinite else not np.isfinite(array).all()
    if array.shape != (count,) or bad:
        many = "one number" if count == 1 else f"{count:,} numbers, one for each feature"
        raise InvalidRequest(f"{what} must be {many}{'' if infinite else ', and finite'}")
    return array
