"""A choice among models in the place of scores: what it costs the others, and how good it is."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from adyton.errors import InvalidRequest, ScoresRefused
from adyton.holdout import Holdout, LinearSeparators, Split
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.choosing import choosing_rate
from adyton.holdout.methods.gaussian import in_values, table
from adyton.holdout.methods.gaussian_plans import GaussianWish, plan_gaussian
from adyton.kernel.ledger import SqliteLedger
from support.randomness import Seeded

N = 4000


def h(a: float) -> float:
    return 2 * (math.expm1(a) - a) / a**2


def log_law(sums: np.ndarray, rate: float) -> np.ndarray:
    return rate * sums - np.logaddexp.reduce(rate * sums)


def test_theorem_CHOICE_AS_SCORES_costs_what_gaussian_scores_cost() -> None:
    """Step 1 of the proof by brute force: all 2**7 parts of seven rows, four models, values in [0, 1]."""
    rng, n, models = np.random.default_rng(5), 7, 4
    parts = np.array(list(product((0, 1), repeat=n)))
    tightest = 0.0
    for _ in range(300):
        values = rng.integers(0, 2, (models, n)) if rng.random() < 0.5 else rng.random((models, n))
        c, rate = float(rng.uniform(0.02, 0.98)), float(rng.choice([0.01, 0.1, 0.5, 2.0]))
        weights = np.prod(np.where(parts, c, 1 - c), axis=1)
        served = n / 2 + parts @ (values - 0.5).T / c
        mean_log = weights @ np.array([log_law(row, rate) for row in served])
        gap = float((log_law(values.sum(axis=1), rate) - mean_log).max())
        price = (1 - c) / c * n * rate**2 / 8 * h(rate / (2 * c))
        assert gap <= price * (1 + 1e-9) + 1e-12
        tightest = max(tightest, gap / price)
    assert tightest > 0.4  # two models that agree nowhere come near


@pytest.mark.parametrize(
    "wish",
    [
        {"tolerance": Fraction("0.1")},
        {"tolerance": Fraction("0.1"), "noise": "decreasing"},
        {"tolerance": Fraction("0.05"), "anytime": True},
        {"scores": 1},
    ],
)
def test_theorem_CHOICE_AS_SCORES_the_rate_pays_for_every_later_claim(wish: dict[str, object]) -> None:
    plan = plan_gaussian(HoldoutSize(N, 2, Fraction(0), Fraction(1, 20)), GaussianWish(**wish))
    blocks = in_values(plan)
    for numbers in {(1,), (plan.scores,), tuple(range(1, min(plan.scores, 4) + 1))}:
        rate = float(choosing_rate(plan, numbers)) * plan.frame.steps
        allowed = sum(1 / blocks.scale(number) ** 2 for number in numbers)
        later = [table(plan).sides(j) for j in range(max(numbers) + 1, plan.scores + 1)]
        kept = [side.kept for both in later for side in both]
        for c in kept or [1.0]:
            assert rate**2 * h(rate / (2 * c)) <= allowed
        assert rate**2 > 0.9 * allowed


@pytest.fixture
def labels() -> np.ndarray:
    return np.random.default_rng(6).integers(0, 2, N)


def models_of(labels: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {
        f"{share}": np.where(rng.random(N) < share, labels, 1 - labels) for share in (0.5, 0.6, 0.9, 0.55)
    }


def test_theorem_CHOICE_AS_SCORES_in_a_holdout(tmp_path: Path, labels: np.ndarray) -> None:
    models = models_of(labels)
    with Holdout.create(tmp_path / "h.toml", labels=labels, tolerance="0.1", bits=Seeded(1)) as holdout:
        left = holdout.budget().scores_left
        assert left is not None
        chosen = holdout.best_of(models)
        assert (chosen.winner, chosen.candidates, chosen.cost, chosen.scores_left) == ("0.9", 4, 1, left - 1)
        assert 0 < chosen.within < 0.1
        assert "CHOICE-AS-SCORES" in chosen.certificate.theorems
        plan = plan_gaussian(HoldoutSize(N, 2, Fraction(0), Fraction(1, 20)), GaussianWish(Fraction("0.1")))
        worse = (math.log(3) + math.log(0.95 / 0.05)) / (2 * float(choosing_rate(plan, (1,))))  # in items
        assert N * chosen.within == pytest.approx(worse, abs=1)  # which is a whole number of steps
        again = holdout.best_of(dict(reversed(models.items())))  # in another order: the same query
        assert (again.winner, again.repeated, again.scores_left) == ("0.9", True, left - 1)
        better = holdout.best_of(models, scores=4)
        assert better.scores_left == left - 5
        assert better.within == pytest.approx(chosen.within / 2, rel=0.02)
        assert better.to_json()["winner"] == "0.9"
        assert "at most" in str(better)
        assert holdout.score(models["0.9"]).number == 6  # pays for the choices before it
        assert holdout.verify().receipts == 6


def test_theorem_CHOICE_AS_SCORES_chooses_as_the_exponential_mechanism(
    tmp_path: Path, labels: np.ndarray
) -> None:
    """Two models a little apart, in 150 holdouts with noise of their own.  False alarm below 1e-7."""
    rng = np.random.default_rng(8)
    worse = np.where(rng.random(N) < 0.5, labels, 1 - labels)
    better = worse.copy()
    wrong = np.flatnonzero(worse != labels)[:40]
    better[wrong] = labels[wrong]
    wins = 0
    for run in range(150):
        with Holdout.create(tmp_path / f"{run}.toml", labels=labels, scores=20, bits=Seeded(run)) as holdout:
            wins += holdout.best_of({"better": better, "worse": worse}).winner == "better"
    plan = plan_gaussian(HoldoutSize(N, 2, Fraction(0), Fraction(1, 20)), GaussianWish(scores=20))
    chance = 1 / (1 + math.exp(-float(choosing_rate(plan, (1,))) * 2 * 40))
    assert 0.55 < chance < 0.95
    assert stats.binomtest(wins, 150, chance).pvalue > 1e-7


def test_theorem_CHOICE_AS_SCORES_a_crash_uses_what_is_paid_for(
    tmp_path: Path, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Holdout.create(tmp_path / "h.toml", labels=labels, tolerance="0.1") as holdout:
        left = holdout.budget().scores_left
        kept, calls = SqliteLedger.remember, []

        def crash(self: SqliteLedger, *words: object) -> str:
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return kept(self, *words)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(SqliteLedger, "remember", crash)
            with pytest.raises(KeyboardInterrupt):
                holdout.best_of(models_of(labels), scores=3)
        assert holdout.budget().scores_left == left - 3
        assert holdout.best_of(models_of(labels), scores=3).winner == "0.9"
        assert holdout.budget().scores_left == left - 3


def test_theorem_CHOICE_AS_SCORES_of_a_loss_the_least(tmp_path: Path) -> None:
    truth = np.linspace(0, 1, N)
    with Holdout.create(
        tmp_path / "h.toml",
        labels=truth,
        metric="absolute_error",
        low=0,
        high=10,
        tolerance=2,
        bits=Seeded(2),
    ) as holdout:
        chosen = holdout.best_of({"far": truth + 9, "near": truth + 0.1, "further": truth + 5})
        assert chosen.winner == "near"
        assert chosen.within > 0.1  # in the unit of the labels


def test_models_that_predict_are_asked_by_the_features(tmp_path: Path, labels: np.ndarray) -> None:
    class Constant:
        def __init__(self, value: int) -> None:
            self.value = value

        def predict(self, X: np.ndarray) -> np.ndarray:  # noqa: N803
            return np.where(X[:, 0] == 1, labels, self.value)

    features = (np.arange(N) < 3000)[:, None].astype(int)
    with Holdout.create(tmp_path / "h.toml", labels=labels, tolerance="0.1") as holdout:
        assert holdout.best_of({"zero": Constant(0), "one": Constant(1)}, X=features).winner in (
            "zero",
            "one",
        )
        for bad in ({"a": labels}, [labels, labels], {1: labels, 2: labels}, {"a": labels, "b": labels}):
            with pytest.raises(InvalidRequest):
                holdout.best_of(bad)
        for cost in (0, -1, 1001):
            with pytest.raises(InvalidRequest):
                holdout.best_of(models_of(labels), scores=cost)
        left = holdout.budget().scores_left
        assert left is not None
        with pytest.raises(ScoresRefused, match=f"costs 1,000 scores, and {left} are left"):
            holdout.best_of(models_of(labels), scores=1000)
        assert holdout.budget().scores_left == left  # mutant: charged one by one until nothing is left
        assert holdout.best_of(models_of(labels), scores=left).scores_left == 0
        assert holdout.best_of(models_of(labels), scores=left).repeated
        with pytest.raises(ScoresRefused, match="used up"):
            holdout.best_of(models_of(labels))


def test_of_rules_of_a_class_the_choice_is_exact(tmp_path: Path, labels: np.ndarray) -> None:
    features = np.column_stack([labels + np.random.default_rng(9).normal(0, 1, N), np.ones(N)])
    rules = {f"{cut}": {"weights": [1, 0], "intercept": -cut} for cut in (-1, 0, 0.5, 2)}
    with Holdout.create(
        tmp_path / "h.toml",
        labels=labels,
        features=features,
        hypothesis_class=LinearSeparators(),
        scores_reveal_labels=True,
    ) as holdout:
        chosen = holdout.best_of(rules)
        assert (chosen.winner, chosen.within, chosen.scores_left) == ("0.5", 0, None)
        assert holdout.best_of(rules).repeated
    split = Holdout.create(tmp_path / "s.toml", labels=labels, scores=2, method=Split())
    with split as holdout, pytest.raises(InvalidRequest, match="'gaussian'"):
        holdout.best_of(models_of(labels))
