"""The laws of monitors, on a real DuckDB and real ledgers."""

from __future__ import annotations

import itertools
import json
import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.curator.curator import Curator
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.exact import UNITS_PER_ONE, units_up
from adyton.kernel.ledger import Header, Ledger, MemoryLedger, Order, SqliteLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit, PureCost
from adyton.kernel.schema import BooleanColumn, IntegerColumn, Table
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.comparing import public_notes
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, SparseState
from adyton.kernel.special.monitor import replace_one_cost
from adyton.monitors.kinds import KINDS
from adyton.monitors.notes import MonitorEntry, chained, entry_of
from adyton.monitors.plan import machine_of
from adyton.study import Study, Validity
from adyton.textbook.above_threshold import AboveThreshold
from support.curators import kept_engine
from support.processes import APART
from support.randomness import Seeded
from support.worlds import study_with

ROWS = 300
ALWAYS, NEVER = 0, ROWS  # thresholds that the count of 150 rows is as far above, or below, as one can be
COUNT = "SELECT COUNT(*) FROM people WHERE age < {}"  # exactly three rows for each year of age


def people() -> pd.DataFrame:
    return pd.DataFrame({"age": np.arange(ROWS) // 3, "smoker": np.arange(ROWS) % 2 == 0})


def study(accounting: str = "gdp", adjacency: str = "replace-one", epsilon: str = "1") -> Study:
    table = Table("people", (IntegerColumn("age", 0, 120), BooleanColumn("smoker")), ROWS)
    return study_with(table, accounting, adjacency, epsilon)


def header(known: Study) -> Header:
    return Header.fresh(known.fingerprint, known.accounting, known.rule.allowed(known.budget))


class Watched:
    """The real engine, with a note of how much had been charged when it was read."""

    def __init__(self, known: Study, ledger: Ledger) -> None:
        self._engine = kept_engine(known.table, known.unit, people())
        self._ledger = ledger
        self.charged_at_read: list[int] = []

    def prepare(self, readings: Any = ()) -> None:
        self._engine.prepare()

    def exact(self, readings: Any) -> Any:
        self.charged_at_read.append(self._ledger.count())
        return self._engine.exact(readings)

    def close(self) -> None:
        self._engine.close()


def asker(known: Study, ledger: Ledger | None = None, seed: int = 1) -> tuple[Curator, Watched, Ledger]:
    kept = ledger or MemoryLedger(header(known))
    engine = Watched(known, kept)
    return Curator(known, engine, kept, Seeded(seed)), engine, kept


def secrets_of(ledger: Ledger, number: int = 1) -> list[int]:
    return [int(json.loads(text)["offset"]) for text in ledger.notes(number)]


def entries_of(ledger: Ledger) -> list[MonitorEntry]:
    entries = map(entry_of, public_notes(ledger, 1, 1, "a monitor"))
    return [one for one in entries if one is not None]


@pytest.fixture(params=["gdp", "zcdp", "pure"])
def accounting(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["replace-one", "add-remove"])
def adjacency(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# The price -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numeric", [False, True])
def test_law_the_price_is_charged_once_and_before_any_reading(
    accounting: str, adjacency: str, numeric: bool
) -> None:
    curator, engine, ledger = asker(study(accounting, adjacency))
    monitor = curator.open_monitor(positives=3, epsilon="0.25", numeric=numeric)
    assert (ledger.count(), engine.charged_at_read) == (1, [])
    named = curator.study.rule.allowed(Guarantee(Fraction(1, 4), curator.study.budget.delta))
    assert named * (1 - 1e-9) <= ledger.spent() <= named
    for age in (90, 80, 70):
        monitor.feed(COUNT.format(age), above=NEVER)
    assert engine.charged_at_read == [1, 1, 1]
    assert ledger.count() == 1
    assert monitor.budget().cost.units == ledger.spent()


def test_law_the_largest_pure_epsilon_that_fits_is_bought(accounting: str) -> None:
    rule = study(accounting).rule
    for units in (1, 10**6, 10**14, 56 * 10**15, 10**18, 10**20):
        epsilon = rule.largest_epsilon(units, PureCost)
        assert rule.amount(PureCost(epsilon)) <= units
        if units > 10**12:
            assert rule.amount(PureCost(epsilon * (1 + Fraction(1, 10**8)))) > units


@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("positives", [1, 2, 40])
def test_law_the_quieter_of_two_thresholds_is_bought(
    accounting: str, adjacency: str, positives: int, numeric: bool
) -> None:
    """Drawn anew where the filter adds up squares, kept otherwise; whoever says which gets that."""

    def bought(refresh: bool | None) -> Sparse:
        curator, _, ledger = asker(study(accounting, adjacency))
        curator.open_monitor(positives=positives, epsilon="0.5", numeric=numeric, refresh=refresh)
        (receipt,) = ledger.receipts()
        machine = machine_of(receipt)
        assert isinstance(machine, NumericSparse) is numeric
        assert getattr(machine, "gaussian", False) is (numeric and accounting != "pure")
        return machine.sparse if isinstance(machine, NumericSparse) else machine

    kept, anew, chosen = bought(False), bought(True), bought(None)
    assert (kept.refresh, anew.refresh) == (False, True)
    assert chosen == (anew if accounting != "pure" and positives > 1 else kept)
    loudness = [one.threshold_scale**2 + one.query_scale**2 for one in (kept, anew, chosen)]
    assert min(loudness) == loudness[2]


def test_law_runs_are_charged_one_by_one() -> None:
    """The noise of a comparison at (1, 1e-6): with a threshold that is kept it is 181, 1,563 and 15,108."""
    for positives, deviation in ((10, 98.5), (100, 311.6), (1000, 985.5)):
        curator, _, ledger = asker(study())
        curator.open_monitor(positives=positives, epsilon=1)
        (receipt,) = ledger.receipts()
        machine = machine_of(receipt)
        assert isinstance(machine, Sparse)
        variance = 2 * float(machine.threshold_scale**2 + machine.query_scale**2)
        assert variance**0.5 == pytest.approx(deviation, rel=1e-3)
        cost = AboveThreshold(machine.threshold_scale, machine.query_scale).cost()
        assert ledger.spent() >= positives * (cost.gdp * UNITS_PER_ONE)
        assert ledger.spent() == pytest.approx(positives * float(cost.gdp) * UNITS_PER_ONE, rel=1e-12)


def test_law_a_share_of_what_is_left_always_fits(accounting: str, adjacency: str) -> None:
    curator, _, ledger = asker(study(accounting, adjacency))
    for share in ("0.5", "0.3", 1):
        curator.open_monitor(positives=2, share=share)
        assert ledger.spent() <= ledger.header.budget
    assert ledger.header.budget - ledger.spent() < ledger.header.budget * 1e-9


def test_law_a_monitor_that_does_not_fit_is_refused_free_of_charge(accounting: str) -> None:
    curator, engine, ledger = asker(study(accounting))
    curator.ask("SELECT COUNT(*) FROM people", share="0.9")
    before = ledger.spent()
    with pytest.raises(adyton.BudgetRefused) as refused:
        curator.open_monitor(positives=2, epsilon="0.9")
    assert {"requested", "spent", "budget", "largest", "counted_in"} <= set(refused.value.facts)
    assert (ledger.spent(), len(engine.charged_at_read)) == (before, 1)


def test_law_validity_pays_the_guarantee_against_an_exchanged_unit(accounting: str, adjacency: str) -> None:
    curator, _, ledger = asker(study(accounting, adjacency))
    curator.open_monitor(positives=3, epsilon="0.25", numeric=True)
    (receipt,) = ledger.receipts()
    machine = machine_of(receipt)
    assert isinstance(machine, NumericSparse)
    epsilon, exchanged = machine.sparse.cost().pure, replace_one_cost(machine).pure
    assert epsilon is not None
    assert exchanged is not None
    value = machine.values.radius(Sensitivity(((0, 1),), 1, "replace-one"))
    if accounting == "pure":
        radius, pure = stability_units(ComposedCost(((PureCost(exchanged), 1), (value, 3)))), 0
    else:  # values are Gaussian counts, and comparisons are not
        radius, pure = stability_units(ComposedCost(((value, 3),))), units_up(exchanged)
    assert (receipt.order.radius, receipt.order.pure) == (radius, pure)
    if adjacency == "replace-one":
        assert exchanged == epsilon
    else:  # removing one and adding another is two steps; that not everything doubles is the noise's merit
        assert epsilon < exchanged < 2 * epsilon


def test_law_a_monitor_beyond_the_certified_stability_is_refused_for_free() -> None:
    """Population intervals of later answers rest on everything released, monitors included."""
    known = replace(study("pure"), validity=Validity(Fraction(19, 20), stability=Fraction(1, 20)))
    curator, engine, ledger = asker(known)
    with pytest.raises(adyton.ValidityRefused, match="stability"):
        curator.open_monitor(positives=2, epsilon="0.9")
    assert (ledger.count(), engine.charged_at_read) == (0, [])
    curator.open_monitor(positives=2, epsilon="0.03")
    assert 0 < ledger.spent_radius() <= 25 * 10**14


def test_law_a_person_of_several_rows_moves_a_count_by_as_many() -> None:
    frame = people().assign(person=np.arange(ROWS) // 3)
    table = replace(study("pure").table, person="person")
    budget = Guarantee(Fraction(1), Fraction(0))
    scales = []
    for rows in (1, 3):
        unit = PrivacyUnit("add-remove", person="person", rows=rows)
        with adyton.open(Study(table, unit, budget, "pure"), data=frame) as curator:
            monitor = curator.open_monitor(positives=1, epsilon=1)
            machine = machine_of(curator.receipts()[0])
            assert machine.sensitivity == rows
            assert monitor.feed("SELECT COUNT(*) FROM people", above=10**6).above is False
            scales.append(machine.query_scale)
    assert scales[1] == pytest.approx(3 * scales[0], rel=1e-12)


# Answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refresh", [False, True])
def test_law_with_a_huge_epsilon_the_answers_are_the_truth(adjacency: str, refresh: bool) -> None:
    curator, _, _ = asker(study("pure", adjacency, "400"))
    monitor = curator.open_monitor(positives=8, epsilon=390, numeric=True, refresh=refresh)
    for age, threshold in [
        *((20, 59), (20, 60), (20, 61), (20, "59.999"), (20, 60.5), (20, 0), (0, 0), (0, "0.5")),
        *((100, Fraction(599, 2)), (100, 300), (50, 149), (50, 150)),
    ]:
        answer = monitor.feed(COUNT.format(age), above=threshold)
        assert answer.above is (3 * age > Fraction(threshold))
        assert answer.value == (3 * age if answer.above else None)
    assert monitor.budget().feeds == 12


def test_law_a_threshold_between_two_whole_numbers_is_the_lower_one() -> None:
    """No count lies between, so ``above`` means the same, and the noise decides the same way."""
    said = []
    for threshold in (100, "100.25", 100.999):
        curator, _, _ = asker(study("pure"), seed=7)
        monitor = curator.open_monitor(positives=20, epsilon="0.5")
        said.append([monitor.feed(COUNT.format(34), above=threshold).above for _ in range(20)])
    assert said[0] == said[1] == said[2]
    assert len(set(said[0])) == 2


def test_law_every_answer_says_where_the_monitor_stands() -> None:
    curator, _, _ = asker(study("pure", epsilon="400"))
    monitor = curator.open_monitor(positives=2, epsilon=300)
    first, second = monitor.feed(COUNT.format(9), above=NEVER), monitor.feed(COUNT.format(9), above=0)
    assert (first.above, first.value, first.positives_left, first.feeds) == (False, None, 2, 1)
    assert (second.above, second.value, second.positives_left, second.feeds) == (True, None, 1, 2)
    assert second.query == "SELECT COUNT(*) AS count FROM people WHERE (age < 9)"
    assert monitor.answers() == [first, second]
    assert monitor.budget().to_json()["halted"] is False
    assert json.dumps(second.to_json())
    assert "above" in str(second)
    assert "1 of 2" in str(monitor.budget())


def test_law_the_same_query_again_gets_fresh_noise() -> None:
    curator, _, _ = asker(study("pure"))
    monitor = curator.open_monitor(positives=30, epsilon=1, numeric=True)
    answers = [monitor.feed(COUNT.format(34), above=100) for _ in range(30)]
    assert len({a.above for a in answers}) == 2
    values = [a.value for a in answers if a.above]
    assert len(set(values)) > len(values) // 2
    for answer in answers:
        if answer.noise_interval is not None:
            assert answer.noise_interval.low < answer.value < answer.noise_interval.high


def test_law_answers_fall_as_the_accuracy_bound_says() -> None:
    """200 queries beyond the 95 % error, on both sides: at seed 3 all are right."""
    curator, _, _ = asker(study("pure", epsilon="20"), seed=3)
    monitor = curator.open_monitor(positives=101, epsilon=20)
    error = monitor.error(200)
    for k in range(200):
        truth = k % 2 == 0
        threshold = 150 - error - 1 if truth else 150 + error + 1
        assert monitor.feed(COUNT.format(50), above=threshold).above is truth


# Halting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positives", [1, 2, 5])
@pytest.mark.parametrize("refresh", [False, True])
def test_law_a_monitor_halts_after_exactly_its_positives(positives: int, refresh: bool) -> None:
    curator, engine, ledger = asker(study("pure", epsilon="400"))
    monitor = curator.open_monitor(positives=positives, epsilon=200, refresh=refresh)
    for k in range(positives):
        assert monitor.feed(COUNT.format(50), above=NEVER).positives_left == positives - k
        assert monitor.feed(COUNT.format(50), above=ALWAYS).positives_left == positives - k - 1
    assert monitor.budget().halted
    before = (ledger.spent(), ledger.notes(1), len(engine.charged_at_read))
    for again in (monitor, curator.monitor(monitor.number)):
        with pytest.raises(adyton.PrivacyRefused, match="halted") as refused:
            again.feed(COUNT.format(50), above=NEVER)
        assert refused.value.facts["counted_in"] == "positives"
        assert refused.value.facts["spent"] == refused.value.facts["budget"] == str(positives)
    assert (ledger.spent(), ledger.notes(1), len(engine.charged_at_read)) == before
    curator.ask("SELECT COUNT(*) FROM people", epsilon=1)  # one monitor never ends a session


# Refusals are free -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "above"),
    [
        ("SELECT smoker, COUNT(*) FROM people GROUP BY smoker", 3),
        ("SELECT SUM(age) FROM people", 3),
        ("SELECT AVG(age) FROM people", 3),
        ("SELECT PROPORTION(smoker) FROM people", 3),
        ("SELECT COUNT(*), COUNT(age) FROM people", 3),
        ("SELECT COUNT(*) FROM elsewhere", 3),
        (adyton.mean("age"), 3),
        (adyton.histogram("smoker"), 3),
        (None, 3),
        (COUNT.format(3), None),
        (COUNT.format(3), float("nan")),
        (COUNT.format(3), float("inf")),
        (COUNT.format(3), "1e999999"),
        (COUNT.format(3), True),
        (COUNT.format(3), "many"),
    ],
    ids=str,
)
def test_law_what_is_not_one_count_with_a_threshold_is_refused(query: Any, above: Any) -> None:
    curator, engine, ledger = asker(study())
    monitor = curator.open_monitor(positives=2, epsilon="0.1")
    before = (ledger.spent(), ledger.notes(1))
    with pytest.raises(adyton.InvalidRequest):
        monitor.feed(query, above=above)
    assert (ledger.spent(), ledger.notes(1), engine.charged_at_read) == (*before, [])
    assert monitor.feed(adyton.count(where="smoker"), above=0).feeds == 1


def test_law_a_threshold_that_is_forgotten_is_asked_for_without_reading() -> None:
    curator, engine, _ = asker(study())
    monitor = curator.open_monitor(positives=2, epsilon="0.1")
    with pytest.raises(adyton.InvalidRequest, match="name it, as in above=100"):
        monitor.feed(COUNT.format(3))
    assert engine.charged_at_read == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"positives": 0},
        {"positives": -1},
        {"positives": 1.0},
        {"positives": True},
        {"positives": None},
        {"positives": 10**7},
        {"positives": 2, "epsilon": None},
        {"positives": 2, "epsilon": None, "within": 5},
        {"positives": 2, "epsilon": None, "scale": 5},
        {"positives": 2, "share": "0.5"},
        {"positives": 2, "epsilon": 0},
        {"positives": 2, "epsilon": float("nan")},
        {"positives": 2, "epsilon": None, "share": "1e-17"},
        {"positives": 10**6, "epsilon": None, "share": "1e-14"},
        {"positives": 2, "numeric": 1},
        {"positives": 2, "refresh": "yes"},
        {"positives": 2, "request": ""},
    ],
    ids=str,
)
def test_law_a_monitor_that_makes_no_sense_is_refused_free_of_charge(wrong: dict[str, Any]) -> None:
    curator, engine, ledger = asker(study())
    with pytest.raises(adyton.InvalidRequest):
        curator.open_monitor(**({"epsilon": "0.1"} | wrong))
    assert (ledger.count(), engine.charged_at_read) == (0, [])


