"""Weights and groups that were computed from the labels give the labels away: they are public."""

from __future__ import annotations

import warnings

import numpy as np

from adyton.holdout.metrics import Array


def warn_of_labels(labels: Array | None, public: object, what: str) -> None:
    """Warns the owner, who alone sees it, where items of one label always have one value of ``public``.

    Classes that are balanced by weights look like this.  A handful of items could do so by chance, and is
    left alone.
    """
    if labels is None or public is None:
        return
    values = np.asarray(public)
    if values.shape != labels.shape:
        return
    classes, own = np.unique(labels, return_inverse=True)
    kinds, other = np.unique(values.astype(str), return_inverse=True)
    together = len(np.unique(own * np.int64(len(kinds)) + other))
    if len(kinds) > 1 and together == len(classes) and len(labels) >= 10 * len(classes):
        warnings.warn(
            f"the {what} look as if they were made from the labels: items with the same label have the same "
            f"value. The {what} of a holdout are public, so whoever sees them sees the labels",
            stacklevel=4,
        )
