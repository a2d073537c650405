"""No way of asking reads the reserve, answers say so, and the file, the ledger and the owner's commands know of it."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import adyton
from adyton.curator.curator import Curator
from adyton.engines.duckdb import DuckDBEngine
from adyton.kernel.ledger import Order
from adyton.kernel.privacy import Guarantee, PrivacyUnit, Reserve
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.operations.roles import role_named
from adyton.population.reserve import ReserveLook, opening_in
from adyton.service.identity import Identity
from adyton.service.named_ledger import NamedLedger
from adyton.setup.amending import amend
from adyton.setup.checking import check_study
from adyton.setup.reserve import look_at_reserve, open_reserve
from adyton.study import PrivateTable, Study, Validity, named_facts, read_study
from adyton.testing.engines.reference import in_reserve
from adyton.transports.cli.app import app
from support.curators import open_kept
from support.worlds import study_with

SHARE = Fraction(1, 4)
KEPT = Reserve(SHARE)
SIDE, AGE = CategoryColumn("side", ("kept", "read")), IntegerColumn("age", 0, 1000)
SMALL, KEY = BooleanColumn("small"), TextColumn("city")
UNITS = (PrivacyUnit("replace-one"), PrivacyUnit("replace-one", "who"), PrivacyUnit("add-remove", "who"))
IDS = ["rows", "persons", "persons, size private"]
SIZE = 800


def marked(size: int = SIZE) -> pd.DataFrame:
    """Names are positions, and what is kept has values of its own: nobody can miss it."""
    kept = np.array([in_reserve(n, KEPT) for n in range(size)])
    return pd.DataFrame(
        {
            "who": np.arange(size),
            "side": np.where(kept, "kept", "read"),
            "age": np.where(kept, 1000, np.arange(size) % 10),
            "small": ~kept,
            "city": np.where(kept, "Eridu", "Ur"),
        }
    )


def study_of(unit: PrivacyUnit, accounting: str = "gdp", **more: Any) -> Study:
    pure: dict[str, Any] = {"stability": 1, "beyond_plan": "answer"} if accounting == "pure" else {}
    table = Table("t", (SIDE, AGE, SMALL, KEY), SIZE, unit.person)
    validity = Validity(Fraction(19, 20), reserve=SHARE, **pure)
    return study_with(table, accounting, unit, 500, validity=validity, **more)


def opened(unit: PrivacyUnit, accounting: str = "gdp", **more: Any) -> Curator:
    return open_kept(study_of(unit, accounting, **more), data=marked())


def read_rows() -> int:
    return int((marked().side == "read").sum())


@pytest.mark.parametrize("unit", UNITS, ids=IDS)
@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_queries_read_the_others_alone_and_say_so(unit: PrivacyUnit, accounting: str) -> None:
    """A proportion of all has the right denominator.  Mutant: the public number of rows as its denominator."""
    with opened(unit, accounting) as curator:
        answer = curator.ask("SELECT side, COUNT(*) AS n FROM t GROUP BY side", scale="0.3")
        kept, read = answer.rows.values["n"].value
        assert abs(kept) < 10
        assert abs(read - read_rows()) < 10
        share = curator.ask("SELECT PROPORTION(small) AS p FROM t", scale="0.001").rows.values["p"].value[0]
        assert share == pytest.approx(1, abs=0.01)
        units = "rows" if unit.person is None else "persons"
        said = (
            f"No query reads the reserve, about 25 % of the {units}: counts and sums are those of the others"
        )
        preview = curator.preview("SELECT COUNT(*) FROM t WHERE small", scale=2)
        for told in (answer, preview):
            assert said in told.to_json()["left_out_rows"]
            assert said in " ".join(str(told).split())
        assert "RESERVE-TEST" in answer.certificate.theorems
        assert any("units of the reserve" in assumed for assumed in answer.certificate.assumptions)


@pytest.mark.parametrize("unit", UNITS, ids=IDS)
def test_batches_selections_monitors_pmw_and_synthetic_tables_do_too(unit: PrivacyUnit) -> None:
    """Mutant: a loaded table that holds all units."""
    with opened(unit) as curator:
        sides = [f"SELECT COUNT(*) FROM t WHERE side = '{side}'" for side in ("kept", "read")]
        for strategy in (None, "atoms"):
            counts = curator.ask_many(sides, within=5, strategy=strategy)
            assert abs(counts[0].rows.values["count"].value[0]) < 10
        best = curator.ask(adyton.best_of([*sides, "SELECT COUNT(*) FROM t WHERE age > 500"], 1), epsilon=100)
        assert "'read'" in best.to_json()["answer"][0]["keys"]["candidate"]
        assert "reserve" in (best.left_out_rows or "")
        monitor = curator.open_monitor(positives=1, epsilon=100)
        found = monitor.feed(sides[0], above=20)
        assert not found.above
        assert "reserve" in (found.left_out_rows or "")
        assert monitor.feed(sides[1], above=20).above
        made = curator.synthesize(["side", "small"], rows=1000, epsilon=100)
        assert (made.to_pandas().side == "read").mean() > 0.97
        assert any("reserve" in assumed for assumed in made.certificate.assumptions)
        low, high = _bounds(curator)
        assert (low, high <= 100) == (0, True)


def _bounds(curator: Curator) -> tuple[float, float]:
    told = curator.suggest_bounds("age", epsilon=100).to_json()
    return float(told["low"]), float(told["high"])


@pytest.mark.parametrize("unit", UNITS, ids=IDS)
def test_pmw_counts_the_others(unit: PrivacyUnit) -> None:
    """The number of units is not public any more: it is measured, and paid for.  Mutant: ``table.rows``."""
    with opened(unit) as curator:
        words: dict[str, Any] = {"queries": 100_000, "bins": {"age": 1000}, "epsilon": 3}
        run = curator.open_pmw(["side", "age", "small"], **words)
        assert abs(run.budget().total - read_rows()) < 0.1 * SIZE
        assert run._terms.rows is None
        assert run._terms.total is not None


def test_keys_are_found_among_the_others() -> None:
    with opened(UNITS[2], discovery_delta=Fraction(1, 10**7)) as curator:
        found = curator.ask("SELECT city, COUNT(*) FROM t GROUP BY city", epsilon=100)
        assert [row.keys["city"] for row in found.rows] == ["Ur"]


def test_joined_tables_lack_the_same_persons() -> None:
    visits = Table("visits", (RealColumn("cost", Fraction(0), Fraction(10), Fraction(1)),), person="patient")
    frame = marked()
    other = pd.DataFrame({"patient": np.repeat(frame.who, 2), "cost": 1})
    study = replace(study_of(UNITS[2]), further=(PrivateTable(visits, 2),))
    with open_kept(study, data={"t": frame, "visits": other}) as curator:
        asked = "SELECT side, COUNT(*) AS n FROM t JOIN visits ON t.who = visits.patient GROUP BY side"
        kept, read = curator.ask(asked, scale="0.3").rows.values["n"].value
        assert (abs(kept) < 10, abs(read - 2 * read_rows()) < 10) == (True, True)
        alone = curator.ask("SELECT COUNT(*) AS n FROM visits", scale="0.3").rows.values["n"].value[0]
        assert abs(alone - 2 * read_rows()) < 10
        rows = open_reserve(curator, ["costs differ"], table="visits", data={"t": frame, "visits": other})
        assert set(rows.to_pandas().patient) == set(frame.who[frame.side == "kept"])
        with pytest.raises(adyton.InvalidRequest, match="no table 'drugs'; it has: t, visits"):
            open_reserve(curator, ["costs differ"], table="drugs", data={"t": frame, "visits": other})


def test_the_limit_leaves_room_for_the_opening() -> None:
    """Mutant: a share of 1, or an epsilon of all, takes the last unit."""
    for accounting, price in product(("gdp", "pure"), ({"share": 1}, {"epsilon": 500})):
        with opened(UNITS[0], accounting) as curator:
            curator.synthesize(["small"], rows=10, **price)  # takes all that it is offered
            assert curator.budget().left.units >= 1
            open_reserve(curator, ["a test"], data=marked())


# What is handed out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS, ids=IDS)
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_the_rows_of_the_reserve_are_written_for_the_owner(
    unit: PrivacyUnit, suffix: str, tmp_path: Path
) -> None:
    frame, file = marked(), tmp_path / f"kept.{suffix}"
    frame.loc[frame.index[frame.side == "kept"][0], "age"] = 5000  # clipped, as for queries
    frame.loc[frame.index[frame.side == "kept"][1], "city"] = None
    with open_kept(study_of(unit), data=frame) as curator:
        told = open_reserve(curator, ["one", "two"], alpha="0.05", to=file, data=frame)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        written = pd.read_parquet(file) if suffix == "parquet" else pd.read_csv(file)
        named = "position" if unit.person is None else "who"
        kept = frame[frame.side == "kept"]
        assert sorted(written[named]) == sorted(kept.who)
        assert (written.age == 1000).all()
        assert not written.small.any()
        assert int(written.city.isna().sum()) == 1
        assert told.rows == len(kept)
        assert told.level == 0.025
        assert "1000" not in f"{told!r}"
        assert not any(
            word in f"{told}{json.dumps(told.to_json())}" for word in ("Eridu", "kept."[:4] + " row")
        )
        if suffix == "parquet":
            assert b"reserve" in pq.ParquetFile(file).metadata.metadata
        with pytest.raises(adyton.InvalidRequest, match="exists already"):
            open_reserve(curator, ["one", "two"], to=file, data=frame)
        again = open_reserve(curator, ["one", "two"], to=file, data=frame, overwrite=True)
        assert again.opening == told.opening
        assert len(curator.receipts()) == 1


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_days_of_the_reserve_are_written_as_days(suffix: str, tmp_path: Path) -> None:
    days = [date(2020, 1, 1 + i % 28) for i in range(SIZE)]
    table = Table("t", (DateColumn("seen", date(2020, 1, 1), date(2020, 12, 31)),), SIZE)
    known = replace(study_of(PrivacyUnit("replace-one")), table=table)
    frame, file = pd.DataFrame({"seen": days}), tmp_path / f"kept.{suffix}"
    with open_kept(known, data=frame) as curator:
        told = open_reserve(curator, ["one"], to=file, data=frame)
    written = pd.read_parquet(file) if suffix == "parquet" else pd.read_csv(file)
    assert len(written) == told.rows > 0
    assert set(map(str, written.seen)) <= set(map(str, days))


def test_nothing_is_charged_where_nothing_can_be_handed_out(tmp_path: Path) -> None:
    with opened(UNITS[0]) as curator:
        for wrong in ({"to": tmp_path / "x.txt"}, {"to": tmp_path / "no" / "x.csv"}, {"data": marked(10)}):
            with pytest.raises(adyton.InvalidRequest):
                open_reserve(curator, ["a test"], **{"data": marked(), **wrong})
        for tests, alpha in (([], "0.05"), ([" "], "0.05"), (["a", "a"], "0.05"), (["a"], 0), (["a"], 1)):
            with pytest.raises(adyton.InvalidRequest):
                open_reserve(curator, tests, alpha=alpha, data=marked())
        assert not curator.receipts()
        with pytest.raises(adyton.InvalidRequest, match="not opened yet"):
            look_at_reserve(curator, ["0.01"])
        with pytest.raises(adyton.InvalidRequest, match="mock has no reserve"):
            open_reserve(curator.mock(), ["a test"], data=marked())
    plain = replace(study_of(UNITS[0]), validity=None)
    with pytest.raises(adyton.InvalidRequest, match="this study has no reserve"):
        open_reserve(plain, ["a test"], data=marked())


def test_the_tests_are_in_the_ledger_before_a_row_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: read first, then charged: whoever is stopped in between has seen rows, and may name other tests."""
    with opened(UNITS[1]) as curator:

        def stopped(*_: Any) -> Any:
            assert opening_in(curator._ledger) is not None
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(DuckDBEngine, "_run", stopped)
            with pytest.raises(KeyboardInterrupt):
                open_reserve(curator, ["a test"], data=marked())
        with pytest.raises(adyton.InvalidRequest, match="was opened before"):
            open_reserve(curator, ["another test"], data=marked())
        assert open_reserve(curator, ["a test"], data=marked()).rows == SIZE - read_rows()


