"""The reusable holdout: score models on one hidden test set, again and again, without fooling yourself."""

from adyton.holdout.answers.best import ModelChoice
from adyton.holdout.classes.hypotheses import Boxes, HypothesisClass, LinearSeparators, Thresholds
from adyton.holdout.holdout import Holdout
from adyton.holdout.leaderboard import Leaderboard, LeaderboardEntry
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
from adyton.holdout.score import Comparison, HoldoutBudget, Score, Slice

__all__ = [
    "Auto",
    "Boxes",
    "Comparison",
    "FreeLadder",
    "Gaussian",
    "GuessAndCheck",
    "Holdout",
    "HoldoutBudget",
    "HypothesisClass",
    "Ladder",
    "Leaderboard",
    "LeaderboardEntry",
    "LinearSeparators",
    "Method",
    "ModelChoice",
    "Rounding",
    "Score",
    "Slice",
    "Slices",
    "SparseValidate",
    "Split",
    "Thresholdout",
    "Thresholds",
]
