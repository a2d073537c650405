"""The only place that knows the neighbor relation: what may be read, and how far one unit can move it."""

from adyton.kernel.sensitivity.bounds import Sensitivity
from adyton.kernel.sensitivity.reading import Coordinate, Persons, Reading

__all__ = ["Coordinate", "Persons", "Reading", "Sensitivity"]
