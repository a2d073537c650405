"""Batches that choose their strategy, through the curator: charged, stored, repeated, replayed."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from adyton.audit import replay
from adyton.audit.cases.catalogue import target_of
from adyton.audit.cases.queries import ask_both
from adyton.audit.report import try_one
from adyton.curator import Curator
from adyton.errors import EngineFailed, InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table
from adyton.noise_intervals.strategies import deviation_of
from adyton.planning.coordinated import candidates, choosing
from adyton.planning.coordinated.choosing import CoordinatedBatch
from adyton.study import Study, Validity
from adyton.transports.cli.app import app
from support.curators import open_kept
from support.worlds import study_with

SIZE = 3000
COLUMNS = (IntegerColumn("age", 0, 99), CategoryColumn("region", ("a", "b", "c")), BooleanColumn("smoker"))
RANGES = [f"SELECT COUNT(*) AS n FROM people WHERE age < {age}" for age in range(5, 100, 5)]
SETS = "SELECT region, smoker, COUNT(*) AS n FROM people GROUP BY CUBE (region, smoker)"
APART = [f"SELECT COUNT(*) AS n FROM people WHERE region = '{value}'" for value in "abc"]
TARGET = target_of()  # its tables are loaded once
KINDS = ("atoms", "tree", "optimised", "product", "marginals")


def people(seed: int = 1, size: int = SIZE) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": [None if i % 11 == 0 else int(age) for i, age in enumerate(rng.integers(-3, 103, size))],
            "region": rng.choice(["a", "b", "c", "nowhere"], size),
            "smoker": rng.random(size) < 0.3,
            "who": rng.integers(0, size // 2, size),
        }
    )


def study(
    accounting: str = "gdp", adjacency: Any = "replace-one", rows: int = 1, validity: Validity | None = None
) -> Study:
    person = "who" if rows > 1 else None
    unit = PrivacyUnit(adjacency, person, rows) if rows > 1 else adjacency
    return study_with(Table("people", COLUMNS, SIZE, person=person), accounting, unit, 50, validity=validity)


def planned(curator: Curator, queries: list[str], strategy: str | None = None, **price: Any) -> Any:
    return curator._batch(queries, price, strategy)  # type: ignore[arg-type]


# What stays as it was --------------------------------------------------------------------------------------


def test_one_query_and_parts_that_exclude_each_other_are_planned_as_ever() -> None:
    with open_kept(study(adjacency="add-remove"), people()) as curator:
        for asked in ([RANGES[0]], APART, ["SELECT region, COUNT(*) AS n FROM people GROUP BY region"]):
            assert planned(curator, asked, epsilon=1).independent is None
        mixed = [RANGES[0], RANGES[1], "SELECT AVG(age) AS m FROM people"]
        assert planned(curator, mixed, epsilon=1).independent is None
        assert planned(curator, RANGES, scale=10).independent is None


def test_independent_is_what_it_always_was_and_is_found_again() -> None:
    with open_kept(study(), people()) as curator:
        together = planned(curator, RANGES, epsilon=1)
        assert isinstance(together, CoordinatedBatch)
        alone = planned(curator, RANGES, "independent", epsilon=1)
        assert alone.detail == together.independent.detail
        assert '"rounded Gaussian"' in alone.detail
        first = curator.ask_many(RANGES, strategy="independent", epsilon=1)
        again = curator.ask_many(RANGES, epsilon=1)  # each of them was paid for by itself
        assert [a.value for a in again] == [a.value for a in first]
        assert again[0].repeated
        assert curator.budget().queries == 1


# Answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accounting", "adjacency"),
    list(itertools.product(["gdp", "zcdp", "pure"], ["replace-one", "add-remove"])),
)
def test_batches_are_answered_together_where_that_is_better(accounting: str, adjacency: Any) -> None:
    with open_kept(study(accounting, adjacency), people()) as curator:
        batch = planned(curator, RANGES, epsilon=1)
        assert isinstance(batch, CoordinatedBatch)
        assert batch.gain > 2
        previews = curator.preview_many(RANGES, epsilon=1)
        answers = curator.ask_many(RANGES, epsilon=1)
        plain = curator.preview_many(RANGES, epsilon=1, strategy="independent")
        assert previews[0].cost.units == answers[0].cost.units == batch.amount
        widths = [a.noise_interval.high - a.noise_interval.low for a in answers]
        assert sum(w**2 for w in widths) < sum((2 * p.bounds["n"].half_width) ** 2 for p in plain) / 2  # type: ignore[operator]
        for width, preview in zip(widths, previews, strict=True):
            assert width / 2 <= preview.bounds["n"].half_width * (1 + 1e-6)  # type: ignore[operator]
        ages = [age for age in people()["age"].to_pylist() if age is not None]
        for answer, width, below in zip(answers, widths, range(5, 100, 5), strict=True):
            assert abs(answer.value - sum(age < below for age in ages)) <= 2.5 * width  # nine deviations
        again = curator.ask_many(RANGES, epsilon=1)
        assert [a.value for a in again] == [a.value for a in answers]
        assert again[0].repeated
        assert again[0].cost.units == 0


@pytest.mark.parametrize("strategy", [None, *KINDS])
def test_a_total_is_the_sum_of_its_parts(strategy: str | None) -> None:
    with open_kept(study(), people()) as curator:
        answer = curator.ask(SETS, epsilon=1, strategy=strategy)
        found = {tuple(row.keys.values()): row.values["n"].value for row in answer.rows}
        assert len(found) == 12
        for region in "abc":
            both = sum(found[region, smoker] for smoker in (False, True))
            if strategy != "independent":  # rows without a smoker are in the part of a region too
                assert abs(found[region, None] - both) < SIZE
        every = [
            f"SELECT COUNT(*) AS n FROM people WHERE {where}"
            for where in ("age < 30", "age >= 30", "age IS NULL")
        ]
        parts = curator.ask_many(
            [*every, "SELECT COUNT(*) AS n FROM people"], epsilon=1, strategy="optimised"
        )
        assert sum(a.value for a in parts[:3]) == pytest.approx(parts[3].value, abs=1e-6)


@pytest.mark.parametrize(("accounting", "strategy"), list(itertools.product(["gdp", "pure"], KINDS)))
def test_named_widths_are_kept_for_less(accounting: str, strategy: str) -> None:
    with open_kept(study(accounting, "add-remove"), people()) as curator:
        previews = curator.preview_many(RANGES, within=60, strategy=strategy)
        assert all(p.bounds["n"].half_width <= 60 for p in previews)  # type: ignore[operator]
        assert max(p.bounds["n"].half_width for p in previews) > 55  # type: ignore[operator, type-var]
        batch = planned(curator, RANGES, strategy, within=60)
        same = planned(curator, RANGES, strategy, epsilon=str(curator.study.epsilon_of(batch.amount)))
        assert deviation_of(batch.noise.mechanism) == pytest.approx(
            deviation_of(same.noise.mechanism), rel=1e-3
        )
        alone = curator.preview_many(RANGES, within=60, strategy="independent")
        assert curator.preview_many(RANGES, within=60)[0].cost.units < alone[0].cost.units


def test_shares_of_a_public_number_of_rows_are_counts_too() -> None:
    asked = [f"SELECT PROPORTION(age < {age}) AS p FROM people" for age in range(5, 100, 5)]
    with open_kept(study(), people()) as curator:
        assert isinstance(planned(curator, asked, epsilon=1), CoordinatedBatch)
        values = [a.value for a in curator.ask_many(asked, epsilon=1)]
        assert all(
            abs(value - age / 106 * 10 / 11) < 0.05
            for value, age in zip(values, range(5, 100, 5), strict=True)
        )


def test_population_intervals_are_about_the_same_counts() -> None:
    declared = Validity(confidence=Fraction(95, 100))
    with open_kept(study(validity=declared), people()) as curator:
        bounds = [p.population["n"] for p in curator.preview_many(RANGES, epsilon=1)]
        answers = curator.ask_many(RANGES, epsilon=1)
        for answer, age, bound in zip(answers, range(5, 100, 5), bounds, strict=True):
            expected = SIZE * 10 / 11 * (age + 3) / 106
            interval = answer.population_interval
            assert interval.low <= expected <= interval.high  # type: ignore[union-attr]
            assert interval.high - interval.low <= 2.2 * bound.half_width  # type: ignore[union-attr, operator]
        assert "COORDINATED-ANSWERS" in answers[0].certificate.theorems
    with open_kept(
        study("pure", validity=Validity(confidence=Fraction(95, 100), stability=Fraction(1, 10))),
        data=people(),
    ) as curator:
        assert planned(curator, RANGES, epsilon=1).independent is None  # which would lose them
        (answer, *_) = curator.ask_many(RANGES, epsilon="0.02", strategy="atoms")
        assert "nothing is proved" in answer.population_interval.reason  # type: ignore[union-attr]


# What goes wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "strategy", "message"),
    [
        (RANGES, "magic", "unknown strategy 'magic'; known: independent, atoms"),
        (["SELECT AVG(age) AS m FROM people", RANGES[0]], "atoms", "only counts of rows"),
        (
            ["SELECT PROPORTION(smoker) AS p FROM people WHERE age < 3", RANGES[0]],
            "tree",
            "ratio of two counts",
        ),
        (["SELECT COUNT(*) AS n FROM people"] * 2, "atoms", "the same count"),
    ],
)
def test_what_cannot_be_coordinated_is_said_and_free(asked: list[str], strategy: str, message: str) -> None:
    with open_kept(study(), people()) as curator:
        with pytest.raises(InvalidRequest, match=message):
            curator.ask_many(asked, epsilon=1, strategy=strategy)
        assert curator.budget().spent.units == 0


def test_an_engine_that_fails_after_the_charge_is_read_under_its_receipt() -> None:
    with open_kept(study(), people()) as curator:
        exact = curator._engine.exact

        def broken(_: Any) -> Any:
            raise RuntimeError("a row")

        curator._engine.exact = broken  # type: ignore[method-assign]
        with pytest.raises(EngineFailed):
            curator.ask_many(RANGES, epsilon=1)
        curator._engine.exact = exact  # type: ignore[method-assign]
        answers = curator.ask_many(RANGES, epsilon=1)
        assert (answers[0].receipt.number, curator.budget().queries) == (1, 1)


def _forget() -> None:
    candidates.measurings.cache_clear()
    choosing._narrowest.cache_clear()


def test_what_a_strategy_does_not_determine_is_not_derived(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two filters that overlap, measured as they are: nothing is known of those who meet both."""
    monkeypatch.setattr(candidates, "_matrices", lambda _, workload, __: [candidates.the_queries(workload)])
    _forget()
    asked = [f"SELECT COUNT(*) AS n FROM people WHERE {where}" for where in ("age < 30", "smoker")]
    with open_kept(study(adjacency="add-remove"), people()) as curator:
        curator.ask_many(asked, epsilon=1, strategy="optimised")
        assert curator.derive(asked[0]).cost.units == 0
        with pytest.raises(InvalidRequest, match="does not follow"):
            curator.derive("SELECT COUNT(*) AS n FROM people WHERE age < 30 AND smoker")
    _forget()


