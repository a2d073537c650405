"""The owner's check: what it counts, what it finds surprising, and what it never says unasked."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import adyton
from adyton.certify.checked import CAUTION, FOR_THE_OWNER, StudyCheck
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, RealColumn, Table, TextColumn
from adyton.kernel.terms.measures import Count
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.setup.checking import check_study
from adyton.study import PrivateTable, Study
from adyton.transports.cli.app import app

AGE, INCOME = IntegerColumn("age", 0, 120), RealColumn("income", Fraction(0), Fraction(10**5), Fraction(10))
REGION, CITY = CategoryColumn("region", ("North", "south", "Ærø")), TextColumn("city")
BUDGET = Guarantee(Fraction(1), Fraction(1, 10**9))


def study_of(*columns: Any, rows: int | None = None, of_one: int = 1, **more: Any) -> Study:
    adjacency = more.pop("adjacency", "add-remove")
    person = more.pop("person", "pid")
    table = Table("people", columns, rows=rows, person=person)
    return Study(table, PrivacyUnit(adjacency, person, of_one), BUDGET, **more)


def people(size: int = 300, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    whose = pd.array(rng.integers(0, size // 3, size), dtype="Int64")
    whose[rng.random(size) < 0.05] = pd.NA
    return pd.DataFrame(
        {
            "pid": whose,
            "age": np.where(rng.random(size) < 0.1, np.nan, rng.integers(-20, 150, size)),
            "income": rng.gamma(4, 2e4, size),
            "region": rng.choice(np.array(["North", "north ", "SOUTH", "moon", "ærØ", None], object), size),
            "city": rng.choice(np.array(["ur", "kish", None], object), size, p=[0.8, 0.1, 0.1]),
        }
    )


def kinds(found: StudyCheck) -> set[tuple[str | None, str]]:
    return {(finding.column, finding.kind) for finding in found.findings}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("of_one", [1, 3])
def test_law_every_number_is_what_a_loop_over_the_rows_counts(seed: int, of_one: int) -> None:
    data = people(seed=seed)
    study = study_of(AGE, INCOME, REGION, CITY, of_one=of_one)
    (table,) = check_study(study, data=data).tables
    age, income, region, city = table.columns
    own = data.pid.value_counts()
    assert (table.rows, table.units) == (300, data.pid.nunique())
    assert table.rows_of_nobody == data.pid.isna().sum()
    assert table.persons_above == (own > of_one).sum()
    assert table.rows_cut == (own - of_one).clip(lower=0).sum()
    assert table.rows_that_count == own.clip(upper=of_one).sum()
    assert age.missing == data.age.isna().sum()
    assert (age.clipped_low, age.clipped_high) == ((data.age < 0).sum(), (data.age > 120).sum())
    assert (income.clipped_low, income.clipped_high) == (0, (data.income > 10**5).sum())
    assert region.missing == data.region.isna().sum()
    assert region.undeclared == (data.region.notna() & ~data.region.isin(REGION.values)).sum()
    assert region.almost_declared == data.region.isin(["north ", "SOUTH", "ærØ"]).sum()
    assert city.missing == data.city.isna().sum()
    assert all(column.unparseable == 0 for column in table.columns)


def test_what_counts_is_what_a_query_counts() -> None:
    """The check and the engine that answers agree on which rows are left out."""
    study, data = study_of(AGE, REGION, of_one=2), people(seed=9)
    checked = check_study(study, data=data).tables[0]
    with adyton.open(study, data=data) as curator:
        curator._engine.prepare()
        query = Query(study.table, (("n", Count()),))
        assert curator._engine.exact(readings_of(query, study.unit)) == [[[checked.rows_that_count]]]


# Findings ---------------------------------------------------------------------------------------------------


def clean() -> pd.DataFrame:
    return pd.DataFrame({"pid": range(40), "age": [30] * 40, "region": ["North", "south"] * 20})


SURPRISES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], tuple[str | None, str]]] = {
    "too old": (lambda d: d.assign(age=130), ("age", "clipped_high")),
    "too young": (lambda d: d.assign(age=-1), ("age", "clipped_low")),
    "objects that are numbers, and one that is none": (
        lambda d: d.assign(age=pd.Series(["old", *map(str, d.age[1:])], d.index, dtype=object)),
        ("age", "unparseable"),
    ),
    "texts where numbers are declared": (lambda d: d.assign(age=d.age.astype("string")), ("age", "type")),
    "no ages": (lambda d: d.assign(age=np.nan), ("age", "empty")),
    "another case": (lambda d: d.assign(region=d.region.str.lower()), ("region", "undeclared")),
    "a blank": (lambda d: d.assign(region=d.region + " "), ("region", "undeclared")),
    "another column": (lambda d: d.rename(columns={"region": "area"}), ("region", "type")),
    "two rows of each": (lambda d: pd.concat([d, d]), (None, "cut")),
    "nobody": (lambda d: d.assign(pid=pd.array([pd.NA, *d.pid[1:]], dtype="Int64")), (None, "nobody")),
}


@pytest.mark.parametrize("name", SURPRISES)
def test_what_would_surprise_an_analyst_is_a_finding(name: str) -> None:
    change, wanted = SURPRISES[name]
    study = study_of(AGE, REGION)
    assert check_study(study, data=clean()).ok
    found = check_study(study, data=change(clean()))
    assert not found.ok
    assert wanted in kinds(found)
    assert len(found.findings) == 1
    assert all(finding.to_json()["caution"] == CAUTION for finding in found.findings)
    assert str(found).count("is not covered by the guarantee") <= 1


@pytest.mark.parametrize(("rows", "far_off"), [(4, True), (5, False), (40, False), (399, False), (400, True)])
def test_a_guess_that_is_ten_times_off_is_a_finding(rows: int, far_off: bool) -> None:
    found = check_study(study_of(AGE, rows=rows), data=clean())
    assert kinds(found) == ({(None, "guess")} if far_off else set())


@pytest.mark.parametrize(("lines", "far_off"), [(19, True), (20, False), (200, False), (1999, True)])
def test_a_guess_of_the_rows_of_persons_that_is_ten_times_off_is_a_finding(lines: int, far_off: bool) -> None:
    """Of 19 persons, who have 10 rows each; 200 rows of one person are cut to 11."""
    whose = [who for who in range(18) for _ in range(10)] + [18] * 200
    data = pd.DataFrame({"pid": whose, "age": 30})
    table = Table("people", (AGE,), person="pid", lines=lines)
    study = Study(table, PrivacyUnit("add-remove", "pid", 11), BUDGET)
    found = check_study(study, data=data, allow="0.9")
    assert found.tables[0].rows_that_count == 191
    assert kinds(found) == ({(None, "guess")} if far_off else set())
    assert all("table.lines" in finding.text for finding in found.findings)


def test_under_replace_the_number_of_units_is_exact() -> None:
    for person, data, rows in (("pid", clean(), 40), (None, clean(), 40)):
        study = study_of(AGE, rows=rows, adjacency="replace-one", person=person)
        assert check_study(study, data=data).ok
        found = check_study(study, data=data.iloc[1:])
        assert kinds(found) == {(None, "size")}
        assert "every query is refused" in found.findings[0].text


def test_a_share_that_the_owner_allows_is_no_finding() -> None:
    data = clean()
    data.loc[:3, "age"] = 200
    assert not check_study(study_of(AGE), data=data, allow="0.05").ok
    assert check_study(study_of(AGE), data=data, allow="0.1").ok
    again = pd.concat([data, data[:4]])  # four rows that do not count
    assert not check_study(study_of(AGE), data=again, allow="0.05").ok
    assert check_study(study_of(AGE), data=again, allow="0.2").ok
    for wrong in ("-0.1", "1", "much"):
        with pytest.raises(InvalidRequest):
            check_study(study_of(AGE), data=data, allow=wrong)


def test_further_private_tables_are_checked_and_whether_they_can_be_joined() -> None:
    visits = Table("visits", (INCOME,), rows=10, person="patient")
    study = study_of(AGE, of_one=2, further=(PrivateTable(visits, 3),))
    persons = [1, 1, 1, 1, 2, None]
    data = {
        "people": clean(),
        "visits": pd.DataFrame({"patient": pd.array(persons, dtype="Int64"), "income": [1e9, 1, 2, 3, 4, 5]}),
    }
    found = check_study(study, data=data)
    assert [table.name for table in found.tables] == ["people", "visits"]
    assert kinds(found) == {("income", "clipped_high"), (None, "nobody"), (None, "cut")}
    assert (found.tables[1].rows_cut, found.tables[1].persons_above) == (1, 1)
    data["visits"]["patient"] = list("aaaabc")
    assert ("patient", "person_type") in kinds(check_study(study, data=data))


# Keys -------------------------------------------------------------------------------------------------------


def test_keys_that_would_be_found_are_those_that_a_query_finds() -> None:
    """Of two cities one is far above the threshold and one far below it."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"pid": range(20_000), "city": rng.choice(["ur", "kish"], 20_000, p=[0.999, 0.001])})
    study = study_of(CITY, discovery_delta=BUDGET.delta / 2)
    found = check_study(study, data=data, epsilon="0.5")
    keys = found.tables[0].columns[0].keys
    assert keys is not None
    assert (keys.there, keys.found, keys.keys) == (2, 1, ())
    shown = check_study(study, data=data, epsilon="0.5", show_values=True).tables[0].columns[0].keys
    assert shown is not None
    assert [key.value for key in shown.keys] == ["ur"]
    with adyton.open(study, data=data) as curator:
        answer = curator.ask("SELECT city, COUNT(*) FROM people GROUP BY city", epsilon="0.5")
    assert [row.keys for row in answer.rows] == [{"city": "ur"}]
    assert answer.discovered_groups is not None
    assert answer.discovered_groups.threshold == keys.threshold