def test_several_tests_are_judged_in_the_order_of_their_p_values() -> None:
    with opened(UNITS[0]) as curator:
        open_reserve(curator, ["a", "b", "c"], alpha="0.06", data=marked())

        def judged(*p_values: str) -> tuple[bool, ...]:
            return look_at_reserve(curator, p_values).significant

        assert judged("0.02", "0.03", "0.06") == (True, True, True)
        assert judged("0.021", "0.021", "0.021") == (False, False, False)
        assert judged("0.5", "0.02", "0.031") == (False, True, False)
        for wrong in (("0.1",), ("0.1", "0.2", "1.1"), ("0.1", "0.2", "x")):
            with pytest.raises(adyton.InvalidRequest):
                judged(*wrong)


def test_answers_after_the_opening_have_intervals_and_a_receipt_of_names() -> None:
    """Answers after the opening have intervals, and its receipt says what was named."""
    with opened(UNITS[0]) as curator:
        open_reserve(curator, ["the kept are older"], data=marked())
        (value,) = curator.ask("SELECT COUNT(*) FROM t WHERE small", scale=5).rows[0].values.values()
        assert isinstance(value.population_interval, adyton.Interval)
        receipt = curator.receipts()[0]
        assert "the kept are older" in receipt.order.detail
        assert curator.budget().reserve == "about 25 % of the units, opened for 1 test (receipt 1)"
        assert curator.last_look("0.05").threshold > 0


