"""The interval of a ratio whose numerator and denominator both carry noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.noise.refine import Floats

_STEPS = 40  # of Newton's method; about five are needed
_HALVINGS = 6
_LEAST_STEP = 2.0**-60  # of the reach: doubled again and again it gets there, which 0 never does
_FLOAT_ERROR = 2.0**-50  # of a numerator or denominator that was an integer before
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
        band: Floats = np.hypot(self.a, t * self.b) + self.c + np.abs(t) * self.d
        return band

    def slope(self, t: Floats) -> Floats:
        """How steeply it rises; where it has a corner, a slope between those on either side."""
        along = t * self.b
        root: Floats = np.hypot(self.a, along)
        round_part = np.divide(along * self.b, root, out=np.zeros_like(root), where=root > 0)
        slope: Floats = round_part + np.sign(t) * self.d
        return slope

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


Ends = tuple[Floats, Floats]


def intervals_of(ratios: Sequence[Ratio]) -> list[Ends]:
    """The intervals of all ``ratios``; those of few cells are found together, as fast as one of them."""
    few = [i for i, ratio in enumerate(ratios) if len(ratio.numerator) < _BLOCK]
    found = dict(zip(few, _together([ratios[i] for i in few]), strict=True))
    for i, ratio in enumerate(ratios):
        if i not in found:
            found[i] = ratio_interval(ratio.numerator, ratio.denominator, ratio.reach, ratio.band)
    return [found[i] for i in range(len(ratios))]


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
    high = np.broadcast_to(ends, numerator.shape).copy()
    low, informative = -high, np.flatnonzero(denominator > error.slope(ends) * (1 - 2.0**-20))

    def side(at: Places) -> _Side:
        return _Side(numerator[at], denominator[at], high[at], error.of(at))

    # Nearly all that say nothing are gone by now; of the others the exact condition decides.
    steep = [denominator[at] > side(at).steepest() for at in _blocks(informative)]
    informative = informative[np.concatenate(steep)] if steep else informative
    for at in _blocks(informative):
        own = side(at)
        low[at], high[at] = own.first(), -own.mirrored().first()
    return low, high


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

    def mirrored(self) -> _Side:
        """For the other end: the same at -t."""
        return _Side(-self.numerator, self.denominator, self.reach, self.error)

    def band(self, t: Floats) -> Floats:
        rounding = np.abs(self.numerator) + np.abs(t * self.denominator)
        widened: Floats = self.error(t) + _FLOAT_ERROR * rounding
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

        However well the place was found: one just beside it is taken at which it certainly is below 0.  What
        is convex is below 0 between two such places, so the far end is looked at too: slopes were rounded.
        """
        place, beside = self._near()
        above, below = np.minimum(place + beside, self.reach), np.maximum(place - beside, -self.reach)
        while (open_still := self.holds(below) & (below > -self.reach)).any():
            beside = np.where(open_still, 2 * beside, beside)
            above = np.where(open_still, below, above)
            below = np.where(open_still, np.maximum(place - beside, -self.reach), below)
        for _ in range(_HALVINGS):
            middle = (below + above) / 2
            yes = self.holds(middle)
            above, below = np.where(yes, middle, above), np.where(yes, below, middle)
        return np.where(self.holds(-self.reach), -self.reach, below)

    def _near(self) -> Ends:
        """Newton's method: about where it is 0, and how exactly floats can tell."""
        place = self._guess()
        beside, left, side = np.empty_like(place), np.arange(len(place)), self
        for _ in range(_STEPS):
            t = place[left]
            band, rise = side.band(t), side.denominator + side.error.slope(t)
            nearer = t - (t * side.denominator - side.numerator + band) / rise
            unit = 2.0**-51 * (np.abs(t) + (np.abs(side.numerator) + band) / side.denominator)
            place[left] = np.clip(nearer, -side.reach, side.reach)
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
        return np.clip(guess, -self.reach, self.reach)


def _blocks(places: Places) -> list[Places]:
    return [places[start : start + _BLOCK] for start in range(0, len(places), _BLOCK)]


def _some(side: Floats | float, cells: Places | Truths) -> Floats | float:
    return side[cells] if isinstance(side, np.ndarray) and side.ndim else side
