"""What a holdout says of itself: budgets, ranks, assumptions, and what a scorer hands to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adyton.certify import Certificate
from adyton.errors import InvalidRequest
from adyton.holdout import (
    Auto,
    FreeLadder,
    Gaussian,
    GuessAndCheck,
    Holdout,
    HoldoutBudget,
    Ladder,
    Leaderboard,
    Method,
    Rounding,
    Slices,
    SparseValidate,
    Split,
)
from support.randomness import Seeded

LABELS = np.arange(20_000) % 2


# Statements ------------------------------------------------------------------------------------------------


def budget(left: int | None, half_width: float | None, method: str = "gaussian") -> str:
    nothing = Certificate((), ())
    return str(HoldoutBudget("accuracy", method, 9, 0, left, half_width, 0.95, "", nothing))


@pytest.mark.parametrize(
    ("half_width", "shown"),
    [(0.05, "0.05"), (0.07, "0.07"), (0.1231, "0.124"), (0.01999927, "0.02"), (0.0304001, "0.0305")],
)
def test_a_width_is_never_shown_smaller_than_it_is(half_width: float, shown: str) -> None:
    assert budget(214, half_width) == f"214 scores left at ±{shown}, 95 %"


def test_a_budget_counts_what_is_left() -> None:
    assert budget(1, 0.1).startswith("1 score left at")
    assert budget(0, 0.1, "thresholdout").startswith("0 scores left")
    assert budget(5, 0.1, "thresholdout").startswith("at least 5 scores left")
    assert budget(1, None, "sparse_validate") == "at least 1 score left, without a certified interval"


def test_a_score_counts_what_is_left(tmp_path: Path) -> None:
    wish: dict[str, Any] = {"labels": LABELS, "method": SparseValidate(rejections=2), "scores": 50}
    with Holdout.create(tmp_path / "s.toml", tolerance="0.1", **wish) as holdout:
        assert "at least 2" in str(holdout.score(LABELS, guess=1))
        assert "at least 1" in str(holdout.score(LABELS, guess=0))
        assert "at least" not in str(holdout.score(1 - LABELS, guess=1))
        assert str(holdout.budget()).startswith("0 scores left")
        assert holdout.score(LABELS, guess=1).repeated  # what was answered is answered again


def test_a_budget_holds_for_the_last_score_too(tmp_path: Path) -> None:
    with Holdout.create(
        tmp_path / "a.toml", labels=LABELS, tolerance="0.05", method=Gaussian(anytime=True)
    ) as holdout:
        said = holdout.budget()
        assert said.half_width is not None
        assert said.scores_left is not None
        for i in range(said.scores_left):
            interval = holdout.score(np.roll(LABELS, 1) ^ (np.arange(20_000) < i)).interval
            assert interval is not None
            assert (interval.high - interval.low) / 2 <= said.half_width <= 0.05


def test_the_mean_over_groups_says_what_it_is_a_mean_of(tmp_path: Path) -> None:
    groups = np.arange(20_000) % 3
    with Holdout.create(
        tmp_path / "g.toml", labels=LABELS, method=Slices(groups), tolerance="0.2"
    ) as holdout:
        for said in (holdout.score(LABELS).certificate, holdout.budget().certificate):
            assert any("share of the population" in assumed for assumed in said.assumptions)
        with pytest.raises(InvalidRequest, match="without groups"):
            holdout.compare(LABELS, 1 - LABELS)
    with Holdout.create(tmp_path / "h.toml", labels=LABELS, tolerance="0.2") as holdout:
        assert not any("shares" in assumed for assumed in holdout.budget().certificate.assumptions)


# Plans -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"scores": 10_000}, "which says nothing"),
        ({"scores": 10**13}, "at most"),
        ({"scores": 5, "method": Ladder()}, "which says nothing"),
        ({"scores": 5, "method": Ladder(rung=5)}, "the rung must be below 1"),
        ({"scores": 5, "method": Ladder(rung="1e-9")}, "not finer"),
        ({"scores": 5, "method": Ladder(rung="0.1"), "tolerance": "0.1"}, "not 0.1"),
        ({"scores": 10_000, "method": Auto()}, "which says nothing"),
    ],
)
def test_a_plan_that_certifies_nothing_is_none(tmp_path: Path, wish: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        Holdout.create(tmp_path / "w.toml", labels=[0, 1, 1], **wish)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scores", [2, 400])
def test_the_planner_takes_the_nearest_of_so_many_scores(tmp_path: Path, scores: int) -> None:
    """Few scores are nearest from fresh items for each, many from noise."""
    widths = {}
    for method in (Gaussian(), Rounding(), Split(), Auto()):
        file = tmp_path / f"{method.name}.toml"
        with Holdout.create(file, labels=LABELS, scores=scores, method=method) as holdout:
            widths[method.name] = holdout.budget().half_width
            chosen = holdout.facts.method
    assert widths["auto"] == min(widths.values())
    assert chosen == ("split" if scores == 2 else "gaussian")


# Ranks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["scores", "absolute_error"])
def test_whoever_the_intervals_do_not_separate_is_tied(tmp_path: Path, metric: str) -> None:
    """A chain: ann leads bob by too little, bob cid, but ann is ahead of cid; dan is alone."""
    wish: dict[str, Any] = {"items": 20_000} if metric == "scores" else {"labels": np.ones(20_000)}
    wish |= {} if metric == "scores" else {"low": 0, "high": 1}
    with Holdout.create(
        tmp_path / "b.toml", metric=metric, tolerance="0.05", bits=Seeded(1), **wish
    ) as holdout:
        for name, value in (("ann", 0.90), ("bob", 0.85), ("cid", 0.79), ("dan", 0.3)):
            holdout.score(np.full(20_000, value), by=name)
    with Leaderboard(tmp_path / "b.toml") as board:
        found = [(entry.entrant, entry.rank, entry.tied) for entry in board.standings()]
    assert found == [("ann", 1, True), ("bob", 1, True), ("cid", 2, True), ("dan", 4, False)]


def test_a_ladder_without_a_parameter_ranks_nobody_beyond_doubt(tmp_path: Path) -> None:
    """It shows who led and with what, best first; without an interval nobody is ahead for sure."""
    Holdout.create(tmp_path / "f.toml", labels=LABELS, method=FreeLadder(), scores=5).close()
    with Leaderboard(tmp_path / "f.toml") as board:
        for name, wrong in (("ann", 9_000), ("bob", 100), ("cid", 5_000)):
            board.submit(name, LABELS ^ (np.arange(20_000) < wrong))
        found = [(entry.entrant, entry.rank, entry.tied, entry.value) for entry in board.standings()]
        assert found == [("bob", 1, True, 0.995), ("ann", 1, True, 0.55)]
        assert "not certified" in str(board)
        assert board.to_json()["entries"][0]["interval"] is None


# Scorers ---------------------------------------------------------------------------------------------------


class Model:
    """Predicts the labels, in the ways that it is given."""

    def __init__(self, **ways: np.ndarray) -> None:
        for way, values in ways.items():
            setattr(self, way, lambda _, values=values: values)


CHANCES = np.column_stack([1 - LABELS, LABELS]) * 0.8 + 0.1


@pytest.mark.parametrize(
    ("metric", "model", "least"),
    [
        ("auc", Model(predict=1 - LABELS, predict_proba=CHANCES), 0.9),
        ("auc", Model(predict=1 - LABELS, decision_function=LABELS - 3.0), 0.9),
        ("auc", Model(predict=LABELS * 7.0), 0.9),
        ("brier", Model(predict=1 - LABELS, predict_proba=CHANCES), -0.1),
    ],
)
def test_a_scorer_asks_a_model_for_what_the_metric_needs(
    tmp_path: Path, metric: str, model: Model, least: float
) -> None:
    with Holdout.create(tmp_path / "m.toml", labels=LABELS, metric=metric, tolerance="0.1") as holdout:
        assert holdout.scorer()(model, None) > least


@pytest.mark.parametrize(
    ("metric", "model", "says"),
    [
        ("brier", Model(predict=LABELS), "no predict_proba"),
        ("brier", Model(predict=LABELS, predict_proba=np.full((20_000, 3), 1 / 3)), "two classes"),
        ("auc", Model(predict=LABELS, predict_proba=np.full((20_000, 1), 1.0)), "two classes"),
    ],
)
def test_a_scorer_refuses_a_model_that_does_not_have_it(
    tmp_path: Path, metric: str, model: Model, says: str
) -> None:
    with Holdout.create(tmp_path / "m.toml", labels=LABELS, metric=metric, tolerance="0.1") as holdout:
        with pytest.raises(InvalidRequest, match=says):
            holdout.scorer()(model, None)
        assert holdout.budget().scores == 0


@pytest.mark.parametrize("method", [Ladder(), FreeLadder()])
def test_a_model_that_improved_nothing_does_not_get_the_score_of_the_best(
    tmp_path: Path, method: Method
) -> None:
    """Processes may finish in any order: a worse model would tie with a better one that was scored before it."""
    with Holdout.create(tmp_path / "l.toml", labels=LABELS, method=method, scores=5) as holdout:
        scorer = holdout.scorer()
        assert scorer(Model(predict=LABELS), None) == 1
        assert np.isnan(scorer(Model(predict=1 - LABELS), None))
        assert scorer(Model(predict=LABELS), None) == 1


def test_a_method_that_needs_a_guess_has_no_scorer(tmp_path: Path) -> None:
    """Said when the scorer is made: a grid search would turn the refusal into a column of NaN."""
    wish: dict[str, Any] = {"labels": LABELS, "method": GuessAndCheck(), "tolerance": "0.1"}
    with (
        Holdout.create(tmp_path / "g.toml", **wish) as holdout,
        pytest.raises(InvalidRequest, match="needs a guess"),
    ):
        holdout.scorer()
