"""What a measurement costs in a study.  No amount is ever passed in."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.errors import InvalidRequest
from adyton.kernel.genuine import OnlyHere, made_here
from adyton.kernel.measurement import AnyMeasurement, Due
from adyton.kernel.noisy import NoisyQueries
from adyton.kernel.protection import Protection
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.choice import Choice
from adyton.kernel.special.marginals import Marginals
from adyton.kernel.special.monitor import Monitor, Pmw
from adyton.kernel.special.workload import Workload

_MEASUREMENTS = (NoisyQueries, Choice, Workload, Marginals, Monitor, Pmw)


@dataclass(frozen=True, slots=True)
class Label:
    """How a receipt says what it paid for: ``query`` is the canonical text, ``detail`` names the noise.

    Two charges with one label and one amount are for the same release.
    """

    query: str
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class Priced(OnlyHere):
    """A measurement and what it costs.  Made by ``price`` alone.

    Where units are split, ``due.amount`` is what must have been spent in total before it is released.
    """

    measurement: AnyMeasurement
    protection: Protection
    label: Label
    due: Due
    readings: tuple[Reading, ...]

    @property
    def split(self) -> bool:
        return self.protection.unit.parts > 1


def price(measurement: AnyMeasurement, protection: Protection, label: Label) -> Priced:
    """The measurement with its cost under the accounting of the study; refuses what is not proved."""
    if type(measurement) not in _MEASUREMENTS:
        raise TypeError("this measurement is not one whose cost is proved")
    readings = tuple(measurement.readings)
    if any(reading.part is not None for reading in readings):
        raise InvalidRequest("which part of the units is read follows from the receipt")
    return made_here(Priced(measurement, protection, label, measurement.due(protection), readings))
