"""Thresholds of p-values after Gaussian answers, by the best route of a study, where nothing else is counted."""

from __future__ import annotations

from fractions import Fraction

from adyton.validity.last_look.best import routes_after
from adyton.validity.last_look.told import ReleasedTotals


def paid_threshold(alpha: Fraction, units: int, spent: Fraction, pure: Fraction = Fraction(0)) -> float:
    """If ``spent`` squared radii and ``pure`` epsilons were released, which no route counts by what was seen."""
    routes = routes_after(ReleasedTotals(spent, pure, numbers=None), units, gaussian=True)
    return max(route.threshold(alpha) for route in routes)


def worth(p_value: Fraction, units: int, spent: Fraction, pure: Fraction = Fraction(0)) -> float:
    """The least level at which such a p-value would be significant."""
    routes = routes_after(ReleasedTotals(spent, pure, numbers=None), units, gaussian=True)
    return min(route.worth(p_value) for route in routes)