def test_law_a_receipt_that_paid_for_something_else_is_no_monitor() -> None:
    curator, _, _ = asker(study())
    curator.ask("SELECT COUNT(*) FROM people", epsilon="0.1")
    with pytest.raises(adyton.InvalidRequest, match="did not pay for a monitor"):
        curator.monitor(1)
    for number in (2, 0, -1, "1", None):
        with pytest.raises(adyton.InvalidRequest):
            curator.monitor(number)  # type: ignore[arg-type]


# One request, one charge ---------------------------------------------------------------------------------------


def test_law_a_request_id_opens_one_monitor() -> None:
    curator, _, ledger = asker(study())
    first = curator.open_monitor(positives=2, epsilon="0.1", request="a")
    first.feed(COUNT.format(50), above=NEVER)
    again = curator.open_monitor(positives=2, epsilon="0.1", request="a")
    assert (again.number, ledger.count(), again.budget().feeds) == (first.number, 1, 1)
    with pytest.raises(adyton.InvalidRequest, match="already used"):
        curator.open_monitor(positives=3, epsilon="0.1", request="a")


def test_law_without_a_request_id_each_monitor_is_new() -> None:
    curator, _, ledger = asker(study())
    one, two = (curator.open_monitor(positives=2, epsilon="0.1") for _ in range(2))
    assert (one.number, two.number, ledger.count()) == (1, 2, 2)
    one.feed(COUNT.format(50), above=NEVER)
    assert (one.budget().feeds, two.budget().feeds) == (1, 0)


