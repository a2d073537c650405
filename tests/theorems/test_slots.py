"""Plan mode: any order of fixed slots costs what was priced; slots chosen on the way do not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from random import Random

import mpmath
import pld_oracle as truth
import pytest
from mpmath import mpf

from adyton.accounting.pld import pld
from adyton.accounting.pld.pairs import GaussianPair, LaplacePair, RandomizedResponsePair
from adyton.accounting.pld.slots import counted, fold, grouped
from adyton.errors import BudgetRefused, InvalidRequest
from adyton.kernel import accounting
from literature.pld_from_below import delta_down, epsilon_down
from literature.slot_plan import SlotPlan

SMALL, LARGE = RandomizedResponsePair("0.4"), RandomizedResponsePair("1.1")
Chooser = Callable[[tuple[int, ...], tuple[Fraction, ...]], int]


def adaptive_delta(left: list[Fraction], choose: Chooser, epsilon: float) -> mpf:
    """Exact delta of an analyst who chooses the next randomized response after every answer: the whole tree."""

    def walk(rest: tuple[Fraction, ...], seen: tuple[int, ...], p: mpf, q: mpf) -> mpf:
        if not rest:
            return max(mpf(0), p - mpmath.exp(truth.real(epsilon)) * q)
        i = choose(seen, rest) % len(rest)
        true = 1 / (1 + mpmath.exp(-truth.real(rest[i])))
        others = rest[:i] + rest[i + 1 :]
        up = walk(others, (*seen, 1), p * true, q * (1 - true))
        return up + walk(others, (*seen, 0), p * (1 - true), q * true)

    return walk(tuple(left), (), mpf(1), mpf(1))


def test_theorem_PLD_PRICES_A_PLAN_no_order_of_slots_beats_the_price() -> None:
    """Two hundred analysts, each with a random rule for the next slot; the law of the transcript is enumerated."""
    random = Random(5)
    slots = [Fraction(x) for x in ("0.2", "0.5", "0.5", "0.9", "1.3")]
    plan = SlotPlan([(RandomizedResponsePair(x), 1) for x in slots])
    for _ in range(200):
        rule: dict[tuple[int, ...], int] = {}

        def choose(
            seen: tuple[int, ...], rest: tuple[Fraction, ...], rule: dict[tuple[int, ...], int] = rule
        ) -> int:
            return rule.setdefault(seen, random.randrange(60))

        epsilon = random.choice([0.3, 1.0, 1.7, 2.4])
        found = adaptive_delta(slots, choose, epsilon)
        assert found <= plan.delta(epsilon)
        assert found == pytest.approx(
            float(truth.binary(slots, epsilon)), rel=1e-12
        )  # order does not matter at all


def test_theorem_PLD_PRICES_A_PLAN_parameters_chosen_later_are_not_covered() -> None:
    """Why there is no running epsilon.  First a bit at 0.5; after a yes one at 1.0, after a no three at 0.6.

    At epsilon = 1 each of the two paths, declared as a plan, has delta below 0.1791.  The analyst never leaves
    these two paths, and the transcript has 0.2053.
    """
    first, after_yes, after_no = Fraction("0.5"), [Fraction("1.0")], [Fraction("0.6")] * 3
    guaranteed = max(
        pld.delta_up([(RandomizedResponsePair(x), 1) for x in (first, *path)], 1.0)
        for path in (after_yes, after_no)
    )
    loss = truth.real(first)
    yes = 1 / (1 + mpmath.exp(-loss))
    adaptive = yes * tail(after_yes, 1.0, loss) + (1 - yes) * tail(after_no, 1.0, -loss)
    assert guaranteed == pytest.approx(0.17905, abs=1e-5)
    assert adaptive == pytest.approx(0.20539, abs=1e-5)


def tail(path: list[Fraction], epsilon: float, loss: mpf) -> mpf:
    """delta of the rest of the transcript, when ``loss`` has happened already."""
    return truth.binary(path, float(truth.real(epsilon) - loss))


def test_theorem_PLD_PRICES_A_PLAN_only_whole_plans_have_a_price() -> None:
    """No method shows an epsilon that depends on what was used: the price is of what was declared."""
    plan = SlotPlan([(SMALL, 3), (LARGE, 1), (GaussianPair("0.3"), 2)])
    before = plan.epsilon(1e-5), plan.delta(1.0)
    plan.use(SMALL)
    plan.use(GaussianPair("0.3"))
    assert (plan.epsilon(1e-5), plan.delta(1.0)) == before
    assert not SlotPlan.is_filter
    assert "not a filter" in repr(plan)
    public = {name for name, _ in inspect.getmembers(SlotPlan) if not name.startswith("_")}
    assert public == {"declared", "delta", "epsilon", "is_filter", "left", "theorems", "use"}
    for function in (pld.epsilon_up, pld.delta_up, epsilon_down, delta_down):
        assert next(iter(inspect.signature(function).parameters)) == "slots"


def test_theorem_PLD_PRICES_A_PLAN_no_accounting_is_made_of_it() -> None:
    assert "pld" not in accounting.ACCOUNTING_NAMES
    with pytest.raises(InvalidRequest, match="unknown accounting"):
        accounting.accounting_named("pld")


def test_law_a_slot_is_used_at_most_as_often_as_it_was_declared() -> None:
    plan = SlotPlan([(SMALL, 2), (LARGE, 1), (SMALL, 1)])
    assert plan.declared == {SMALL: 3, LARGE: 1}
    for _ in range(3):
        plan.use(SMALL)
    with pytest.raises(BudgetRefused, match="3 declared, all used"):
        plan.use(SMALL)
    assert plan.left == {LARGE: 1}
    plan.use(RandomizedResponsePair(Fraction(11, 10)))  # equal slots are one slot
    assert plan.left == {}


def test_law_a_refused_use_leaves_no_trace() -> None:
    plan = SlotPlan([(SMALL, 1)])
    with pytest.raises(BudgetRefused, match="was declared, and a plan cannot be changed"):
        plan.use(LaplacePair("0.4"))
    assert plan.left == plan.declared == {SMALL: 1}
    plan.declared[LARGE] = 5
    plan.left[LARGE] = 5
    with pytest.raises(BudgetRefused):
        plan.use(LARGE)


def test_law_ten_thousand_random_orders_never_use_more_than_was_declared() -> None:
    random = Random(17)
    kinds = [SMALL, LARGE, LaplacePair("0.1"), GaussianPair("0.2")]
    for _ in range(10_000):
        slots = [(random.choice(kinds), random.randrange(3)) for _ in range(3)]
        plan, used = SlotPlan(slots), dict.fromkeys(kinds, 0)
        for _ in range(8):
            pair = random.choice(kinds)
            try:
                plan.use(pair)
            except BudgetRefused:
                continue
            used[pair] += 1
        declared = plan.declared
        assert all(used[pair] <= declared.get(pair, 0) for pair in kinds)
        assert all(used[pair] + plan.left.get(pair, 0) == declared.get(pair, 0) for pair in kinds)


@pytest.mark.parametrize("different", [1, 20, 1000])
def test_law_groups_hold_every_slot_as_often_as_it_is_there(different: int) -> None:
    random = Random(3)
    slots = [(LaplacePair(Fraction(i, 100)), random.randrange(different)) for i in range(1, 60)]
    groups = grouped(counted(slots))
    for pair, times in slots:
        assert fold(lambda pairs, pair=pair: pairs.count(pair), groups) == times
    assert len(groups) <= 20
