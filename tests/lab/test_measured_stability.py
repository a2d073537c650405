"""Stability that is measured: what it says of estimators whose stability is known."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from adyton import validity
from adyton.errors import InvalidRequest
from adyton.lab.adaptivity.stability import MARK, Marked
from adyton.validity import stability_of


class Majority:
    """Says what most rows say; of k yeses among n the chance k/n, so one row moves it by 1/n at most."""

    def __init__(self) -> None:
        self.share, self.classes_ = 0.5, np.array([0, 1])

    def fit(self, X: Any, y: Any) -> Majority:  # noqa: N803
        self.share = float(np.mean(y))
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        return np.full(len(X), int(self.share > 0.5))

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        return np.tile([1 - self.share, self.share], (len(X), 1))


def coins(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(0, 1, (rows, 2)), rng.integers(0, 2, rows)


def test_a_share_moves_by_one_row_in_all() -> None:
    X, y = coins(400)  # noqa: N806
    found = stability_of(Majority(), X, y, changes=30, chances=True)
    assert found.worst == pytest.approx(1 / 200)  # a row of one label for one of the other
    assert found.worst <= validity.stability_of(Majority(), X, y, changes=60, chances=True).worst + 1e-12
    assert 0 < found.average < found.worst


def test_a_nearest_neighbors_of_coins_knows_its_rows_and_nothing_else() -> None:
    X, y = coins(1000)  # noqa: N806
    found = stability_of(KNeighborsClassifier(1, algorithm="kd_tree"), X, y, changes=60)
    assert (found.training, found.worst) == (1.0, 1.0)
    assert found.fresh == pytest.approx(0.5, abs=0.15)
    assert found.gap == found.training - found.fresh
    assert found.own == pytest.approx(found.gap, abs=6 * (found.own_error**2 + found.gap_error**2) ** 0.5)
    assert 0.2 < found.own < 0.8


def test_on_a_real_table_the_gain_of_a_row_is_near_the_gap() -> None:
    X, y = load_breast_cancer(return_X_y=True)  # noqa: N806
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # noqa: N806
    steady, wild = (
        stability_of(model, X, y, changes=15, chances=True)
        for model in (
            LogisticRegression(C=0.001, solver="liblinear"),
            KNeighborsClassifier(1, algorithm="kd_tree"),
        )
    )
    assert steady.worst < 0.1 < wild.worst
    assert wild.average < steady.average  # one neighbor moves few rows, and those by all
    assert json.loads(json.dumps(steady.to_json()))["rows"] == 284
    assert "bounds nothing" in " ".join(str(steady).split())


def test_stability_of_a_score_is_not_kept_by_post_processing() -> None:
    X, y = coins(100)  # noqa: N806
    hides = stability_of(Marked(), X, y, chances=True)
    looks = stability_of(Marked(looks=True), X, y, chances=True)
    assert (hides.worst, hides.gap) == (MARK, MARK)
    assert (looks.worst, looks.gap) == (1.0, 1.0)


def test_what_cannot_be_measured_is_refused() -> None:
    X, y = coins(40)  # noqa: N806
    for words in (
        {"y": y[:-1]},
        {"y": y.astype(float)},
        {"X": X[:2], "y": y[:2]},
        {"estimator": object()},
        {"changes": 0},
        {"changes": 10**6},
    ):
        with pytest.raises(InvalidRequest):
            stability_of(**{"estimator": Majority(), "X": X, "y": y, **words})
    with pytest.raises(AttributeError):
        _ = validity.stability
