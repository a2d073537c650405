"""Where a condition begins to hold.  Only points at which it was checked are returned."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

_STEPS = 200


class _Point(NamedTuple):
    x: float
    y: float


def least(holds: Callable[[float], bool], low: float, high: float, closeness: float = 1e-13) -> float:
    """The least x in low..high from which on ``holds`` is true, rounded up; ``high`` must be known to do."""
    if holds(low):
        return low
    for _ in range(_STEPS):
        if high - low <= closeness * high:
            break
        middle = math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def largest(value: Callable[[float], float], limit: float, start: float, slack: float = 1e-8) -> float:
    """The largest x, rounded down, with value(x) <= limit, where ``value`` grows with x.

    The value at the x that is returned was computed, is not above ``limit`` and, unless ``value`` jumps
    there, at most ``slack`` of the limit below it.  ``start`` is any guess above 0.
    """
    low, high = _bracket(value, limit, start)
    for step in range(_STEPS):
        if limit - low.y <= slack * limit or high.x <= low.x * (1 + 1e-15):
            break
        x = _guess(low, high, limit, step)
        point = _Point(x, value(x))
        low, high = (point, high) if point.y <= limit else (low, point)
    return low.x


def _bracket(value: Callable[[float], float], limit: float, x: float) -> tuple[_Point, _Point]:
    """Two points with the limit between their values; the strides grow, because the guess may be far off."""
    here = _Point(x, value(x))
    fits = here.y <= limit
    stride = 2.0 if fits else 0.5
    while True:
        there = _Point(here.x * stride, value(here.x * stride))
        if (there.y <= limit) != fits:
            return (here, there) if fits else (there, here)
        here, stride = there, stride**1.5


def _guess(low: _Point, high: _Point, limit: float, step: int) -> float:
    """In logarithms, where the functions of accounting are nearly straight: on the line through both points.

    Every other guess aims a little beyond the limit on the side that moves less, and every fourth is the
    middle, so that both ends move.
    """
    if step % 4 == 3 or low.y <= 0 or not math.isfinite(high.y):
        return math.sqrt(low.x * high.x)
    across = math.log(high.x / low.x)
    share = math.log(limit / low.y) / math.log(high.y / low.y)
    near = min(share, 1 - share)
    aim = share + (near if step % 2 else -near) * 1e-3 - 2e-9 / max(math.log(high.y / low.y), 1e-12)
    return low.x * math.exp(across * min(max(aim, 1e-6), 1 - 1e-6))
