"""The laws of private multiplicative weights (PMW), on a real DuckDB and real ledgers."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_monitors import Interrupted, Overtaken, header

import adyton
from adyton.audit.watching import RecordedBits, watch
from adyton.curator.curator import Curator
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.exact import units_up
from adyton.kernel.ledger import Ledger, MemoryLedger, SqliteLedger
from adyton.kernel.paid import charge
from adyton.kernel.price import Label, price
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import Attribute, CategoryColumn, DateColumn, Dimension, IntegerColumn, Table
from adyton.kernel.special.comparing import public_notes
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse, one_integer
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse
from adyton.kernel.special.monitor import replace_one_cost
from adyton.monitors.pmw.notes import chained, entry_of
from adyton.monitors.pmw.open_pmw import OpenPmw
from adyton.monitors.pmw.terms import Terms, terms_of
from adyton.study import Study
from support.curators import kept_engine
from support.processes import APART
from support.randomness import Seeded
from support.tries import crossed
from support.worlds import study_with

ROWS, QUERIES = 5000, 10_000
LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
COLUMNS = ["age", "income", "letter"]
BINS = {"age": 20, "income": 198}
COUNT = "SELECT COUNT(*) FROM people WHERE age < {}"  # 50 rows for each year of age


def people() -> pd.DataFrame:
    row = np.arange(ROWS)
    return pd.DataFrame(
        {
            "age": row % 100,
            "income": row % 7,
            "letter": np.array(LETTERS)[row % 3],
            "day": [date(2020, 1, 1 + i % 28) for i in row],
            "name": [f"canary-{i}" for i in row],
            "person": row,
        }
    )


TABLE = Table(
    "people",
    (
        IntegerColumn("age", 0, 99),
        IntegerColumn("income", 0, 197),
        CategoryColumn("letter", LETTERS),
        DateColumn("day", date(2020, 1, 1), date(2020, 2, 29)),
        adyton.kernel.schema.TextColumn("name"),
    ),
    ROWS,
)


def study(accounting: str = "gdp", adjacency: str = "replace-one", epsilon: str = "1") -> Study:
    return study_with(TABLE, accounting, adjacency, epsilon)


def generous() -> Study:
    """A study that can pay for hardly any noise."""
    return study("pure", epsilon="500")


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


def opened(curator: Curator, **words: Any) -> OpenPmw:
    return curator.open_pmw(COLUMNS, **({"queries": QUERIES, "bins": BINS, "share": "0.5"} | words))


def quiet(updates: int = 3, queries: int = 50, threshold: int = 100) -> Terms:
    """PMW almost without noise: what it does is then certain."""
    tiny = Fraction((3 * updates + 1) / 450)
    machine = NumericSparse(Sparse(updates, tiny, tiny), tiny)
    return Terms(("age",), (("age", 20),), 21, queries, ROWS, None, threshold, machine)


def quietly(
    curator: Curator, ledger: Ledger, terms: Terms | None = None, request: str | None = None
) -> OpenPmw:
    made, known = terms or quiet(), curator.study
    priced = price(made.measurement(known), known.protection, Label((made.text,), made.detail))
    charge(ledger, priced, request)
    return curator.pmw(1)


@pytest.fixture(params=["gdp", "zcdp", "pure"])
def accounting(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["replace-one", "add-remove"])
def adjacency(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# The price -----------------------------------------------------------------------------------------------------


def test_law_the_price_is_charged_once_and_before_any_reading(accounting: str, adjacency: str) -> None:
    """Mutant: the number of units is read before the charge."""
    curator, engine, ledger = asker(study(accounting, adjacency))
    pmw = opened(curator)
    total = [1] if adjacency == "add-remove" else []  # the only reading of the opening
    assert (ledger.count(), engine.charged_at_read) == (1, total)
    assert ledger.header.budget * (1 - 1e-9) <= 2 * ledger.spent() <= ledger.header.budget
    for age in (90, 80):
        pmw.feed(COUNT.format(age))
    assert (engine.charged_at_read, ledger.count()) == ([*total, 1, 1], 1)
    assert pmw.budget().cost.units == ledger.spent()
    curator.pmw(1).feed(COUNT.format(70))
    assert len(engine.charged_at_read) == len(total) + 3  # who comes back reads no total


def test_law_the_total_is_public_or_was_paid_for(adjacency: str) -> None:
    curator, _, ledger = asker(study("gdp", adjacency))
    pmw = opened(curator, share=1)
    (receipt,) = ledger.receipts()
    terms = terms_of(receipt)
    kept = pmw.budget().total
    if adjacency == "replace-one":
        assert (terms.rows, terms.total, kept) == (ROWS, None, ROWS)
        return
    assert terms.rows is None
    assert terms.total is not None
    assert 0 < abs(kept - ROWS) < 7 * terms.total.scales[0]
    twentieth = float(terms.total.cost(one_integer(1)).gdp) / (ledger.spent() / 1e18)
    assert twentieth == pytest.approx(1 / 20, rel=1e-6)
    assert curator.pmw(1).budget().total == kept


def test_law_validity_pays_comparisons_values_and_total(accounting: str, adjacency: str) -> None:
    """Mutant: the total, or the values, are left out."""
    curator, _, ledger = asker(study(accounting, adjacency))
    opened(curator)
    (receipt,) = ledger.receipts()
    terms, one = terms_of(receipt), one_integer(1)
    exchanged = replace_one_cost(terms.machine)
    parts = [terms.machine.values.radius(one)] * terms.updates
    parts += [terms.total.radius(one)] if terms.total else []
    if accounting == "pure":
        least = stability_units(exchanged) + sum(map(stability_units, parts))
        assert receipt.order.pure == 0
        assert receipt.order.radius == pytest.approx(least, rel=1e-9)
    else:
        assert receipt.order.radius == pytest.approx(sum(map(stability_units, parts)), rel=1e-12)
        assert receipt.order.pure == units_up(exchanged.pure or 0)
    assert not terms.machine.sparse.monotone


def test_law_pmw_that_does_not_fit_is_refused_free_of_charge() -> None:
    curator, engine, ledger = asker(study())
    curator.ask("SELECT COUNT(*) FROM people", share="0.9")
    before = (ledger.spent(), len(engine.charged_at_read))
    with pytest.raises(adyton.BudgetRefused):
        opened(curator, share=None, epsilon="0.9")
    assert (ledger.spent(), len(engine.charged_at_read)) == before


def test_law_a_preview_is_free_and_says_what_the_opening_charges(accounting: str, adjacency: str) -> None:
    curator, engine, ledger = asker(study(accounting, adjacency))
    seen = curator.preview_pmw(COLUMNS, queries=QUERIES, bins=BINS, share="0.5")
    assert (ledger.count(), engine.charged_at_read) == (0, [])
    assert seen.fits
    assert seen.against is None
    assert seen.error < seen.independent
    pmw = opened(curator)
    assert (seen.cost, seen.pmw) == (pmw.budget().cost, pmw.budget().pmw)
    assert json.loads(json.dumps(seen.to_json()))["updates"] == pmw.budget().updates
    assert "Nothing was read" in str(seen)


# Where something else is better --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"queries": 100}, "noise of its own"),
        ({"columns": ["letter"]}, "for each cell, would be better"),
        ({"share": "0.02"}, "the most that teaches"),
        ({"tolerance": "0.01"}, "above the tolerance of 0.01"),
    ],
)
def test_law_what_is_not_worth_its_price_is_refused_with_the_numbers(words: dict[str, Any], why: str) -> None:
    curator, engine, ledger = asker(study())
    asked = {"columns": COLUMNS, "queries": QUERIES, "share": 1, "bins": BINS} | words
    asked["bins"] = {name: bins for name, bins in BINS.items() if name in asked["columns"]}
    seen = curator.preview_pmw(**asked)
    assert seen.against is not None
    assert why in seen.against
    assert "Would be refused" in str(seen)
    with pytest.raises(adyton.InvalidRequest, match="nothing was charged") as refused:
        curator.open_pmw(**asked)
    assert seen.against in str(refused.value)
    if "better" in seen.against:
        assert f"{seen.independent:.2g}" in seen.against
        assert f"{seen.error:.2g}" in seen.against
    assert (ledger.count(), engine.charged_at_read) == (0, [])


def test_law_more_units_make_independent_noise_better() -> None:
    table = replace(TABLE, rows=100_000)
    large = replace(study(), table=table)
    with adyton.open(large, data=people().sample(100_000, replace=True)) as curator:
        seen = curator.preview_pmw(COLUMNS, queries=QUERIES, bins=BINS, share=1)
        assert seen.error > seen.independent


def test_law_a_tolerance_buys_updates_up_to_it() -> None:
    curator, _, _ = asker(study())
    plain = curator.preview_pmw(COLUMNS, queries=QUERIES, bins=BINS, share=1)
    wide = curator.preview_pmw(COLUMNS, queries=QUERIES, bins=BINS, share=1, tolerance=plain.farthest * 1.05)
    assert plain.farthest < wide.farthest <= plain.farthest * 1.05
    assert wide.updates > plain.updates


# Answers -------------------------------------------------------------------------------------------------------


def test_law_a_right_guess_is_free_and_a_wrong_one_is_measured() -> None:
    """21 cells at first alike, of which the missing one holds nobody: all guesses are 20 / 21 of the truth.

    Mutants: the guess is never corrected; the correction goes the other way; too high is not asked.
    """
    curator, _, ledger = asker(generous())
    pmw = quietly(curator, ledger)
    first = pmw.feed("SELECT COUNT(*) FROM people WHERE age < 20")  # 1,000 rows in 4 of 20 cells
    assert (first.value, first.measured, first.updates_left) == (952, False, 3)  # 48 rows wrong
    second = pmw.feed("SELECT COUNT(*) FROM people WHERE age >= 0")
    assert (second.value, second.measured, second.updates_left) == (5000, True, 2)
    third = pmw.feed("SELECT COUNT(*) FROM people WHERE age IS NULL")
    assert (third.value, third.measured, third.checked) == (0, False, True)  # it has learned; 238 before
    assert pmw.feed(adyton.proportion("age < 20")).query == first.query
    assert (first.feeds, second.feeds, third.feeds) == (1, 2, 3)
    assert first.share == 952 / ROWS


def test_law_the_same_query_after_an_update_is_answered_better() -> None:
    curator, _, ledger = asker(generous())
    pmw = quietly(curator, ledger, quiet(updates=40))
    said = [pmw.feed("SELECT COUNT(*) FROM people WHERE age >= 0") for _ in range(3)]
    assert [a.measured for a in said] == [True, False, False]
    assert {a.value for a in said} == {5000}
    assert said[-1].noise_interval.low <= 5000 <= said[-1].noise_interval.high


def test_law_an_interval_is_that_of_the_noise_or_of_the_comparisons() -> None:
    curator, _, ledger = asker(study())
    pmw = opened(curator)
    terms = terms_of(*ledger.receipts())
    answers = [pmw.feed(COUNT.format(age)) for age in range(5, 100, 5)]
    assert {a.measured for a in answers} == {True, False} or not any(a.measured for a in answers)
    run = terms.run(ROWS)
    for answer in answers:
        half = terms.machine.values.error(0.95) if answer.measured else run.guess_error(0.95, QUERIES)
        assert answer.noise_interval.high - answer.value == answer.value - answer.noise_interval.low == half
    assert pmw.answers() == answers


def test_law_queries_are_kept_in_one_spelling() -> None:
    curator, _, ledger = asker(generous())
    pmw = quietly(curator, ledger)
    spellings = [
        "select count(*) from PEOPLE where not (Age >= 20)",
        adyton.count(where="age < 20"),
        "SELECT COUNT(*) FILTER (WHERE age < 20) FROM people",
    ]
    texts = [pmw.feed(one).query for one in spellings]
    assert texts[1] == texts[2] == "SELECT COUNT(*) AS count FROM people WHERE (age < 20)"
    assert json.loads(ledger.notes(1)[2])["query"] == texts[1]


def test_law_dates_and_edges_come_back_as_they_were_given() -> None:
    curator, _, ledger = asker(study())
    bins = {"day": [date(2020, 1, 11), date(2020, 1, 21)], "age": [18, "64.5"], "income": 198}
    columns = ["day", "age", "income", "letter"]
    pmw = curator.open_pmw(columns, queries=QUERIES, bins=bins, share=1)
    assert pmw.feed("SELECT COUNT(*) FROM people WHERE day < DATE '2020-01-11'").feeds == 1
    assert pmw.feed("SELECT COUNT(*) FROM people WHERE age >= 65").feeds == 2
    with pytest.raises(adyton.InvalidRequest, match="'day'"):
        pmw.feed("SELECT COUNT(*) FROM people WHERE day < DATE '2020-01-12'")
    assert curator.pmw(1).budget() == pmw.budget()
    assert terms_of(*ledger.receipts()).cells == 4 * 4 * 199 * 27


# Halting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", [quiet(updates=1), quiet(queries=1)], ids=["updates", "queries"])
def test_law_after_halting_the_guess_answers_free_and_without_a_guarantee(terms: Terms) -> None:
    """Mutant: the data are read, or a note is written, after the last update."""
    curator, engine, ledger = asker(generous())
    pmw = quietly(curator, ledger, terms)
    pmw.feed("SELECT COUNT(*) FROM people WHERE age >= 0")
    before = (len(engine.charged_at_read), ledger.notes(1), ledger.spent())
    for again in (pmw, curator.pmw(1)):
        said = again.feed("SELECT COUNT(*) FROM people WHERE age < 20")
        assert (said.measured, said.checked, said.noise_interval, said.feeds) == (False, False, None, 1)
        assert said.value > 952
        assert "nobody compared" in str(said)
        assert again.budget().halted
    told = str(pmw.feed_many(["SELECT COUNT(*) FROM people WHERE age < 20"]))
    assert "not compared" in told
    assert "Halted" in told
    assert (len(engine.charged_at_read), ledger.notes(1), ledger.spent()) == before
    assert "the guess still answers" in str(pmw.budget())


# Refusals are free ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "SELECT letter, COUNT(*) FROM people GROUP BY letter",
        "SELECT SUM(age) FROM people",
        "SELECT COUNT(*), COUNT(age) FROM people",
        "SELECT COUNT(*) FROM elsewhere",
        "SELECT PROPORTION(age < 20) FROM people WHERE letter = 'a'",
        "SELECT COUNT(*) FROM people WHERE age < 21",
        "SELECT COUNT(*) FROM people WHERE day < DATE '2020-01-11'",
        "SELECT COUNT(*) FROM people WHERE age < income",
        "SELECT COUNT(*) FROM people ORDER BY 1 LIMIT 1",
        adyton.mean("age"),
        None,
    ],
    ids=str,
)
def test_law_what_the_cells_cannot_tell_is_refused(query: Any) -> None:
    curator, engine, ledger = asker(study())
    pmw = opened(curator)
    before = (ledger.spent(), ledger.notes(1))
    with pytest.raises(adyton.InvalidRequest) as refused:
        pmw.feed(query)
    assert (ledger.spent(), ledger.notes(1), engine.charged_at_read) == (*before, [])
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"columns": "age"}, "list of names"),
        ({"columns": []}, "list of names"),
        ({"columns": [3]}, "text"),
        ({"columns": ["nobody"]}, "nobody"),
        ({"columns": ["age", "age"]}, "twice"),
        ({"columns": ["name"]}, "name"),
        ({"bins": None}, "'age' has no declared values"),
        ({"bins": 3}, "by column"),
        ({"bins": BINS | {"day": 3}}, "'day', which is not among"),
        ({"bins": BINS | {"age": 0}}, "at least 1"),
        (
            {"columns": [*COLUMNS, "day"], "bins": {"age": 100, "income": 198, "day": 60}},
            "leave out 'income'",
        ),
        ({"queries": 0}, "whole number"),
        ({"queries": True}, "whole number"),
        ({"queries": 10**7}, "whole number"),
        ({"tolerance": 0}, "tolerance"),
        ({"tolerance": 2}, "tolerance"),
        ({"share": 0}, "share"),
        ({"share": "1e-17"}, "smallest unit"),
        ({"share": None}, "no price"),
        ({"share": None, "within": 5}, "epsilon or as share"),
        ({"unheard": 5}, "unheard"),
    ],
    ids=str,
)
def test_law_pmw_that_makes_no_sense_is_refused_free_of_charge(wrong: dict[str, Any], why: str) -> None:
    curator, engine, ledger = asker(study())
    with pytest.raises(adyton.InvalidRequest, match=why):
        curator.open_pmw(**({"columns": COLUMNS, "queries": QUERIES, "bins": BINS, "share": 1} | wrong))
    assert (ledger.count(), engine.charged_at_read) == (0, [])


def test_law_persons_of_several_rows_splits_and_unknown_sizes_are_refused() -> None:
    budget = Guarantee(Fraction(1), Fraction(1, 10**9))
    persons = replace(study("gdp", "add-remove"), table=replace(TABLE, rows=None), budget=budget)
    with adyton.open(persons, data=people()) as curator:
        with pytest.raises(adyton.InvalidRequest, match="expected_rows"):
            opened(curator)
        assert opened(curator, expected_rows=ROWS).number == 1
    several = PrivacyUnit("replace-one", person="person", rows=2)
    with (
        adyton.open(
            replace(study(), table=replace(TABLE, person="person"), unit=several), data=people()
        ) as curator,
        pytest.raises(adyton.InvalidRequest, match="one row"),
    ):
        opened(curator)


def test_law_joins_and_numbers_of_each_person_are_refused() -> None:
    """Mutant: the table of a query is not looked at."""
    keys = Dimension(
        "words", "first", "letter", LETTERS, (Attribute(IntegerColumn("vowel", 0, 1), (0, 1) * 13),)
    )
    table = replace(TABLE, person="person", dimensions=(keys,))
    known = replace(study(), table=table, unit=PrivacyUnit("replace-one", person="person"))
    curator, engine, ledger = asker(known)
    pmw = opened(curator)
    for query in (
        "SELECT COUNT(*) FROM people JOIN words ON people.letter = words.first WHERE words.vowel = 1",
        "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM people GROUP BY person) WHERE n = 1",
    ):
        assert curator.preview(query, epsilon="0.1").cost.units > 0
        with pytest.raises(adyton.InvalidRequest, match="without joins"):
            pmw.feed(query)
    assert (len(ledger.notes(1)), engine.charged_at_read) == (1, [])
    assert "1 row" in (pmw.feed("SELECT COUNT(*) FROM people").left_out_rows or "")


def test_law_a_receipt_that_paid_for_something_else_is_no_pmw() -> None:
    curator, _, _ = asker(study())
    curator.ask("SELECT COUNT(*) FROM people", epsilon="0.1")
    curator.open_monitor(positives=2, epsilon="0.1", numeric=True)
    for number in (1, 2):
        with pytest.raises(adyton.InvalidRequest, match="did not pay for PMW"):
            curator.pmw(number)
    opened(curator)
    with pytest.raises(adyton.InvalidRequest, match="did not pay for a monitor"):
        curator.monitor(3)
    with pytest.raises(adyton.InvalidRequest, match="no receipt 9"):
        curator.pmw(9)


def test_law_the_study_says_in_which_words_queries_are_asked() -> None:
    """Mutants: ``feed`` does not look at the dialect of the study, or not at its own."""
    spoken = 'SELECT COUNTIF(letter = "b") FROM `people`'
    plain = "SELECT COUNT(*) FROM people WHERE letter = 'b'"
    curator, _, _ = asker(replace(study(), dialect="bigquery"))
    pmw = opened(curator)
    assert pmw.feed(spoken).query == pmw.feed(spoken, dialect="bigquery").query
    pmw = opened(asker(study())[0])
    with pytest.raises(adyton.InvalidRequest):
        pmw.feed(spoken)
    assert pmw.feed(spoken, dialect="bigquery").query == pmw.feed(plain).query
    with pytest.raises(adyton.InvalidRequest, match="one query"):
        pmw.feed("SELECT letter, COUNT(*) FROM people GROUP BY ROLLUP (letter)", dialect="bigquery")


def test_law_several_are_fed_in_their_order_or_none() -> None:
    """Mutant: what cannot be asked is found when its turn comes."""
    curator, engine, ledger = asker(generous())
    pmw = quietly(curator, ledger)
    read = len(engine.charged_at_read)
    with pytest.raises(adyton.InvalidRequest, match="query 2 of 2: the cells do not tell apart"):
        pmw.feed_many([COUNT.format(50), COUNT.format(51)])
    assert (len(engine.charged_at_read), pmw.budget().feeds) == (read, 0)
    told = pmw.feed_many([COUNT.format(age) for age in (5, 50, 95)])
    assert list(told.answers) == pmw.answers()
    assert [one.measured for one in told.answers] == [False, True, True]  # 5 % is what an even guess says
    assert told.to_json()["updates_left"] == pmw.budget().updates_left == 1
    assert "updates left: 1, queries left: 47" in str(told)


def test_law_every_pmw_run_of_a_study_is_listed_without_reading() -> None:
    """Mutant: receipts that paid for something else are listed too."""
    curator, engine, _ = asker(study())
    assert "No PMW run was opened yet" in str(curator.opened_pmw())
    curator.ask("SELECT COUNT(*) FROM people", epsilon="0.1")
    curator.open_monitor(positives=2, epsilon="0.1", numeric=True)
    first, second = opened(curator), opened(curator, share="0.9")
    first.feed(COUNT.format(50))
    read = len(engine.charged_at_read)
    listed = curator.opened_pmw()
    assert list(listed.pmw) == [first.budget(), second.budget()]
    assert [one["feeds"] for one in listed.to_json()["pmw"]] == [1, 0]
    assert len(engine.charged_at_read) == read
    assert "1 of 10000" in str(listed)


def test_law_a_request_id_opens_pmw_once() -> None:
    curator, _, ledger = asker(study())
    first = opened(curator, request="a", share=None, epsilon="0.5")
    first.feed(COUNT.format(50))
    again = opened(curator, request="a", share=None, epsilon="0.5")
    assert (again.number, ledger.count(), again.budget().feeds) == (1, 1, 1)


# The state cannot be reset -------------------------------------------------------------------------------------


def secrets_of(ledger: Ledger) -> list[int]:
    return [int(json.loads(text)["offset"]) for text in ledger.notes(1)]


FED = [f"SELECT COUNT(*) FROM people WHERE age {test}" for test in ("< 20", ">= 0", "< 5", "IS NULL", "< 20")]


def test_law_a_restart_between_any_two_steps_changes_nothing(tmp_path: Path) -> None:
    """Mutant: the guess is not made again from the notes."""
    known = generous()
    curator, _, ledger = asker(known)
    pmw = quietly(curator, ledger, quiet(updates=4, threshold=20))
    at_once = [pmw.feed(query) for query in FED]
    for step, query in enumerate(FED):
        kept = SqliteLedger.open_or_create(tmp_path / "people.ledger", header(known))
        curator, _, _ = asker(known, kept, seed=step)
        again = curator.pmw(1) if step else quietly(curator, kept, quiet(updates=4, threshold=20))
        answer = again.feed(query)
        assert (answer.value, answer.measured) == (at_once[step].value, at_once[step].measured)
        assert again.answers() == at_once[: step + 1]
        kept.verify()
        kept.close()
    assert any(a.measured for a in at_once)
    assert not all(a.measured for a in at_once)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("step", "adjacency"),
    crossed(
        [("charge", 1), *((verb, n) for verb in ("annotate", "notes") for n in range(1, 7))],
        ["replace-one", "add-remove"],
    ),
)
def test_law_a_crash_at_any_step_loses_no_privacy(step: tuple[str, int], after: bool, adjacency: str) -> None:
    verb, nth = step
    known = study("gdp", adjacency)
    ledger = MemoryLedger(header(known))
    engine = Watched(known, ledger)
    answers = []
    try:
        dying = Curator(known, engine, Interrupted(ledger, verb, nth, after), Seeded(1))  # type: ignore[arg-type]
        pmw = opened(dying)
        for query in FED:
            answers.append(pmw.feed(query))  # noqa: PERF401
    except KeyboardInterrupt:
        pass
    if not ledger.count():
        assert engine.charged_at_read == []
        return
    before, notes = secrets_of(ledger), ledger.notes(1)
    recovered = Curator(known, engine, ledger, Seeded(2)).pmw(1)
    assert recovered.answers()[: len(answers)] == answers
    assert secrets_of(ledger)[: len(before)] == before
    assert ledger.notes(1)[: len(notes)] == notes
    measured = sum(a.measured for a in recovered.answers())
    assert recovered.budget().updates_left == recovered.budget().updates - measured
    assert recovered.feed(FED[0]).feeds == len(recovered.answers())
    assert ledger.count() == 1


def test_law_a_failing_engine_says_nothing_and_what_was_paid_for_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At the total, then at a query."""
    curator, engine, ledger = asker(study("gdp", "add-remove"))
    real = engine.exact

    def broken(readings: Any) -> Any:
        raise RuntimeError("row 3 holds canary-8675309")

    for act in (lambda: opened(curator), lambda: curator.pmw(1).feed(FED[0])):
        engine.exact = broken  # type: ignore[method-assign]
        with caplog.at_level(logging.DEBUG), pytest.raises(adyton.EngineFailed) as failed:
            act()
        assert "canary" not in str(failed.value) + caplog.text
        assert ledger.count() == 1
        engine.exact = real  # type: ignore[method-assign]
        assert curator.pmw(1).budget().feeds == 0
    assert curator.pmw(1).feed(FED[0]).feeds == 1


