"""Any history of monitors at all: opened, fed, restarted, shared, fed with nonsense, beside notes of strangers.

The ledger is a file and the engine DuckDB.  Beside them stands the simplest thing that could replace a monitor:
a list of what was said.  It fails on each of these mutants: no ``checked_threshold``, or no lower end of it;
``float(fed.threshold)`` for ``nearest_float``; ``watch.left < 0`` where a halted monitor refuses.  Prices are so
high that noise turns an answer once in e**30, so the list knows them all.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import adyton
from adyton.curator.curator import Curator
from adyton.engines.duckdb import DuckDBEngine
from adyton.kernel.ledger import Header, SqliteLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.monitors.open_monitor import OpenMonitor
from adyton.study import Study
from support.randomness import Seeded
from support.tries import often

ROWS = 300
EACH = 100  # epsilon of a monitor; counts are at least 30 from their thresholds
MOST_MONITORS = 4
COUNT = "SELECT COUNT(*) FROM people WHERE age < {}"  # three rows for each year of age
NONSENSE: tuple[Any, ...] = (
    *(-1, 301, 10**400, -(10**400), 10**5000, -(10**5000)),
    *(Fraction(-1, 2), Fraction(601, 2), Fraction(1, 10**5000)),
    *(float("nan"), float("inf"), float("-inf"), 1.7e308, -1e-9, "1e999999", "many", "", None, True),
)
GARBAGE = (
    *("", "[]", "{}", "null", "[" * 5000, '{"left": 1, "offset": Infinity}'),
    '{"query": "q", "threshold": "1/0", "above": true, "value": null, "left": 0, "offset": "0"}',
    '{"query": "q", "threshold": "1", "above": false, "value": null, "left": 99, "offset": "0"}',
)


def study(adjacency: str) -> Study:
    table = Table("people", (IntegerColumn("age", 0, 120),), ROWS)
    budget = Guarantee(Fraction(MOST_MONITORS * EACH), Fraction(0))
    return Study(table, PrivacyUnit(adjacency), budget, "pure")  # type: ignore[arg-type]


class Counting:
    """A real engine that says how often it was read, and is not closed by one of its curators."""

    def __init__(self, engine: DuckDBEngine) -> None:
        self._engine, self.reads = engine, 0

    def prepare(self, readings: Any = ()) -> None:
        self._engine.prepare(readings)

    def exact(self, readings: Any) -> Any:
        self.reads += 1
        return self._engine.exact(readings)

    def close(self) -> None:
        """Kept for the next example."""


@dataclass
class Model:
    """A monitor as a list: (age or None, threshold, above) for each answer."""

    number: int
    positives: int
    said: list[tuple[int | None, Fraction, bool]] = field(default_factory=list)
    broken: bool = False
    closed: bool = False
    kept_heads: list[str] = field(default_factory=list)

    @property
    def left(self) -> int:
        return self.positives - sum(above for _, _, above in self.said)


class MonitorMachine(RuleBasedStateMachine):
    engines: dict[str, DuckDBEngine] = {}  # noqa: RUF012  (filled by the fixture, shared by all examples)

    @initialize(adjacency=st.sampled_from(["replace-one", "add-remove"]))
    def begin(self, adjacency: str) -> None:
        self.study = study(adjacency)
        self.folder = tempfile.TemporaryDirectory()
        self.engine = Counting(self.engines[adjacency])
        self.seeds = itertools.count()
        self.models: list[Model] = []
        self.curators = [self.opened(), self.opened()]  # two processes, as the file sees them

    def opened(self) -> Curator:
        rule_of = self.study.rule
        header = Header.fresh(self.study.fingerprint, "pure", rule_of.allowed(self.study.budget))
        ledger = SqliteLedger.open_or_create(Path(self.folder.name) / "people.ledger", header)
        return Curator(self.study, self.engine, ledger, Seeded(next(self.seeds)))

    # What an analyst does.

    @rule(positives=st.integers(1, 3), numeric=st.booleans(), refresh=st.booleans(), who=st.integers(0, 1))
    def open_one(self, positives: int, numeric: bool, refresh: bool, who: int) -> None:
        wanted: dict[str, Any] = {"positives": positives, "numeric": numeric, "refresh": refresh}
        if len(self.models) == MOST_MONITORS:
            with pytest.raises(adyton.BudgetRefused):
                self.curators[who].open_monitor(epsilon=EACH, **wanted)
            return
        monitor = self.curators[who].open_monitor(epsilon=EACH, **wanted)
        self.models.append(Model(monitor.number, positives))

    @precondition(lambda self: self.models)
    @rule(
        data=st.data(),
        age=st.sampled_from([20, 50, 80]),
        threshold=st.sampled_from([0, 30, "119.5", Fraction(361, 3), 200.25, 300]),
        who=st.integers(0, 1),
    )
    def feed(self, data: st.DataObject, age: int, threshold: Any, who: int) -> None:
        model = data.draw(st.sampled_from(self.models))
        if self.refused(model, who, COUNT.format(age), threshold):
            return
        answer = self.monitor(model, who).feed(COUNT.format(age), above=threshold)
        above = 3 * age > Fraction(str(threshold))
        model.said.append((age, Fraction(str(threshold)), above))
        assert (answer.above, answer.positives_left) == (above, model.left)
        assert answer.feeds == len(model.said)
        assert answer.value in (None, 3 * age)

    def refused(self, model: Model, who: int, sql: str, threshold: Any) -> bool:
        """True if the monitor has to refuse, and does so without reading or writing."""
        if model.broken or model.closed or not model.left:
            expected: Any = adyton.BudgetRefused if not model.left else adyton.InvalidRequest
            expected = adyton.LedgerCorrupt if model.broken else expected
            with self.nothing_happens(), pytest.raises(expected):
                self.monitor(model, who).feed(sql, above=threshold)
            return True
        return False

    @precondition(lambda self: self.models)
    @rule(data=st.data(), place=st.integers(0, len(NONSENSE) - 1), who=st.integers(0, 1))
    def feed_nonsense(self, data: st.DataObject, place: int, who: int) -> None:
        model, threshold = data.draw(st.sampled_from(self.models)), NONSENSE[place]
        private = self.study.unit.adjacency == "add-remove"
        if private and threshold in (301, Fraction(601, 2)):  # nobody knows that there are only 300 rows
            return
        wrong = (adyton.InvalidRequest, adyton.LedgerCorrupt) if model.broken else adyton.InvalidRequest
        with self.nothing_happens(), pytest.raises(wrong):
            self.monitor(model, who).feed(COUNT.format(50), above=threshold)

    @precondition(lambda self: any(not m.broken for m in self.models))
    @rule(data=st.data(), who=st.integers(0, 1))
    def close_one(self, data: st.DataObject, who: int) -> None:
        model = data.draw(st.sampled_from([m for m in self.models if not m.broken]))
        assert self.monitor(model, who).close().closed
        model.closed = True

    @rule(who=st.integers(0, 1))
    def restart(self, who: int) -> None:
        self.curators[who].close()
        self.curators[who] = self.opened()

    @precondition(lambda self: self.models)
    @rule(data=st.data(), who=st.integers(0, 1))
    def keep_the_head(self, data: st.DataObject, who: int) -> None:
        model = data.draw(st.sampled_from(self.models))
        if not model.broken:
            model.kept_heads.append(self.monitor(model, who).budget().head)

    # What a stranger leaves in the file.

    @precondition(lambda self: any(m.left for m in self.unharmed()))
    @rule(data=st.data(), sign=st.sampled_from([1, -1]))
    def a_note_beyond_all_floats(self, data: st.DataObject, sign: int) -> None:
        """It took any threshold, stored the answer, and only then failed to show it."""
        model = data.draw(st.sampled_from([m for m in self.unharmed() if m.left]))
        ledger = self.curators[0]._ledger
        offset = json.loads(ledger.notes(model.number)[-1])["offset"]
        threshold, above = sign * 10**400, sign < 0
        note = {"query": "old", "threshold": str(threshold), "above": above, "value": None}
        note |= {"left": model.left - above, "offset": offset}
        assert ledger.annotate(model.number, len(model.said) + 1, json.dumps(note))
        model.said.append((None, Fraction(threshold), above))

    @precondition(lambda self: any(not m.broken for m in self.models))
    @rule(data=st.data(), garbage=st.sampled_from(GARBAGE))
    def a_note_that_is_none(self, data: st.DataObject, garbage: str) -> None:
        model = data.draw(st.sampled_from([m for m in self.models if not m.broken]))
        place = len(model.said) + model.closed + 1
        assert self.curators[0]._ledger.annotate(model.number, place, garbage)
        model.broken = True

    # What must be true at any time.

    @invariant()
    def monitors_and_lists_agree(self) -> None:
        for model, (who, _) in itertools.product(self.models, enumerate(self.curators)):
            monitor = self.monitor(model, who)
            if model.broken:
                with pytest.raises(adyton.LedgerCorrupt):
                    monitor.budget()
                continue
            found = [(answer.above, answer.feeds) for answer in monitor.answers()]
            assert found == [(above, place) for place, (_, _, above) in enumerate(model.said, 1)]
            assert all(json.dumps(answer.to_json(), allow_nan=False) for answer in monitor.answers())
            assert all(str(answer) for answer in monitor.answers())
            budget = monitor.budget()
            assert (budget.positives_left, budget.feeds) == (model.left, len(model.said))
            assert (budget.halted, budget.closed) == (model.left == 0, model.closed)
            assert all(monitor.verify(head).head == budget.head for head in model.kept_heads)

    @invariant()
    def the_books_agree(self) -> None:
        for curator in self.curators:
            assert curator.verify().receipts == len(self.models)
            assert curator.budget().queries == len(self.models)

    def teardown(self) -> None:
        for curator in self.curators:
            curator.close()
        self.folder.cleanup()

    def unharmed(self) -> list[Model]:
        return [model for model in self.models if not (model.broken or model.closed)]

    def monitor(self, model: Model, who: int) -> OpenMonitor:
        return self.curators[who].monitor(model.number)

    @contextmanager
    def nothing_happens(self) -> Iterator[None]:
        before = self.written()
        yield
        assert self.written() == before

    def written(self) -> tuple[Any, ...]:
        ledger = self.curators[0]._ledger
        return self.engine.reads, ledger.spent(), [ledger.notes(model.number) for model in self.models]


@pytest.fixture(scope="module", autouse=True)
def _engines() -> Iterator[None]:
    frame = pd.DataFrame({"age": np.arange(ROWS) // 3})
    for adjacency in ("replace-one", "add-remove"):
        known = study(adjacency)
        MonitorMachine.engines[adjacency] = DuckDBEngine(known.table, known.unit, frame)
    yield
    for engine in MonitorMachine.engines.values():
        engine.close()


@pytest.fixture(params=["replace-one", "add-remove"])
def machine(request: pytest.FixtureRequest) -> Iterator[MonitorMachine]:
    """One monitor that was fed once, outside of any search."""
    machine = MonitorMachine()
    machine.begin(adjacency=request.param)
    machine.open_one(positives=2, numeric=False, refresh=False, who=0)
    machine.curators[0].monitor(1).feed(COUNT.format(50), above=30)
    machine.models[0].said.append((50, Fraction(30), True))
    yield machine
    machine.teardown()


@pytest.mark.parametrize("place", range(len(NONSENSE)))
def test_law_a_threshold_that_no_count_reaches_is_refused_at_once(
    machine: MonitorMachine, place: int
) -> None:
    """Mutants: no ``checked_threshold``; no ``_not_too_long`` in kernel/exact/outward.py."""
    if machine.study.unit.adjacency == "add-remove" and NONSENSE[place] in (301, Fraction(601, 2)):
        assert machine.curators[0].monitor(1).feed(COUNT.format(50), above=NONSENSE[place]).above is False
        return
    with machine.nothing_happens(), pytest.raises(adyton.InvalidRequest) as refused:
        machine.curators[0].monitor(1).feed(COUNT.format(50), above=NONSENSE[place])
    assert len(refused.value.message) < 200
    machine.monitors_and_lists_agree()


@pytest.mark.parametrize("garbage", GARBAGE, ids=lambda text: text[:20])
def test_law_a_note_that_is_none_of_ours_stops_its_monitor_alone(
    machine: MonitorMachine, garbage: str
) -> None:
    """Mutants: no check in ``Progress.then``; no ArithmeticError or RecursionError in ``note_from``."""
    machine.open_one(positives=1, numeric=True, refresh=True, who=1)
    assert machine.curators[0]._ledger.annotate(1, 2, garbage)
    machine.models[0].broken = True
    machine.monitors_and_lists_agree()
    machine.restart(0)
    with machine.nothing_happens(), pytest.raises(adyton.LedgerCorrupt) as stopped:
        machine.curators[0].monitor(1).feed(COUNT.format(50), above=30)
    assert "99" not in stopped.value.message  # nothing of a note is repeated: it may hold the secret
    assert machine.curators[0].monitor(2).feed(COUNT.format(50), above=30).above


TestMonitors = MonitorMachine.TestCase
TestMonitors.settings = settings(max_examples=often(20, 60), stateful_step_count=20)
