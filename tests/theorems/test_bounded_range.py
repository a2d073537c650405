"""What bounded range costs: zCDP and GDP against exact laws, and the worst pair at 50 digits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath as mp
import pytest
from scipy.special import ndtri_exp
from selection_oracle import APPROVALS, approvals, exponential, neighboring

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import ADJACENCIES, Adjacency, BoundedRangeCost, PureCost
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from support.tries import crossed

ONE = Fraction(1)
EPSILONS = [Fraction(text) for text in ("1/1000", "1/5", "1", "3", "9", "40")]
ORDERS = [mp.mpf(text) for text in ("1.0001", "2", "9", "100")]
Law = Sequence[Any]


@cache
def quantile(logit: Any) -> Any:
    """F: the standard normal quantile of 1 / (1 + exp(-logit)), from the side that keeps its digits.

    Always at 50 digits.  The first guess has fifteen of them: Newton's method needs two steps, and one to see it.
    """
    assert mp.mp.dps == 50
    if logit > 0:
        return -quantile(-logit)
    chance = 1 / (1 + mp.exp(-logit))
    z = mp.mpf(float(ndtri_exp(float(mp.log(chance)))))
    for _ in range(10):
        step = (mp.ncdf(z) - chance) / mp.npdf(z)
        z -= step
        if abs(step) < mp.mpf(10) ** -45:
            return z
    raise AssertionError("Newton's method did not settle")


def fraction(value: Fraction) -> Any:
    return mp.mpf(value.numerator) / value.denominator


def divergence(p: Law, q: Law, order: Any) -> Any:
    return mp.log(mp.fsum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


def mu_of(p: Law, q: Law) -> Any:
    """The least mu whose curve lies below every corner of the trade-off of P against Q."""
    order = sorted(range(len(p)), key=lambda o: q[o] / p[o])
    corners = [[mp.fsum(law[o] for o in order[:cut]) for law in (p, q)] for cut in range(1, len(p))]
    return max(_normal(power) - _normal(error) for power, error in corners)


def _normal(chance: Any) -> Any:
    return quantile(mp.log(chance) - mp.log(1 - chance))


def pairs(adjacency: Adjacency, rate: Fraction) -> Iterator[tuple[Law, Law]]:
    """The laws on two neighbors, once for each pair of scores: relative to the last, since a common shift
    of all scores changes nothing.
    """
    scores = {
        tuple(tuple(score - own[-1] for score in own) for own in map(approvals, pair))
        for pair in neighboring(APPROVALS, 3, adjacency)
    }
    for one, other in sorted(scores):
        yield exponential(one, rate), exponential(other, rate)


@pytest.mark.parametrize(("adjacency", "epsilon"), crossed(ADJACENCIES, EPSILONS[1:4]))
def test_theorem_BOUNDED_RANGE_on_every_pair_of_small_tables(adjacency: Adjacency, epsilon: Fraction) -> None:
    selection = ExponentialMechanism((0, 1, 2), epsilon, ScoreSensitivity.of_counts(adjacency))
    cost, tiny = selection.cost(), mp.mpf(10) ** -30
    assert cost == BoundedRangeCost(epsilon)
    assert cost.pure == epsilon
    with mp.workdps(50):
        for p, q in pairs(adjacency, selection.rate):
            ratios = [mp.log(a / b) for a, b in zip(p, q, strict=True)]
            assert max(ratios) - min(ratios) <= fraction(epsilon) + tiny
            assert max(map(abs, ratios)) <= fraction(cost.pure) + tiny
            for order in ORDERS:
                assert divergence(p, q, order) <= order * fraction(cost.zcdp) + tiny
            assert mu_of(p, q) ** 2 <= fraction(cost.gdp) + tiny


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_theorem_BOUNDED_RANGE_the_price_in_gdp_is_attained_by_two(epsilon: Fraction) -> None:
    """One leads by a point before, the other after: nothing below the price would do, by a billionth."""
    selection = ExponentialMechanism(("a", "b"), epsilon, ScoreSensitivity.of_counts("replace-one"))
    with mp.workdps(50):
        worst = mu_of(exponential((1, 0), selection.rate), exponential((0, 1), selection.rate)) ** 2
        assert worst <= fraction(selection.cost().gdp) <= worst * (1 + mp.mpf("1e-9"))


@pytest.mark.parametrize("epsilon", EPSILONS[:3])
def test_theorem_BOUNDED_RANGE_a_tenth_less_in_zcdp_is_refuted(epsilon: Fraction) -> None:
    selection = ExponentialMechanism(("a", "b"), epsilon, ScoreSensitivity.of_counts("replace-one"))
    assert selection.cost().zcdp == epsilon**2 / 8
    with mp.workdps(50):
        p, q = exponential((1, 0), selection.rate), exponential((0, 1), selection.rate)
        assert divergence(p, q, ORDERS[0]) > fraction(epsilon**2 / 8) * mp.mpf("0.9")


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_theorem_BOUNDED_RANGE_no_pair_of_outputs_is_worse_than_symmetric(
    epsilon: Fraction,
) -> None:
    """All places of the interval of log-likelihood ratios; the claim is the sup over x of F(x+h) - F(x-h)."""
    with mp.workdps(50):
        mu, half = mp.sqrt(fraction(BoundedRangeCost(epsilon).gdp)), fraction(epsilon) / 2
        gaps = [quantile(x + half) - quantile(x - half) for x in (mp.mpf(k) / 8 for k in range(0, 200, 5))]
        assert gaps[0] <= mu <= gaps[0] * (1 + mp.mpf("1e-9"))
        assert all(later < earlier for earlier, later in itertools.pairwise(gaps))


def test_theorem_BOUNDED_RANGE_the_slope_falls_at_every_place() -> None:
    """phi / (1 - Phi) - phi / Phi - z > 0 for z > 0, certified on whole stretches: the first term rises and
    the second falls, so on [a, b] the left side is not below its value at a, less b - a.
    """
    with mp.workdps(50):
        a, end = mp.mpf(10) ** -6, mp.mpf(38)
        while a < end:
            b = a + min(a / 10, 1 / (4 * a))
            assert mp.npdf(a) / mp.ncdf(-a) - mp.npdf(a) / mp.ncdf(a) - b > mp.mpf(10) ** -40
            a = b


def test_theorem_BOUNDED_RANGE_is_never_dearer_than_pure() -> None:
    """Bounded range is never dearer than pure, and permute-and-flip does not have it."""
    for epsilon in (*EPSILONS, Fraction(900)):
        ranged, pure = BoundedRangeCost(epsilon), PureCost(epsilon)
        assert ranged.pure == pure.pure
        assert ranged.zcdp <= pure.zcdp
        assert ranged.gdp <= pure.gdp
    assert float(PureCost(EPSILONS[0]).gdp / BoundedRangeCost(EPSILONS[0]).gdp) == pytest.approx(4, rel=1e-6)
    flip = PermuteAndFlip((0, 1, 2), ONE, ScoreSensitivity.of_counts("replace-one"))
    p, q = flip.law((3, 3, 0)), flip.law((2, 4, 0))
    with mp.workdps(50):  # the claim above would be wrong for it
        assert mu_of([mp.mpf(x) for x in p], [mp.mpf(x) for x in q]) ** 2 > fraction(
            BoundedRangeCost(ONE).gdp
        )


def test_theorem_BOUNDED_RANGE_costs_are_positive() -> None:
    with pytest.raises(InvalidRequest):
        BoundedRangeCost(Fraction(0))