def test_law_a_note_that_gives_an_update_back_is_found() -> None:
    curator, _, ledger = asker(generous())
    pmw = quietly(curator, ledger)
    pmw.feed(FED[0])
    forged = json.loads(ledger.notes(1)[1]) | {"left": 4}
    ledger.annotate(1, 2, json.dumps(forged))
    for broken in (pmw.feed, curator.pmw(1).feed):
        with pytest.raises(adyton.LedgerCorrupt, match="cannot be read back"):
            broken(FED[0])


def test_law_the_head_covers_every_answer_and_the_total_but_no_secret() -> None:
    curator, _, ledger = asker(generous())
    pmw = quietly(curator, ledger)
    heads = [pmw.budget().head]
    for query in FED:
        pmw.feed(query)
        heads.append(pmw.budget().head)
    assert len(set(heads)) == len(heads)
    assert pmw.verify(heads[2]).head == heads[-1]
    with pytest.raises(adyton.LedgerCorrupt, match="rolled back"):
        pmw.verify("0" * 64)
    (public, *_) = public_notes(ledger, 1, 1, "PMW")
    assert public is not None
    assert public.keys() == json.loads(ledger.notes(1)[1]).keys() - {"offset"}
    entry = entry_of(public)
    assert chained("", entry) != chained("", replace(entry, guess=entry.guess + 1))
    shown = json.dumps([a.to_json() for a in pmw.answers()] + [pmw.budget().to_json()])
    assert "offset" not in shown + repr(entry)


