"""The last score of a holdout, without noise: its interval, and that nothing comes after it."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import stats

from adyton.errors import InvalidRequest, ScoresRefused
from adyton.holdout import Holdout, Rounding
from adyton.holdout.answers import bought
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.gaussian import GaussianPlan, in_values, table
from adyton.holdout.methods.gaussian_last import _by_coins, _log_level, last_ends
from adyton.holdout.methods.gaussian_plans import GaussianWish, plan_gaussian
from adyton.kernel.ledger import SqliteLedger
from support.processes import APART
from support.tries import often

BETA = Fraction(1, 20)


def planned(items: int, squares: Fraction | None = None, **wish: object) -> GaussianPlan:
    return plan_gaussian(HoldoutSize(items, 2, Fraction(0), BETA, squares=squares), GaussianWish(**wish))


def lent(plan: GaussianPlan, number: int, side: int) -> float:
    made = table(plan)
    return _log_level(plan, number, made.ends, (made.low, made.high)[side])


# The interval ----------------------------------------------------------------------------------------------


def test_theorem_LAST_EXACT_SCORE_levels_are_lent_by_unused_places() -> None:
    """For every place: levels of scores before it, and of one part c after it, sum to at most the failure."""
    for wish in (
        {"tolerance": Fraction("0.07")},
        {"tolerance": Fraction("0.07"), "noise": "decreasing"},
        {"tolerance": Fraction("0.07"), "expected": Fraction("0.97")},
        {"tolerance": Fraction("0.07"), "anytime": True},
    ):
        plan = planned(3000, **wish)
        sides = [table(plan).sides(number) for number in range(1, plan.scores + 1)]
        for number in {2, 3, plan.scores // 2, plan.scores}:
            spent = in_values(plan).spent_before(number)
            for place in (0, 1):
                by_part: dict[float, float] = {}
                for both in sides[number - 1 :]:
                    kept = both[place].kept
                    by_part[kept] = by_part.get(kept, 0.0) + math.exp(both[place].log_level)
                best = max(
                    (math.log(level) - (1 - c) / c * 3000 * float(spent) / 2) / (1 - c)
                    for c, level in by_part.items()
                    if c > 0
                )
                assert lent(plan, number, place) == pytest.approx(best, rel=1e-9)
                assert lent(plan, number, place) <= best
        assert math.exp(lent(plan, 1, 0)) + math.exp(lent(plan, 1, 1)) <= float(BETA)


def test_theorem_LAST_EXACT_SCORE_the_end_is_that_of_the_binomial_tail() -> None:
    plan = planned(500, scores=6)
    for number in (1, 2, 6):
        for hits in (0, 1, 2, 30, 250, 470, 499, 500):
            low, high = last_ends(plan, 2 * hits, number)
            assert 0 <= low <= Fraction(hits, 500) <= high <= 1
            for end, side, count in ((low, 0, hits), (1 - high, 1, 500 - hits)):
                if end > 0:
                    with mpmath.workdps(50):
                        p = mpmath.mpf(end.numerator) / end.denominator
                        tail = mpmath.betainc(count, 500 - count + 1, 0, p, regularized=True)
                        assert mpmath.log(tail) <= lent(plan, number, side) + 1e-9
                        if count > 1:  # and it is as near as that: a hair above is not rejected
                            more = mpmath.betainc(count, 501 - count, 0, p * 1.0001, regularized=True)
                            assert mpmath.log(more) > lent(plan, number, side)


@pytest.mark.parametrize("items", [10**4, 10**9, 10**12])
def test_theorem_LAST_EXACT_SCORE_the_relative_entropy_is_rounded_outwards(items: int) -> None:
    """Against sixty digits.  With very many items the end is so near the share that a logarithm is mostly error."""
    rng = np.random.default_rng(3)
    for share, log_level in zip(rng.random(60), rng.uniform(-30, -0.7, 60), strict=True):
        end = _by_coins(float(share), items, float(log_level))
        with mpmath.workdps(60):
            x, p = mpmath.mpf(float(share)), mpmath.mpf(end.numerator) / end.denominator
            apart = x * mpmath.log(x / p) + (1 - x) * mpmath.log((1 - x) / (1 - p))
            assert -float(log_level) <= items * apart <= -float(log_level) * 1.01


@pytest.mark.parametrize("items", [1, 2, 3, 6, 9])
def test_theorem_LAST_EXACT_SCORE_holds_for_items_that_are_not_alike(items: int) -> None:
    """Of all independent zeros and ones with this mean the tail is largest where some are surely 1, some 0, and
    the rest alike (Hoeffding).  Mutant: the binomial tail without its bound at (hits - 1) / n.
    """
    plan = plan_gaussian(HoldoutSize(items, 2, Fraction(0), Fraction(1, 2)), GaussianWish(scores=1))
    level, ends = math.exp(lent(plan, 1, 0)), []
    assert level > 0.2
    for hits in range(1, items + 1):
        mean = items * float(last_ends(plan, 2 * hits, 1)[0])
        ends.append(mean)
        for sure in range(int(mean) + 1):
            for alike in range(1, items - sure + 1):
                if (chance := (mean - sure) / alike) <= 1:
                    assert stats.binom.sf(hits - sure - 1, alike, chance) <= level * (1 + 1e-9)
    assert items == 1 or max(ends) > 0.4


def test_theorem_LAST_EXACT_SCORE_counts_no_coins_between_0_and_1() -> None:
    """Mutants: the binomial tail for them too; what rounding values to steps can do is left out; the upper end at
    the level of the lower one.
    """
    frame = HoldoutSize(500, 2**15, Fraction(1, 2**16), BETA)
    plan = plan_gaussian(frame, GaussianWish(scores=6, expected=Fraction("0.9")))
    for number in (1, 4):
        assert abs(lent(plan, number, 0) - lent(plan, number, 1)) > 0.01
        for share in (0.02, 0.5, 0.97):
            exact = round(share * frame.whole)
            low, high = last_ends(plan, exact, number)
            found = ((low + frame.rounding, exact, 0), (1 - high + frame.rounding, frame.whole - exact, 1))
            for end, seen, side in found:
                x, p = seen / frame.whole, float(end)
                apart = x * math.log(x / p) + (1 - x) * math.log((1 - x) / (1 - p))
                assert 500 * apart == pytest.approx(-lent(plan, number, side), rel=1e-6)


def test_theorem_LAST_EXACT_SCORE_at_once_is_a_test_of_its_own() -> None:
    low, high = last_ends(planned(2000, tolerance=Fraction("0.1")), 2 * 1800, 1)
    alone = stats.binomtest(1800, 2000).proportion_ci(0.95, "exact")
    assert low == pytest.approx(alone.low, abs=3e-4)
    assert high == pytest.approx(alone.high, abs=3e-4)
    assert low <= alone.low


def test_theorem_LAST_EXACT_SCORE_is_shorter_than_a_score_in_every_place() -> None:
    plan = planned(10_000, tolerance=Fraction("0.05"))
    lengths = []
    for number in (1, 2, plan.scores // 2, plan.scores):
        low, high = last_ends(plan, 2 * 9000, number)
        ((below, above),) = plan.ends([2 * 9000], [number])
        assert high - low < 0.75 * (above - below)
        lengths.append(high - low)
    assert lengths == sorted(lengths)


def test_theorem_LAST_EXACT_SCORE_with_weights_takes_the_better_of_two() -> None:
    """Half of 4000 items weigh 1 and half a third: the squares are worth more than coins at one half."""
    squares = Fraction(2000) + Fraction(2000, 9)
    weighted = planned(2666, squares=squares, tolerance=Fraction("0.1"))
    low, _ = last_ends(weighted, weighted.frame.whole // 2, 1)
    level = math.exp(lent(weighted, 1, 0))
    by_squares = 0.5 - math.sqrt(float(squares) * -math.log(level) / 2) / 2666
    assert low == pytest.approx(by_squares, abs=2e-4)
    assert low > _by_coins(0.5, 2666, math.log(level)) + Fraction(1, 1000)
    spent, made = in_values(weighted).spent_before(2), table(weighted)
    lendable = [
        (places, side)
        for places, side in zip(np.diff(made.ends, prepend=1), made.low, strict=True)
        if places > 0 and 0 < side.kept < 1
    ]
    best = max(
        (math.log(places) + side.log_level - (1 - side.kept) / side.kept * float(squares * spent / 2))
        / (1 - side.kept)
        for places, side in lendable
    )
    assert lent(weighted, 2, 0) == pytest.approx(best, rel=1e-9)  # mutant: it pays for half of the squares
    near_one = last_ends(weighted, weighted.frame.whole, 1)[0]  # there coins are better
    assert near_one > 1 - math.sqrt(float(squares) * -math.log(level) / 2) / 2666


def test_theorem_LAST_EXACT_SCORE_holds_after_an_attack() -> None:
    """Scores of random models say which of them agree with the labels; their vote is the last query.

    True accuracy is 1/2 whatever the vote.  Guaranteed for all intervals at once: 95 %.  False alarm below 1e-9.
    At the level of a query that nothing led to, the last interval would mostly miss.
    """
    rng, n, runs = np.random.default_rng(4), 1000, often(60, 2000)
    plan = planned(n, scores=60)
    missed = missed_without_price = 0
    for _ in range(runs):
        labels, models = rng.integers(0, 2, n), rng.integers(0, 2, (60, n))
        exact = 2 * (models == labels).sum(axis=1)
        noise = np.array([plan.blocks.scale(j) for j in range(1, 61)])
        released = np.rint(exact + rng.normal(0, noise)).astype(int)
        votes = (2 * models[:59] - 1).T @ (released[:59] - n)
        hits = int(((votes > 0) == labels).sum())
        low, high = last_ends(plan, 2 * hits, 60)
        scored = plan.ends(released[:59].tolist(), list(range(1, 60)))
        missed += not (low <= 0.5 <= high and all(a <= 0.5 <= b for a, b in scored))
        alone = stats.binom.interval(0.95, n, 0.5)
        missed_without_price += not alone[0] <= hits <= alone[1]
    assert missed <= stats.binom.isf(1e-9, runs, float(BETA))
    assert missed_without_price > 0.7 * runs


# Nothing comes after it ------------------------------------------------------------------------------------


@pytest.fixture
def holdout(tmp_path: Path) -> Holdout:
    return Holdout.create(tmp_path / "h.toml", labels=np.arange(3000) % 2, tolerance="0.1")


def test_theorem_LAST_EXACT_SCORE_afterwards_nothing_is_scored(holdout: Holdout, tmp_path: Path) -> None:
    ones, mostly = np.ones(3000, int), np.where(np.arange(3000) < 2700, np.arange(3000) % 2, 0)
    first = holdout.score(ones)
    last_one = holdout.close_with(mostly)
    assert last_one.value == (mostly == np.arange(3000) % 2).mean()  # exact
    assert (last_one.said, last_one.number, last_one.scores_left, last_one.repeated) == ("last", 2, 0, False)
    assert "LAST-EXACT-SCORE" in last_one.certificate.theorems
    assert last_one.interval.low < last_one.value < last_one.interval.high
    holdout.close()
    with Holdout.open(tmp_path / "h.toml") as again:
        for refused in (again.score, again.close_with):
            with pytest.raises(ScoresRefused, match="score 2 was the last"):
                refused(1 - ones)
        with pytest.raises(ScoresRefused):
            again.compare(ones, mostly)
        with pytest.raises(ScoresRefused):
            again.best_of({"a": ones, "b": mostly})
        assert again.score(ones).value == first.value  # what was given stays
        assert again.score(ones).scores_left == 0
        repeated = again.close_with(mostly)
        assert (repeated.value, repeated.repeated) == (last_one.value, True)
        assert (again.budget().scores_left, again.budget().closed) == (0, True)
        assert str(again.budget()) == "closed with a last, exact score"
        assert again.verify().receipts == 2
        receipts = again._Holdout__ledger.receipts()  # type: ignore[attr-defined]
        assert [receipt.order.unproved for receipt in receipts] == [False, True]  # no privacy theorem
        assert [(one.number, one.said) for one in again.scores()] == [(1, "score"), (2, "last")]


def test_theorem_LAST_EXACT_SCORE_a_crash_closes_for_good(
    holdout: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> str:
        raise KeyboardInterrupt

    zeros = np.zeros(3000, int)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedger, "remember", crash)
        with pytest.raises(KeyboardInterrupt):
            holdout.close_with(zeros)
    with pytest.raises(ScoresRefused):
        holdout.score(1 - zeros)
    assert holdout.close_with(zeros).value == 0.5  # the same ones are read under the receipt that closed it


def test_theorem_LAST_EXACT_SCORE_a_score_in_between_is_counted(
    holdout: Holdout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process scores after we looked at what is left, and before we are charged."""
    looked, closed_by = [], bought.closed_by

    def slowly(ledger: SqliteLedger) -> object:
        found = closed_by(ledger)
        if not looked:
            looked.append(1)
            totals = SqliteLedger.totals
            monkeypatch.setattr(
                SqliteLedger, "totals", lambda self: stale if self is ledger else totals(self)
            )
            stale = totals(ledger)
            with Holdout.open(tmp_path / "h.toml") as other:
                other.score(np.ones(3000, int))
        else:
            monkeypatch.undo()
        return found

    monkeypatch.setattr(bought, "closed_by", slowly)
    closing = holdout.close_with(np.zeros(3000, int))
    assert (closing.number, holdout.verify().receipts, holdout.budget().scores_left) == (2, 2, 0)


def _close(path: str, value: int) -> str:
    with Holdout.open(path) as holdout:
        try:
            return f"closed {holdout.close_with(np.full(3000, value)).number}"
        except ScoresRefused:
            return "refused"


def test_theorem_LAST_EXACT_SCORE_of_two_processes_one_closes(holdout: Holdout, tmp_path: Path) -> None:
    holdout.close()
    with APART.Pool(2) as pool:
        found = pool.starmap(_close, [(str(tmp_path / "h.toml"), value) for value in (0, 1)])
    assert sorted(found) == ["closed 1", "refused"]


def test_a_last_score_needs_the_method_that_has_one(tmp_path: Path) -> None:
    made = Holdout.create(tmp_path / "r.toml", labels=np.arange(3000) % 2, scores=2, method=Rounding())
    with made as holdout, pytest.raises(InvalidRequest, match="'gaussian'"):
        holdout.close_with(np.ones(3000, int))
    with Holdout.create(tmp_path / "u.toml", labels=np.arange(3000) % 2, scores=1) as holdout:
        holdout.score(np.ones(3000, int))
        with pytest.raises(ScoresRefused, match="all 1 scores"):
            holdout.close_with(np.zeros(3000, int))