def test_a_price_at_which_no_group_is_discovered_is_a_finding() -> None:
    data = pd.DataFrame({"pid": range(50), "city": ["ur"] * 50})
    found = check_study(study_of(CITY, discovery_delta=BUDGET.delta / 2), data=data, epsilon="0.001")
    assert kinds(found) == {("city", "no_groups")}
    assert check_study(study_of(CITY), data=data).ok  # keys are refused there, before anything is charged


# What it never does -----------------------------------------------------------------------------------------

CANARIES = ("987654.25", "-31337", "Zanzibar", "zoë-canary", "quetzalcoatl", "2718281828")


def _canary_study(folder: Path) -> Path:
    rows = ["pid,age,income,region,city", "zoë-canary,-31337,987654.25,Zanzibar,quetzalcoatl"] * 1
    rows += ["zoë-canary,quetzalcoatl,987654.25, zanzibar,quetzalcoatl"] * 3
    rows += [f"p{i},2718281828,5,North,ur" for i in range(3000)]
    (folder / "people.csv").write_text("\n".join(rows), encoding="utf-8")
    (folder / "people.toml").write_text(
        """
        table = { name = "people", source = "people.csv", rows = 10 }
        [privacy]
        unit = "person"
        person = "pid"
        adjacency = "add-remove"
        epsilon = 1
        delta = 1e-7
        discovery_delta = 5e-8
        [columns]
        age = { kind = "integer", low = 0, high = 120 }
        income = { kind = "real", low = 0, high = 100000 }
        region = { kind = "category", values = ["North", "south"] }
        city = { kind = "text" }
        """,
        encoding="utf-8",
    )
    return folder / "people.toml"


