"""Intervals for means: what the rows, the noise of the sum and that of the count may do together.

A mean theta is the ratio of two expectations, of f and of g.  At the true theta the sum of f - theta g has
the expectation 0, so |a_f - theta a_g| is at most the width of that sum, which depends on theta: through the
noise, the variance and the range.  First it is taken at the worst theta of all; what is left is an
interval, and the worst theta in it gives a smaller one, and so on.  Each step keeps the true theta.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adyton.columns import Floats
from adyton.exact.outward import FEW
from adyton.validity.subset.tails import Places

Ends = tuple[Floats, Floats]
Widths = Callable[[Floats, Floats, Places], Ends]
"""From the ends of intervals of theta, of some of the ratios: how far a_f - theta a_g may be above and below
0 for theta in them."""

_STEPS = 5
_ENOUGH = 0.01  # a step that shortens an interval by less is the last one


def ratio_ends(top: Floats, bottom: Floats, low: Floats, high: Floats, widths: Widths) -> Ends:
    """The ends of an interval with every theta in ``low..high`` at which a_f - theta a_g is within its width.

    Claim:    if for the true theta, with the probability that is claimed, top - theta bottom lies between
              -below and above for the widths at theta, the interval contains theta with that probability.
    Assumes:  theta is in low..high; widths grow with the interval that they are given.
    Source:   derived here, after Fieller 1954.  Theorem: SUBSET-MEANS.
    """
    first, last, places = low.copy(), high.copy(), np.arange(len(top))
    for _ in range(_STEPS):
        begin, end = first[places], last[places]
        nearer = _solved(top[places], bottom[places], *widths(begin, end, places))
        left, right = np.maximum(nearer[0], begin), np.minimum(nearer[1], end)
        empty = left > right  # a width did not hold: say nothing
        first[places] = np.where(empty, low[places], left)
        last[places] = np.where(empty, high[places], right)
        shorter = (right - left) < (1 - _ENOUGH) * (end - begin)
        places = places[shorter & ~empty]
        if not len(places):
            break
    return first, last


def _solved(top: Floats, bottom: Floats, above: Floats, below: Floats) -> Ends:
    """All theta with -below <= top - theta bottom <= above, rounded outwards; all where bottom is 0."""
    slack = FEW * np.abs(top)
    least, most = top - above - slack, top + below + slack
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = least / bottom, most / bottom
    low, high = np.minimum(one, other), np.maximum(one, other)
    none = bottom == 0
    if none.any():
        low[none], high[none] = -np.inf, np.inf
    return low - FEW * np.abs(low), high + FEW * np.abs(high)
