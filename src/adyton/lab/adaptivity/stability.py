"""Stability of classifiers: how much one row moves them, beside how much they overfit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BOUSQUET
from adyton.validity.measured_stability import MeasuredStability, stability_of

STABILITY = Topic(
    "stability",
    (BOUSQUET,),
    "Stability of classifiers: what one row moves, and what it gains by being trained on",
    story="One row of the training data is exchanged for another, the classifier is trained again, and what "
    "it says of that row is compared, beside how much better it is on rows that it was trained on.",
)
_CHANGES, _ROWS = 20, 300
_NEIGHBORS = (1, 4, 16, 64)
_HAIR = 2.0**-40
_ERRORS = 6  # standard errors: a false alarm in 5e8
MARK = 2.0**-20


def stability(rng: np.random.Generator) -> LabReport:
    """Classifiers of scikit-learn on its table of tumours; one that hides its rows, and one that looks."""
    X, y, adjacency, others = _real()  # noqa: N806
    seed = int(rng.integers(2**31))

    def measured(model: Any) -> MeasuredStability:
        return stability_of(model, X, y, changes=_CHANGES, seed=seed, chances=True)

    by_number = {k: measured(adjacency(k, algorithm="kd_tree")) for k in _NEIGHBORS}
    hidden, shown = measured(Marked()), measured(Marked(looks=True))
    findings = [_gap(f"{k} neighbor{'s' * (k > 1)}", one) for k, one in by_number.items()]
    findings += [_gap(name, measured(model)) for name, model in others.items()]
    beyond = sum(one.worst > 1 / k + _HAIR for k, one in by_number.items())
    findings += [
        LabFinding("times that a row moved k neighbors by more than 1/k, which bounds it", beyond, 0, 0.0),
        LabFinding("a model that hides its rows: moved at most by one row", hidden.worst, MARK, 0.0),
        LabFinding("the same: gap", hidden.gap, MARK, 0.0),
        LabFinding("post-processed, one that looks: moved at most by one row", shown.worst, 1.0, 0.0),
        LabFinding("the same: gap", shown.gap, 1.0, 0.0),
    ]
    return LabReport(STABILITY, tuple(findings), _NOTES, _chart(by_number))


class Marked:
    """Gives every label one half, and a hair more at rows that it was fitted to.  Its score moves by a hair
    if a row is changed.  Whoever ``looks`` at the hair knows every row: that is post-processing.
    """

    def __init__(self, looks: bool = False) -> None:
        self.looks, self.classes_ = looks, np.array([0, 1])
        self._rows: dict[bytes, int] = {}

    def fit(self, X: Any, y: Any) -> Marked:  # noqa: N803
        self._rows = {np.asarray(row).tobytes(): int(label) for row, label in zip(X, y, strict=True)}
        return self

    def predict_proba(self, X: Any) -> Any:  # noqa: N803
        labels = [self._rows.get(np.asarray(row).tobytes()) for row in X]
        if self.looks:
            return np.array([[float(label == 0), float(label == 1)] for label in labels])
        return np.array([[0.5 + MARK * (label == 0), 0.5 + MARK * (label == 1)] for label in labels])

    def predict(self, X: Any) -> Any:  # noqa: N803
        return self.predict_proba(X).argmax(axis=1)


def _real() -> tuple[Any, Any, Any, dict[str, Any]]:
    try:
        from sklearn.datasets import load_breast_cancer
        from sklearn.linear_model import LogisticRegression
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise InvalidRequest("this entry needs scikit-learn: pip install 'adyton[sklearn]'") from None
    X, y = load_breast_cancer(return_X_y=True)  # noqa: N806
    X, y = ((X - X.mean(axis=0)) / X.std(axis=0))[:_ROWS], y[:_ROWS]  # noqa: N806
    others = {
        "logistic regression": LogisticRegression(C=0.01, solver="liblinear"),
        "decision tree": DecisionTreeClassifier(random_state=0),
    }
    return X, y, KNeighborsClassifier, others


def _gap(name: str, one: MeasuredStability) -> LabFinding:
    """Over all tables both have the same mean; of one table both have errors."""
    tolerance = _ERRORS * math.hypot(one.own_error, one.gap_error)
    return LabFinding(
        f"{name}: what a row gains by being trained on, and the gap", one.own, one.gap, tolerance
    )


def _chart(found: dict[int, MeasuredStability]) -> Chart:
    places = tuple(map(float, found))

    def line(name: str, values: list[float]) -> ChartLine:
        return ChartLine(name, places, tuple(values))

    return Chart(
        "neighbors that vote",
        "change of a row's score",
        (
            line("moved at most by one row, 1 / neighbors", [one.worst for one in found.values()]),
            line("gap of this table", [one.gap for one in found.values()]),
            line("what a row gains by being trained on", [one.own for one in found.values()]),
        ),
        ("x",),
    )


_NOTES = (
    "Of k neighbors that vote one row exchanges one, so the score of any row moves by 1/k at most: a bound, "
    "and by the theorem the mean gap is within it. Of the others only what was seen is known, which is at "
    "most the truth and bounds nothing.",
    "The score of the model that hides its rows hardly moves. Reading the hair that it leaves is a function "
    "of the model alone, and knows every row: post-processing does not keep such stability.",
)
