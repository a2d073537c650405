"""Epsilons, deltas, prices and what is allowed: every certified computation of ``adyton.accounting``."""

# ruff: noqa: C408  (arguments are named as in a call)

from __future__ import annotations

import math
from fractions import Fraction

from adyton.accounting.odometer import ZcdpOdometer
from adyton.accounting.pld import pld
from adyton.accounting.pld.pairs import DominatingPair, GaussianPair, LaplacePair, RandomizedResponsePair
from adyton.accounting.textbook import groups, renyi
from adyton.accounting.textbook.calibration import analytic_sigma, classical_sigma, true_delta
from adyton.accounting.textbook.comparison import THEOREMS, largest_price
from adyton.accounting.textbook.composition import advanced, basic, same, slack, strong
from adyton.accounting.textbook.concentrated import gdp_epsilon, zcdp_epsilon
from adyton.accounting.textbook.conversions import (
    divergence_up,
    epsilon_for_total_variation,
    total_variation_up,
)
from adyton.accounting.textbook.corollaries import cautious_epsilon0
from adyton.accounting.textbook.divergence import max_divergence
from adyton.accounting.textbook.optimal import optimal, optimal_delta
from adyton.accounting.textbook.trade_off import ApproximateView, GaussianView, LaplaceView
from adyton.kernel.accounting import gaussian, zcdp
from adyton.kernel.accounting.rules import accounting_named
from adyton.kernel.exact import units_up
from adyton.kernel.privacy import GaussianCost, Guarantee, PureCost
from certified import Certified, never_larger, never_smaller
from literature.approximate_filter import ApproximateFilter
from literature.finite_pair import FinitePair
from literature.pld_from_below import delta_down, epsilon_down
from literature.slot_plan import SlotPlan
from literature.total_variation import (
    total_variation_gdp_up,
    total_variation_of_any_two,
    total_variation_together_up,
)

MILLIONTH, BILLIONTH = "1/1000000", "1/1000000000"


def _mixed(first: Fraction, second: Fraction, times: int) -> list[tuple[Guarantee, int]]:
    return [(Guarantee(first, Fraction(0)), times), (Guarantee(second, Fraction(0)), times)]


def _three_pairs(times: int) -> list[tuple[DominatingPair, int]]:
    pairs = (
        LaplacePair(Fraction(1, 10)),
        GaussianPair(Fraction(1, 5)),
        RandomizedResponsePair("0.05"),
    )
    return [(pair, times) for pair in pairs]


def _uneven(times: int) -> list[tuple[DominatingPair, int]]:
    return [(FinitePair(("0.5", "0.3", "0.2"), ("0.45", "0.3", "0.25")), times)]


CONVERSIONS = (
    never_smaller(
        "gdp: epsilon",
        gaussian.epsilon_up,
        dict(mu=0.1, delta=1e-6),
        dict(mu=1.0, delta=1e-9),
        dict(mu=5.0, delta=1e-12),
    ),
    never_smaller(
        "gdp: delta",
        gaussian.delta_up,
        dict(mu=0.1, epsilon=0.3),
        dict(mu=1.0, epsilon=4.0),
        dict(mu=5.0, epsilon=0.0),
    ),
    never_larger(
        "gdp: mu allowed",
        gaussian.mu_down,
        dict(epsilon=0.1, delta=1e-6),
        dict(epsilon=1.0, delta=1e-9),
        dict(epsilon=20.0, delta=1e-5),
    ),
    never_smaller(
        "zcdp: epsilon",
        zcdp.epsilon_up,
        dict(rho=0.001, delta=1e-6),
        dict(rho=0.5, delta=1e-9),
        dict(rho=8.0, delta=1e-12),
    ),
    never_smaller("zcdp: epsilon of one order", zcdp.epsilon_at, dict(t=3.0, rho=0.5, delta=1e-6)),
    never_larger(
        "zcdp: rho allowed",
        zcdp.rho_down,
        dict(epsilon=0.1, delta=1e-6),
        dict(epsilon=1.0, delta=1e-9),
        dict(epsilon=20.0, delta=1e-5),
    ),
    never_smaller(
        "pure cost: rho",
        lambda epsilon: PureCost(epsilon).zcdp,
        *(dict(epsilon=e) for e in ("1/100000", "1/10", "3", "40")),
    ),
    never_smaller(
        "pure cost: mu squared",
        lambda epsilon: PureCost(epsilon).gdp,
        *(dict(epsilon=e) for e in ("1/100000", "1/10", "3", "40", "900")),
    ),
    never_smaller(
        "total variation of a guarantee",
        lambda epsilon, delta: total_variation_up(Guarantee(epsilon, delta)),
        dict(epsilon="1/2", delta="0"),
        dict(epsilon="3", delta="1/1000"),
    ),
    never_larger(
        "epsilon for a total variation",
        epsilon_for_total_variation,
        dict(distance="1/100"),
        dict(distance="1/2"),
    ),
    never_smaller("total variation of mu", total_variation_gdp_up, dict(mu="1/10"), dict(mu="2")),
    never_smaller(
        "total variation of many",
        lambda each, times: total_variation_together_up([(each, times)]),
        dict(each="1/100", times=20),
    ),
    never_smaller(
        "total variation of any two", total_variation_of_any_two, dict(distance="1/1000", rows=100)
    ),
    never_smaller("divergence of epsilon", divergence_up, dict(epsilon="1/10"), dict(epsilon="3")),
    never_smaller(
        "max divergence",
        max_divergence,
        dict(first=["1/2", "1/2"], second=["1/3", "2/3"]),
        dict(first=["1/2", "1/2"], second=["1/5", "4/5"], delta="1/10"),
    ),
)

