"""Mechanisms: what noise costs, how it is added, and how wrong it may be.  One idea a file."""

from adyton.kernel.mechanisms.base import Mechanism, largest_ratio, worst_error
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.mechanisms.ratio import Band, Ratio, intervals_of, ratio_interval
from adyton.kernel.special.mechanisms.sparse.above_threshold import AboveThreshold, SparseState
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse

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