# The state cannot be reset -----------------------------------------------------------------------------------------


def sqlite(known: Study, path: Path) -> SqliteLedger:
    return SqliteLedger.open_or_create(path, header(known))


@pytest.mark.parametrize("refresh", [False, True])
def test_law_a_restart_changes_nothing(tmp_path: Path, refresh: bool) -> None:
    known = study("pure", epsilon="400")
    seen: list[list[int]] = []
    for start, left in enumerate((3, 2, 1)):
        ledger = sqlite(known, tmp_path / "people.ledger")
        curator, _, _ = asker(known, ledger, seed=start)
        monitor = (
            curator.monitor(1) if start else curator.open_monitor(positives=3, epsilon=9, refresh=refresh)
        )
        assert monitor.budget().positives_left == left
        assert monitor.feed(COUNT.format(50), above=NEVER).above is False
        assert monitor.feed(COUNT.format(50), above=ALWAYS).positives_left == left - 1
        seen.append(secrets_of(ledger))
        ledger.verify()
        ledger.close()
    for earlier, later in itertools.pairwise(seen):
        assert later[: len(earlier)] == earlier
    assert (len(set(seen[-1])) == 1) is not refresh


class Interrupted:
    """A ledger whose process dies at one call, before or after it took effect."""

    def __init__(self, ledger: Ledger, verb: str, nth: int, after: bool) -> None:
        self._ledger, self._verb, self._nth, self._after = ledger, verb, nth, after

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._ledger, name)
        if name != self._verb:
            return real

        def call(*words: Any) -> Any:
            self._nth -= 1
            if self._nth == 0 and not self._after:
                raise KeyboardInterrupt
            done = real(*words)
            if self._nth == 0:
                raise KeyboardInterrupt
            return done

        return call


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("verb", "nth"),
    [("charge", 1), *(("annotate", n) for n in (1, 2, 3, 4)), *(("notes", n) for n in (1, 2, 3, 4, 5, 6))],
)
@pytest.mark.parametrize("refresh", [False, True])
def test_law_a_crash_at_any_step_loses_no_privacy(verb: str, nth: int, after: bool, refresh: bool) -> None:
    """Two positives and one negative are asked for; the process dies somewhere; another one goes on."""
    known = study("pure", epsilon="400")
    ledger = MemoryLedger(header(known))
    engine = Watched(known, ledger)
    answers = []
    try:
        dying = Curator(known, engine, Interrupted(ledger, verb, nth, after), Seeded(1))  # type: ignore[arg-type]
        monitor = dying.open_monitor(positives=2, epsilon=100, refresh=refresh)
        for threshold in (ALWAYS, NEVER, ALWAYS):
            answers.append(monitor.feed(COUNT.format(50), above=threshold))  # noqa: PERF401
    except KeyboardInterrupt:
        pass
    if not ledger.count():
        assert engine.charged_at_read == []  # nothing was charged, so nothing was read
        return
    before = secrets_of(ledger)
    recovered = Curator(known, engine, ledger, Seeded(2)).monitor(1)
    assert recovered.answers()[: len(answers)] == answers
    assert secrets_of(ledger)[: len(before)] == before
    positives = sum(a.above for a in recovered.answers())
    assert recovered.budget().positives_left == 2 - positives
    while not recovered.budget().halted:
        recovered.feed(COUNT.format(50), above=ALWAYS)
    assert sum(a.above for a in recovered.answers()) == 2
    assert len(answers) <= len(recovered.answers())
    assert ledger.count() == 1


