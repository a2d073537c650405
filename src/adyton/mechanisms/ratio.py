"""The interval of a ratio whose numerator and denominator both carry noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.noise.refine import Floats

_HALVINGS = 80
_FLOAT_ERROR = 2.0**-50  # of a numerator or denominator that was an integer before


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


@dataclass(frozen=True, slots=True)
class Ratio:
    """Noisy numerators and denominators of ratios within ``-reach..reach``, and the band of their noise."""

    numerator: Floats
    denominator: Floats
    reach: float
    band: Band


Ends = tuple[Floats, Floats]


def intervals_of(ratios: Sequence[Ratio]) -> list[Ends]:
    """The intervals of all ``ratios``, found together: one halving of many costs about as much as of one."""
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


def ratio_interval(
    numerator: Floats, denominator: Floats, reach: float | Floats, error: Callable[[Floats], Floats]
) -> Ends:
    """Ends of the set of ratios that the noise does not exclude, within ``-reach..reach``.

    Claim:    if |noise_n - t * noise_d| <= error(t) holds with probability 1 - a for the true ratio t, the
              interval contains t with probability at least 1 - a, however small the denominator.
    Assumes:  the true denominator is not 0 and |t| <= reach; error is even, convex and grows at most
              linearly, so that numerator - t * denominator leaves its band at most once on either side.
    Source:   Fieller 1954.  Theorem: RATIO-INTERVAL.
    """

    def band(t: Floats) -> Floats:
        return error(t) + _FLOAT_ERROR * (np.abs(numerator) + np.abs(t * denominator))

    informative = denominator > _steepest(band, np.full_like(numerator, reach))
    low = _first(lambda t: t * denominator - numerator + band(t) >= 0, reach, numerator.shape)
    high = -_first(lambda t: t * denominator + numerator + band(t) >= 0, reach, numerator.shape)
    return np.where(informative, low, -reach), np.where(informative, high, reach)


def _steepest(band: Callable[[Floats], Floats], end: Floats) -> Floats:
    """A slope just beyond the far end: a convex function is nowhere steeper before."""
    slope: Floats = (band(end * (1 + 2.0**-20)) - band(end)) / (end * 2.0**-20)
    return slope * (1 + 2.0**-20)


def _first(
    holds: Callable[[Floats], npt.NDArray[np.bool_]], reach: float | Floats, shape: tuple[int, ...]
) -> Floats:
    """The least t in -reach..reach from which on ``holds``, rounded down."""
    below, above = np.full(shape, -reach), np.full(shape, reach)
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        yes = holds(middle)
        above, below = np.where(yes, middle, above), np.where(yes, below, middle)
    return below
