"""Mechanisms: what noise costs, how it is added, and how wrong it may be.  One idea a file."""

from adyton.mechanisms.base import Mechanism, largest_ratio, worst_error
from adyton.mechanisms.gaussian import GaussianNoise
from adyton.mechanisms.geometric import GeometricNoise
from adyton.mechanisms.ratio import Band, Ratio, intervals_of, ratio_interval
from adyton.mechanisms.sparse.above_threshold import AboveThreshold, SparseState
from adyton.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.mechanisms.sparse.sparse import Sparse

__all__ = [
    "AboveThreshold",
    "Band",
    "GaussianNoise",
    "GeometricNoise",
    "Mechanism",
    "NumericSparse",
    "Ratio",
    "Sparse",
    "SparseState",
    "intervals_of",
    "largest_ratio",
    "ratio_interval",
    "worst_error",
]
