"""Streams through a real curator: opened, charged and fed on two neighbouring tables, then sampled.

The curator's receipt says which machine was bought, and its engine reads every count once; after that the
machine, which is all of a stream that is random, is run as often as there are samples.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from adyton.accounting import FILTERS
from adyton.audit.cases.questions_asked import Case, study_of, tables_of
from adyton.audit.cases.trial import AuditTarget, Listed, Trial
from adyton.audit.replay import Movement, Replay
from adyton.audit.watching import RecordingBits, ReplayedBits, Watched, watch
from adyton.certify import Promise
from adyton.curator import open_study
from adyton.ledger import Receipt
from adyton.mechanisms import NumericSparse, Sparse
from adyton.noise import Bits
from adyton.privacy import NEIGHBOURS, Neighbours
from adyton.query.request import request_of
from adyton.sensitivity import Sensitivity, readings_of
from adyton.streams.plan import machine_of
from adyton.study import Study

_CASE = Case(())
# Half of the counts have the unit that differs on one table, half on the other; all are near their threshold.
_FED = (
    ("SELECT COUNT(*) FROM people WHERE age > 90", 1),
    ("SELECT COUNT(*) FROM people WHERE region = 'east'", 4),
    ("SELECT COUNT(*) FROM people WHERE age < 10", 0),
    ("SELECT COUNT(*) FROM people WHERE NOT smoker", 7),
)
_POSITIVES = 2


@dataclass(frozen=True, slots=True)
class Run:
    """One stream: what was charged, what it said, the counts behind it, and what was done in which order."""

    receipt: Receipt
    said: tuple[bool, ...]
    counts: tuple[int, ...]
    sensitivities: tuple[Sensitivity, ...]
    events: tuple[str, ...]


def _streams(filter_name: str, target: AuditTarget) -> Iterator[Trial]:
    for neighbours in NEIGHBOURS:
        yield _trial(filter_name, neighbours, neighbours == "add-or-remove", None, target)
    if filter_name != "pure":  # where a threshold is drawn anew unless somebody wants it kept
        yield _trial(filter_name, "replace", True, False, target)


def _trial(
    filter_name: str, neighbours: Neighbours, numeric: bool, refresh: bool | None, target: AuditTarget
) -> Trial:
    study = study_of(_CASE, neighbours, filter_name, target)
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(_CASE, neighbours, Path(folder))
        recording = RecordingBits(target.bits)
        first = _run(study, tables[0], numeric, refresh, recording, target)
        replayed = ReplayedBits(recording.handed_out, target.bits)
        second = _run(study, tables[1], numeric, refresh, replayed, target)
    return Trial(
        f"{filter_name} stream",
        ("with values" if numeric else "above or not") + (", threshold kept" if refresh is False else ""),
        neighbours,
        _release(first.receipt, target.bits),
        (first.counts, second.counts),
        Promise(study.epsilon_of(first.receipt.order.amount), float(study.limit.delta)),
        replayed=_compared(first, second),
        slow=True,
    )


def _run(
    study: Study,
    data: Path,
    numeric: bool,
    refresh: bool | None,
    bits: RecordingBits | ReplayedBits,
    target: AuditTarget,
) -> Run:
    """Feeds every question until the stream halts."""
    with open_study(study, data=data) as curator:
        engine, events = watch(curator, bits)
        stream = curator.open_stream(
            positives=_POSITIVES, numeric=numeric, refresh=refresh, epsilon=target.epsilon
        )
        said = []
        for sql, above in _FED:
            if stream.statement().positives_left:
                said.append(stream.feed(sql, above=above).above)
        happened = tuple(events)
        receipt = curator.receipts()[0]
    return Run(receipt, tuple(said), *_read(study, data, engine), happened)


def _read(study: Study, data: Path, engine: Watched) -> tuple[tuple[int, ...], tuple[Sensitivity, ...]]:
    """All counts of the stream: those it read itself, and the others."""
    readings = [readings_of(request_of(sql, study.table).alone, study.unit)[0] for sql, _ in _FED]
    with open_study(study, data=data) as curator:
        curator._engine.prepare(readings)
        counts = [columns[0][0] for columns in curator._engine.exact(readings)]
    if [columns[0][0] for columns in engine.exact_integers] != counts[: len(engine.exact_integers)]:
        raise AssertionError("the stream did not read the counts that are sampled")
    return tuple(counts), tuple(reading.sensitivity for reading in readings)


def _release(receipt: Receipt, bits: Bits) -> Callable[[tuple[int, ...]], tuple[Any, ...]]:
    machine: Sparse | NumericSparse = machine_of(receipt)
    thresholds = tuple(above + 1 for _, above in _FED)  # above t is at least the next whole number

    def release(counts: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(machine.release(counts, thresholds, bits))

    return release


def _compared(first: Run, second: Run) -> Replay:
    """The charge must not differ, what was done only if an answer did, and no count by more than allowed."""
    faults = []
    orders = [(run.receipt.number, run.receipt.order, run.receipt.spent) for run in (first, second)]
    if orders[0] != orders[1]:
        faults.append("the receipt differs")
    if first.said == second.said and first.events != second.events:
        faults.append("the control flow differs although the answers do not")
    movements = [
        _moved(sql, sensitivity, abs(a - b))
        for (sql, _), sensitivity, a, b in zip(
            _FED, first.sensitivities, first.counts, second.counts, strict=True
        )
    ]
    faults += [f"{m.name} moved farther than its sensitivity allows" for m in movements if m.too_far]
    return Replay(first.receipt.order.question, tuple(faults), tuple(movements))


def _moved(name: str, allowed: Sensitivity, gap: int) -> Movement:
    one = (Fraction(1),)
    return Movement(
        name, Fraction(gap), allowed.l1_diameter(one), Fraction(gap) ** 2, allowed.l2_diameter_squared(one)
    )


ENTRIES: tuple[Listed, ...] = tuple(
    (f"{name}-streams", f"streams through a curator, {name} filter", partial(_streams, name), ())
    for name in FILTERS
)
