"""The least noise for a price: it costs no more, and a shade less noise would cost more; and what no noise is made for."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import rules
from adyton.kernel.accounting.rules import accounting_named
from adyton.kernel.exact import float_up
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.privacy import BoundedRangeCost, Guarantee, PureCost
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.mechanisms import randomized_response as rr
from adyton.kernel.special.mechanisms.key_selection import LEAST_PROBABILITY, KeySelection
from adyton.kernel.special.mechanisms.marginals.adaptive import AdaptiveMarginals
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity, rate_of
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.kernel.special.mechanisms.sparse.sparse import MOST_POSITIVES, Sparse
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured, GeometricMeasured
from adyton.kernel.special.mechanisms.workloads.residuals import ResidualAttribute, Residuals
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy
from adyton.noise_intervals.proportions import noise_for_cost
from adyton.noise_intervals.sparse import comparison_error, numeric_sparse_for_cost, sparse_for_cost

F = Fraction
SHADE = 1 + F(1, 10**9)
PRICES = (F(1, 10**6), F(1, 3), F(1), F(25))
BOTH = ("add-remove", "replace-one")
ONE = Sensitivity(((0, 1),), 1, "add-remove")


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("price", PRICES)
def test_noise_for_a_price_costs_that_and_hardly_less(price: Fraction, adjacency: str) -> None:
    """Mutants: ``for_cost`` of each kind of noise with another distance, factor or rounding."""
    rng, strategy = random.Random(str(price)), Strategy("x", np.array([[1, 0, 2], [0, 3, -1]]))
    kind: Any = adjacency
    for _ in range(5):
        boxes = tuple((-rng.randint(0, 9), rng.randint(1, 9)) for _ in range(rng.choice((1, 2))))
        moves = Sensitivity(boxes, rng.randint(1, 3), kind, rng.randint(1, 3))
        for noise in (
            noise_for_cost(GaussianNoise, moves, price),
            noise_for_cost(GeometricNoise, moves, price),
        ):
            cost = noise.cost(moves).gdp if noise.gaussian else noise.cost(moves).pure
            assert price / SHADE**2 <= cost <= price
        rows = rng.randint(1, 3)
        gaussian = GaussianMeasured.for_cost(strategy, kind, price, rows)
        assert price / SHADE**2 <= gaussian.cost(kind).gdp <= price
        geometric = GeometricMeasured.for_cost(strategy, kind, price, rows)
        assert price / SHADE <= geometric.cost(kind).pure <= price
        facts = {
            "monotone": rng.random() < 0.5,
            "refresh": rng.random() < 0.5,
            "sensitivity": rng.randint(1, 9),
        }
        for buy in (sparse_for_cost, numeric_sparse_for_cost):
            sparse = buy(price, rng.randint(1, 9), **facts)
            assert price / SHADE <= sparse.cost().pure <= price


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
@pytest.mark.parametrize("units", [1, 7, 10**6, 10**18, 37 * 10**17])
def test_units_buy_the_largest_epsilon_that_they_pay_for(units: int, accounting: str) -> None:
    """Mutants: ``largest_epsilon`` and ``noise_cost`` with another border."""
    rule = accounting_named(accounting)
    for kind in (PureCost, BoundedRangeCost):
        found = rule.largest_epsilon(units, kind)
        assert rule.amount(kind(found)) <= units
        assert rule.amount(kind(found * (1 + F(3, 10**12)))) > units or units < 10**15
    assert rule.noise_cost(units) == F(units, 10**18) * (2 if accounting == "zcdp" else 1)
    for bad in (0, -1):
        with pytest.raises(InvalidRequest):
            rule.noise_cost(bad)


@pytest.mark.parametrize("most", [0, 1, 5, 10**6, 10**18 - 3 * 10**6])
def test_a_limit_that_does_not_fit_is_made_smaller_until_it_does(most: int) -> None:
    """By a hair each time.  Mutants: ``_fitting`` that grows, stands still, or takes longer steps."""
    for units in (0, most, most + 1, most + 7):
        found = rules._fitting(units, lambda spent: spent <= most)
        assert 0 <= found <= min(units, most)
        assert found == units or found >= most - 1 - units // 10**12
        assert found == min(units, most) or units > 10**12
    assert rules._fitting(5, lambda spent: False) == 0


def test_a_limit_is_the_most_that_is_within_it() -> None:
    """Mutants: ``allowed`` of each accounting, and the least and greatest epsilon and delta, with other borders."""
    gdp, zcdp, pure = map(accounting_named, ("gdp", "zcdp", "pure"))
    least, delta = F(1, 10**9), F(1, 10**300)
    for rule, known in ((gdp, delta), (zcdp, delta), (pure, F(0))):
        for epsilon in (least, F(1), F(500)):
            assert rule.epsilon(rule.allowed(Guarantee(epsilon, known)), known or delta) <= float_up(epsilon)
        for epsilon in (least / SHADE, 500 * SHADE):
            with pytest.raises(InvalidRequest):
                rule.allowed(Guarantee(epsilon, known))
        for bad in (delta / SHADE, F(0)) if known else (F(1, 2),):
            with pytest.raises(InvalidRequest):
                rule.allowed(Guarantee(F(1), bad))
    assert (gdp.epsilon(0, delta), zcdp.epsilon(0, delta), pure.epsilon(0, delta)) == (0, 0, 0)


@pytest.mark.parametrize("categories", [2, 3, 1000])
@pytest.mark.parametrize("delta", [F(0), F(1, 10)])
def test_the_most_truth_that_a_guarantee_allows(delta: Fraction, categories: int) -> None:
    """Mutants: ``for_guarantee`` and ``for_epsilon`` with another place of the roundings, ``delta``, ``lie``."""
    for epsilon in (F(1, 100), F(1), F(30)):
        machine = rr.RandomizedResponse.for_guarantee(Guarantee(epsilon, delta), categories)
        more = replace(machine, truth=min(machine.truth + F(1, 2**59), 1 - F(1, 2**61)))
        assert machine.delta(epsilon) <= delta + F(1, 2**60)
        assert more.delta(epsilon) > delta
        assert machine.truth + (categories - 1) * machine.lie == 1
        plain = rr.RandomizedResponse.for_epsilon(epsilon, categories)
        assert (
            epsilon * (1 - F(1, 10**11 if epsilon <= 1 else 10**5))
            < plain.cost().pure
            <= epsilon * (1 + F(1, 10**12))
        )
        assert rr.RandomizedResponse(categories, plain.truth).delta(plain.cost().pure) == 0


def test_a_key_of_one_unit_is_hardly_ever_shown() -> None:
    """Against the noise's own law.  Mutants: ``threshold`` with another term, sign or rounding."""
    for scale, touched, probability in (
        (F(1), 1, F(1, 10**9)),
        (F(20), 3, F(1, 10**6)),
        (F(1, 2), 2, F(1, 100)),
    ):
        each, q = probability / touched, np.exp(-1 / float(scale))
        least = KeySelection(GeometricNoise((scale,)), touched, probability).threshold
        assert q ** (least - 1) / (1 + q) <= each * (1 + F(1, 10**12))
        assert q ** (least - 2) / (1 + q) > each or least <= 2

        gaussian = KeySelection(GaussianNoise((scale,)), touched, probability).threshold
        assert norm.sf((gaussian - 1.5) / float(scale)) <= each * (1 + F(1, 10**12))
        assert norm.sf((gaussian - 2.5) / float(scale)) > each


