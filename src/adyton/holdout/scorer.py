"""A holdout as scikit-learn sees it: a function of a model and of the features of the items."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest


class Scorer:
    """A scorer as scikit-learn calls it; it holds the path of a holdout, so worker processes may have it too.

    More is better: of a loss the negative is returned.  ``y`` is ignored, because the labels are the
    holdout's.  NaN is what a ladder says about a model that did not improve it: nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, estimator: Any, X: Any, y: object = None) -> float:  # noqa: N803
        from adyton.holdout.holdout import Holdout  # which makes scorers

        with Holdout.open(self.path) as holdout:
            score = holdout.score(_predictions(holdout.facts.metric.name, estimator, X))
            if score.said == "no improvement":
                return math.nan  # what a ladder shows is another model's then
            value = float(score)
            return value if holdout.facts.metric.greater_is_better else -value

    def __repr__(self) -> str:
        return f"<Scorer of {self.path.name}>"


def _predictions(metric: str, estimator: Any, X: Any) -> Any:  # noqa: N803
    """Classes or numbers; for brier the chance of label 1; for auc whatever orders the items."""
    if metric == "auc" and not hasattr(estimator, "predict_proba"):
        ordering = getattr(estimator, "decision_function", estimator.predict)
        return ordering(X)
    return _chances_of_one(estimator, X) if metric in ("brier", "auc") else estimator.predict(X)


def _chances_of_one(estimator: Any, X: Any) -> Any:  # noqa: N803
    if not hasattr(estimator, "predict_proba"):
        raise InvalidRequest("brier needs chances, and this model has no predict_proba")
    chances = np.asarray(estimator.predict_proba(X))
    if chances.ndim != 2 or chances.shape[1] != 2:
        raise InvalidRequest(
            "the chances of two classes are needed, 0 and 1, and the model was fitted to others"
        )
    return chances[:, 1]
