"""Sums of independent losses on one lattice: tilted, convolved, and every error is counted.

Tilting by theta > 0 multiplies the mass at a loss l by exp(theta l) and normalises.  The rare large losses
that delta is made of become the common ones, so errors are small *relative to delta*, however small delta is.

- Short arrays are convolved directly: sums of products of numbers >= 0, so no mass loses its leading digits.
- Long arrays and powers go through one Fourier transform of N points.  What wraps around comes back as mass
  that is too much, never too little; what lies above the window is bounded by Chernoff and charged.
- Round-off, u = 2**-53: an entry of a transform of N = 2**n points is wrong by at most 16 n u times the sum
  of the absolute values that went in.  Radix 2 with good twiddle factors needs a quarter of it (a level is
  one complex product, one sum, one factor: (1 + u)(1 + sqrt(5) u)(1 + u)); a test measures what numpy needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adyton.accounting.pld.lattice import Array, LossLattice
from adyton.accounting.pld.slots import fold
from adyton.kernel.exact.outward import UNIT_ROUNDOFF

LONG = 2048  # from here on a Fourier transform is faster than a direct convolution
_OUTSIDE = 42.0  # the window leaves out exp(-42) at each end at most ...
_CHARGED = math.exp(-40)  # ... and this is charged, which also pays for underflow
_UNDERFLOW = 1e-290  # far more than products below 1e-308 can lose together
_SLOPES: Array = 2.0 ** np.arange(-3.0, 4.0)


@dataclass(frozen=True, slots=True, eq=False)
class Tilted:
    """Masses at start, start + 1, ...: exp(theta l - log_scale) times the true ones.

    ``error`` is relative: true and computed masses are within a factor of 1 + error.
    """

    start: int
    masses: Array
    log_scale: float
    error: float

    @property
    def variance(self) -> float:
        offsets = np.arange(len(self.masses))
        mean = float(self.masses @ offsets)
        return float(self.masses @ (offsets - mean) ** 2)

    def log_mgf(self, slopes: Array) -> Array:
        """ln of the sum of masses times exp(slope * offset), for each slope."""
        exponents = np.outer(slopes, np.arange(len(self.masses)))
        highest = exponents.max(axis=1)
        return np.asarray(
            highest + np.log(np.maximum(np.exp(exponents - highest[:, None]) @ self.masses, 1e-300))
        )

    def log_spectrum(self, size: int) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
        spectrum = np.fft.rfft(self.masses, size)
        return np.log(np.where(spectrum == 0, 1e-300, spectrum))


@dataclass(frozen=True, slots=True, eq=False)
class Shelf:
    """Many lattice laws end to end, so that one array operation serves all of them."""

    step: float
    losses: Array
    masses: Array
    heads: np.ndarray[tuple[int], np.dtype[np.int64]]
    starts: tuple[int, ...]
    reach: float
    infinite: float

    @classmethod
    def of(cls, laws: Sequence[LossLattice], step: float) -> Shelf:
        sizes = np.array([len(law.masses) for law in laws])
        heads = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        starts = tuple(law.start for law in laws)
        offsets = np.arange(sizes.sum()) - np.repeat(heads - np.array(starts), sizes)
        losses = offsets * step
        masses = np.concatenate([law.masses for law in laws])
        infinite = math.fsum(law.infinite for law in laws)
        return cls(step, losses, masses, heads, starts, float(np.abs(losses).max()), infinite)

    def log_mgf(self, theta: float) -> float:
        return math.fsum(self._log_scales(theta))

    def variance(self) -> float:
        mean = np.add.reduceat(self.masses * self.losses, self.heads)
        square = np.add.reduceat(self.masses * self.losses**2, self.heads)
        return float(np.maximum(square - mean**2, 0).sum())

    def largest(self) -> float:
        """The largest loss that all of them together can have."""
        return float(self.losses[np.append(self.heads[1:], 0) - 1].sum())

    def tilted(self, theta: float) -> list[Tilted]:
        scales = self._log_scales(theta)
        sizes = np.diff(np.append(self.heads, len(self.masses)))
        masses = self.masses * np.exp(theta * self.losses - np.repeat(scales, sizes))
        # Of the masses, the exponents and exp.
        error = (64 + 2 * self.reach + 8 * theta * self.reach) * UNIT_ROUNDOFF
        cuts = np.split(masses, self.heads[1:])
        return [Tilted(*one, error) for one in zip(self.starts, cuts, map(float, scales), strict=True)]

    def _log_scales(self, theta: float) -> Array:
        return np.asarray(np.log(np.add.reduceat(self.masses * np.exp(theta * self.losses), self.heads)))


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """The tilted law of the sum inside a window, and what is known of its errors."""

    first: int
    masses: Array
    log_scale: float
    relative: float  # error of each mass, relatively
    absolute: float  # error of the masses together, as the root of the sum of squares
    outside: float  # mass that the window may have lost above, or gained by wrapping


def merged(laws: Sequence[Tilted]) -> list[Tilted]:
    """Short laws convolved two by two, shortest first, until all but one are long."""
    done = [law for law in laws if len(law.masses) >= LONG]
    short = [law for law in laws if len(law.masses) < LONG]
    while len(short) > 1:
        short.sort(key=lambda law: len(law.masses))
        pairs = [_convolved(a, b) for a, b in zip(short[::2], short[1::2], strict=False)]
        pairs += short[len(short) - len(short) % 2 :]
        done += [law for law in pairs if len(law.masses) >= LONG]
        short = [law for law in pairs if len(law.masses) < LONG]
    return done + short


def _convolved(a: Tilted, b: Tilted) -> Tilted:
    masses = np.convolve(a.masses, b.masses)
    error = a.error + b.error + (min(len(a.masses), len(b.masses)) + 4) * UNIT_ROUNDOFF
    return Tilted(a.start + b.start, masses, a.log_scale + b.log_scale, error)


def composed(parts: Sequence[tuple[Tilted, int]]) -> Total:
    """The law of the sum of all parts, each as often as it is there.

    Claim:    for weights w from 0 to 1 the true sum is at most the computed one + absolute |w| + outside and
              at least the computed one - absolute |w| - 2 outside, up to a factor of exp(relative).
    Assumes:  numpy's transform keeps the accuracy stated at the top of this file.
    Source:   Koskela, Jälkö, Honkela 2020 (Fourier accountant); the bounds are proved on the page.
    Theorem: PLD-ROUND-OFF.
    """
    start, factors = fold(lambda part: part.start, parts), fold(lambda part: 1, parts)
    log_scale = fold(lambda part: part.log_scale, parts)
    size_of_scales = fold(lambda part: abs(part.log_scale), parts)
    relative = (
        1.01 * fold(lambda part: part.error, parts) + (len(parts) + 32) * UNIT_ROUNDOFF * size_of_scales
    )
    if factors == 1:
        return Total(start, parts[0][0].masses, log_scale, relative, 0.0, _UNDERFLOW)
    low, high, last = _window(parts)
    size = 1 << max(high - low, *(len(part.masses) - 1 for part, _ in parts)).bit_length()
    low, outside = (low, _CHARGED) if last >= size else (0, _UNDERFLOW)
    spectrum = np.exp(fold(lambda part: part.log_spectrum(size), parts))
    masses = np.maximum(np.roll(np.fft.irfft(spectrum, size), -(low % size)), 0.0)
    level = 16 * size.bit_length() * UNIT_ROUNDOFF
    logarithms = (32 + 4 * len(parts)) * UNIT_ROUNDOFF
    absolute = math.expm1(min(700.0, factors * (level + logarithms))) + 2 * level
    return Total(start + low, masses, log_scale, relative, absolute, outside)


def _window(parts: Sequence[tuple[Tilted, int]]) -> tuple[int, int, int]:
    """Offsets of the least and the greatest loss that matter, and of the last: exp(-42) is beyond at most."""
    last = fold(lambda part: len(part.masses) - 1, parts)
    spread = math.sqrt(max(1.0, fold(lambda part: part.variance, parts)))
    slopes: Array = math.sqrt(2 * _OUTSIDE) / spread * _SLOPES
    high = np.min((fold(lambda part: part.log_mgf(slopes), parts) + _OUTSIDE) / slopes)
    low = -np.min((fold(lambda part: part.log_mgf(-slopes), parts) + _OUTSIDE) / slopes)
    return max(0, math.floor(low)), min(last, math.ceil(high)), last