def test_law_the_threshold_is_stored_before_the_first_reading() -> None:
    curator, engine, ledger = asker(study())
    monitor = curator.open_monitor(positives=1, epsilon="0.1")
    assert len(ledger.notes(1)) == 1
    assert engine.charged_at_read == []
    monitor.feed(COUNT.format(50), above=NEVER)
    assert len(ledger.notes(1)) == 2


def test_law_a_feed_that_fails_in_the_engine_uses_no_positive(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A feed that fails in the engine says nothing and uses no positive."""
    curator, engine, ledger = asker(study())
    monitor = curator.open_monitor(positives=1, epsilon="0.1")

    def broken(readings: Any) -> Any:
        raise RuntimeError("row 3 holds canary-8675309")

    engine.exact = broken  # type: ignore[method-assign]
    with caplog.at_level(logging.DEBUG), pytest.raises(adyton.EngineFailed) as failed:
        monitor.feed(COUNT.format(50), above=3)
    assert "canary" not in str(failed.value) + caplog.text
    assert failed.value.__context__ is None
    assert (len(ledger.notes(1)), monitor.budget().positives_left) == (1, 1)


# Several at once ---------------------------------------------------------------------------------------------------


class Overtaken:
    """A ledger in which somebody else feeds the monitor just before the next note is written."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.first: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def annotate(self, number: int, index: int, text: str) -> bool:
        if self.first is not None:
            first, self.first = self.first, None
            first()
        return self._ledger.annotate(number, index, text)


@pytest.mark.parametrize("refresh", [False, True])
def test_law_who_comes_second_compares_again_with_what_the_first_left(refresh: bool) -> None:
    known = study("pure", epsilon="400")
    ledger = MemoryLedger(header(known))
    slow, (quick, _, _) = Overtaken(ledger), asker(known, ledger, seed=2)
    late = Curator(known, Watched(known, ledger), slow, Seeded(1))  # type: ignore[arg-type]
    monitor = late.open_monitor(positives=2, epsilon=300, refresh=refresh)
    slow.first = lambda: quick.monitor(1).feed(COUNT.format(50), above=ALWAYS)
    answer = monitor.feed(COUNT.format(50), above=ALWAYS)
    assert (answer.positives_left, answer.feeds) == (0, 2)
    assert [one.left for one in entries_of(ledger)] == [1, 0]


def test_law_who_comes_second_to_a_halted_monitor_gets_nothing() -> None:
    known = study("pure", epsilon="400")
    ledger = MemoryLedger(header(known))
    slow, (quick, _, _) = Overtaken(ledger), asker(known, ledger, seed=2)
    late = Curator(known, Watched(known, ledger), slow, Seeded(1))  # type: ignore[arg-type]
    monitor = late.open_monitor(positives=1, epsilon=300)
    slow.first = lambda: quick.monitor(1).feed(COUNT.format(50), above=ALWAYS)
    with pytest.raises(adyton.PrivacyRefused, match="halted"):
        monitor.feed(COUNT.format(50), above=ALWAYS)
    assert len(ledger.notes(1)) == 2


def test_law_threads_share_one_monitor() -> None:
    curator, _, ledger = asker(study("pure", epsilon="400"))
    monitor = curator.open_monitor(positives=7, epsilon=300)

    def feed(k: int) -> bool:
        try:
            return monitor.feed(COUNT.format(50), above=NEVER if k % 3 else ALWAYS).above
        except adyton.BudgetRefused:
            return False

    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(feed, range(60)))
    assert sum(said) == 7
    assert [one.above for one in entries_of(ledger)].count(True) == 7
    ledger.verify()


