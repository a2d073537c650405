"""Mechanisms: what noise costs, how it is added, and how wrong it may be.  One idea a file."""

from adyton.mechanisms.base import Mechanism, largest_ratio, worst_error
from adyton.mechanisms.gaussian import GaussianNoise
from adyton.mechanisms.geometric import GeometricNoise
from adyton.mechanisms.ratio import ratio_interval

__all__ = ["GaussianNoise", "GeometricNoise", "Mechanism", "largest_ratio", "ratio_interval", "worst_error"]
