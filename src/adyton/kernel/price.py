"""What a measurement costs in a study.  No amount is ever passed in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from adyton.errors import InvalidRequest
from adyton.kernel.genuine import OnlyHere, made_here
from adyton.kernel.ledger.subjects import Kind, ReceiptSubject
from adyton.kernel.ledger.validity import ValidityRecord
from adyton.kernel.measurement import AnyMeasurement, Due
from adyton.kernel.noisy import NoisyQueries
from adyton.kernel.protection import Protection
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.choice import Choice
from adyton.kernel.special.marginals import Marginals
from adyton.kernel.special.monitor import Monitor, Pmw
from adyton.kernel.special.scores import CountedAnswers, ExactScore, GuessedScores, ModelVote, NoisyScore
from adyton.kernel.special.workload import Workload
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.measures import Count, CountPersons

_KINDS: dict[type, Kind] = {
    NoisyQueries: "batch",
    Choice: "choice",
    Workload: "workload",
    Marginals: "marginals",
    Monitor: "monitor",
    Pmw: "pmw",
}
_OF_HOLDOUTS = (NoisyScore, ModelVote, ExactScore, CountedAnswers, GuessedScores)


@dataclass(frozen=True, slots=True)
class Label:
    """How a receipt says what it paid for: ``texts`` are the canonical ones of its queries, or the one of
    something else; ``detail`` names the noise.

    Two charges with one label and one amount are for the same release.
    """

    texts: tuple[str, ...]
    detail: str

    @property
    def query(self) -> str:
        return "; ".join(self.texts)


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
    subject: ReceiptSubject
    validity: ValidityRecord

    @property
    def split(self) -> bool:
        return self.protection.unit.parts > 1


def price(measurement: AnyMeasurement, protection: Protection, label: Label) -> Priced:
    """The measurement with its cost under the accounting of the study; refuses what is not proved."""
    if type(measurement) not in _KINDS and type(measurement) not in _OF_HOLDOUTS:
        raise TypeError("this measurement is not one whose cost is proved")
    readings = tuple(measurement.readings)
    if any(reading.part is not None for reading in readings):
        raise InvalidRequest("which part of the units is read follows from the receipt")
    due, subject = measurement.due(protection), _subject(measurement, protection, label)
    units = protection.table.rows if protection.unit.adjacency == "replace-one" else None
    validity = ValidityRecord(due.gaussian, due.coded_nats, units)
    return made_here(Priced(measurement, protection, label, due, readings, subject, validity))


def _subject(measurement: AnyMeasurement, protection: Protection, label: Label) -> ReceiptSubject:
    """Under which facts the receipt can be found again: those of what is read, not of its text."""
    if isinstance(measurement, _OF_HOLDOUTS):
        return _of_kind(measurement.kind)
    kind = _KINDS[type(measurement)]
    if isinstance(measurement, NoisyQueries):
        asked = [part.reading for part in measurement.parts]
    else:
        asked = list(measurement.readings)
    tables = dict.fromkeys(reading.table.name for reading in asked if reading.table is not None)
    measures = sorted({type(reading.measure).__name__ for reading in asked})
    if kind == "batch" and len(label.texts) == 1:
        kind = "query"
    return ReceiptSubject(
        kind,
        label.texts if len(label.texts) > 1 else (),
        ", ".join(tables) or None,
        tuple(measures),
        kind == "query" and len(asked) == 1 and _counts_all(asked[0], protection),
    )


@lru_cache(maxsize=8)
def _of_kind(kind: Kind) -> ReceiptSubject:
    """Of a holdout, whose receipts say nothing else."""
    return ReceiptSubject(kind)


def _counts_all(reading: Reading, protection: Protection) -> bool:
    """Whether it is the number of all units of the study's own table."""
    counted = Count if protection.unit.rows == 1 else CountPersons
    plain = reading.where == EVERY_ROW and not reading.by and reading.table == protection.table
    return plain and isinstance(reading.measure, counted)
