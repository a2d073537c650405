"""Accuracy per slice: each slice stands on its own items, and all intervals hold at once."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.holdout import Holdout, Slices
from adyton.holdout.measures import Measures
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.gaussian_plans import GaussianWish, plan_gaussian
from adyton.holdout.methods.slices import SlicesPlan, groups_from, plan_slices
from adyton.lab.adaptivity.holdout_machines import shown_of_all
from support.randomness import Seeded


class Silent:
    """Noise of a scale near nothing: the middle of every draw."""

    def words(self, count: int) -> np.ndarray:
        return np.full(count, 2**62, dtype=np.uint64)


def made(*sizes: int) -> SlicesPlan:
    groups = groups_from(np.repeat(np.arange(len(sizes)), sizes), sum(sizes))
    return plan_slices(
        HoldoutSize(sum(sizes), 2, Fraction(0), Fraction(1, 20)), groups, GaussianWish(scores=7)
    )


def test_theorem_SLICES_each_has_its_items_and_its_share_of_the_failure() -> None:
    plan = made(1000, 3000, 5000)
    for i, size in enumerate((1000, 3000, 5000)):
        alone = plan_gaussian(HoldoutSize(size, 2, Fraction(0), Fraction(1, 80)), GaussianWish(scores=7))
        assert plan.part(i) == alone
        assert plan.widths()[i] == alone.half_width()
    assert plan.half_width() == plan.widths()[0] == max(plan.widths())


def test_theorem_SLICES_the_mean_of_all_is_one_query_with_the_noise_of_all() -> None:
    """Narrower than what the slices say together; and it grows with what was spent before."""
    plan = made(1000, 3000, 5000)
    text = json.dumps([1000, 3000, 5000])  # half of the items of each
    together = sum(size * width for size, width in zip(plan.sizes, plan.widths(), strict=True)) / 9000
    widths = []
    for number in (1, 4, 7):
        low, high = plan.overall_ends(text, number)
        assert float(low) + float(high) == pytest.approx(1)
        widths.append(float(high - low) / 2)
    assert widths == sorted(widths)
    assert widths[-1] < 0.85 * together
    assert plan.overall(text) == Fraction(1, 2)


def sums_of(codes: np.ndarray, values: Any) -> list[int]:
    return [int(exact) for exact in np.bincount(codes, weights=values)]


def test_theorem_SLICES_an_item_moves_its_own_slice_only() -> None:
    """All neighbors of five items in two groups, with the noise held still."""
    codes = np.array([0, 1, 0, 1, 1])
    plan = SlicesPlan(
        HoldoutSize(5, 2, Fraction(0), Fraction(1, 20)),
        1,
        ("a", "b"),
        (2, 3),
        (0.01, 0.01),
        ((0.5, 0.5), (0.5, 0.5)),
    )
    for values in product((0, 2), repeat=5):
        before = shown_of_all(plan, sums_of(codes, values), 1, Silent())
        for i in range(5):
            other = np.array(values)
            other[i] = 2 - other[i]
            after = shown_of_all(plan, sums_of(codes, other), 1, Silent())
            moved = [abs(x - y) for x, y in zip(before, after, strict=True)]
            assert moved[codes[i]] == 2
            assert moved[1 - codes[i]] == 0
    assert Measures(plan).amount == max(Measures(plan.part(i)).amount for i in (0, 1))


def test_theorem_SLICES_noise_of_slices_is_not_shared() -> None:
    """Correlation of 2,000 pairs of draws: 0.15 would be 6.7 standard errors, a 2e-11 event."""
    plan, bits = made(500, 2000), Seeded(1)
    drawn = np.array([shown_of_all(plan, [0, 0], 1, bits) for _ in range(2000)])
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.15
    assert plan.scales[1] > 1.2 * plan.scales[0]
    assert drawn.std(axis=0) == pytest.approx(plan.scales, rel=0.11)  # 7 standard errors


def test_theorem_SLICES_boosting_stays_within_every_width(tmp_path: Path) -> None:
    """Coins as labels; the vote of what scored well in each slice.  Every truth is one half."""
    n, rng = 6000, np.random.default_rng(2)
    labels, groups = rng.integers(0, 2, n), np.array(["north", "south", "south"])[np.arange(n) % 3]
    with Holdout.create(
        tmp_path / "s.toml", labels=labels, method=Slices(groups), scores=40, bits=Seeded(3)
    ) as holdout:
        guesses = rng.integers(0, 2, (39, n))
        shown = [holdout.score(guess) for guess in guesses]
        vote = np.zeros(n)
        for name in ("north", "south"):
            weights = np.array([s.slices[name].value - 0.5 for s in shown])
            vote = np.where(groups == name, weights @ (2 * guesses - 1), vote)
        for score in (*shown, holdout.score(vote > 0)):
            for part in (score, *score.slices.values()):
                assert part.interval.low <= 0.5 <= part.interval.high


def test_slices_come_back_with_the_file(tmp_path: Path) -> None:
    n = 30_000
    labels, groups = np.arange(n) % 2, np.arange(n) % 3
    guess = np.where(groups == 0, labels, 1 - labels)
    with Holdout.create(
        tmp_path / "s.toml", labels=labels, method=Slices(groups), tolerance="0.1", bits=Seeded(4)
    ) as holdout:
        first = holdout.score(guess)
        assert {name: round(part.value, 1) for name, part in first.slices.items()} == {"0": 1, "1": 0, "2": 0}
        assert first.slices["0"].items == 10_000
        assert first.interval.low < 1 / 3 < first.interval.high
        assert holdout.budget().half_width <= 0.1
        assert "SLICES" in first.certificate.theorems
        assert "group 2" in str(first)
        assert json.loads(json.dumps(first.to_json()))["slices"]["1"]["items"] == 10_000
        with pytest.raises(InvalidRequest, match="gaussian"):
            holdout.compare(guess, labels)
    with Holdout.open(tmp_path / "s.toml") as again:
        score = again.score(guess)
        assert score.repeated
        assert score.slices == first.slices
        assert again.scores()[0].slices == first.slices
    np.save(tmp_path / "s.groups.npy", np.zeros(n, dtype=np.uint16))
    with pytest.raises(InvalidRequest, match="groups"):
        Holdout.open(tmp_path / "s.toml")


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"method": Slices([0])}, "4 groups"),
        ({"method": Slices([0.5, 1, 1, 1])}, "strings or whole"),
        ({"method": Slices([0, 0, 1, 1]), "weights": [1, 1, 1, 1]}, "without weights"),
        ({"method": Slices([0, 0, 1, 1]), "metric": "auc"}, "without weights"),
        ({"method": Slices([0, 0, 1, 1]), "scores": None, "tolerance": "0.1"}, "group '0'"),
    ],
)
def test_groups_that_mean_nothing_are_refused(tmp_path: Path, wish: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        Holdout.create(tmp_path / "w.toml", **{"labels": [0, 1, 0, 1], "scores": 1, **wish})
    assert not list(tmp_path.iterdir())
