"""The only place that knows the neighbour relation: what is read, and how far one unit can move it."""

from adyton.sensitivity.bounds import Sensitivity
from adyton.sensitivity.readings import Coordinate, Persons, Reading, readings_for, readings_of

__all__ = ["Coordinate", "Persons", "Reading", "Sensitivity", "readings_for", "readings_of"]