# Several at once -----------------------------------------------------------------------------------------------


def test_law_who_comes_second_compares_again_with_the_corrected_guess() -> None:
    known = generous()
    ledger = MemoryLedger(header(known))
    slow, (quick, _, _) = Overtaken(ledger), asker(known, ledger, seed=2)
    late = Curator(known, Watched(known, ledger), slow, Seeded(1))  # type: ignore[arg-type]
    pmw = quietly(late, ledger)
    other = quick.pmw(1)
    slow.first = lambda: other.feed(FED[1])
    said = pmw.feed(FED[0])
    assert (said.feeds, said.updates_left) == (2, 2)
    assert said.value > 952  # from the guess that the other has corrected
    assert pmw.answers() == other.answers()


def test_law_one_total_and_one_noise_are_kept_whoever_opens_first() -> None:
    """Mutant: who comes second goes on with what it drew itself."""
    known = study("gdp", "add-remove")
    ledger = MemoryLedger(header(known))
    slow, (quick, _, _) = Overtaken(ledger), asker(known, ledger, seed=2)
    late = Curator(known, Watched(known, ledger), slow, Seeded(1))  # type: ignore[arg-type]
    first: list[OpenPmw] = []
    slow.first = lambda: first.append(quick.pmw(1))
    pmw = opened(late)
    assert len(ledger.notes(1)) == 1
    assert pmw._total == first[0]._total
    assert pmw._comparisons._seen == first[0]._comparisons._seen


