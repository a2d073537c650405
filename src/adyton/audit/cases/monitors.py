"""Monitors through a real curator: opened, charged and fed on two neighboring tables, then sampled.

The curator's receipt says which machine was bought, and its engine reads every number once; after that the
machine, which is all of a monitor that is random, is run as often as there are samples.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from adyton.audit.cases.queries import claim_of
from adyton.audit.cases.queries_asked import QueryCase, study_of, tables_of
from adyton.audit.cases.trial import AuditTarget, Trial, for_each_accounting
from adyton.audit.replay import Movement, Replay
from adyton.audit.watching import Watched, watch, with_the_same_words
from adyton.kernel.ledger import Receipt
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.kernel.special.monitor import sparse_of
from adyton.monitors.compared import Compared, compared
from adyton.monitors.kinds import MonitorKind
from adyton.monitors.plan import machine_of
from adyton.query.request import request_of
from adyton.setup.exact import exact_integers
from adyton.study import Study

_CASE = QueryCase(())
# Half of the numbers have the unit that differs on one table, half on the other; all are near a threshold.
_FED: dict[MonitorKind, tuple[tuple[str, str], ...]] = {
    "counts": (
        ("SELECT COUNT(*) FROM people WHERE age > 90", "1"),
        ("SELECT COUNT(*) FROM people WHERE region = 'east'", "4"),
        ("SELECT COUNT(*) FROM people WHERE age < 10", "0"),
        ("SELECT COUNT(*) FROM people WHERE NOT smoker", "7"),
    ),
    "sums": (
        ("SELECT SUM(age) FROM people WHERE age > 50", "460"),
        ("SELECT COUNT(*) FROM people WHERE region = 'east'", "4"),
        ("SELECT SUM(100 - age) FROM people WHERE NOT smoker", "390"),
        ("SELECT SUM(age) FROM people WHERE smoker", "370"),
    ),
    "means": (
        ("SELECT AVG(income) FROM people", "18"),
        ("SELECT SUM(income) FROM people", "235.25"),
        ("SELECT AVG(100 - age) FROM people", "50"),
        ("SELECT PROPORTION(age > 90) FROM people", "0.04"),
    ),
}
_POSITIVES = 2


@dataclass(frozen=True, slots=True)
class MonitorCase:
    """A monitor to open: what it is of, and how."""

    adjacency: Adjacency
    kind: MonitorKind = "counts"
    numeric: bool = False
    refresh: bool | None = None

    @property
    def told(self) -> str:
        of = "" if self.kind == "counts" else f" of {self.kind}"
        values = "with values" if self.numeric else "above or not"
        return values + of + (", threshold kept" if self.refresh is False else "")


@dataclass(frozen=True, slots=True)
class MonitorRun:
    """One monitor: what was charged and said, the integers behind it, and what was done in which order."""

    receipt: Receipt
    said: tuple[bool, ...]
    integers: tuple[int, ...]
    asked: tuple[Compared, ...]
    events: tuple[str, ...]


def _monitors(accounting: str, target: AuditTarget) -> Iterator[Trial]:
    for adjacency in ADJACENCIES:
        both_ways = adjacency == "add-remove"
        yield _trial(accounting, MonitorCase(adjacency, numeric=both_ways), target)
        yield _trial(accounting, MonitorCase(adjacency, "means", numeric=both_ways), target)
    yield _trial(accounting, MonitorCase("add-remove", "sums"), target)
    if accounting != "pure":  # where a threshold is drawn anew unless somebody wants it kept
        yield _trial(accounting, MonitorCase("replace-one", numeric=True, refresh=False), target)


def _trial(accounting: str, wish: MonitorCase, target: AuditTarget) -> Trial:
    study = study_of(_CASE, wish.adjacency, accounting, target)
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(_CASE, wish.adjacency, Path(folder))
        first, second = with_the_same_words(partial(_run, study, wish, target), tables, target.bits)
    return Trial(
        f"{accounting} monitor",
        wish.told,
        wish.adjacency,
        _release(first, target.bits),
        (first.integers, second.integers),
        claim_of(study, first.receipt.order.amount),
        replayed=_compared(wish.kind, first, second),
        slow=True,
    )


def _run(study: Study, wish: MonitorCase, target: AuditTarget, data: Path, bits: Bits) -> MonitorRun:
    """Feeds every query until the monitor halts."""
    with target.tables.open(study, data) as opened:
        curator, watched = watch(opened, bits)
        monitor = curator.open_monitor(
            positives=_POSITIVES,
            of=wish.kind,
            numeric=wish.numeric,
            refresh=wish.refresh,
            epsilon=target.epsilon,
        )
        said = []
        for sql, above in _FED[wish.kind]:
            if monitor.budget().positives_left:
                said.append(monitor.feed(sql, above=above).above)
        happened = tuple(watched.events)
        receipt = curator.receipts()[0]
    asked = _asked(study, wish.kind, receipt)
    return MonitorRun(receipt, tuple(said), _read(study, data, watched, asked, target), asked, happened)


def _asked(study: Study, kind: MonitorKind, receipt: Receipt) -> tuple[Compared, ...]:
    reach = sparse_of(machine_of(receipt)).sensitivity
    return tuple(
        compared(study, kind, reach, request_of(sql, study.table).alone, above) for sql, above in _FED[kind]
    )


def _read(
    study: Study, data: Path, watched: Watched, asked: Sequence[Compared], target: AuditTarget
) -> tuple[int, ...]:
    """All integers of the monitor, scaled as they are compared: those it read itself, and the others."""
    readings = [one.reading for one in asked]
    with target.tables.open(study, data) as curator:
        curator._engine.prepare(readings)
        _, columns = exact_integers(curator._engine, readings)
    exact = [column[0] for (column,) in columns]
    if [columns[0][0] for columns in watched.exact_integers] != exact[: len(watched.exact_integers)]:
        raise AssertionError("the monitor did not read the integers that are sampled")
    return tuple(one.factor * integer for one, integer in zip(asked, exact, strict=True))


def _release(run: MonitorRun, bits: Bits) -> Callable[[tuple[int, ...]], tuple[Any, ...]]:
    machine = machine_of(run.receipt)
    thresholds = tuple(one.least for one in run.asked)

    def release(integers: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(machine.release(integers, thresholds, bits))

    return release


def _compared(kind: MonitorKind, first: MonitorRun, second: MonitorRun) -> Replay:
    """The charge must not differ, what was done only if an answer did, no integer by more than allowed, and
    where the price counts on it none against the others.
    """
    faults = []
    orders = [(run.receipt.number, run.receipt.order, run.receipt.spent) for run in (first, second)]
    if orders[0] != orders[1]:
        faults.append("the receipt differs")
    if first.said == second.said and first.events != second.events:
        faults.append("the control flow differs although the answers do not")
    gaps = [b - a for a, b in zip(first.integers, second.integers, strict=True)]
    sparse = sparse_of(machine_of(first.receipt))
    movements = [
        _moved(sql, sparse.sensitivity, abs(gap)) for (sql, _), gap in zip(_FED[kind], gaps, strict=True)
    ]
    faults += [f"{m.name} moved farther than the monitor allows for" for m in movements if m.too_far]
    if sparse.monotone and min(gaps) < 0 < max(gaps):
        faults.append("some numbers rise where others fall")
    return Replay(first.receipt.order.query, tuple(faults), tuple(movements))


def _moved(name: str, reach: int, gap: int) -> Movement:
    """In parts of the reach."""
    part = Fraction(gap, reach)
    return Movement(name, part, Fraction(1), part**2, Fraction(1))


ENTRIES = for_each_accounting("monitors", "monitors through a curator", _monitors)