def test_nothing_of_the_data_is_said_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No value, no key and no person, on the terminal, in JSON or in the object itself.

    Mutants, each without show_values: ``seen`` filled; the keys kept; the most rows of a person kept.
    """
    study = _canary_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    quiet = check_study(study)
    said = [repr(quiet), str(quiet), quiet._repr_html_(), json.dumps(quiet.to_json(), ensure_ascii=False)]
    for words in ([], ["--json"]):
        done = CliRunner().invoke(app, ["check", "people.toml", *words])
        assert done.exit_code == 1
        said.append(done.output)
    assert quiet.tables[0].most_rows is None
    for text in said:
        assert not [canary for canary in (*CANARIES, "zanzibar", "'ur'") if canary in text]
    loud = check_study(study, show_values=True)
    shown = str(loud) + json.dumps(loud.to_json(), ensure_ascii=False)
    assert {canary for canary in CANARIES if canary not in shown} == {"zoë-canary"}  # never a person


def test_the_lines_of_a_csv_file_are_counted_as_they_are_read(tmp_path: Path) -> None:
    """Also a line that cannot be read: it is a row with everything missing, so nobody's."""
    study = _canary_study(tmp_path)
    with (tmp_path / "people.csv").open("a", encoding="utf-8") as file:
        file.write('\n"open,1\np1,1,2\n')
    (table,) = check_study(study).tables
    age, income, region, _ = table.columns
    assert (table.rows, table.rows_of_nobody, table.unreadable_lines) == (3006, 2, 2)
    assert (age.unparseable, age.clipped_low, age.clipped_high, age.missing) == (3, 1, 3000, 2)
    assert (income.clipped_high, income.missing) == (4, 2)
    assert (region.undeclared, region.almost_declared, region.missing) == (4, 0, 2)


