"""Mechanisms: what noise costs, how it is added, and how wrong it may be.  One idea a file."""

from adyton.mechanisms.base import Mechanism
from adyton.mechanisms.gaussian import GaussianNoise
from adyton.mechanisms.geometric import GeometricNoise

__all__ = ["GaussianNoise", "GeometricNoise", "Mechanism"]