def _feed_until_halted(path: str, seed: int, results: Any) -> None:
    known = study("pure", epsilon="400")
    ledger = sqlite(known, Path(path))
    curator, _, _ = asker(known, ledger, seed)
    monitor, positives, feeds = curator.monitor(1), 0, []
    try:
        while True:
            answer = monitor.feed(COUNT.format(50), above=ALWAYS)
            positives += answer.above
            feeds.append(answer.feeds)
    except adyton.BudgetRefused:
        results.put((positives, feeds))
    ledger.close()


def test_law_two_processes_share_one_monitor(tmp_path: Path) -> None:
    known, path = study("pure", epsilon="400"), tmp_path / "people.ledger"
    ledger = sqlite(known, path)
    asker(known, ledger)[0].open_monitor(positives=25, epsilon=399)
    results = APART.Queue()
    workers = [APART.Process(target=_feed_until_halted, args=(str(path), n, results)) for n in (5, 6)]
    for worker in workers:
        worker.start()
    found = [results.get(timeout=30) for _ in workers]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert sum(positives for positives, _ in found) == 25
    assert sorted(n for _, feeds in found for n in feeds) == list(range(1, 26))
    assert len(set(secrets_of(ledger))) == 1
    ledger.verify()
    ledger.close()


# Secrets and tampering -----------------------------------------------------------------------------------------------