def test_another_machine_with_another_optimum_gives_the_same_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_kept(study(adjacency="add-remove"), people()) as curator:
        first = curator.ask_many(RANGES, epsilon=1, strategy="optimised")
        optimal = candidates.optimal_strategy

        def other(workload: Any) -> Any:
            found = optimal(workload)
            return type(found)(found.name, found.matrix[::-1] * 2)

        monkeypatch.setattr(candidates, "optimal_strategy", other)
        _forget()
        found = planned(curator, RANGES, "optimised", epsilon=1).noise.measuring.strategy
        assert found.l2_diameter_squared("add-remove") > 4000**2 * 3
        again = curator.ask_many(RANGES, epsilon=1, strategy="optimised")
        _forget()
        assert [a.value for a in again] == [a.value for a in first]
        assert [a.noise_interval for a in again] == [a.noise_interval for a in first]
        assert again[0].repeated


# Replay ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", KINDS)
@pytest.mark.parametrize(
    ("accounting", "adjacency"), [("gdp", "replace-one"), ("zcdp", "add-remove"), ("pure", "replace-one")]
)
def test_replays_of_neighboring_tables_are_consistent(accounting: str, adjacency: Any, strategy: str) -> None:
    whole = people()
    one_row = pa.table({"age": [50], "region": ["a"], "smoker": [True], "who": [7]})
    other = pa.concat_tables([whole.slice(0, SIZE - 1), one_row.cast(whole.schema)])
    if adjacency == "add-remove":
        other = whole.slice(0, SIZE - 1)
    known, pair = study(accounting, adjacency), (whole, other)
    told = replay(known, pair, RANGES, opened_by=open_kept, strategy=strategy, epsilon=1)
    assert told.verdict == "consistent", told.faults
    assert any(movement.name.startswith("all by") for movement in told.movements)


