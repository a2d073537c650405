"""The reusable holdout: score models on one hidden test set, again and again, without fooling yourself."""

from adyton.holdout.holdout import Holdout
from adyton.holdout.leaderboard import Entry, Leaderboard
from adyton.holdout.methods.options import (
    Auto,
    FreeLadder,
    Gaussian,
    GuessAndCheck,
    Ladder,
    Method,
    Rounding,
    Slices,
    SparseValidate,
    Split,
    Thresholdout,
)
from adyton.holdout.score import Comparison, HoldoutStatement, Score, Slice

__all__ = [
    "Auto",
    "Comparison",
    "Entry",
    "FreeLadder",
    "Gaussian",
    "GuessAndCheck",
    "Holdout",
    "HoldoutStatement",
    "Ladder",
    "Leaderboard",
    "Method",
    "Rounding",
    "Score",
    "Slice",
    "Slices",
    "SparseValidate",
    "Split",
    "Thresholdout",
]
