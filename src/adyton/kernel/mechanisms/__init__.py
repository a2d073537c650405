"""Mechanisms: what noise costs, how it is added, and how wrong it may be.  One idea a file."""

from adyton.kernel.mechanisms.base import Mechanism
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise

__all__ = ["GaussianNoise", "GeometricNoise", "Mechanism"]
