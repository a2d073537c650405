"""Exact integer noise: the printed probabilities are the true ones, not those of a float stand-in."""

from adyton.kernel.noise import rounded_gaussian, two_sided_geometric
from adyton.kernel.noise.refine import Bits, SystemBits

__all__ = ["Bits", "SystemBits", "rounded_gaussian", "two_sided_geometric"]