COMPOSITION = (
    never_smaller(
        "basic composition",
        lambda epsilon, times, delta: basic(same(epsilon, times), delta),
        dict(epsilon="0.1", times=3, delta=MILLIONTH),
        dict(epsilon="1/7", times=1000, delta=MILLIONTH),
    ),
    never_smaller(
        "advanced composition",
        lambda epsilon, times, delta: advanced(same(epsilon, times), delta),
        dict(epsilon="0.01", times=1000, delta=MILLIONTH),
        dict(epsilon="1/7", times=100, delta=BILLIONTH),
    ),
    never_smaller(
        "strong composition",
        lambda epsilon, times, delta: strong(same(epsilon, times), delta),
        dict(epsilon="0.01", times=1000, delta=MILLIONTH),
        dict(epsilon="1/7", times=100, delta=BILLIONTH),
    ),
    never_larger(
        "what is left of delta",
        lambda each, times, delta: slack(same("0.1", times, each), delta),
        dict(each=BILLIONTH, times=10, delta=MILLIONTH),
    ),
    never_smaller(
        "optimal composition",
        lambda epsilon, times, delta: optimal(same(epsilon, times), delta),
        dict(epsilon="0.01", times=1000, delta=MILLIONTH),
        dict(epsilon="1/7", times=100, delta=BILLIONTH),
        dict(epsilon="2", times=5, delta="1/100"),
    ),
    never_smaller(
        "optimal composition of two prices",
        lambda first, second, times, delta: optimal(_mixed(first, second, times), delta),
        dict(first="0.1", second="0.2", times=20, delta=MILLIONTH),
        dict(first="0.01", second="0.013", times=400, delta=MILLIONTH),
    ),
    never_smaller(
        "optimal composition: delta",
        lambda epsilon, times, at: optimal_delta(same(epsilon, times), at),
        dict(epsilon="0.1", times=100, at=2.0),
        dict(epsilon="1", times=5, at=3.0),
    ),
    never_smaller(
        "composition by zcdp",
        lambda epsilon, times, delta: zcdp_epsilon([(PureCost(epsilon), times)], delta),
        dict(epsilon="0.01", times=1000, delta=MILLIONTH),
        dict(epsilon="1", times=10, delta=BILLIONTH),
    ),
    never_smaller(
        "composition by gdp",
        lambda mu_squared, times, delta: gdp_epsilon([(GaussianCost(mu_squared), times)], delta),
        dict(mu_squared="1/10000", times=1000, delta=MILLIONTH),
        dict(mu_squared="1", times=10, delta=BILLIONTH),
    ),
    never_smaller(
        "renyi, Laplace",
        lambda epsilon, times, delta: renyi.epsilon_up([(renyi.LaplaceCurve(epsilon), times)], delta),
        dict(epsilon="0.01", times=1000, delta=MILLIONTH),
        dict(epsilon="1", times=10, delta=BILLIONTH),
    ),
    never_smaller(
        "renyi, pure",
        lambda epsilon, times, delta: renyi.epsilon_up([(renyi.PureCurve(epsilon), times)], delta),
        dict(epsilon="0.01", times=1000, delta=MILLIONTH),
        dict(epsilon="1", times=10, delta=BILLIONTH),
    ),
    never_smaller(
        "renyi, Gaussian",
        lambda mu_squared, times, delta: renyi.epsilon_up([(renyi.GaussianCurve(mu_squared), times)], delta),
        dict(mu_squared="1/10000", times=1000, delta=MILLIONTH),
        dict(mu_squared="1", times=10, delta=BILLIONTH),
    ),
    never_smaller(
        "renyi: one order",
        lambda epsilon, alpha: renyi.renyi_total([(renyi.LaplaceCurve(epsilon), 7)], alpha),
        dict(epsilon="0.3", alpha="5/2"),
    ),
    never_larger("cautious corollary", cautious_epsilon0, dict(target="1", times=10000, delta=MILLIONTH)),
    never_larger(
        "largest price of one of many",
        lambda theorem, target, times, delta: largest_price(THEOREMS[theorem], target, times, delta),
        *(
            dict(theorem=theorem, target="1", times=100, delta=MILLIONTH)
            for theorem in ("basic", "advanced", "strong", "optimal", "zcdp", "rdp_laplace", "gdp", "rdp")
        ),
    ),
    never_smaller(
        "slots, one kind: epsilon",
        lambda epsilon, times, delta: pld.epsilon_up([(LaplacePair(epsilon), times)], delta),
        dict(epsilon="0.1", times=100, delta=1e-6),
        dict(epsilon="1", times=3, delta=1e-9),
    ),
    never_larger(
        "slots, one kind: at least",
        lambda epsilon, times, delta: epsilon_down([(LaplacePair(epsilon), times)], delta),
        dict(epsilon="0.1", times=100, delta=1e-6),
    ),
    never_smaller(
        "slots, Gaussian: epsilon",
        lambda mu, times, delta: pld.epsilon_up([(GaussianPair(mu), times)], delta),
        dict(mu="0.1", times=100, delta=1e-6),
    ),
    never_smaller(
        "slots, uneven: epsilon",
        lambda times, delta: pld.epsilon_up(_uneven(times), delta),
        dict(times=50, delta=1e-6),
    ),
    never_smaller(
        "slots, three kinds: epsilon",
        lambda times, delta: SlotPlan(_three_pairs(times)).epsilon(delta),
        dict(times=10, delta=1e-6),
    ),
    never_smaller(
        "slots, three kinds: delta",
        lambda times, epsilon: SlotPlan(_three_pairs(times)).delta(epsilon),
        dict(times=10, epsilon=2.0),
    ),
    never_larger(
        "slots, three kinds: delta at least",
        lambda times, epsilon: delta_down(_three_pairs(times), epsilon),
        dict(times=10, epsilon=2.0),
    ),
)

