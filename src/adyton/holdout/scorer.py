"""A holdout as scikit-learn sees it: a function of a model and of the features of the items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


class Scorer:
    """A scorer as scikit-learn calls it; it holds the path of a holdout, so worker processes may have it too.

    More is better: of a loss the negative is returned.  ``y`` is ignored, because the labels are the
    holdout's.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, estimator: Any, X: Any, y: object = None) -> float:  # noqa: N803
        from adyton.holdout.holdout import Holdout  # which makes scorers

        with Holdout.open(self.path) as holdout:
            if holdout.facts.metric.name in ("brier", "auc"):
                predictions = np.asarray(estimator.predict_proba(X))[:, 1]
            else:
                predictions = estimator.predict(X)
            value = float(holdout.score(predictions))
            return value if holdout.facts.metric.greater_is_better else -value

    def __repr__(self) -> str:
        return f"<Scorer of {self.path.name}>"
