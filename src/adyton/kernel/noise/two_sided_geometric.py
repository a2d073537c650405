"""The two-sided geometric law, also called discrete Laplace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise import finer, refine
from adyton.kernel.noise.refine import Bits, Integers, check_scale

LARGEST_SCALE = 2.0**50  # 63 bits then hold 8192 times the scale


def draw(scale: float, count: int, bits: Bits) -> Integers:
    """``count`` independent draws with P(Z = z) proportional to exp(-|z| / scale).

    Claim:    P(Z = z) = (1 - q) / (1 + q) * q**|z| with q = exp(-1 / scale), exactly, for the scale that the
              float denotes; no draw is rejected; how many bits are read depends on the noise alone.
    Assumes:  the words of ``bits`` are independent and uniform; numpy's log errs by at most 2**-47 of the
              logarithm (measured: less than 2**-52); mpmath's exp and log are right (see ``refine``).
    Source:   the law: Ghosh, Roughgarden, Sundararajan 2009; inversion: Devroye 1986, chapter II.2.
    Theorem: TWO-SIDED-GEOMETRIC-SAMPLER.
    """
    check_scale(scale, "a noise scale", LARGEST_SCALE)
    return refine.draw(_TwoSidedGeometric(float(scale)), count, bits)


def coverage_radius(scale: float, confidence: float) -> int:
    """The least integer w with P(|Z| <= w) >= confidence, exactly.  Theorem: TWO-SIDED-GEOMETRIC-SAMPLER."""
    check_scale(scale, "a noise scale")
    return refine.coverage_radius(_TwoSidedGeometric(float(scale)), confidence)


_EXPONENTIAL = finer.Taylor(finer.exponential, 45)


@dataclass(frozen=True, slots=True)
class _TwoSidedGeometric:
    scale: float
    shift: ClassVar[float] = 0.0

    def level(self, p: Floats) -> Floats:
        logarithm = np.log(p)
        logarithm += math.log1p(math.exp(-1 / self.scale))
        return np.negative(logarithm, out=logarithm)

    def finer_level(self, p: finer.Pair, mp: Any) -> tuple[finer.Pair, Floats]:
        x = -np.log(p[0])
        step = _EXPONENTIAL.less(x, p, mp) / p[0]
        mp.prec = 200
        less = mp.log1p(mp.exp(-1 / mp.mpf(self.scale)))
        high, low = finer.less_number(x, float(less), float(less - float(less)))
        return (high, low + (step - step * step / 2)), step

    def level_in(self, mp: Any, p: Any) -> Any:
        return -mp.log(p) - mp.log1p(mp.exp(-1 / mp.mpf(self.scale)))

    def tail_in(self, mp: Any, m: int) -> Any:
        unit = mp.mpf(self.scale)
        return mp.exp(-m / unit) / (1 + mp.exp(-1 / unit))
