"""How much a model changes when one row of its training set does: measured, which is no bound.

Uniform change-one stability is a maximum over all tables, all rows and all points; what can be tried are a
few changes of one table.  So what is found here is at most the truth, and the theorem that turns stability
into a bound on overfitting (UCO-STABILITY) does not apply to it.  It is shown beside the overfitting itself.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.kernel.exact import whole
from adyton.kernel.exact.cells import Floats
from adyton.show import Sheet, Shown

_FEWEST_ROWS = 4
_MOST_CHANGES = 10_000


@dataclass(frozen=True, slots=True)
class MeasuredStability(Shown, Document):
    """What changing one row did, over ``changes`` of them, to the score of a model at the rows of a table.

    ``worst``: the most that the score of any row moved: what the theorem would bound the gap by, if no other
    table, row or point could move it more.  ``average``: over all rows.  ``own``: how much better the model
    was, on average, at a row while that was in its training set: its mean over all tables is the mean gap.
    ``gap``: mean score of the training rows less that of fresh ones.  ``own_error``, ``gap_error``: standard
    errors.
    """

    rows: int
    changes: int
    worst: float
    average: float
    own: float
    own_error: float
    gap: float
    gap_error: float
    training: float
    fresh: float

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            ("rows trained on", f"{self.rows:,}"),
            ("score of these rows", f"{self.training:.4g}"),
            ("score of as many fresh rows", f"{self.fresh:.4g}"),
            ("gap, with its standard error", f"{self.gap:.4g} ± {self.gap_error:.2g}"),
            ("what a row gains by being trained on", f"{self.own:.4g} ± {self.own_error:.2g}"),
            ("what changing one row moves, on average", f"{self.average:.4g}"),
            ("what it moved at most: the bound, if it were one", f"{self.worst:.4g}"),
        )
        notes = (
            f"An estimate from {self.changes:,} changes of one table: the true stability is at least the "
            f"last line, so that line bounds nothing.",
            "Stability of a score is not kept by post-processing: see adyton lab stability.",
        )
        return Sheet("Stability, measured", ("", ""), rows, notes)


def stability_of(
    estimator: Any,
    X: object,  # noqa: N803
    y: object,
    *,
    changes: int = 20,
    chances: bool = False,
    seed: int = 0,
) -> MeasuredStability:
    """Fit to half of the rows, change one of them for a fresh one, fit again, and see what has moved.

    The score of a row is 1 where ``predict`` is right and 0 where it is wrong; with ``chances`` what
    ``predict_proba`` gives to its label.  An estimator that draws its own coins needs a fixed
    ``random_state``, or they count as instability.

    Claim:    none: an estimate of uniform change-one stability from below.
    Source:   Bousquet, Elisseeff 2002; for ``own`` Shalev-Shwartz, Shamir, Srebro, Sridharan 2010.
    Theorem: UCO-STABILITY says what a bound would give.
    """
    features, labels = _table(X, y)
    tried = whole(changes, "the number of changes")
    if tried > _MOST_CHANGES:
        raise InvalidRequest(f"at most {_MOST_CHANGES:,} changes")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(labels))
    trained, fresh = np.split(order[: 2 * (len(order) // 2)], 2)
    trial = _Trial(estimator, features, labels, chances)
    before = trial.scores(trained)
    moved, own = [], []
    for _ in range(tried):
        place, other = int(rng.integers(len(trained))), int(rng.choice(fresh))
        swapped = trained.copy()
        swapped[place] = other
        after = trial.scores(swapped)
        moved.append(np.abs(after - before))
        own.append(before[trained[place]] - after[trained[place]])
    inside, outside = before[trained], before[fresh]
    return MeasuredStability(
        rows=len(trained),
        changes=tried,
        worst=float(max(part.max() for part in moved)),
        average=float(np.mean([part.mean() for part in moved])),
        own=float(np.mean(own)),
        own_error=_error(np.array(own)),
        gap=float(inside.mean() - outside.mean()),
        gap_error=math.hypot(_error(inside), _error(outside)),
        training=float(inside.mean()),
        fresh=float(outside.mean()),
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    estimator: Any
    features: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    chances: bool

    def scores(self, rows: npt.NDArray[Any]) -> Floats:
        """At every row, of a model that was fitted to some of them."""
        model = _unfitted(self.estimator)
        model.fit(self.features[rows], self.labels[rows])
        if not self.chances:
            return np.asarray(model.predict(self.features) == self.labels, dtype=np.float64)
        if not hasattr(model, "predict_proba"):
            raise InvalidRequest("chances are asked for, and this estimator has no predict_proba")
        table, classes = np.asarray(model.predict_proba(self.features)), np.asarray(model.classes_)
        right = self.labels[:, None] == classes[None, :]  # a class that was not trained on gets no chance
        found: Floats = np.where(right, table, 0.0).sum(axis=1)
        return found


def _unfitted(estimator: Any) -> Any:
    """As scikit-learn does it where the estimator is one of its kind; else a copy."""
    if not callable(getattr(estimator, "fit", None)) or not callable(getattr(estimator, "predict", None)):
        raise InvalidRequest("an estimator has fit and predict, as those of scikit-learn")
    if hasattr(estimator, "get_params") and hasattr(estimator, "__sklearn_tags__"):
        from sklearn.base import clone  # it is there, since its estimator is

        return clone(estimator)
    return copy.deepcopy(estimator)


def _table(X: object, y: object) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:  # noqa: N803
    features, labels = np.asarray(X), np.asarray(y)
    if features.ndim < 1 or labels.ndim != 1 or len(features) != len(labels):
        raise InvalidRequest("X has a row for each label in y, and y is one list")
    if len(labels) < _FEWEST_ROWS:
        raise InvalidRequest(f"at least {_FEWEST_ROWS} rows are needed: half of them are kept fresh")
    if labels.dtype.kind == "f":
        raise InvalidRequest("labels are classes, whole numbers or texts: for real numbers nothing is right")
    return features, labels


def _error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 1.0
