"""Roots, logarithms and powers of e, rounded to a number of decimals: whole numbers that are surely right."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, Literal

from adyton.errors import InvalidRequest
from adyton.kernel.exact.outward import digits

Curve = Literal["sqrt", "ln", "log10", "exp"]

_DIGITS = 90
_LARGEST_EXPONENT = 45  # beyond it e to the x has more than 2**61 steps of any step


@lru_cache(maxsize=32)
def curve_steps(curve: Curve, step: Fraction, low: int, high: int, decimals: int) -> tuple[int, ...]:
    """``curve`` of each multiple of ``step`` from ``low`` to ``high``, in steps of ten to the -``decimals``,
    rounded to the nearest, half away from zero.

    Only a root can lie half way between two steps, and is rounded by whole numbers; of the others the nearest
    is taken only where it is known by a margin far above what 90 digits can err.
    """
    if curve == "sqrt" and low < 0:
        raise InvalidRequest("SQRT needs a number that cannot be negative: write SQRT(GREATEST(x, 0))")
    if curve in ("ln", "log10") and low <= 0:
        raise InvalidRequest(
            f"{curve.upper()} needs a number that is always above 0: add to it, as in {curve.upper()}(x + 1)"
        )
    if curve == "exp" and high * step > _LARGEST_EXPONENT:
        raise InvalidRequest(f"EXP needs a number that is never above {_LARGEST_EXPONENT}")
    if curve == "sqrt":
        return tuple(_root(multiple * step * 100**decimals) for multiple in range(low, high + 1))
    return tuple(_nearest(curve, multiple * step, decimals) for multiple in range(low, high + 1))


def _root(value: Fraction) -> int:
    return (isqrt(4 * value.numerator // value.denominator) + 1) // 2


def _nearest(curve: Curve, at: Fraction, decimals: int) -> int:
    mp = digits(_DIGITS)
    functions: dict[str, Callable[[Any], Any]] = {"ln": mp.log, "log10": mp.log10, "exp": mp.exp}
    found = functions[curve](mp.mpf(at.numerator) / at.denominator) * 10**decimals
    size = abs(found)
    below = int(mp.floor(size))
    rest = size - below - mp.mpf(1) / 2
    if abs(rest) < mp.mpf(10) ** -30:
        raise InvalidRequest(f"{curve.upper()} is too close to half of a step to be rounded")
    steps = below + (rest > 0)
    return int(steps if found > 0 else -steps)
