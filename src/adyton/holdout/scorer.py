"""A holdout as scikit-learn sees it: a function of a model and of the features of the items."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.holdout.score import Score
from adyton.kernel.exact import whole
from adyton.refusals import Refusal, refused


class Scorer:
    """A scorer as scikit-learn calls it; it holds the path of a holdout, so worker processes may have it too.

    More is better: of a loss the negative is returned.  ``y`` is ignored, because the labels are the
    holdout's.  NaN is what a ladder says about a model that did not improve it: nothing.

    When scores have run out it raises ScoresRefused.  Searches turn an error into NaN and go on to a winner
    that nobody compared with the rest, unless they are told ``error_score="raise"``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, estimator: Any, X: Any, y: object = None) -> float:  # noqa: N803
        from adyton.holdout.holdout import Holdout  # which makes scorers

        with Holdout.open(self.path) as holdout:
            facts = holdout.facts
            score = holdout.score(predictions_for(facts.metric.name, facts.items, estimator, X))
            return points(score, greater_is_better=facts.metric.greater_is_better)

    def __repr__(self) -> str:
        return f"<Scorer of {self.path.name}>"


def predictions_for(metric: str, items: int, estimator: Any, X: Any) -> Any:  # noqa: N803
    """What a model says of the items of a holdout, one prediction for each."""
    predictions = predicted(metric, estimator, X)
    found = np.shape(predictions)
    if len(found) == 1 and found[0] != items:
        raise InvalidRequest(
            f"{items:,} predictions are needed, one for each item of the holdout, and the model was given "
            f"{found[0]:,} rows. Folds of cross validation are not the holdout: put its {items:,} rows "
            f"behind the training rows, and give cv=PredefinedSplit([-1] * rows_to_train_on + [0] * {items})"
        )
    return predictions


def points(score: Score, *, greater_is_better: bool) -> float:
    """As searches compare them: more is better, and nothing where nothing was said of this model."""
    if score.said == "no improvement":
        return math.nan  # what a ladder shows is another model's then
    return float(score) if greater_is_better else -float(score)


def check_no_guess(method: str, *, needed: bool) -> None:
    if needed:
        raise InvalidRequest(
            f"the method {method!r} needs a guess with each score, and a scorer has none: "
            f"call score(predictions, guess=...)"
        )


def check_candidates(candidates: int | None, left: int | None) -> None:
    """ScoresRefused where a search over so many models would run out of scores on the way."""
    if candidates is None:
        return
    wanted = whole(candidates, "candidates")
    if left is None or wanted <= left:
        return
    raise refused(
        Refusal(
            whose="holdout",
            asked_for="search",
            counted_in="scores",
            requested=str(wanted),
            spent="0",
            budget=str(left),
            largest=str(left),
            field="candidates",
        )
    )


def predicted(metric: str, estimator: Any, X: Any) -> Any:  # noqa: N803
    """Classes or numbers; for brier and log_loss the chance of label 1; for auc whatever orders the items."""
    if metric == "auc" and not hasattr(estimator, "predict_proba"):
        ordering = getattr(estimator, "decision_function", estimator.predict)
        return ordering(X)
    if metric == "top_k":
        raise InvalidRequest("top_k needs several classes for each item: call score with them")
    return _chances_of_one(estimator, X) if metric in ("brier", "auc", "log_loss") else estimator.predict(X)


def _chances_of_one(estimator: Any, X: Any) -> Any:  # noqa: N803
    if not hasattr(estimator, "predict_proba"):
        raise InvalidRequest("probabilities are needed, and this model has no predict_proba")
    chances = np.asarray(estimator.predict_proba(X))
    if chances.ndim != 2 or chances.shape[1] != 2:
        raise InvalidRequest(
            "the probabilities of two classes are needed, 0 and 1, and the model was fitted to others"
        )
    return chances[:, 1]
