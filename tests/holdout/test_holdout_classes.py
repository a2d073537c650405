"""A holdout of one class of rules, as its owner and its users meet it."""

from __future__ import annotations

import json
import stat
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.holdout import Boxes, Holdout, LinearSeparators, Thresholdout, Thresholds
from adyton.holdout.planner import class_method
from adyton.validity.classes.uniform import threshold_width
from adyton.validity.planner import plan
from adyton.validity.plans.noise_plan import MOST

N = 2000


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(1).normal(0, 1, (N, 2))


@pytest.fixture
def labels(features: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(2).random(N) < 0.1
    return ((features[:, 0] > 0) ^ noise).astype(int)


def made(path: Path, labels: np.ndarray, features: np.ndarray, **words: object) -> Holdout:
    words = {"hypothesis_class": Thresholds(), "scores_reveal_labels": True, **words}
    return Holdout.create(path / "h.toml", labels=labels, features=features, **words)


def test_any_number_of_exact_scores_with_one_width(
    tmp_path: Path, labels: np.ndarray, features: np.ndarray
) -> None:
    with made(tmp_path, labels, features) as holdout:
        said = holdout.budget()
        assert said.scores_left is None
        assert str(said).startswith("open number of scores at ±0.06")
        for i in range(60):
            cut = i / 30 - 1
            score = holdout.score({"column": 0, "above": cut})
            exact = float(((features[:, 0] > cut) == labels).mean())
            assert score.value == exact
            assert score.interval.low < exact < score.interval.high
            assert max(score.value - score.interval.low, score.interval.high - score.value) <= said.half_width
        assert (score.number, score.scores_left) == (60, None)
        assert score.certificate.theorems == ("UNIFORM-CLASSES", "GROWTH-OF-CLASSES")
        assert holdout.score({"column": 0, "above": cut}).repeated
        assert len(holdout.scores()) == holdout.verify().receipts == 60
    with Holdout.open(tmp_path / "h.toml") as again:  # a restart changes nothing
        assert again.score({"column": 0, "above": cut}).value == exact


def test_predictions_prove_no_class(tmp_path: Path, labels: np.ndarray, features: np.ndarray) -> None:
    with made(tmp_path, labels, features, hypothesis_class="linear") as holdout:
        with pytest.raises(InvalidRequest, match="send the numbers of a rule"):
            holdout.score(labels)
        with pytest.raises(InvalidRequest, match="hypothesis class"):
            holdout.compare({"weights": [1, 0]}, {"weights": [0, 1]})
        with pytest.raises(InvalidRequest, match="2 numbers"):
            holdout.score({"weights": [1, 0, 0]})
        assert holdout.verify().receipts == 0
        assert holdout.score({"weights": [2, 0]}).value > 0.85


def test_features_are_kept_like_labels(tmp_path: Path, labels: np.ndarray, features: np.ndarray) -> None:
    with made(tmp_path, labels, features) as holdout:
        shown = (repr(holdout), str(holdout.budget()), json.dumps(holdout.budget().to_json()))
    kept = tmp_path / "h.features.npy"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    value = repr(float(features[0, 0]))
    assert all(value not in text for text in (*shown, (tmp_path / "h.toml").read_text()))
    changed = features.copy()
    changed[3, 1] += 1e-9
    np.save(kept, changed)
    with pytest.raises((InvalidRequest, LedgerCorrupt), match="do not belong together"):
        Holdout.open(tmp_path / "h.toml")
    np.save(kept, features[:, :1])
    with pytest.raises(InvalidRequest, match="not the ones"):
        Holdout.open(tmp_path / "h.toml")
    kept.unlink()
    with pytest.raises(InvalidRequest, match="missing"):
        Holdout.open(tmp_path / "h.toml")


def test_the_better_of_two_plans_is_taken(tmp_path: Path, labels: np.ndarray, features: np.ndarray) -> None:
    """One score is nearer by noise; many are not; a tolerance within reach of all rules needs no noise."""
    for place, (words, method) in enumerate(
        (
            ({"scores": 1}, "gaussian"),
            ({"scores": 500}, "uniform"),
            ({"tolerance": "0.07"}, "uniform"),
            ({"tolerance": "0.05"}, "gaussian"),
            ({}, "uniform"),
        )
    ):
        (tmp_path / str(place)).mkdir()
        with made(tmp_path / str(place), labels, features, **words) as holdout:
            assert holdout.budget().method == method
            rule = {"column": 0, "above": 0}
            score = holdout.score(rule)
            assert score.interval.low < 0.9 < score.interval.high
            assert holdout.score(rule).repeated
    with pytest.raises(InvalidRequest, match="no other method comes nearer"):
        made(tmp_path, labels, features, tolerance="0.001")
    assert not list(tmp_path.glob("h.*"))


def test_what_is_no_class_is_refused(tmp_path: Path, labels: np.ndarray, features: np.ndarray) -> None:
    for words in (
        {"hypothesis_class": "forest"},
        {"features": None},
        {"features": features[:-1]},
        {"features": np.where(features > 9, np.nan, features) * np.inf},
        {"features": np.full((N, 1), 2**60 + 1)},
        {"labels": labels + 1},
        {"hypothesis_class": None},
        {"weights": np.ones(N)},
        {"method": Thresholdout(), "tolerance": "0.1"},
    ):
        given = {"labels": labels, "features": features, "hypothesis_class": Boxes(), **words}
        given["scores_reveal_labels"] = given["hypothesis_class"] is not None
        with pytest.raises(InvalidRequest):
            Holdout.create(tmp_path / "h.toml", **given)
    assert not list(tmp_path.glob("h.*"))


def test_models_of_scikit_learn_are_linear_rules(tmp_path: Path) -> None:
    X, y = load_breast_cancer(return_X_y=True)  # noqa: N806
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:, :3]  # noqa: N806
    models = {str(c): LogisticRegression(C=c).fit(X[:200], y[:200]) for c in (0.001, 0.1, 10.0)}
    with Holdout.create(
        tmp_path / "h.toml",
        labels=y[200:],
        features=X[200:],
        hypothesis_class=LinearSeparators(),
        scores_reveal_labels=True,
    ) as holdout:
        for model in models.values():
            assert holdout.score(model).value == pytest.approx(model.score(X[200:], y[200:]), abs=1e-12)
        best = max(models, key=lambda name: models[name].score(X[200:], y[200:]))
        found = holdout.best_of(models).winner
        assert models[found].score(X[200:], y[200:]) == models[best].score(X[200:], y[200:])


def test_a_plan_knows_classes() -> None:
    found = class_method(plan(rows=10_000, tolerance="0.05"))
    assert (found.method, found.value, found.theorem) == ("class thresholds:1", MOST, "UNIFORM-CLASSES")
    assert class_method(plan(rows=700, tolerance="0.05")).value == 0
    width = class_method(plan(rows=5000, queries=10**9)).value
    assert width == threshold_width(5000, Fraction(1, 20))
    rows = class_method(plan(queries=7, tolerance="0.05")).value
    assert threshold_width(rows, Fraction(1, 20)) <= 0.05 < threshold_width(rows - 1, Fraction(1, 20))