def test_law_the_secret_is_nowhere_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = -987654321987
    known = study("pure", "add-remove", "400")
    curator, _, ledger = asker(known)
    monkeypatch.setattr(
        "adyton.kernel.special.mechanisms.sparse.sparse.Sparse.start",
        lambda self, bits: SparseState(self.positives, secret),
    )
    monitor = curator.open_monitor(positives=1, epsilon=300)
    assert secrets_of(ledger) == [secret]
    answer = monitor.feed(COUNT.format(50), above=10**13)
    shown = [
        repr(monitor),
        str(monitor),
        repr(answer),
        str(answer),
        repr(monitor.budget()),
        str(monitor.budget()),
    ]
    shown += [
        json.dumps(answer.to_json()),
        json.dumps(monitor.budget().to_json()),
        repr(monitor.answers()),
    ]
    shown += [repr(curator.receipts()), repr(curator.budget()), str(curator.budget())]
    shown += [repr(entries_of(ledger)[0]), repr(ledger.verify())]
    above = monitor.feed(COUNT.format(50), above=3)
    assert above.above
    with pytest.raises(adyton.BudgetRefused) as refused:
        monitor.feed(COUNT.format(50), above=3)
    shown += [repr(above), refused.value.message, json.dumps(refused.value.to_json())]
    assert not [text for text in shown if str(abs(secret)) in text]


@pytest.mark.parametrize("place", [0, 1])
def test_law_tampered_notes_are_found(tmp_path: Path, place: int) -> None:
    known = study("pure", epsilon="400")
    ledger = sqlite(known, tmp_path / "people.ledger")
    curator, _, _ = asker(known, ledger)
    monitor = curator.open_monitor(positives=2, epsilon=300)
    monitor.feed(COUNT.format(50), above=ALWAYS)
    connection = sqlite3.connect(ledger.path)
    connection.execute("DROP TRIGGER notes_update")
    text = json.loads(ledger.notes(1)[place]) | {"left": 2, "offset": "5"}
    connection.execute("UPDATE notes SET text = ? WHERE place = ?", (json.dumps(text), place))
    connection.commit()
    connection.close()
    with pytest.raises(adyton.LedgerCorrupt):
        curator.verify()
    with pytest.raises(adyton.LedgerCorrupt):
        curator.monitor(1).budget()
    ledger.close()


def test_law_lost_notes_stop_a_monitor_that_has_seen_them(tmp_path: Path) -> None:
    known = study("pure", epsilon="400")
    ledger = sqlite(known, tmp_path / "people.ledger")
    curator, _, _ = asker(known, ledger)
    monitor = curator.open_monitor(positives=2, epsilon=300)
    monitor.feed(COUNT.format(50), above=ALWAYS)
    connection = sqlite3.connect(ledger.path)
    connection.execute("DROP TRIGGER notes_delete")
    connection.execute("DELETE FROM notes WHERE place = 1")
    connection.commit()
    connection.close()
    with pytest.raises(adyton.LedgerCorrupt, match="lost notes"):
        monitor.feed(COUNT.format(50), above=NEVER)
    ledger.close()


def test_law_a_kept_head_notices_a_monitor_that_was_rolled_back(tmp_path: Path) -> None:
    known = study("pure", epsilon="400")
    ledger = sqlite(known, tmp_path / "people.ledger")
    curator, _, _ = asker(known, ledger)
    monitor = curator.open_monitor(positives=2, epsilon=300)
    opened = monitor.budget().head
    assert opened == monitor.budget().receipt.digest
    monitor.feed(COUNT.format(50), above=ALWAYS)
    kept = monitor.budget().head
    monitor.feed(COUNT.format(50), above=NEVER)
    assert len({opened, kept, monitor.verify().head}) == 3
    assert monitor.verify(opened) == monitor.verify(kept) == curator.monitor(1).verify(kept)
    connection = sqlite3.connect(ledger.path)
    connection.execute("DROP TRIGGER notes_delete")
    connection.execute("DELETE FROM notes WHERE place >= 1")
    connection.commit()
    connection.close()
    again = curator.monitor(1)
    assert again.budget().positives_left == 2  # the positive came back, and nothing else noticed
    assert again.verify(opened).head == opened
    with pytest.raises(adyton.LedgerCorrupt, match="rolled back"):
        again.verify(kept)
    with pytest.raises(adyton.InvalidRequest, match="a head has 64 hexadecimal digits"):
        again.verify(opened[:12])
    ledger.close()