def test_law_threads_share_one_guess() -> None:
    """Mutant: the guess is corrected by two threads at once, or a note twice."""
    curator, _, ledger = asker(generous())
    pmw = quietly(curator, ledger, quiet(updates=6, queries=60, threshold=20))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda place: pmw.feed(FED[place % len(FED)]), range(40)))
    again = curator.pmw(1)
    again.feed(FED[0])
    pmw.feed(FED[0])
    assert np.array_equal(pmw._seen.guess.weights, again._seen.guess.weights)
    assert pmw.budget() == again.budget()


def feed_some(path: str, seed: int, times: int) -> None:
    known = generous()
    ledger = SqliteLedger.open_or_create(Path(path), header(known))
    curator, _, _ = asker(known, ledger, seed)
    pmw = curator.pmw(1)
    for place in range(times):
        pmw.feed(FED[place % len(FED)])
    ledger.close()


def test_law_two_processes_share_one_run(tmp_path: Path) -> None:
    path, known = tmp_path / "people.ledger", generous()
    ledger = SqliteLedger.open_or_create(path, header(known))
    curator, _, _ = asker(known, ledger)
    pmw = quietly(curator, ledger, quiet(updates=4, threshold=20))
    workers = [APART.Process(target=feed_some, args=(str(path), seed, 8)) for seed in (5, 6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
        assert worker.exitcode == 0
    said = pmw.answers()
    assert [a.feeds for a in said] == list(range(1, len(said) + 1))
    assert sum(a.measured for a in said) == 4 - pmw.budget().updates_left
    assert len(said) == 16 or pmw.budget().halted
    ledger.verify()
    ledger.close()


# Two neighboring tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_audit_two_neighboring_tables_move_what_is_compared_by_one(adjacency: str) -> None:
    """The same noise on two tables: one charge, one order of events, and every count moved by at most one.

    Mutant: the guess, or the number of queries that are read, depends on an exact count.
    """
    known, one = study("gdp", adjacency), people()
    other = one.assign(age=[99, *one["age"][1:]]) if adjacency == "replace-one" else one.iloc[1:]
    runs: list[Any] = []
    for frame in (one, other):
        bits = RecordedBits(Seeded(3), runs[0][0].handed_out if runs else ())
        with adyton.open(known, data=frame) as curator:
            watched, seen = watch(curator, bits)
            pmw = opened(watched, share=1)
            said = [pmw.feed(COUNT.format(age)) for age in range(5, 100, 5)]
            notes = [json.loads(text) for text in curator._ledger.notes(1)]
            exact = [int(columns[0][0]) for columns in seen.exact_integers]
            runs.append((bits, tuple(seen.events), said, notes, exact, curator.receipts()[0].order))
    (_, events, said, notes, exact, order), (_, events_2, said_2, notes_2, exact_2, order_2) = runs
    assert order == order_2
    assert max(abs(a - b) for a, b in zip(exact, exact_2, strict=True)) == 1
    same = 0
    while same < len(said) and said[same] == said_2[same] and notes[0] == notes_2[0]:
        same += 1
    assert same == len(said) or adjacency == "add-remove" or said[same].measured or said_2[same].measured
    assert events == events_2
    # until an answer differs, the guesses are the same: they know nothing but the answers
    assert [n["guess"] for n in notes[1 : same + 1]] == [n["guess"] for n in notes_2[1 : same + 1]]


def test_pmw_of_a_share_is_opened_once_under_its_id() -> None:
    """Mutant: they are planned by what is left now."""
    curator, _, ledger = asker(study())
    with curator:
        first = opened(curator, request="mine")
        curator.ask(COUNT.format(3), share="0.3")
        again = opened(curator, request="mine")
        assert again.budget().receipt == first.budget().receipt
        assert ledger.count() == 2
