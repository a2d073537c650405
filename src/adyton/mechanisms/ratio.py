"""The interval of a ratio whose numerator and denominator both carry noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.noise.refine import Floats

_STEPS = 40  # of Newton's method; about five are needed
_HALVINGS = 6
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

    def of(self, cells: slice | Places) -> Band:
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
    high = np.broadcast_to(np.asarray(reach, float), numerator.shape).copy()
    low, informative = -high, np.zeros(len(high), np.bool_)
    for some in _blocks(len(high)):
        band = _with_rounding(numerator[some], denominator[some], error.of(some))
        informative[some] = denominator[some] > _steepest(band, high[some])
    known = np.flatnonzero(informative)
    for some in _blocks(len(known)):
        at = known[some]
        top, bottom, end, band = numerator[at], denominator[at], high[at], error.of(at)
        low[at], high[at] = _first(top, bottom, end, band), -_first(-top, bottom, end, band)
    return low, high


def _first(numerator: Floats, denominator: Floats, reach: Floats, error: Band) -> Floats:
    """The least t in -reach..reach from which on t * denominator - numerator + band(t) >= 0, rounded down.

    The left side is convex and rises.  So Newton's method finds the place; then numbers just beside it are
    looked at, and one is taken at which the left side is certainly below 0: however well the place was found.
    """
    band = _with_rounding(numerator, denominator, error)

    def holds(t: Floats) -> Truths:
        return np.asarray(t * denominator - numerator + band(t) >= 0)

    t = np.clip(numerator / denominator, -reach, reach)
    for _ in range(_STEPS):
        rise = denominator + error.slope(t) + _FLOAT_ERROR * denominator * np.sign(t)
        nearer = np.clip(t - (t * denominator - numerator + band(t)) / rise, -reach, reach)
        moved, t = np.abs(nearer - t), nearer
        if (moved <= 2.0**-50 * (np.abs(t) + np.abs(numerator) / denominator)).all():
            break
    beside = 2.0**-51 * (np.abs(t) + (np.abs(numerator) + band(t)) / denominator)
    above, below = np.minimum(t + beside, reach), np.maximum(t - beside, -reach)
    while (open_still := holds(below) & (below > -reach)).any():
        beside = np.where(open_still, 2 * beside, beside)
        above = np.where(open_still, below, above)
        below = np.where(open_still, np.maximum(t - beside, -reach), below)
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        yes = holds(middle)
        above, below = np.where(yes, middle, above), np.where(yes, below, middle)
    return below


def _blocks(size: int) -> list[slice]:
    return [slice(start, start + _BLOCK) for start in range(0, size, _BLOCK)]


def _with_rounding(numerator: Floats, denominator: Floats, error: Band) -> Callable[[Floats], Floats]:
    tops, bottoms = np.abs(numerator), np.abs(denominator)

    def band(t: Floats) -> Floats:
        widened: Floats = error(t) + _FLOAT_ERROR * (tops + np.abs(t) * bottoms)
        return widened

    return band


def _steepest(band: Callable[[Floats], Floats], end: Floats) -> Floats:
    """A slope just beyond the far end: a convex function is nowhere steeper before."""
    slope: Floats = (band(end * (1 + 2.0**-20)) - band(end)) / (end * 2.0**-20)
    return slope * (1 + 2.0**-20)


def _some(side: Floats | float, cells: slice | Places) -> Floats | float:
    return side[cells] if isinstance(side, np.ndarray) and side.ndim else side
