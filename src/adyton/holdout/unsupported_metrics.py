"""Metrics that a holdout does not have, by the names under which people ask for them."""

from __future__ import annotations

_NO_AVERAGE = "is not an average over items"
_UNBOUNDED = "has no bound for one item"
_REASONS = {
    **dict.fromkeys(
        (
            "average_precision", "cohen_kappa", "explained_variance", "f1", "f2",
            "fbeta", "jaccard", "kappa", "matthews_corrcoef", "mcc", "median_absolute_error", "ndcg",
            "pr_auc", "r2",
        ),
        _NO_AVERAGE,
    ),
    **dict.fromkeys(
        ("precision", "recall", "sensitivity", "specificity"),
        "is not an average over a fixed number of items",
    ),
    **dict.fromkeys(("mape", "perplexity"), _UNBOUNDED),
}  # fmt: skip
_ALIASES = {
    "acc": "accuracy",
    "cross_entropy": "log_loss",
    "mae": "absolute_error",
    "mean_absolute_error": "absolute_error",
    "mean_squared_error": "squared_error",
    "mse": "squared_error",
    "root_mean_squared_error": "rmse",
    "roc_auc": "auc",
    "top_k_accuracy": "top_k",
}
_PREFIXES = ("neg_", "macro_", "micro_", "weighted_")
_SUFFIXES = ("_score", "_macro", "_micro", "_weighted", "_samples")


def reason_against(name: str) -> str | None:
    """Why no theorem here certifies it; None of a name that nobody has thought about."""
    return _REASONS.get(_plain(name))


def other_name_of(name: str) -> str:
    """What a holdout calls it, if it has it under another name."""
    plain = _plain(name)
    return _ALIASES.get(plain, plain)


def _plain(name: str) -> str:
    """Without what libraries put before and after the name of a metric."""
    plain = name.strip().lower()
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    for suffix in _SUFFIXES:
        plain = plain.removesuffix(suffix)
    return plain
