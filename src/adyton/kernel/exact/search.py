"""The one search that the kernel needs.  Only places that were looked at are returned."""

from __future__ import annotations

from collections.abc import Callable


def largest_real(fits: Callable[[float], bool], close: float) -> float:
    """A number above 0 that fits, so ``close``, relatively, to one that does not, if smaller ones fit too."""
    low = high = 1.0
    while not fits(low):
        low, high = low / 2, low
    while fits(high):
        low, high = high, high * 2
    while high - low > close * low:
        between = (low + high) / 2
        low, high = (between, high) if fits(between) else (low, between)
    return low
