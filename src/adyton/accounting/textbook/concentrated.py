"""Composition of costs whose view simply adds up: rho of zCDP and mu**2 of GDP.

The same sums as in the filters, for costs that need no ledger.  Here too the number of releases occurs only
in ``fold``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from adyton.accounting.pld.slots import fold
from adyton.accounting.textbook.composition import checked, checked_delta
from adyton.arithmetic.interval import interval, sqrt, upper
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import gaussian, zcdp
from adyton.kernel.exact import float_down, float_up
from adyton.kernel.privacy import Cost

Costs = Sequence[tuple[Cost, int]]


def zcdp_epsilon(costs: Costs, delta: Fraction) -> float:
    """The epsilon at ``delta`` of all costs together, through the sum of their rho; rounded up.

    Theorem: ZCDP-FILTER.  Theorem: ZCDP-TO-APPROX.
    """
    rho = fold(_rho, checked(costs))
    return zcdp.epsilon_up(float_up(rho), float_down(checked_delta(delta)))


def gdp_epsilon(costs: Costs, delta: Fraction) -> float:
    """The epsilon at ``delta`` of all costs together, through the sum of their mu**2; rounded up.

    Theorem: GDP-FILTER.  Theorem: GDP-TO-APPROX.
    """
    mu = float_up(upper(sqrt(interval(fold(_mu_squared, checked(costs))))))
    return gaussian.epsilon_up(mu, float_down(checked_delta(delta)))


def _rho(cost: Cost) -> Fraction:
    if cost.zcdp is None:
        raise InvalidRequest("one of these mechanisms has no proved rho")
    return cost.zcdp


def _mu_squared(cost: Cost) -> Fraction:
    if cost.gdp is None:
        raise InvalidRequest("one of these mechanisms has no proved mu")
    return cost.gdp