def test_law_a_head_says_nothing_about_the_secret() -> None:
    """Two monitors with the same answers, and other noise, differ by their receipts alone."""
    public = {"query": "q", "threshold": "3", "above": True, "value": None, "left": 1}
    ledgers = [MemoryLedger(header(study())) for _ in range(2)]
    for offset, ledger in enumerate(ledgers, start=5):
        ledger.charge(Order("q", "d", 1, 0))
        ledger.annotate(1, 0, json.dumps({"left": 2, "offset": str(offset)}))
        ledger.annotate(1, 1, json.dumps({**public, "offset": str(offset)}))
    ((fed,), (other,)) = map(entries_of, ledgers)
    assert chained("head", fed) == chained("head", other)
    others = (replace(fed, query="p"), replace(fed, threshold=Fraction(4)), replace(fed, above=False))
    assert (
        len({chained("head", one) for one in (fed, *others, replace(fed, value=7))} | {chained("h", fed)})
        == 6
    )


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"left": "x", "offset": "1"}', '{"left": 1}'])
def test_law_a_note_that_cannot_be_read_stops_the_monitor(text: str) -> None:
    curator, _, ledger = asker(study("pure"))
    curator.open_monitor(positives=1, epsilon="0.5")
    ledger.annotate(1, 1, text)
    with pytest.raises(adyton.LedgerCorrupt, match="cannot be read back"):
        curator.monitor(1).feed(COUNT.format(50), above=3)


# Closing ---------------------------------------------------------------------------------------------------------


def test_law_a_closed_monitor_answers_nobody_and_keeps_what_it_said() -> None:
    """Mutants: no note in ``close``; no check of ``closed`` in ``_running``."""
    curator, engine, ledger = asker(study("pure", epsilon="400"))
    monitor, other = curator.open_monitor(positives=2, epsilon=100), curator.monitor(1)
    first = monitor.feed(COUNT.format(50), above=ALWAYS)
    head = monitor.budget().head
    assert other.close().to_json()["closed"] is True
    before = (ledger.spent(), ledger.notes(1), len(engine.charged_at_read))
    for one in (monitor, other, curator.monitor(1)):
        with pytest.raises(adyton.InvalidRequest, match="was closed"):
            one.feed(COUNT.format(50), above=ALWAYS)
        with pytest.raises(adyton.InvalidRequest, match="was closed"):
            one.feed_many([(COUNT.format(50), ALWAYS)])
        assert one.answers() == [first]
        assert (one.close(), one.verify(head).receipts) == (monitor.budget(), 1)
    assert (ledger.spent(), ledger.notes(1), len(engine.charged_at_read)) == before
    assert len({head, monitor.verify().head}) == 2
    assert "Closed, after 1 of 2 answers" in str(monitor.budget())


def test_law_who_feeds_while_another_closes_gets_nothing() -> None:
    known = study("pure", epsilon="400")
    ledger = MemoryLedger(header(known))
    slow, (quick, _, _) = Overtaken(ledger), asker(known, ledger, seed=2)
    late = Curator(known, Watched(known, ledger), slow, Seeded(1))  # type: ignore[arg-type]
    monitor = late.open_monitor(positives=2, epsilon=300)
    slow.first = lambda: quick.monitor(1).close()
    with pytest.raises(adyton.InvalidRequest, match="was closed"):
        monitor.feed(COUNT.format(50), above=ALWAYS)
    assert monitor.answers() == []