def test_persons_with_several_rows_pay_for_all_of_them() -> None:
    with open_kept(study(rows=3, adjacency="add-remove"), data=people()) as curator:
        three = planned(curator, RANGES, "atoms", epsilon=1)
        assert three.noise.mechanism.rows_each == 3
        curator.ask_many(RANGES, epsilon=1)
    with open_kept(study(adjacency="add-remove"), people()) as curator:
        one = planned(curator, RANGES, "atoms", epsilon=1)
    assert deviation_of(three.noise.mechanism) == pytest.approx(
        3 * deviation_of(one.noise.mechanism), rel=1e-6
    )


# Derived ---------------------------------------------------------------------------------------------------


class Unreadable:
    """An engine that nobody may ask."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the engine was asked to {name}")


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
@pytest.mark.parametrize("strategy", KINDS)
def test_theorem_DERIVED_ANSWERS_nothing_is_read_and_nothing_charged(accounting: str, strategy: str) -> None:
    with open_kept(study(accounting), people()) as curator:
        answers = curator.ask_many(RANGES, epsilon=1, strategy=strategy)
        before, sound = curator.receipts(), curator
        curator = Curator(sound.study, Unreadable(), sound._ledger)  # type: ignore[arg-type]
        asked = "SELECT COUNT(*) AS n FROM people WHERE age >= 20 AND age < 40"
        derived = curator.derive(asked)
        assert derived.value == pytest.approx(answers[7].value - answers[3].value, abs=1e-6)
        assert derived.cost.units == 0
        assert derived.receipt.number == 1
        assert derived.noise_interval.high - derived.noise_interval.low > 0
        assert "derived from an earlier answer" in derived.population_interval.reason  # type: ignore[union-attr]
        assert "receipt 1" in str(derived)
        preview = curator.preview(asked, epsilon=1)
        bound = preview.determined["n"]
        assert bound.half_width == pytest.approx(derived.noise_interval.high - derived.value, rel=1e-3)
        assert "Already determined by what was asked before, free: derive gives n" in " ".join(
            str(preview).split()
        )
        same = curator.derive(RANGES[3])
        assert same.value == pytest.approx(answers[3].value, abs=1e-6)
        wide, narrow = same.noise_interval, answers[3].noise_interval
        assert wide.high - wide.low > narrow.high - narrow.low  # chosen after the noise was seen
        for text in ("age < 21", "smoker", "age IS NULL AND region = 'a'"):
            with pytest.raises(InvalidRequest, match="does not follow"):
                curator.derive(f"SELECT COUNT(*) AS n FROM people WHERE {text}")
        with pytest.raises(InvalidRequest, match="does not follow"):
            curator.derive("SELECT AVG(age) AS n FROM people")
        assert len(curator.receipts()) == len(before)


def test_groups_are_derived_and_other_studies_know_nothing() -> None:
    with open_kept(study(), people()) as curator:
        curator.ask(SETS, epsilon=1, strategy="marginals")
        derived = curator.derive(
            "SELECT smoker, COUNT(*) AS n FROM people GROUP BY smoker HAVING COUNT(*) > 0"
        )
        assert [row.keys["smoker"] for row in derived.rows] == [False, True]
        assert abs(sum(row.values["n"].value for row in derived.rows) - SIZE) < 100
    with (
        open_kept(study(), people()) as curator,
        pytest.raises(InvalidRequest, match="does not follow"),
    ):
        curator.derive("SELECT smoker, COUNT(*) AS n FROM people GROUP BY smoker")


def test_a_preview_says_which_strategy_and_what_it_gains() -> None:
    with open_kept(study(), people()) as curator:
        preview = curator.preview_many(RANGES, epsilon=1)[0]
        assert "one strategy for all: " in str(preview.strategy)
        assert "times less variance than each for itself" in " ".join(str(preview).split())
        assert preview.to_json()["strategy"] == preview.strategy
        assert preview.steps[0].value == "all values"
        worse = curator.preview_many(RANGES[:1], epsilon=1, strategy="product")[0]
        assert "2.16 times more variance than each for itself" in str(worse.strategy)
        dearer = curator.preview_many(RANGES[:1], within=50, strategy="product")[0]
        assert "it costs 2.06 times more than each for itself" in str(dearer.strategy)
        assert "it costs" in str(curator.preview_many(RANGES, within=50)[0].strategy)
        assert curator.preview_many(RANGES, epsilon=1, strategy="independent")[0].strategy is None


@pytest.mark.parametrize(
    "name", ["counts measured together", "tables measured together", "counts of rows of persons, together"]
)
@pytest.mark.parametrize(
    ("accounting", "adjacency"), [("gdp", "replace-one"), ("zcdp", "add-remove"), ("pure", "add-remove")]
)
def test_audits_of_what_is_measured_together_refute_nothing(
    name: str, accounting: str, adjacency: Any
) -> None:
    asked = ask_both(name, adjacency, accounting, TARGET)
    assert asked.replayed is not None
    assert asked.replayed.verdict == "consistent", asked.replayed.faults
    assert any(movement.name.startswith("all by") for movement in asked.replayed.movements)
    assert not try_one(asked, 6000, 0.999999).refuted


def test_the_command_line_names_a_strategy_and_derives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(people(), "people.parquet")
    Path("people.toml").write_text(
        '[table]\nname = "people"\nsource = "people.parquet"\nrows = 3000\n'
        '[privacy]\nunit = "row"\nadjacency = "replace-one"\nepsilon = 5\ndelta = 1e-9\n'
        '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99\n',
        encoding="utf-8",
    )
    Path("q.sql").write_text(";\n".join(RANGES), encoding="utf-8")
    done = CliRunner().invoke(app, ["preview", "people.toml", "--file", "q.sql", "--share", "0.1", "--json"])
    assert all("one strategy for all" in told["strategy"] for told in json.loads(done.output))
    asked = ["ask", "people.toml", "--file", "q.sql", "--share", "0.1", "--strategy", "tree", "--json"]
    answers = json.loads(CliRunner().invoke(app, asked).output)
    done = CliRunner().invoke(app, ["derive", "people.toml", RANGES[3], "--json"])
    told = json.loads(done.output)
    assert "Columns:" not in CliRunner().invoke(app, ["derive", "people.toml", RANGES[3]]).output
    assert told["free"].startswith("it follows from what receipt 1 paid for")
    value = told["answer"][0]["values"]["n"]["value"]
    assert value == pytest.approx(answers[3]["answer"][0]["values"]["n"]["value"], abs=1e-6)
    assert CliRunner().invoke(app, [*asked[:-3], "--strategy", "magic"]).exit_code == 2
