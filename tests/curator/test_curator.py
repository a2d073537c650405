"""The laws of the curator, on a real DuckDB and real ledgers."""

from __future__ import annotations

import datetime
import json
import logging
import multiprocessing
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import adyton
from adyton.curator.curator import Curator
from adyton.engines.duckdb import DuckDBEngine
from adyton.kernel.ledger import Header, Ledger, MemoryLedger, SqliteLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, RealColumn, Table
from adyton.planning.price import price_of
from adyton.study import Study
from support.curators import kept_engine
from support.processes import APART
from support.worlds import study_with

COLUMNS = (
    IntegerColumn("age", 0, 120),
    RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1)),
    CategoryColumn("region", ("north", "south", "east", "west")),
    BooleanColumn("smoker"),
    DateColumn("born", datetime.date(1900, 1, 1), datetime.date(2030, 1, 1)),
)
ROWS = 400


def people(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, ROWS),
            "income": rng.gamma(2, 20_000, ROWS),
            "region": rng.choice(["north", "south", "east"], ROWS),
            "smoker": rng.random(ROWS) < 0.3,
            "born": pd.Timestamp("1970-01-01"),
        }
    )


def study(accounting: str = "gdp", adjacency: str = "replace-one", epsilon: str = "1") -> Study:
    return study_with(Table("people", COLUMNS, ROWS), accounting, adjacency, epsilon)


def ledger_for(known: Study) -> MemoryLedger:
    return MemoryLedger.of(known)


class Watched:
    """The real engine, with a note of when it was read and what had been charged by then."""

    def __init__(self, known: Study, ledger: Ledger, frame: pd.DataFrame | None = None) -> None:
        self._engine: Any = kept_engine(known.table, known.unit, people())
        if frame is not None:
            self._engine = DuckDBEngine(known.table, known.unit, frame)
        self._ledger = ledger
        self.charged_at_read: list[int] = []
        self.prepared = 0

    def prepare(self, readings: Any = ()) -> None:
        self.prepared += 1
        self._engine.prepare()

    def exact(self, readings: Any) -> Any:
        self.charged_at_read.append(self._ledger.count())
        return self._engine.exact(readings)

    def close(self) -> None:
        self._engine.close()