@pytest.mark.parametrize("end", ["close", "halt"])
def test_law_who_is_overtaken_by_the_end_is_refused_in_plain_words(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at public facts and that of the kernel.  Mutant: no second ``asked()`` at the end."""
    known = study("pure", epsilon="400")
    ledger = MemoryLedger(header(known))
    (late, _, _), (quick, _, _) = asker(known, ledger), asker(known, ledger, seed=2)
    monitor, other = late.open_monitor(positives=1, epsilon=300), quick.monitor(1)
    looks, own = [], monitor._running

    def running() -> Any:
        progress = own()
        looks.append(progress)
        if len(looks) == 2:  # after the number was read
            other.close() if end == "close" else other.feed(COUNT.format(50), above=ALWAYS)
        return progress

    monkeypatch.setattr(monitor, "_running", running)
    with pytest.raises(adyton.CuratorError, match="was closed" if end == "close" else "has halted"):
        monitor.feed(COUNT.format(50), above=ALWAYS)
    assert len(looks) == 2
    assert len(monitor.answers()) == (end == "halt")


def test_law_who_closes_while_another_feeds_closes_after_the_answer() -> None:
    known = study("pure", epsilon="400")
    ledger = MemoryLedger(header(known))
    slow, (quick, _, _) = Overtaken(ledger), asker(known, ledger, seed=2)
    late = Curator(known, Watched(known, ledger), slow, Seeded(1))  # type: ignore[arg-type]
    monitor = late.open_monitor(positives=2, epsilon=300)
    slow.first = lambda: quick.monitor(1).feed(COUNT.format(50), above=ALWAYS)
    closed = monitor.close()
    assert (closed.closed, closed.feeds, closed.positives_left) == (True, 1, 1)


def test_law_a_note_after_the_last_stops_the_monitor() -> None:
    curator, _, ledger = asker(study("pure", epsilon="400"))
    monitor = curator.open_monitor(positives=2, epsilon=100)
    fed = {"query": "q", "threshold": "3", "above": False, "value": None, "left": 2}
    (secret,) = secrets_of(ledger)
    monitor.close()
    assert ledger.annotate(1, 2, json.dumps({**fed, "offset": str(secret)}))
    with pytest.raises(adyton.LedgerCorrupt, match="cannot be read back"):
        curator.monitor(1).budget()
    with pytest.raises(adyton.LedgerCorrupt, match="cannot be read back"):
        monitor.feed(COUNT.format(50), above=ALWAYS)


def test_law_every_monitor_of_a_study_is_listed() -> None:
    curator, engine, _ = asker(study("pure", epsilon="400"))
    assert "No monitor was opened yet" in str(curator.monitors())
    curator.ask("SELECT COUNT(*) FROM people", epsilon=1)
    opened = [curator.open_monitor(positives=2, epsilon=9, of=kind) for kind in KINDS]
    read = len(engine.charged_at_read)
    assert [one.number for one in curator.monitors().monitors] == [one.number for one in opened] == [2, 3, 4]
    assert list(curator.monitors().monitors) == [one.budget() for one in opened]
    assert len(engine.charged_at_read) == read


@pytest.mark.parametrize("kind", KINDS)
def test_law_each_kind_takes_its_measures_and_no_others(kind: Any, adjacency: str) -> None:
    """The same noise for all sums: a monitor of sums is monotone where rows come and go, one of means never."""
    curator, engine, ledger = asker(study("pure", adjacency, "400"))
    monitor = curator.open_monitor(positives=9, epsilon=100, of=kind)
    asked = {
        "counts": ["SELECT COUNT(*) FROM people WHERE smoker"],
        "sums": ["SELECT SUM(age) FROM people", "SELECT SUM(2 * age) FROM people WHERE smoker"],
        "means": ["SELECT AVG(age) FROM people", "SELECT PROPORTION(smoker) FROM people"],
    }
    known = KINDS[: KINDS.index(kind) + 1]
    for other, texts in asked.items():
        for sql in texts:
            reads = len(engine.charged_at_read)
            if other in known:
                assert monitor.feed(sql, above="0.5").feeds == len(ledger.notes(1)) - 1
            else:
                with pytest.raises(adyton.InvalidRequest, match=f"a monitor of {kind} takes one"):
                    monitor.feed(sql, above="0.5")
                assert len(engine.charged_at_read) == reads
    sparse = machine_of(curator.receipts()[0])
    assert isinstance(sparse, Sparse)
    assert sparse.monotone is (adjacency == "add-remove" and kind != "means")
    assert sparse.sensitivity == 1 if kind == "counts" else sparse.sensitivity >= 2**32
    assert ("MONITOR-OF-SUMS" in monitor.budget().certificate.theorems) is (kind != "counts")


def test_law_the_error_of_a_sum_is_told_in_its_own_unit() -> None:
    """A sum of ages is off by as many units as a count, each of 120 years."""
    curator, _, _ = asker(study("pure", epsilon="400"))
    monitor = curator.open_monitor(positives=2, epsilon=9, of="means")
    rows = monitor.error(100, of="SELECT COUNT(*) FROM people", above=0)
    years = monitor.error(100, of="SELECT SUM(age) FROM people", above=0)
    excess = monitor.error(100, of="SELECT AVG(age) FROM people", above=33)
    assert years == pytest.approx(120 * rows, rel=1e-6)
    assert excess == pytest.approx(years, rel=1e-6)
    preview = curator.preview_monitor(positives=2, epsilon=9, of="means")
    assert preview.right_beyond == pytest.approx(rows, rel=1e-6)
    with pytest.raises(adyton.InvalidRequest, match="depends on the query"):
        monitor.error(100)


def test_law_a_study_in_a_dialect_is_fed_in_it() -> None:
    known = replace(study("pure", epsilon="400"), dialect="postgres")
    curator, _, _ = asker(known)
    monitor = curator.open_monitor(positives=2, epsilon=100)
    sql = "SELECT COUNT(*) FROM people WHERE age::int < 50"
    assert monitor.feed(sql, above=ALWAYS).query == "SELECT COUNT(*) AS count FROM people WHERE (age < 50)"
    with pytest.raises(adyton.InvalidRequest):
        curator.monitor(1).feed(
            "SELECT COUNT(*) FROM people WHERE age < 5 UNION ALL SELECT COUNT(*) FROM people", above=3
        )


# Certificates ------------------------------------------------------------------------------------------------------


def test_law_a_budget_names_its_theorems(accounting: str, adjacency: str) -> None:
    curator, _, _ = asker(study(accounting, adjacency))
    named = curator.open_monitor(positives=2, epsilon="0.1", numeric=True).budget().certificate.theorems
    assert {"SPARSE", "NUMERIC-SPARSE", "SPARSE-ACCURACY", "MONITOR-IS-ONE-RELEASE"} <= set(named)
    assert ("MONOTONE-SPARSE" in named) is (adjacency == "add-remove")
    assert ("PURE-IMPLIES-GDP" in named) is (accounting == "gdp")
    assert ("PURE-IMPLIES-ZCDP" in named) is (accounting == "zcdp")
    assert set(curator.study.rule.theorems) <= set(named)
    pages = Path(__file__).parents[2] / "docs" / "theorems"
    assert all((pages / f"{name}.md").exists() for name in named)
