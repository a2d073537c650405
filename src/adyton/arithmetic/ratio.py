"""The interval of a ratio whose numerator and denominator both carry noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.arithmetic.search import edges
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.outward import FEW, UNIT_ROUNDOFF

_STEPS = 40  # of Newton's method; about five are needed
_HALVINGS = 6
_LEAST_STEP = UNIT_ROUNDOFF / 128  # of the reach: doubled again and again it gets there, which 0 never does
_BLOCK = 1 << 13  # cells at a time; the arrays of one block stay in the processor's cache

Truths = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Band:
    """How far noise_n - t * noise_d may be from 0: hypot(a, b t) + c + d |t|, even and convex in t."""

    a: Floats | float
    b: Floats | float
    c: Floats | float
    d: Floats | float

    def __call__(self, t: Floats) -> Floats:
        return self._band(t, np.hypot(self.a, t * self.b))

    def slope(self, t: Floats) -> Floats:
        """How steeply it rises; where it has a corner, a slope between those on either side."""
        return self.with_slope(t)[1]

    def with_slope(self, t: Floats) -> tuple[Floats, Floats]:
        """The band and its slope, from one root: the root is what takes long."""
        along = t * self.b
        root: Floats = np.hypot(self.a, along)
        round_part = np.divide(along * self.b, root, out=np.zeros_like(root), where=root > 0)
        return self._band(t, root), round_part + np.sign(t) * self.d

    def _band(self, t: Floats, root: Floats) -> Floats:
        band: Floats = root + self.c + np.abs(t) * self.d
        return band

    def of(self, cells: Places | Truths) -> Band:
        """The band of some of the cells only, where each cell has its own."""
        return Band(*(_some(side, cells) for side in (self.a, self.b, self.c, self.d)))


@dataclass(frozen=True, slots=True)
class Ratio:
    """Noisy numerators and denominators of ratios within ``-reach..reach``, and the band of their noise."""

    numerator: Floats
    denominator: Floats
    reach: float
    band: Band

    def telling(self) -> Places:
        return _telling(self.denominator, np.asarray(self.reach, float), self.band)

    def of(self, cells: Places) -> Ratio:
        return Ratio(self.numerator[cells], self.denominator[cells], self.reach, self.band)


Ends = tuple[Floats, Floats]


@dataclass(frozen=True, slots=True)
class Solved:
    """Intervals of the ratios of ``size`` cells: ``low`` and ``high`` are those at some ``places``.

    At all others it is -reach..reach; None: they are those of all cells.
    """

    size: int
    reach: float
    places: Places | None
    low: Floats
    high: Floats

    def ends(self) -> Ends:
        """Of all cells."""
        if self.places is None:
            return self.low, self.high
        low, high = (np.full(self.size, end) for end in (-self.reach, self.reach))
        low[self.places], high[self.places] = self.low, self.high
        return low, high


def intervals_of(ratios: Sequence[Ratio]) -> list[Solved]:
    """The intervals of all ``ratios``, found together.

    Of those with very many cells, first the cells that may say something: all others have the whole range.
    """
    places = [ratio.telling() if len(ratio.numerator) >= _BLOCK else None for ratio in ratios]
    some = [ratio if at is None else ratio.of(at) for ratio, at in zip(ratios, places, strict=True)]
    return [
        Solved(len(ratio.numerator), ratio.reach, at, *ends)
        for ratio, at, ends in zip(ratios, places, _together(some), strict=True)
    ]


def _together(ratios: Sequence[Ratio]) -> list[Ends]:
    if not ratios:
        return []
    sizes = [len(ratio.numerator) for ratio in ratios]

    def spread(values: list[float | Floats]) -> Floats:
        return np.repeat(np.array(values, float), sizes)

    band = Band(*(spread([getattr(ratio.band, name) for ratio in ratios]) for name in "abcd"))
    low, high = ratio_interval(
        np.concatenate([ratio.numerator for ratio in ratios]),
        np.concatenate([ratio.denominator for ratio in ratios]),
        spread([ratio.reach for ratio in ratios]),
        band,
    )
    cuts = np.cumsum(sizes)[:-1]
    return list(zip(np.split(low, cuts), np.split(high, cuts), strict=True))


def ratio_interval(numerator: Floats, denominator: Floats, reach: float | Floats, error: Band) -> Ends:
    """Ends of the set of ratios that the noise does not exclude, within ``-reach..reach``.

    Claim:    if |noise_n - t * noise_d| <= error(t) holds with probability 1 - a for the true ratio t, the
              interval contains t with probability at least 1 - a, however small the denominator.
    Assumes:  the true denominator is not 0 and |t| <= reach; error is even, convex and grows at most
              linearly, so that numerator - t * denominator leaves its band at most once on either side.
    Source:   Fieller 1954.  Theorem: RATIO-INTERVAL.
    """
    ends = np.asarray(reach, float)
    reaches = np.broadcast_to(ends, numerator.shape)
    low, high, informative = -reaches, reaches.copy(), _telling(denominator, ends, error)

    def side(at: Places, top: Floats) -> _Side:
        return _Side(top, denominator[at], reaches[at], error.of(at))

    # Nearly all that say nothing are gone by now; of the others the exact condition decides.
    steep = [denominator[at] > side(at, numerator[at]).steepest() for at in _blocks(informative)]
    informative = informative[np.concatenate(steep)] if steep else informative
    for at in _blocks(informative):  # both ends at once: the other one is the same at -t
        top, twice = numerator[at], np.concatenate([at, at])
        first = side(twice, np.concatenate([top, -top])).first()
        low[at], high[at] = first[: len(at)], -first[len(at) :]
    return low, high


def _telling(denominator: Floats, reach: Floats, error: Band) -> Places:
    """Nearly only the cells whose ratio the noise leaves something to say about, and all of these."""
    return np.flatnonzero(denominator > error.slope(reach) * (1 - 2.0**-20))


@dataclass(frozen=True, slots=True)
class _Side:
    """t * denominator - numerator + band(t) for ratios t in -reach..reach: convex, and it rises if
    the denominator is above the ``steepest`` slope of the band.
    """

    numerator: Floats
    denominator: Floats
    reach: Floats
    error: Band

    def of(self, cells: Truths) -> _Side:
        return _Side(self.numerator[cells], self.denominator[cells], self.reach[cells], self.error.of(cells))

    def band(self, t: Floats) -> Floats:
        return self._widened(self.error(t), t)

    def _widened(self, error: Floats, t: Floats) -> Floats:
        rounding = np.abs(self.numerator) + np.abs(t * self.denominator)
        widened: Floats = error + FEW * rounding
        return widened

    def steepest(self) -> Floats:
        """A slope just beyond the far end: a convex function is nowhere steeper before."""
        end = self.reach
        slope: Floats = (self.band(end * (1 + 2.0**-20)) - self.band(end)) / (end * 2.0**-20)
        return slope * (1 + 2.0**-20)

    def holds(self, t: Floats) -> Truths:
        return np.asarray(t * self.denominator - self.numerator + self.band(t) >= 0)

    def first(self) -> Floats:
        """The least t from which on it is not below 0, rounded down.

        What is convex is below 0 between two places at which it is: nothing is searched for where it is not
        below 0 at the far end, whatever the slopes say, which were rounded.
        """
        found, open_still = -self.reach, ~self.holds(-self.reach)
        if open_still.any():
            found[open_still] = self.of(open_still)._searched()
        return found

    def _searched(self) -> Floats:
        """However well the place was found: one beside it is taken at which it certainly is below 0."""
        place, beside = self._near()
        above, below = np.minimum(place + beside, self.reach), np.maximum(place - beside, -self.reach)
        while (open_still := self.holds(below) & (below > -self.reach)).any():
            beside = np.where(open_still, 2 * beside, beside)
            above = np.where(open_still, below, above)
            below = np.where(open_still, np.maximum(place - beside, -self.reach), below)
        return edges(lambda t: ~self.holds(t), below, above, _HALVINGS)

    def _near(self) -> Ends:
        """Newton's method: about where it is 0, and how exactly floats can tell."""
        place = self._guess()
        beside, left, side = np.empty_like(place), np.arange(len(place)), self
        for _ in range(_STEPS):
            t = place[left]
            error, slope = side.error.with_slope(t)
            band, rise = side._widened(error, t), side.denominator + slope
            nearer = t - (t * side.denominator - side.numerator + band) / rise
            unit = 4 * UNIT_ROUNDOFF * (np.abs(t) + (np.abs(side.numerator) + band) / side.denominator)
            place[left] = nearer.clip(-side.reach, side.reach)
            beside[left] = np.maximum(unit, _LEAST_STEP * side.reach)
            moving = np.abs(place[left] - t) > 2 * unit
            if not moving.any():
                break
            left, side = left[moving], side.of(moving)
        return place, beside

    def _guess(self) -> Floats:
        """The root of hypot(a, b t) = top - bottom t, where bottom allows for the sign of t."""
        a, b, d = self.error.a, self.error.b, self.error.d
        top = self.numerator - self.error.c
        bottom = self.denominator + np.where(top > a, d, -d)
        spread = np.sqrt(np.maximum((top * b) ** 2 + a * a * (bottom * bottom - b * b), 0.0))
        both = top * bottom
        with np.errstate(divide="ignore", invalid="ignore"):
            near_end = (both - spread) / (bottom * bottom - b * b)
            guess = np.where(both > 0, (top * top - a * a) / (both + spread), near_end)
        guess = np.where(np.isfinite(guess), guess, self.numerator / self.denominator)
        return guess.clip(-self.reach, self.reach)


def _blocks(places: Places) -> list[Places]:
    return [places[start : start + _BLOCK] for start in range(0, len(places), _BLOCK)]


def _some(side: Floats | float, cells: Places | Truths) -> Floats | float:
    return side[cells] if isinstance(side, np.ndarray) and side.ndim else side