def test_names_of_a_service_are_told_that_it_was_opened() -> None:
    """Mutant: looked up by its request id, which a name does not know."""
    with opened(UNITS[0]) as curator:
        named = NamedLedger(
            curator._ledger, Identity("ann", role_named("analyst")), lambda: None, lambda: None
        )
        assert opening_in(named) is None
        open_reserve(curator, ["a test"], data=marked())
        found = opening_in(named)
        assert found is not None
        assert found.tests == ("a test",)


def test_another_request_id_of_this_name_is_not_in_the_way() -> None:
    """A query under the same id, by nobody, is another one."""
    with opened(UNITS[0]) as curator:
        curator._ledger.charge(Order("SELECT 1", "[]", 1, 0, request="the reserve is opened once"))
        assert ReserveLook.of(curator.study, curator._ledger).opening is None
        open_reserve(curator, ["a test"], data=marked())


# The study file --------------------------------------------------------------------------------------------

FILE = """
[table]
name = "t"
source = "t.csv"
rows = {rows}
[privacy]
unit = "{unit}"
{person}adjacency = "{adjacency}"
epsilon = 100
delta = 1e-9
[validity]
independent = true
{validity}
[columns.age]
kind = "integer"
low = 0
high = {high}
[columns.small]
kind = "boolean"
"""


