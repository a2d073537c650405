"""The reusable holdout: score models on one hidden test set, again and again, without fooling yourself."""

from adyton.holdout.holdout import Holdout
from adyton.holdout.leaderboard import Entry, Leaderboard
from adyton.holdout.score import Comparison, HoldoutStatement, Score, Slice

__all__ = ["Comparison", "Entry", "Holdout", "HoldoutStatement", "Leaderboard", "Score", "Slice"]