CALIBRATION = (
    never_smaller(
        "classical sigma",
        lambda sensitivity, epsilon, delta: classical_sigma(sensitivity, Guarantee(epsilon, delta)),
        dict(sensitivity="1", epsilon="1/2", delta=MILLIONTH),
        dict(sensitivity="3/7", epsilon="1/10", delta=BILLIONTH),
    ),
    never_smaller(
        "analytic sigma",
        lambda sensitivity, epsilon, delta: analytic_sigma(sensitivity, Guarantee(epsilon, delta)),
        dict(sensitivity="1", epsilon="1/2", delta=MILLIONTH),
        dict(sensitivity="3/7", epsilon="5", delta=BILLIONTH),
    ),
    never_smaller(
        "delta of a sigma",
        true_delta,
        dict(sensitivity="1", sigma=4.0, epsilon="1"),
        dict(sensitivity="1", sigma=0.5, epsilon="8"),
    ),
)


def _allowed(kind: str, epsilon: Fraction, delta: Fraction) -> int:
    return accounting_named(kind).allowed(Guarantee(epsilon, delta))


ACCOUNTING_NAMES = (
    never_larger(
        "filter: allowed",
        _allowed,
        *(
            dict(kind=name, epsilon=e, delta=d)
            for name in ("gdp", "zcdp")
            for e, d in (("1", MILLIONTH), ("1/10", BILLIONTH), ("8", "1/100000"))
        ),
    ),
    never_larger(
        "filter: allowed, pure", lambda epsilon: _allowed("pure", epsilon, Fraction(0)), dict(epsilon="1/3")
    ),
    never_smaller(
        "filter: price of a pure release",
        lambda kind, epsilon: accounting_named(kind).amount(PureCost(epsilon)),
        *(dict(kind=name, epsilon=e) for name in ("gdp", "zcdp", "pure") for e in ("1/3", "1/1000")),
    ),
    never_smaller(
        "filter: price of a Gaussian release",
        lambda kind, mu_squared: accounting_named(kind).amount(GaussianCost(mu_squared)),
        *(dict(kind=name, mu_squared="1/7") for name in ("gdp", "zcdp")),
    ),
    never_smaller(
        "filter: epsilon of what is spent",
        lambda kind, spent, delta: accounting_named(kind).epsilon(units_up(spent), delta),
        *(
            dict(kind=name, spent=s, delta=MILLIONTH)
            for name in ("gdp", "zcdp", "pure")
            for s in ("1/100", "2")
        ),
    ),
    never_larger(
        "approximate filter: squares allowed",
        lambda epsilon, delta, set_aside: (
            ApproximateFilter(Guarantee(epsilon, delta), set_aside).allowed().squares
        ),
        dict(epsilon="1", delta=MILLIONTH, set_aside="0"),
        dict(epsilon="1/10", delta=MILLIONTH, set_aside=BILLIONTH),
    ),
    never_larger(
        "approximate filter: deltas allowed",
        lambda epsilon, delta, set_aside: (
            ApproximateFilter(Guarantee(epsilon, delta), set_aside).allowed().deltas
        ),
        dict(epsilon="1/10", delta=MILLIONTH, set_aside="1/3000000"),
    ),
    never_smaller(
        "odometer",
        lambda rho, delta, octaves, spent: ZcdpOdometer.up_to(rho, delta, octaves).epsilon(units_up(spent)),
        dict(rho="1", delta=MILLIONTH, octaves=0, spent="1"),
        dict(rho="1", delta=MILLIONTH, octaves=3, spent="1/10"),
        dict(rho="1/100", delta=BILLIONTH, octaves=1, spent="1/200"),
    ),
    never_smaller(
        "group: epsilon",
        lambda epsilon, delta, members: groups.group_guarantee(Guarantee(epsilon, delta), members).epsilon,
        dict(epsilon="1/3", delta=MILLIONTH, members=4),
    ),
    never_smaller(
        "group: delta",
        lambda epsilon, delta, members: groups.group_guarantee(Guarantee(epsilon, delta), members).delta,
        dict(epsilon="1/3", delta=MILLIONTH, members=4),
    ),
    never_smaller("group: rho", groups.group_rho, dict(rho="1/3", members=4)),
    never_smaller("group: mu squared", groups.group_mu_squared, dict(mu_squared="1/3", members=4)),
)

TESTS = (
    never_smaller(
        "true positives, (epsilon, delta)",
        lambda epsilon, delta, false: ApproximateView(Guarantee(epsilon, delta)).true_positives_up(false),
        dict(epsilon="1", delta="1/1000", false="1/20"),
    ),
    never_smaller(
        "true positives, Gaussian",
        lambda mu, false: GaussianView(mu).true_positives_up(false),
        dict(mu=1.0, false="1/20"),
    ),
    never_smaller(
        "true positives, Laplace",
        lambda epsilon, false: LaplaceView(epsilon).true_positives_up(false),
        dict(epsilon="1", false="1/20"),
    ),
    never_smaller(
        "delta of Laplace noise",
        lambda epsilon, at: LaplaceView(epsilon).delta_up(at),
        dict(epsilon="1", at=math.log(2)),
    ),
)

COMPUTATIONS: tuple[Certified, ...] = CONVERSIONS + COMPOSITION + CALIBRATION + ACCOUNTING_NAMES + TESTS
