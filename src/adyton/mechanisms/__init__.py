"""Mechanisms: what noise costs, how it is added, and how wrong it may be.  One idea a file."""

from adyton.mechanisms.above_threshold import AboveThreshold, Watch
from adyton.mechanisms.base import Mechanism, largest_ratio, worst_error
from adyton.mechanisms.gaussian import GaussianNoise
from adyton.mechanisms.geometric import GeometricNoise
from adyton.mechanisms.numeric_sparse import NumericSparse
from adyton.mechanisms.ratio import ratio_interval
from adyton.mechanisms.sparse import Sparse
from adyton.mechanisms.sparse_split import late_halt_cost, questions_per_threshold, slide_cost

__all__ = [
    "AboveThreshold",
    "GaussianNoise",
    "GeometricNoise",
    "Mechanism",
    "NumericSparse",
    "Sparse",
    "Watch",
    "largest_ratio",
    "late_halt_cost",
    "questions_per_threshold",
    "ratio_interval",
    "slide_cost",
    "worst_error",
]