def test_lines_that_cannot_be_read_are_a_finding_of_their_own(tmp_path: Path) -> None:
    """Mutant: lines with another number of values than the header are not counted."""
    study, file = study_of(AGE, REGION, CITY, rows=3000, person=None), tmp_path / "people.csv"
    good = b'34,North,ur\n,,\n"7","south","a ""b"", c"\n'
    bad = [
        b"\n",
        b"34,North\n",
        b"34,North,ur,\n",
        b'"34,North\n',
        b"34,North,\xff\n",
        b"1" * 1_000_001 + b",,\n",
    ]
    for number in range(len(bad) + 1):
        file.write_bytes(b"age,region,city\n" + good + b"".join(bad[:number]) + b"1,south,")  # no line end
        found = check_study(study, data=str(file), allow="0.1")
        (table,) = found.tables
        assert (table.rows, table.unreadable_lines) == (4 + number, number)
        assert table.to_json()["unreadable_lines"] == number
        own = [finding for finding in found.findings if finding.kind == "unreadable"]
        assert [finding.rows for finding in own] == ([number] if number else [])
        assert all("they still count as rows" in finding.text for finding in own)
        if number:
            assert f"a line that cannot be read in {number} of {4 + number} rows" in str(found).replace(
                "\n", " "
            )
    persons = study_of(AGE, REGION, person="city")
    (said,) = (f for f in check_study(persons, data=file).findings if f.kind == "unreadable")
    assert said.text.endswith("they are nobody's")
    frame = pd.DataFrame({"age": [1], "region": ["south"], "city": ["ur"]})
    assert check_study(study, data=frame).tables[0].unreadable_lines is None
    assert not {f.kind for f in check_study(study, data=file, allow="0.9").findings} & {"unreadable"}


def test_it_writes_nothing_and_charges_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the folder may be written to; an existing ledger is not touched."""
    study = _canary_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, ["check", "people.toml", "--show-values"])
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "people.toml"}
    with adyton.open(study) as curator:
        curator.ask("SELECT COUNT(*) FROM people", epsilon="0.1")
        before = curator.budget().to_json()
    stored = (tmp_path / "people.ledger").read_bytes()
    CliRunner().invoke(app, ["check", "people.toml"])
    assert (tmp_path / "people.ledger").read_bytes() == stored
    with adyton.open(study) as curator:
        assert curator.budget().to_json() == before


def test_the_first_line_says_for_whom_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _canary_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["check", "people.toml"])
    assert done.stdout.splitlines()[0].strip() == FOR_THE_OWNER == "for the owner: not private"
    printed = CliRunner().invoke(app, ["check", "people.toml", "--json"])
    assert printed.stdout.startswith('{"notice": "for the owner: not private"')
    assert " ".join(done.stdout.split()).count(CAUTION) == 1


def test_errors_have_their_usual_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = _canary_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    for words, said in (
        (["nothing.toml"], "there is no study file"),
        (["people.toml", "--allow", "2"], "allow is a share"),
        (["people.toml", "--epsilon", "none"], "epsilon"),
    ):
        done = CliRunner().invoke(app, ["check", *words])
        assert (done.exit_code, said in done.stderr) == (2, True), done.output
    study.write_text(study.read_text().replace('person = "pid"', 'person = "whose"'))
    done = CliRunner().invoke(app, ["check", "people.toml", "--json"])
    assert done.exit_code == 2
    assert json.loads(done.stdout)["error"]["kind"] == "invalid_request"


def test_a_clean_study_leaves_with_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = _canary_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = ["pid,age,income,region,city", *(f"p{i},30,5,North,ur" for i in range(3000))]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    study.write_text(study.read_text().replace("rows = 10 ", "rows = 3000 "))
    done = CliRunner().invoke(app, ["check", "people.toml"])
    assert (done.exit_code, "Nothing here would surprise" in done.stdout) == (0, True), done.output


def test_no_curator_can_do_it() -> None:
    """It is a function of its own, for whoever may read the data: what a service holds has no way to it."""
    assert not [name for name in dir(adyton.Curator) if "check" in name or "survey" in name]
    assert "check" not in adyton.__all__


def test_a_column_that_does_not_fit_is_told_once_and_beside_what_there_is() -> None:
    data = people().rename(columns={"region": "area"}).assign(age="old")
    found = {f.column: f.text for f in check_study(study_of(AGE, REGION), data=data).findings}
    assert found["region"] == "the data has no column 'region'; it has: pid, age, income, area, city"
    assert found["age"].count("integer") == 1