@pytest.fixture(params=["gdp", "zcdp", "pure"])
def accounting(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["replace-one", "add-remove"])
def adjacency(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def watched(known: Study) -> tuple[Curator, Watched, MemoryLedger]:
    ledger = ledger_for(known)
    engine = Watched(known, ledger)
    return Curator(known, engine, ledger), engine, ledger


def curator(accounting: str = "gdp", adjacency: str = "replace-one", epsilon: str = "1") -> Curator:
    return watched(study(accounting, adjacency, epsilon))[0]


# Charge before read -------------------------------------------------------------------------------------


def test_law_charge_precedes_reading(accounting: str, adjacency: str) -> None:
    asker, engine, ledger = watched(study(accounting, adjacency))
    for i, where in enumerate(("age > 10", "age > 20", "smoker"), start=1):
        asker.ask(f"SELECT COUNT(*) FROM people WHERE {where}", share="0.1")
        assert engine.charged_at_read == list(range(1, i + 1))
        assert ledger.count() == i


class Broken:
    """An engine whose every word would give a row away."""

    def prepare(self, readings: Any = ()) -> None: ...
    def close(self) -> None: ...

    def exact(self, readings: Any) -> Any:
        raise RuntimeError("row 3 holds canary-8675309")


def test_law_a_failing_engine_costs_the_charge_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    known = study()
    ledger = ledger_for(known)
    asker = Curator(known, Broken(), ledger)
    with caplog.at_level(logging.DEBUG), pytest.raises(adyton.EngineFailed) as caught:
        asker.ask("SELECT COUNT(*) FROM people", epsilon="0.5")
    assert ledger.count() == 1
    assert asker.study.epsilon_of(asker.budget().spent.units) == pytest.approx(0.5)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "canary" not in caplog.text
    assert caught.value.facts["reference"] in caplog.text


@pytest.mark.parametrize("request_id", ["a", None, "b"])
def test_law_a_lost_answer_is_read_again_under_its_receipt(request_id: str | None) -> None:
    known = study()
    ledger = ledger_for(known)
    with pytest.raises(adyton.EngineFailed, match="free of charge"):
        Curator(known, Broken(), ledger).ask("SELECT COUNT(*) FROM people", epsilon="0.1", request="a")
    healthy = Curator(known, Watched(known, ledger), ledger)
    answer = healthy.ask("SELECT COUNT(*) FROM people", epsilon="0.1", request=request_id)
    assert answer.receipt.number == ledger.count() == 1
    again = healthy.ask("SELECT COUNT(*) FROM people", epsilon="0.1", request="a")
    assert again.rows == answer.rows


def test_a_missing_file_is_found_before_anything_is_charged(tmp_path: Path) -> None:
    known = study()
    ledger = ledger_for(known)
    asker = adyton.open(known, data=tmp_path / "gone.parquet", ledger=ledger)
    with pytest.raises(adyton.InvalidRequest, match="does not exist"):
        asker.ask("SELECT COUNT(*) FROM people", epsilon="0.1")
    assert ledger.count() == 0


# Refusals are free --------------------------------------------------------------------------------------


def test_law_refusal_costs_nothing(accounting: str) -> None:
    asker, engine, ledger = watched(study(accounting))
    asker.ask("SELECT COUNT(*) FROM people WHERE smoker", share="0.9")
    before = ledger.spent()
    with pytest.raises(adyton.PrivacyRefused) as caught:
        asker.ask("SELECT COUNT(*) FROM people", epsilon="0.9")
    assert ledger.spent() == before
    assert len(engine.charged_at_read) == 1
    assert set(caught.value.facts) == {
        "requested",
        "spent",
        "budget",
        "whose",
        "asked_for",
        "field",
        "largest",
        "counted_in",
        "fits",
    }
    largest = Fraction(caught.value.facts["largest"])
    assert largest == Fraction(caught.value.facts["budget"]) - Fraction(caught.value.facts["spent"])
    asker.ask("SELECT COUNT(*) FROM people", share=1)  # one refusal never ends a session
    assert ledger.spent() <= ledger.header.budget


BAD_PRICES: list[dict[str, Any]] = [
    {},
    {"epsilon": 0},
    {"epsilon": -1},
    {"epsilon": float("nan")},
    {"epsilon": float("inf")},
    {"epsilon": 1e308},
    {"epsilon": "1e-30"},
    {"epsilon": "1e999999999"},
    {"epsilon": "one"},
    {"epsilon": True},
    {"epsilon": None},
    {"epsilon": [1]},
    {"epsilon": "0.1", "within": 5},
    {"within": 0},
    {"within": -3},
    {"within": float("nan")},
    {"share": 0},
    {"share": "1.01"},
    {"share": "1e-25"},
    {"scale": 0},
    {"scale": float("-inf")},
    {"scale": "1e39"},
    {"expected_rows": 3},
    {"epsilon": "0.1", "expected_rows": 0},
    {"epsilon": "0.1", "expected_rows": 2.5},
    {"budget": 1},
]


@pytest.mark.parametrize("price", BAD_PRICES, ids=str)
@pytest.mark.parametrize("verb", ["ask", "preview"])
def test_A16_bad_prices_are_refused_free_of_charge(price: dict[str, Any], verb: str) -> None:
    asker, engine, ledger = watched(study())
    with pytest.raises((adyton.InvalidRequest, adyton.BudgetRefused)):
        getattr(asker, verb)("SELECT COUNT(*) FROM people WHERE smoker", **price)
    assert ledger.count() == 0
    assert engine.charged_at_read == []


@pytest.mark.parametrize(
    "query", ["SELECT age", "SELECT COUNT(*) FROM elsewhere", "SELECT AVG(wage) FROM people", 7, None]
)
def test_bad_queries_are_refused_free_of_charge(query: Any) -> None:
    asker, engine, ledger = watched(study())
    with pytest.raises(adyton.InvalidRequest):
        asker.ask(query, epsilon="0.1")
    assert (ledger.count(), engine.prepared) == (0, 0)


@given(
    shares=st.lists(st.fractions(Fraction(1, 1000), 1), max_size=12),
    name=st.sampled_from(["gdp", "zcdp", "pure"]),
)
@example(shares=[Fraction(1), Fraction(1)], name="pure")
@settings(max_examples=25, deadline=None)
def test_law_no_sequence_of_prices_overspends_or_gives_back(shares: list[Fraction], name: str) -> None:
    asker, _, ledger = watched(study(name))
    last = 0
    for i, share in enumerate(shares):
        try:
            asker.ask(f"SELECT COUNT(*) FROM people WHERE age > {i}", share=share)
        except adyton.InvalidRequest:
            left = ledger.header.budget - ledger.spent()
            assert 1 <= left < 1000 / share  # units of 1e-18: too little for any noise
        except adyton.PrivacyRefused:
            assert ledger.spent() == ledger.header.budget  # of nothing there is no share
        assert last <= ledger.spent() <= ledger.header.budget
        last = ledger.spent()
    assert asker.budget().spent.share <= 1


# Prices -------------------------------------------------------------------------------------------------

QUERIES = [
    "SELECT COUNT(*) FROM people WHERE age > 30",
    "SELECT SUM(income) FROM people",
    "SELECT AVG(income) FROM people WHERE smoker",
    "SELECT PROPORTION(smoker) FROM people",
    "SELECT PROPORTION(smoker) FROM people WHERE age > 50",
    "SELECT region, COUNT(*), AVG(age), SUM(income) FROM people GROUP BY region",
]


@pytest.mark.parametrize("sql", QUERIES)
def test_law_the_price_named_is_the_total(sql: str, accounting: str, adjacency: str) -> None:
    asker = curator(accounting, adjacency)
    answer = asker.ask(sql, epsilon="0.25")
    assert asker.study.epsilon_of(answer.cost.units) <= 0.25 * (1 + 1e-9)
    assert asker.study.epsilon_of(answer.cost.units) >= 0.25 * (1 - 1e-6)


@pytest.mark.parametrize("sql", QUERIES)
def test_law_more_noise_never_costs_more(sql: str, accounting: str, adjacency: str) -> None:
    asker = curator(accounting, adjacency)
    names = asker.preview(sql, epsilon="0.1").bounds
    for word in ("within", "scale"):
        prices: list[Any] = ["30", "100", "1000", "30000"]
        if word == "within":  # values of different units each have a width of their own
            prices = [dict.fromkeys(names, price) for price in prices]
        costs = [asker.preview(sql, **{word: price}).cost.units for price in prices]
        assert costs == sorted(costs, reverse=True)
        assert costs[0] > costs[-1]


@pytest.mark.parametrize("sql", QUERIES)
def test_law_preview_says_what_ask_then_charges(sql: str, accounting: str, adjacency: str) -> None:
    asker, engine, ledger = watched(study(accounting, adjacency))
    seen = asker.preview(sql, epsilon="0.2")
    assert (engine.prepared, ledger.count()) == (0, 0)  # it reads nothing and is free
    assert (seen.spent, seen.left) == (asker.budget().spent, asker.budget().left)
    answer = asker.ask(sql, epsilon="0.2")
    assert seen.cost == answer.cost
    assert seen.spent_after == answer.spent
    assert (answer.spent, answer.left) == (asker.budget().spent, asker.budget().left)
    assert seen.affordable
    assert not seen.repeated
    assert asker.preview(sql, epsilon="0.2").repeated
    assert seen.certificate == answer.certificate


def test_law_within_is_the_half_width_of_each_value(accounting: str, adjacency: str) -> None:
    asker = curator(accounting, adjacency, epsilon="400")
    answer = asker.ask(
        "SELECT region, COUNT(*), COUNT(age) FROM people WHERE smoker GROUP BY region", within=12
    )
    for row in answer.rows:
        for value in row.values.values():
            assert value.noise_interval.high - value.noise_interval.low == 24


def test_within_for_a_mean_needs_to_know_how_many_rows_match() -> None:
    known = Study(
        Table("people", COLUMNS), PrivacyUnit("add-remove"), Guarantee(Fraction(1), Fraction(1, 10**9))
    )
    asker = Curator(known, Watched(known, ledger_for(known)), ledger_for(known))
    with pytest.raises(adyton.InvalidRequest, match="depends on how many rows match"):
        asker.preview("SELECT AVG(age) FROM people", within=5)
    assert asker.preview("SELECT AVG(age) FROM people", within=5, expected_rows=300).bounds[
        "avg_age"
    ].half_width == pytest.approx(5)
    assert asker.preview("SELECT AVG(age) FROM people", epsilon="0.1").bounds["avg_age"].half_width is None


# Repeats and request ids --------------------------------------------------------------------------------


def test_law_the_same_query_again_is_free_however_it_is_spelled(accounting: str) -> None:
    asker, engine, ledger = watched(study(accounting))
    first = asker.ask("SELECT COUNT(*) FROM people WHERE age > 30 AND smoker", epsilon="0.1")
    again = asker.ask("select count(*) as count from People where Smoker and 30 < AGE", epsilon="0.10")
    assert again.repeated
    assert again.rows == first.rows
    assert again.cost.units == 0
    assert again.receipt == first.receipt
    assert ledger.count() == len(engine.charged_at_read) == 1
    other = asker.ask("SELECT COUNT(*) FROM people WHERE age > 30 AND smoker", epsilon="0.11")
    assert not other.repeated


def test_A21_one_request_id_is_charged_once_and_names_one_query() -> None:
    asker, _, ledger = watched(study())
    first = asker.ask("SELECT COUNT(*) FROM people WHERE smoker", epsilon="0.1", request="r1")
    for _ in range(20):
        assert (
            asker.ask("SELECT COUNT(*) FROM people WHERE smoker", epsilon="0.1", request="r1").rows
            == first.rows
        )
    assert ledger.count() == 1
    asker.ask("SELECT COUNT(*) FROM people", epsilon="0.1", request="r2")
    for sql, price in (
        ("SELECT COUNT(*) FROM people", "0.1"),
        ("SELECT COUNT(*) FROM people WHERE smoker", "0.2"),
    ):
        with pytest.raises(adyton.InvalidRequest, match="already used"):
            asker.ask(sql, epsilon=price, request="r1")
    assert ledger.count() == 2


def test_A21_many_threads_with_one_request_id_get_one_answer(tmp_path: Path) -> None:
    known = study()
    limit = known.rule.allowed(known.budget)
    ledger = SqliteLedger.create(tmp_path / "l.ledger", Header.fresh(known.fingerprint, "gdp", limit))
    asker = Curator(known, DuckDBEngine(known.table, known.unit, people()), ledger)
    values: list[float] = []
    threads = [
        threading.Thread(
            target=lambda: values.append(
                asker.ask("SELECT COUNT(*) FROM people WHERE smoker", epsilon="0.1", request="same").value
            )
        )
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 16
    assert len(set(values)) == 1
    assert ledger.count() == 1
    asker.close()


def test_law_answers_survive_a_restart(tmp_path: Path) -> None:
    people().to_parquet(tmp_path / "people.parquet")
    known = study()
    file = Study(
        known.table, known.unit, known.budget, "gdp", tmp_path / "people.parquet", tmp_path / "p.ledger"
    )
    with adyton.open(file) as asker:
        asker.preview("SELECT COUNT(*) FROM people", epsilon="0.1")
        assert not (tmp_path / "p.ledger").exists()  # looking leaves nothing behind
        first = asker.ask("SELECT region, COUNT(*) FROM people GROUP BY region", epsilon="0.1")
    with adyton.open(file) as asker:
        again = asker.ask("SELECT region, COUNT(*) FROM people GROUP BY region", epsilon="0.1")
        assert again.repeated
        assert again.rows == first.rows
        assert asker.verify(first.receipt.digest).receipts == 1
    with pytest.raises(adyton.InvalidRequest, match="does not belong"):
        adyton.open(
            Study(
                known.table,
                known.unit,
                Guarantee(Fraction(2), known.budget.delta),
                "gdp",
                file.source,
                file.ledger,
            )
        )


def _spend_all(folder: str, barrier: Any, queue: Any) -> None:
    known = study()
    path = Path(folder)
    file = Study(known.table, known.unit, known.budget, "gdp", path / "people.parquet", path / "p.ledger")
    accepted = 0
    with adyton.open(file) as asker:
        barrier.wait()
        for i in range(30):
            try:
                asker.ask(
                    f"SELECT COUNT(*) FROM people WHERE age > {i}",
                    scale=100,
                    request=f"{barrier.parties}-{id(queue)}-{i}-{multiprocessing.current_process().pid}",
                )
                accepted += 1
            except adyton.BudgetRefused:
                pass
    queue.put(accepted)


def test_A20_two_processes_never_overspend_one_study(tmp_path: Path) -> None:
    """mu^2 = 1e-4 a query; two processes ask for 60 of them and together get what the budget allows."""
    people().to_parquet(tmp_path / "people.parquet")
    barrier, queue = APART.Barrier(2), APART.Queue()
    workers = [APART.Process(target=_spend_all, args=(str(tmp_path), barrier, queue)) for _ in range(2)]
    for worker in workers:
        worker.start()
    accepted = sum(queue.get(timeout=120) for _ in workers)
    for worker in workers:
        worker.join()
    known = study()
    file = Study(
        known.table, known.unit, known.budget, "gdp", tmp_path / "people.parquet", tmp_path / "p.ledger"
    )
    with adyton.open(file) as asker:
        found = asker.verify()
        assert found.receipts <= accepted <= 60
        assert found.spent == found.receipts * 10**14 <= known.rule.allowed(known.budget)


# Answers ------------------------------------------------------------------------------------------------


def test_answers_are_near_the_truth_when_the_noise_is_small(accounting: str, adjacency: str) -> None:
    """With epsilon in the hundreds the noise is a few units: a wrong sum, centre, step or group would show."""
    frame = people()
    asker = curator(accounting, adjacency, epsilon="500")
    by_region = asker.ask(
        "SELECT region, COUNT(*) AS n, AVG(age) AS a FROM people GROUP BY region", share="0.3"
    )
    for row in by_region.rows:
        part = frame[frame.region == row.keys["region"]]
        assert row.values["n"].value == pytest.approx(len(part), abs=4)
        if len(part):
            assert row.values["a"].value == pytest.approx(part.age.mean(), abs=3)
    total = asker.ask("SELECT SUM(income) FROM people WHERE born = DATE '1970-01-01'", share="0.5")
    assert total.value == pytest.approx(frame.income.clip(0, 200_000).sum(), rel=0.02)
    share = asker.ask("SELECT PROPORTION(smoker) FROM people", share="0.9")
    assert share.value == pytest.approx(frame.smoker.mean(), abs=0.02)


def test_A8_an_outlier_changes_no_noise_scale() -> None:
    outlier = people()
    outlier.loc[0, "income"] = 1e12
    details = []
    for frame in (people(), outlier):
        known = study()
        ledger = ledger_for(known)
        asker = Curator(known, Watched(known, ledger, frame), ledger)
        asker.ask("SELECT AVG(income), SUM(income) FROM people", epsilon="0.3")
        details.append(next(iter(ledger.receipts())).order.detail)
    assert details[0] == details[1]


def test_A13_every_cell_has_noise_of_its_own() -> None:
    """4,000 empty cells: the noises differ, and neighbors in the list are uncorrelated (4 sigma, 6e-5)."""
    column = CategoryColumn("k", tuple(f"v{i}" for i in range(4000)))
    known = Study(
        Table("t", (column,), 10), PrivacyUnit("replace-one"), Guarantee(Fraction(1), Fraction(1, 10**6))
    )
    ledger = ledger_for(known)
    asker = adyton.open(known, data=pd.DataFrame({"k": ["x"] * 10}), ledger=ledger)
    noise = np.array([row.values["count"].value for row in asker.ask(adyton.histogram("k"), epsilon=1).rows])
    assert len(set(noise)) > 20
    centred = noise - noise.mean()
    correlation = (centred[1:] * centred[:-1]).mean() / centred.var()
    assert abs(correlation) < 6 / np.sqrt(len(noise))
    asker.close()


def test_the_two_ways_to_ask_are_one_query() -> None:
    asker = curator()
    sql = asker.ask("SELECT region, AVG(income) FROM people WHERE smoker GROUP BY region", epsilon="0.1")
    draft = asker.ask(adyton.mean("income", where="smoker", by="region"), epsilon="0.1")
    assert draft.repeated
    assert draft.rows == sql.rows


def test_answers_export_and_show_themselves() -> None:
    asker = curator()
    answer = asker.ask("SELECT region, COUNT(*) FROM people GROUP BY region", epsilon="0.1")
    frame = answer.to_pandas()
    assert list(frame.columns) == ["region", "count", "count_noise_low", "count_noise_high"]
    assert answer.to_arrow().num_rows == len(frame) == 4
    assert json.loads(json.dumps(answer.to_json()))["answer"][0]["keys"] == {"region": "north"}
    for shown in (answer, asker.budget(), asker.preview("SELECT COUNT(*) FROM people", epsilon="0.1")):
        assert "<table>" in shown._repr_html_()
        assert len(str(shown)) > 50
    assert "noise interval" in str(answer)
    assert "not declared" in str(answer)
    with pytest.raises(adyton.InvalidRequest, match="4 values"):
        _ = answer.value


def test_html_is_escaped() -> None:
    column = CategoryColumn("k", ("<script>alert(1)</script>",))
    known = Study(
        Table("t", (column,), 3), PrivacyUnit("replace-one"), Guarantee(Fraction(1), Fraction(1, 10**6))
    )
    asker = adyton.open(known, data=pd.DataFrame({"k": ["a"] * 3}))
    assert "<script>" not in asker.ask(adyton.histogram("k"), epsilon="0.1")._repr_html_()
    asker.close()


def test_price_words_are_checked_by_name() -> None:
    with pytest.raises(adyton.InvalidRequest, match="unknown option"):
        price_of(budget=1)  # type: ignore[call-arg]
