"""Mechanisms: what noise costs, how it is added, and how wrong it may be.  One idea a file."""

from adyton.kernel.mechanisms.base import Mechanism, QueryNoise
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise

NOISES: tuple[type[QueryNoise], ...] = (GaussianNoise, GeometricNoise)
"""All noise for queries: a new kind is a line here."""

__all__ = ["NOISES", "GaussianNoise", "GeometricNoise", "Mechanism", "QueryNoise"]