Border = tuple[Callable[[Any], object], list[Any], list[Any]]
NOISE = GeometricNoise((F(2),))


def adaptive(**changes: Any) -> AdaptiveMarginals:
    facts: dict[str, Any] = {
        "candidates": ((0, 1),),
        "first": ((0,), (1,)),
        "units": 10,
        "each": 5,
        "growth": 4,
    }
    facts |= {"shape": (2, 3), "sensitivity": ONE, "most_epsilon": F(1)}
    return AdaptiveMarginals(**(facts | changes))


BORDERS: list[Border] = [
    (lambda v: rr.RandomizedResponse(v, F(9, 10)), [2, 2**31], [1, 0, 2**31 + 1]),
    (
        lambda v: rr.RandomizedResponse(3, v),
        [F(1, 3) + F(1, 10**9), 1 - F(1, 2**62)],
        [F(1, 3), F(1), 1 - F(1, 2**62 + 1)],
    ),
    (lambda v: rr.RandomizedResponse.for_epsilon(v), [F(1, 1000), F(30)], [F(0), F(-1), F(31)]),
    (lambda v: rr.RandomizedResponse.for_guarantee(Guarantee(v, 0)), [F(1, 1000), F(30)], [F(31)]),
    (rr.RandomizedResponse.two_coins().delta, [F(0), F(1)], [F(-1, 100)]),
    (rr.RandomizedResponse.two_coins().estimate, [[1, 0]], [[1], [1, 2, 3]]),
    (lambda v: rr.RandomizedResponse.two_coins().error(10, v), [0.5], [0.0, 1.0]),
    (lambda v: Sparse(v, F(1), F(1)), [1, MOST_POSITIVES], [0, MOST_POSITIVES + 1, True, 1.0]),
    (lambda v: Sparse(1, F(1), F(1), v), [1], [0, -1, 1.0, True]),
    (lambda v: numeric_sparse_for_cost(F(1), 1, share=v), [F(1, 2)], [F(0), F(1)]),
    (lambda v: sparse_for_cost(F(1), 1, threshold_share=v), [F(1, 2)], [F(0), F(1)]),
    (lambda v: comparison_error(Sparse(1, F(1), F(1)), *v), [(0.5, 1)], [(0.0, 1), (1.0, 1), (0.5, 0)]),
    (lambda v: KeySelection(NOISE, 2, v), [F(99, 100), 2 * LEAST_PROBABILITY], [F(1), LEAST_PROBABILITY]),
    (lambda v: GaussianMeasured(Strategy("x", np.eye(2, dtype=int)), F(1), v), [1, 2**40], [0, 2**40 + 1]),
    (lambda v: ResidualAttribute(v), [2], [1]),
    (
        lambda v: Residuals([ResidualAttribute(2)], v),
        [{(): 1, (0,): 2**40}],
        [{}, {(): 0}, {(): 2**40 + 1}, {(): 1.0}],
    ),
    (ScoreSensitivity, [F(1, 100)], [F(0), F(-1)]),
    (lambda v: rate_of(v, ScoreSensitivity(F(1))), [F(1, 100)], [F(0)]),
    (lambda v: TopK((1, 2, 3), v, F(1), ScoreSensitivity(F(1))), [1, 3], [0, 4]),
    (
        lambda v: Strategy("x", np.array(v)),
        [[[1, -1]], [[2**24]]],
        [[[0, 0]], [1, 2], [[1.5]], [[]], [[2**26]]],
    ),
    (
        lambda v: adaptive(**v),
        [{}, {"each": 1}, {"growth": 1}, {"first": ()}],
        [{"each": 0}, {"growth": 0}, {"candidates": ()}, {"each": 6}, {"units": 9}],
    ),
]


@pytest.mark.parametrize("place", range(len(BORDERS)))
def test_each_border_of_a_mechanism_is_where_it_is(place: int) -> None:
    """Mutants: each check of a mechanism, left out, or with another border."""
    build, taken, refused = BORDERS[place]
    for value in taken:
        assert build(value) is not None
    for value in refused:
        with pytest.raises(InvalidRequest):
            print(build(value))  # the one that is not refused