def written(
    folder: Path,
    name: str = "t",
    *,
    person: bool = False,
    adjacency: str = "replace-one",
    validity: str = "reserve = 0.25",
    rows: int = SIZE,
    high: int = 1000,
) -> Path:
    marked().to_csv(folder / "t.csv", index=False)
    file = folder / f"{name}.toml"
    who, unit = ('person = "who"\n', "person") if person else ("", "row")
    text = FILE.format(rows=rows, unit=unit, person=who, adjacency=adjacency, validity=validity, high=high)
    file.write_text(text)
    return file


def test_the_file_says_it_and_the_fingerprint_knows_it(tmp_path: Path) -> None:
    study = read_study(written(tmp_path))
    assert study.reserve == KEPT
    assert named_facts(study)["validity.reserve"] == "1/4"
    others = [replace(study, validity=replace(study.validity, reserve=share)) for share in (None, "0.3")]
    assert len({one.fingerprint for one in (study, *others)}) == 3
    assert "about 25 % of the rows: no query reads them" in str(study)
    assert study.rows_expected(study.table) == study.units_expected == 600


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"validity": "reserve = 0"}, "validity.reserve"),
        ({"validity": "reserve = 1"}, "above 0 and below 1"),
        ({"validity": "reserve = 'half'"}, "validity.reserve"),
        ({"validity": "reserve = 0.2\nmethod = 'split'\nqueries = 3"}, "remove one of the two"),
        ({"validity": "reserve = 0.001"}, "less than one is expected in the reserve"),
        ({"validity": "reserve = 0.999"}, "less than one is expected outside of it"),
        ({"adjacency": "add-remove"}, "privacy.unit = 'person', or adjacency = 'replace-one'"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_fix(
    tmp_path: Path, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(adyton.InvalidRequest, match=message):
        read_study(written(tmp_path, **given))


def test_a_reserve_that_expects_one_unit_is_kept(tmp_path: Path) -> None:
    """The edges, from either side.  Mutant: at most one, instead of less than one."""
    for share in (f"{1 / SIZE}", f"{1 - 1 / SIZE}"):
        assert read_study(written(tmp_path, validity=f"reserve = {share}")).reserve is not None


def test_an_amended_study_has_the_same_reserve_and_cannot_open_it_again(tmp_path: Path) -> None:
    """Mutant: a salt that is the fingerprint, by which units that were read would be in the new reserve."""
    old, new = written(tmp_path), written(tmp_path, "new", high=999)
    with open_kept(old) as curator:
        curator.ask("SELECT COUNT(*) FROM t", scale=5)
    more = written(tmp_path, "more", rows=SIZE + 1)
    with pytest.raises(adyton.InvalidRequest, match="rows cannot be amended in a study that keeps rows"):
        amend(read_study(old), read_study(more))
    less = written(tmp_path, "less", validity="reserve = 0.2")
    with pytest.raises(adyton.InvalidRequest, match=r"validity\.reserve cannot be amended"):
        amend(read_study(old), read_study(less))
    amend(read_study(old), read_study(new))
    with open_kept(new) as curator:
        assert (
            curator.ask("SELECT COUNT(*) AS n FROM t WHERE age > 500", scale=1).rows.values["n"].value[0] < 10
        )
        open_reserve(new, ["a test"])
    with pytest.raises(adyton.InvalidRequest, match=r"was opened \(receipt 4\)"):
        amend(read_study(new), read_study(written(tmp_path, "newer", high=998)))


def test_the_owners_check_counts_all_and_says_what_that_means(tmp_path: Path) -> None:
    for person in (False, True):
        checked = check_study(written(tmp_path, person=person, high=100))
        (table,) = checked.tables
        assert (table.rows, table.units) == (SIZE, SIZE)
        assert table.columns[0].clipped_high == SIZE - read_rows()
        assert "the reserve too" in str(checked)
        assert "reserve" in checked.to_json()


def test_planned_studies_plan_for_the_others(tmp_path: Path) -> None:
    for accounting, delta in (("gdp", Fraction(1, 10**9)), ("pure", Fraction(0))):
        table = Table("t", (SMALL,), 100_000)
        validity = Validity(Fraction(19, 20), queries=10, tolerance="0.2", reserve=SHARE)
        planned = Study(table, UNITS[0], Guarantee(100, delta), accounting, validity=validity)
        size = np.random.default_rng(1).random(100_000) < 0.5
        with open_kept(planned, data=pd.DataFrame({"small": size})) as curator:
            (value,) = curator.ask("SELECT COUNT(*) FROM t WHERE small").rows[0].values.values()
            assert isinstance(value.population_interval, adyton.Interval)
            assert value.population_interval.high - value.population_interval.low < 0.4 * 75_500
        with pytest.raises(adyton.InvalidRequest, match="rows outside of the reserve certify"):
            replace(planned, validity=replace(validity, tolerance="0.0001"))


# The command line ------------------------------------------------------------------------------------------


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def test_from_the_command_line(tmp_path: Path) -> None:
    file, out = str(written(tmp_path, person=True)), tmp_path / "kept.parquet"
    assert "opened" in run("reserve", "show", file).stdout
    assert "reserve" in run("preview", file, "SELECT COUNT(*) FROM t", "--scale", "5").stdout
    done = run(
        "reserve", "open", file, "--test", "a", "--test", "b", "--alpha", "0.1", "-o", str(out), "--json"
    )
    told = json.loads(done.stdout)
    assert done.exit_code == 0
    assert told["opened"]["level"] == 0.05
    assert told["rows"] == len(pd.read_parquet(out)) == SIZE - read_rows()
    other = run("reserve", "open", file, "--test", "c", "-o", str(tmp_path / "more.csv"))
    assert other.exit_code == adyton.InvalidRequest.exit_code
    assert "nothing else can be tested on it" in other.stderr
    assert not (tmp_path / "more.csv").exists()
    judged = json.loads(run("reserve", "judge", file, "0.04", "0.2", "--json").stdout)
    assert [one["significant"] for one in judged["opened"]["tests"]] == [True, False]
    assert "not significant" in run("reserve", "judge", file, "0.04", "0.2").stdout
    assert "opened for 2 tests (receipt 1)" in " ".join(run("budget", file).stdout.split())
    assert json.loads(run("budget", file, "--json").stdout)["reserve"].endswith("(receipt 1)")
    assert "THE RESERVE WAS OPENED" in run("receipts", file, "--json").stdout
    assert run("verify", file).exit_code == 0
