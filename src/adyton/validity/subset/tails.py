"""How far an answer with normal noise may be off, for any bound on the moments of what the rows add.

What a study that pays as it goes fixes in advance: the level of each query, and ways to pay for what was
released before it.  Levels never run out: those of all queries sum to one.  The best part c of the rows
to keep depends on how much was spent compared with how much a query fluctuates by itself, which nobody
knows in advance; so a few are fixed, each with a weight, and every query takes whichever gives the
narrowest interval at its weight.  Once something was released that is not Gaussian, a second part of the
rows pays for that.  Theorems: PAY-AS-YOU-GO, SUBSET-VARIANCE, SUBSET-WITH-PURE-PARTS.

The logarithm of the normal tail is concave.  Its tangent at a location y, with the hazard h there and the
tilt h / scale, turns a bound M on log E exp(tilt D), D what the rows deviate, into

    Pr[D + noise > t] <= P(N > y) exp(tilt scale y - tilt t + M),

so t = scale y + (log P(N > y) + M - level) / tilt is a width at this level.  *Every* location is valid:
floats choose a good one, and only the last evaluation is rounded to the safe side.
Theorem: SUBSET-ANSWERS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_down, floats_up, whole
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import COARSE, MANY, SAFE
from adyton.kernel.exact.special import special

_PLANNED, _EQUAL, _BEYOND = Fraction(96, 100), Fraction(2, 100), Fraction(2, 100)
_BLOCKS = 4096
Places = NDArray[np.int64]
Moment = Callable[[Places], Callable[[Floats, Floats], Floats]]
"""Of some answers: of the tilt and of what is fresh."""

MARGIN = MANY
"""Of all terms of an exponent together.  It pays for their roundings, some tens of 1e-16 each, and for a
hazard that is off by as much: see SUBSET-ANSWERS."""


# Levels ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenLevels:
    """Query j may use 1 / log2(j + 1) - 1 / log2(j + 2) of the failure, all of them together all of it."""

    def share(self, query: int) -> float:
        j = whole(query, "the number of a query")
        first, second = math.log2(j + 1), math.log2(j + 2)
        return math.log1p(1 / (j + 1)) / math.log(2) / (first * second) * (1 - MANY)


@dataclass(frozen=True, slots=True)
class KnownLevels:
    """For as many queries with about equal noise: those who pay for many before them get the larger levels.

    As what was spent grows like j, the last tenth of the queries is in danger, and the others hardly are:
    most of the failure is divided so that all widths are about the same.  A small part is divided equally, so
    that early answers are narrow as well, and a small part is kept for queries beyond the plan.
    """

    queries: int
    rising: bool = True

    def share(self, query: int) -> float:
        j = whole(query, "the number of a query")
        if j > self.queries:
            return OpenLevels().share(j - self.queries) * float_down(_BEYOND)
        equal = float_down(Fraction(1) / self.queries)
        planned = _danger(j, self.queries) / _all_dangers(self.queries) if self.rising else equal
        return (float_down(_PLANNED) * planned + float_down(_EQUAL) * equal) * (1 - MANY)


def _danger(query: float, queries: int) -> float:
    """As the chance to miss, if the shift of the last query is half of the tolerance."""
    return math.exp(-_steepness(queries) * ((2 - math.sqrt(query / queries)) ** 2 - 1))


def _steepness(queries: int) -> float:
    """About the logarithm of one over the chance of the last one to miss; any number is valid."""
    return max(1.0, math.log(queries))


@cache
def _all_dangers(queries: int) -> float:
    """Their sum, rounded up: they grow, so each block is judged at its last query."""
    ends = np.unique(np.ceil(np.linspace(0, queries, min(queries, _BLOCKS) + 1))[1:])
    counts = np.diff(ends, prepend=0.0)
    dangers = np.exp(-_steepness(queries) * ((2 - np.sqrt(ends / queries)) ** 2 - 1))
    return float(np.sum(counts * dangers)) * SAFE


# Ways to pay -----------------------------------------------------------------------------------------------


KEPT = tuple((c, 1 / 5) for c in (0.2, 0.5, 0.8, 0.94, 0.985))
"""With weights.  c / (1 - c) grows by four, so that the shift is at most 1.25 times that of the best c."""
KEPT_TWICE = tuple((kept * (1 - part), kept * part) for kept in (0.5, 0.85, 0.97) for part in (0.2, 0.6))
"""Parts for Gaussian answers and for releases that are not."""
_FOR_PURE = 1 / 32  # of the failure, for queries after such a release
_FORESEEN = 0.98  # of the rest, for the part that a plan foresees
FINAL_RADIUS_FROM = 100  # units: with fewer, every final radius is the full one


@dataclass(frozen=True, slots=True)
class Before:
    """What was released about these units before a query: Gaussian answers, as the sum of their squared
    radii, each in units of its noise; and the sum of the epsilons, if one unit is replaced, of the rest.
    """

    spent: Fraction = Fraction(0)
    pure: Fraction = Fraction(0)


def ways_after(before: Before, units: int, failure: float, planned: float | None = None) -> list[Way]:
    """All that are valid together at ``failure``, for at most so many units.

    ``planned``: the part c that a plan, fixed in advance, foresees for the query with this number.
    Where nothing was released before, the query was fixed in advance: one way, with all of the failure.
    """
    if not 0 < failure < 1:
        raise InvalidRequest("a level is a probability above 0 and below 1")
    spent, pure = floats_up((before.spent, before.pure))
    if not spent and not pure:
        return [Way(1.0, 0.0, math.log(failure))]
    if pure:
        level = math.log(failure * _FOR_PURE / len(KEPT_TWICE))
        return [
            Way(1 - c - other, gaussian_price(units, spent, c) + pure_price(units, pure, other), level)
            for c, other in KEPT_TWICE
        ]
    left = failure * (1 - _FOR_PURE)
    ways = []
    if planned is not None:
        ways.append(Way(1 - planned, gaussian_price(units, spent, planned), math.log(left * _FORESEEN)))
        left *= 1 - _FORESEEN
    return ways + [Way(1 - c, gaussian_price(units, spent, c), math.log(left * weight)) for c, weight in KEPT]


def gaussian_price(units: int, spent: float, kept: float) -> float:
    """What the Gaussian answers before add to an exponent, if rows in a part ``kept`` are compared with all.

    ((1 - c) / c) (n + 2) mu0**2 / 2 and a trifle, rounded up: n + 2 covers n**2 / (n - 1), the trifle that
    the size of a part is a whole number.  Theorem: SUBSET-VARIANCE.
    """
    whole_size = 1 / (4 * kept**3 * (FINAL_RADIUS_FROM - 1))
    return ((1 - kept) / kept * (units + 2) / 2 + whole_size) * spent * SAFE


def pure_price(units: int, epsilon: float, kept: float) -> float:
    """((1 - c) / c) n epsilon**2 / 8, rounded up.  Theorem: SUBSET-WITH-PURE-PARTS."""
    return (1 - kept) / kept * units * epsilon**2 / 8 * SAFE


# Tails -----------------------------------------------------------------------------------------------------


_ROOT_HALF = 0.5**0.5
_ROOT_TWO_OVER_PI = (2 / np.pi) ** 0.5
MOST_CLOSELY, _SAMPLE, _BLOCK = 256, 64, 4096
_STEP = 0.5
_FIRST = np.exp2(_STEP * np.arange(-3, 4))  # around a rough guess of the best tilt, and then around the best
_SECOND = np.exp2(np.array([-0.25, -0.12, -0.06, 0.0, 0.06, 0.12, 0.25]))
_THIRD = np.exp2(np.array([-0.3, 0.0, 0.3]))


@dataclass(frozen=True, slots=True)
class Way:
    """One valid way to pay for what was seen before: ``fresh`` = 1 - c, the price, and its own level.

    Arrays say it for each answer.
    """

    fresh: float | Floats
    price: float | Floats
    log_level: float | Floats


def hazard(y: Floats) -> Floats:
    """phi(y) / P(N > y), the steepness of the logarithm of the normal tail."""
    found: Floats = _ROOT_TWO_OVER_PI / special().erfcx(y * _ROOT_HALF)
    return found


def largest_normal(failure: Fraction) -> float:
    """z, rounded up: a standard normal is beyond z on either side with probability at most ``failure``."""
    return -float(special().ndtri(float_down(failure / 2))) * (1 + COARSE)


def location(steepness: Floats) -> Floats:
    """About where the hazard is this: good enough to choose, and never relied upon."""
    places, logs = _table()
    found: Floats = np.interp(np.log(steepness), logs, places)
    far = steepness > 30
    return np.where(far, steepness - 1 / np.maximum(steepness, 1.0), found) if far.any() else found


@cache
def _table() -> tuple[Floats, Floats]:
    places = np.linspace(-37.0, 32.0, 1400)
    return places, np.log(hazard(places))


def least_width(
    scale: Floats, spread: Floats, moment: Moment, ways: Sequence[Way], steady: Floats | None = None
) -> Floats:
    """The least t over a few locations of all ``ways``, rounded up, for each of many answers.

    ``spread`` is about the variance of what the rows add: it chooses where to look and nothing else.
    ``moment`` bounds log E exp(tilt D) from above if a part of the rows is fresh, for some of the answers.
    ``steady``: how small the noise may be, as a part of ``scale``; 1 where that is what it is.
    """

    def negative(some: Places, paid: WayArrays) -> Tried:
        noise, moved = scale[some][:, None, None], spread[some][:, None, None]
        guess, own = paid.tilt(noise, moved), moment(some)
        steadily = None if steady is None else steady[some][:, None, None]
        return lambda factors: -_width(guess * factors, noise, steadily, own, paid)

    return -greatest(negative, spread / scale**2, ways)


@dataclass(frozen=True, slots=True)
class WayArrays:
    """Several ways as arrays, one below the other, to be tried together."""

    fresh: Floats
    price: Floats
    log_level: Floats

    @classmethod
    def of(cls, ways: Sequence[Way], some: Places) -> WayArrays:
        """For some of the answers."""
        if any(isinstance(way.log_level, np.ndarray) for way in ways):
            return cls(*(_below([getattr(way, name) for way in ways], some) for name in cls.__slots__))
        numbers = np.array([(way.fresh, way.price, way.log_level) for way in ways])
        return cls(*numbers.T[..., None])

    def tilt(self, noise: Floats, spread: Floats) -> Floats:
        """About the best tilt, for what is nearly normal."""
        tilt: Floats = np.sqrt(2 * (self.price - self.log_level) / (noise**2 + spread / self.fresh))
        return tilt


def _below(values: Sequence[float | Floats], some: Places) -> Floats:
    own = [np.asarray(value)[some] if np.ndim(value) else np.full(len(some), value) for value in values]
    return np.stack(own, axis=1)[..., None]


Tried = Callable[[Floats], Floats]
"""For some answers and all ways: what each of some factors of a guessed tilt gives."""


def greatest(value: Callable[[Places, WayArrays], Tried], order: Floats, ways: Sequence[Way]) -> Floats:
    """The greatest value of all ways and of a few tilts, for each of many answers.

    Of many answers a few are looked at closely: ways that win for none of them are left out for all, and all
    try the tilts, as factors of what was guessed, that are best for those next to them in ``order``.
    """
    if len(order) <= MOST_CLOSELY:
        every = np.arange(len(order))
        found: Floats = _closely(value(every, WayArrays.of(ways, every)))[0].max(-1)
        return found
    some = _spread_out(order)
    values, tried, fine = _closely(value(some, WayArrays.of(ways, some)))
    factors = _picked(tried, fine.argmax(-1))
    winners = np.unique(values.argmax(-1))
    logs, ways = np.log2(factors[:, winners]), [ways[i] for i in winners]
    found = np.empty(len(order))
    for start in range(0, len(order), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(order)))
        best = [np.interp(order[block], order[some], own) for own in logs.T]
        tried = np.exp2(np.stack(best, axis=1))[..., None] * _THIRD
        found[block] = value(block, WayArrays.of(ways, block))(tried).max((-1, -2))
    return found


def _spread_out(order: Floats) -> Places:
    """Some places, by their order: evenly among all, with the first and the last."""
    even = np.linspace(0, len(order) - 1, 16 * _SAMPLE).astype(np.int64)
    even = even[np.argsort(order[even])][:: len(even) // _SAMPLE]
    return np.concatenate([[order.argmin()], even, [order.argmax()]])


def _closely(value: Tried) -> tuple[Floats, Floats, Floats]:
    """The greatest value of each way, on a coarse grid and then near a parabola's vertex; and the factors
    that were tried there, with what they give.
    """
    coarse = value(_FIRST)
    highest, beyond = _vertex(coarse)
    tried = (_FIRST[highest] * np.exp2(_STEP * beyond))[..., None] * _SECOND
    fine = value(tried)
    return np.maximum(coarse.max(-1), fine.max(-1)), tried, fine


def _vertex(values: Floats) -> tuple[Places, Floats]:
    """Where the greatest of some values in a row is, and how far from there a parabola through it and its
    neighbors ends.
    """
    highest = values.argmax(-1)
    rows = values.reshape(-1, values.shape[-1])
    each, top = np.arange(len(rows)), highest.ravel()
    place = np.minimum(np.maximum(top, 1), rows.shape[-1] - 2)
    flat, at_place = rows.ravel(), each * rows.shape[-1] + place
    before, at, after = flat[at_place - 1], flat[at_place], flat[at_place + 1]
    with np.errstate(invalid="ignore", divide="ignore"):
        offset = (before - after) / (before - 2 * at + after) / 2
    inside = (np.abs(offset) < 1) & (place == top)  # what is not finite is not inside
    return highest, np.where(inside, offset, 0.0).reshape(highest.shape)


def _picked(values: Floats, place: Places) -> Floats:
    """Of each row the value at its place; numpy's own way takes several times as long for few."""
    rows = values.reshape(-1, values.shape[-1])
    return rows[np.arange(len(rows)), place.ravel()].reshape(place.shape)


def tangent(tilts: Floats, noise: Floats) -> tuple[Floats, Floats, Floats]:
    """For tilts that are wished for: those that are taken, and the y and log P(N > y) that belong to them."""
    y = location(tilts * noise)
    return hazard(y) / noise, y, special().log_ndtr(-y)


def _width(
    tilts: Floats,
    noise: Floats,
    steady: Floats | None,
    moment: Callable[[Floats, Floats], Floats],
    paid: WayArrays,
) -> Floats:
    tilt, y, tail = tangent(tilts, noise)
    spread = moment(tilt, paid.fresh)
    size = 1 + np.abs(tail) + tilt * noise * np.abs(y) + spread + paid.price - paid.log_level
    by_noise = noise * y + tail / tilt
    if steady is not None:  # below 0, noise helps, and less of it helps less
        by_noise = np.where(by_noise < 0, by_noise * steady, by_noise)
    width: Floats = by_noise + (spread + paid.price - paid.log_level + MARGIN * size) / tilt
    return np.where(np.isfinite(width), width + MARGIN * np.abs(width), np.inf)
