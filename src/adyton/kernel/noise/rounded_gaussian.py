"""A true normal variable, rounded to the nearest integer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.special import special
from adyton.kernel.noise import finer, refine
from adyton.kernel.noise.refine import Bits, Integers, check_scale

LARGEST_SIGMA = 2.0**56  # 63 bits then hold 128 standard deviations
_FARTHEST = 2**40  # nobody reads the 2**80 zero bits that a smaller tail would need


def draw(sigma: float, count: int, bits: Bits) -> Integers:
    """``count`` independent draws of round(sigma * N), where N is a standard normal real number.

    Claim:    P(Z = z) = Phi((z + 1/2) / sigma) - Phi((z - 1/2) / sigma), exactly, for the sigma that the
              float denotes; no draw is rejected; how many bits are read depends on the noise alone.
    Assumes:  the words of ``bits`` are independent and uniform; scipy's ndtri errs by at most 2**-47 of the
              normal quantile (measured: less than 2**-49); mpmath's erfc is right (see ``refine``).
    Source:   inversion: Devroye 1986, chapter II.2; the proof is on the theorem's page.
    Theorem: ROUNDED-GAUSSIAN-SAMPLER.
    """
    check_scale(sigma, "a standard deviation", LARGEST_SIGMA)
    return refine.draw(_RoundedGaussian(float(sigma)), count, bits)


def coverage_radius(sigma: float, confidence: float) -> int:
    """The least integer w with P(|Z| <= w) >= confidence, exactly.  Theorem: ROUNDED-GAUSSIAN-SAMPLER."""
    check_scale(sigma, "a standard deviation")
    return refine.coverage_radius(_RoundedGaussian(float(sigma)), confidence)


_TAIL = finer.Taylor(finer.normal_tail, 10)


@dataclass(frozen=True, slots=True)
class _RoundedGaussian:
    scale: float
    shift: ClassVar[float] = 0.5

    def level(self, p: Floats) -> Floats:
        quantile: Floats = special().ndtri(p)
        return np.negative(quantile, out=quantile)

    def finer_level(self, p: finer.Pair, mp: Any) -> tuple[finer.Pair, Floats]:
        x = self.level(p[0])
        density = np.exp(x * x / -2) / math.sqrt(2 * math.pi)
        step = _TAIL.less(x, p, mp) / density
        return (x, step + x * step * step / 2), step

    def level_in(self, mp: Any, p: Any) -> Any:
        """Newton's method on ln tail, which is concave: begun above the root it descends to it."""
        x = mp.sqrt(-2 * mp.log(p))
        while True:
            tail = mp.erfc(x / mp.sqrt(2)) / 2
            step = tail * mp.log(tail / p) / mp.npdf(x)
            x += step
            if abs(step) < mp.ldexp(1, -mp.prec // 2):
                return x

    def tail_in(self, mp: Any, m: int) -> Any:
        x = (2 * m - 1) / (mp.mpf(self.scale) * mp.sqrt(8))
        return mp.erfc(min(x, _FARTHEST)) / 2
