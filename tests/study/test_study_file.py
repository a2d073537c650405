"""The study file: every wrong entry is named with its fix, and meaning decides whose ledger it is."""

from __future__ import annotations

import datetime
import tomllib
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adyton.certify import toml_text
from adyton.errors import InvalidRequest
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, IntegerColumn, RealColumn
from adyton.setup.drafting import DraftOptions, draft_study
from adyton.study import read_study

GOOD = """
[table]
name = "people"
source = "people.parquet"
rows = 10000

[privacy]
unit = "person"
person = "id"
rows_per_person = 1
adjacency = "replace-one"
epsilon = 1
delta = 1e-9
accounting = "gdp"

[columns.age]
kind = "integer"
low = 0
high = 120

[columns.income]
kind = "real"
low = 0
high = 200000
step = 0.01

[columns.region]
kind = "category"
values = ["north", "south"]

[columns.smoker]
kind = "boolean"

[columns.born]
kind = "date"
low = 1900-01-01
high = 2020-12-31
"""


def written(folder: Path, text: str) -> Path:
    (folder / "people.toml").write_text(text)
    return folder / "people.toml"


def test_a_good_study_is_read_exactly(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, GOOD))
    assert study.table.columns == (
        IntegerColumn("age", 0, 120),
        RealColumn("income", Fraction(0), Fraction(200_000), Fraction(1, 100)),
        CategoryColumn("region", ("north", "south")),
        BooleanColumn("smoker"),
        DateColumn("born", datetime.date(1900, 1, 1), datetime.date(2020, 12, 31)),
    )
    assert (study.unit.person, study.unit.rows, study.unit.adjacency) == ("id", 1, "replace-one")
    assert (study.budget.epsilon, study.budget.delta) == (1, Fraction(1, 10**9))
    assert study.source == tmp_path / "people.parquet"
    assert study.ledger == tmp_path / "people.ledger"


# What is changed in the good file, and what the error must say.
WRONG = [
    ("[table]", "[tabel]", ["unknown key tabel; did you mean 'table'?", "the section [table] is missing"]),
    ('name = "people"', "name = 3", ["table.name is missing"]),
    (
        'source = "people.parquet"',
        "",
        ["table.source is missing: the path of the data file", "any path, if the data is a frame"],
    ),
    ("rows = 10000", "", ["table.rows is missing: under adjacency = 'replace-one'"]),
    ("rows = 10000", "rows = -4", ["table.rows must be at least 1"]),
    ("rows = 10000", 'rows = "many"', ["table.rows must be a whole number"]),
    ("rows = 10000", "row = 10000", ["unknown key table.row; did you mean 'rows'?"]),
    ("rows_per_person = 1", 'rows_per_person = "two"', ["privacy.rows_per_person must be a whole number"]),
    ("rows_per_person = 1", "rows_per_person = 0", ["at least 1 row"]),
    (
        'unit = "person"',
        'unit = "household"',
        ["privacy.unit must not be 'household'; write one of: row, person"],
    ),
    ('unit = "person"', 'unit = "row"', ["privacy.person goes with unit = 'person'"]),
    ('person = "id"', "", ["privacy.person is missing: the column that identifies a person"]),
    (
        'adjacency = "replace-one"',
        "",
        ["privacy.adjacency is missing; write one of: replace-one, add-remove"],
    ),
    ('adjacency = "replace-one"', 'adjacency = "swap"', ["privacy.adjacency must not be 'swap'"]),
    ("epsilon = 1", "", ["privacy.epsilon: missing"]),
    ("epsilon = 1", "epsilon = 0", ["privacy.epsilon must be above 0"]),
    ("epsilon = 1", "epsilon = -1", ["privacy.epsilon must be above 0"]),
    ("epsilon = 1", "epsilon = nan", ["privacy.epsilon must be a finite number"]),
    ("epsilon = 1", "epsilon = inf", ["privacy.epsilon must be a finite number"]),
    ("epsilon = 1", "epsilon = true", ["privacy.epsilon must be a number"]),
    ("epsilon = 1", "epsilon = 1000", ["above the maximum of 500"]),
    ("epsilon = 1", 'epsilon = "1"\nepsilom = 2', ["unknown key privacy.epsilom; did you mean 'epsilon'?"]),
    ("delta = 1e-9", "", ["privacy.delta: missing"]),
    ("delta = 1e-9", "delta = 1e-4", ["privacy.delta = 0.0001 must be below 1/rows = 1/10000"]),
    ("delta = 1e-9", "delta = 1", ["delta must be at least 0 and below 1"]),
    ("delta = 1e-9", "delta = -1e-9", ["delta must be at least 0"]),
    ("delta = 1e-9", "delta = 0", ["choose the pure filter"]),
    ("delta = 1e-9", "delta = nan", ["privacy.delta must be a finite number"]),
    ('accounting = "gdp"', 'accounting = "pure"', ["a pure study has delta = 0"]),
    (
        'accounting = "gdp"',
        'accounting = "rdp"',
        ["privacy.accounting must not be 'rdp'; write one of: gdp, zcdp, pure"],
    ),
    ('kind = "integer"', 'kind = "int"', ["columns.age.kind must not be 'int'; write one of: integer, real"]),
    ("low = 0\nhigh = 120", "high = 120", ["columns.age.low: not filled in; write the smallest"]),
    ("low = 0\nhigh = 120", 'low = "FILL IN"\nhigh = 1', ["columns.age.low: not filled in"]),
    ("low = 0\nhigh = 120", "low = 120\nhigh = 0", ["columns.age: low must be below high"]),
    ("low = 0\nhigh = 120", "low = 5\nhigh = 5", ["columns.age: low must be below high"]),
    ("low = 0\nhigh = 120", "low = nan\nhigh = 5", ["columns.age.low must be a whole number"]),
    ("low = 0\nhigh = 120", "low = 0\nhigh = 99999999999999999", ["beyond 2**53: use narrower ones"]),
    ("low = 0\nhigh = 120", "low = 0\nhigh = 120\nstep = 2", ["unknown key columns.age.step"]),
    ("high = 200000", "high = inf", ["columns.income.high must be a finite number"]),
    ("high = 200000", "high = nan", ["columns.income.high must be a finite number"]),
    ("step = 0.01", "step = 0", ["columns.income.step must be above 0"]),
    ("step = 0.01", "step = 3", ["columns.income.high must be a whole multiple of the step"]),
    ('values = ["north", "south"]', "values = []", ["columns.region.values must list at least one value"]),
    ('values = ["north", "south"]', 'values = ["a", "a"]', ["columns.region.values lists a value twice"]),
    ('values = ["north", "south"]', 'values = ["a", 1]', ["must be all strings or all whole numbers"]),
    ('values = ["north", "south"]', "values = [1.5]", ["must be all strings or all whole numbers"]),
    ('values = ["north", "south"]', 'values = "north"', ["columns.region.values must be a list"]),
    ("low = 1900-01-01", 'low = "1900-01-01"', ["columns.born.low must be a date without quotes"]),
    ("low = 1900-01-01", "low = 1900-01-01T00:00:00", ["columns.born.low must be a date"]),
    ("[columns.smoker]", "[columns.AGE]", ["two columns have the same name"]),
    ("[columns.age]", "[columns", ["is not valid TOML"]),
]


@pytest.mark.parametrize(("old", "new", "says"), WRONG, ids=[f"{new[:40]!r}" for _, new, _ in WRONG])
def test_A7_a_wrong_entry_is_named_with_its_fix(old: str, new: str, says: list[str], tmp_path: Path) -> None:
    assert old in GOOD
    with pytest.raises(InvalidRequest) as caught:
        read_study(written(tmp_path, GOOD.replace(old, new, 1)))
    assert "people.toml" in caught.value.message
    for words in says:
        assert words in caught.value.message


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = (
        GOOD.replace("low = 0", 'low = "FILL IN"')
        .replace("epsilon = 1", "epsilon = 0")
        .replace('name = "people"', "")
    )
    with pytest.raises(InvalidRequest) as caught:
        read_study(written(tmp_path, text))
    for words in ("columns.age.low", "columns.income.low", "privacy.epsilon", "table.name"):
        assert words in caught.value.message


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bad", b"", b"[table]\n"])
def test_a_file_that_is_no_study_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_bytes(content)
    with pytest.raises(InvalidRequest, match=r"people\.toml"):
        read_study(tmp_path / "people.toml")


def test_a_missing_or_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="adyton init"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read_study(tmp_path)


def test_without_a_declared_size_delta_must_be_tiny(tmp_path: Path) -> None:
    private = GOOD.replace("rows = 10000\n", "").replace('"replace-one"', '"add-remove"')
    assert read_study(written(tmp_path, private)).table.rows is None
    with pytest.raises(InvalidRequest, match=r"must be below 1e-8 unless table\.rows"):
        read_study(written(tmp_path, private.replace("1e-9", "1e-7")))


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        ("0", "200000", "10"),
        ("0", "1", "0.0001"),
        ("-273.15", "100", "0.01"),
        ("0", "99999", "1"),
        ("0.5", "1e6", "0.1"),
    ],
)
def test_the_default_step_divides_the_bounds_into_many_steps(
    low: str, high: str, step: str, tmp_path: Path
) -> None:
    """The default step divides the bounds into ten thousand steps or more."""
    text = GOOD.replace("low = 0\nhigh = 200000\nstep = 0.01", f"low = {low}\nhigh = {high}")
    column = read_study(written(tmp_path, text)).table.column("income")
    assert isinstance(column, RealColumn)
    assert column.step == Fraction(step)


CHANGES_MEANING = [
    ("high = 120", "high = 121"),
    ("step = 0.01", "step = 0.02"),
    ('["north", "south"]', '["south", "north"]'),
    ("epsilon = 1", "epsilon = 2"),
    ("delta = 1e-9", "delta = 2e-9"),
    ('accounting = "gdp"', 'accounting = "zcdp"'),
    ('adjacency = "replace-one"', 'adjacency = "add-remove"'),
    ('person = "id"', 'person = "other"'),
    ("rows = 10000", "rows = 9999"),
    ('name = "people"', 'name = "persons"'),
]


@pytest.mark.parametrize(("old", "new"), CHANGES_MEANING)
def test_a_change_of_meaning_changes_the_fingerprint(old: str, new: str, tmp_path: Path) -> None:
    before = read_study(written(tmp_path, GOOD)).fingerprint
    assert read_study(written(tmp_path, GOOD.replace(old, new, 1))).fingerprint != before


def test_spelling_and_place_do_not_change_the_fingerprint(tmp_path: Path) -> None:
    before = read_study(written(tmp_path, GOOD)).fingerprint
    spelled = GOOD.replace("epsilon = 1", "epsilon = 1.00  # one").replace("1e-9", "0.000000001")
    moved = spelled.replace("people.parquet", "elsewhere/people.parquet")
    assert read_study(written(tmp_path, moved)).fingerprint == before
    # Pinned: a ledger written by this version must still belong to its study in the next one.
    assert before == "412d5186de079a08e311e895c433b3599feb0689ceed937860dd102b7ada33e4"


# The first draft ----------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "age": [17, 65, 40],
            "income": [12.5, 77777.25, 3.0],
            "region": ["canary-north", "canary-south", None],
            "smoker": [True, False, None],
            "born": pd.to_datetime(["1950-05-05", "1999-09-09", None]),
            "odd name!": [1, 2, 3],
            "tags": [["a"], ["b"], []],
        }
    )
    frame.to_parquet(tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


def test_a_draft_reads_names_and_types_and_no_value(data: Path, tmp_path: Path) -> None:
    text = draft_study(data, DraftOptions("1", "1e-9", person="id"), tmp_path / "people.toml")
    for value in ("17", "65", "77777", "12.5", "canary", "1950", "1999"):
        assert value not in text
    assert text.count('"FILL IN"') == 9
    assert "# column 'tags' has type" in text
    with pytest.raises(
        InvalidRequest, match=r"columns\.odd name!\.low and columns\.odd name!\.high: not filled in"
    ):
        read_study(written(tmp_path, text))


def test_a_draft_of_a_public_file_is_complete(data: Path, tmp_path: Path) -> None:
    text = draft_study(data, DraftOptions("1", "1e-9", person="id", public=True), tmp_path / "people.toml")
    study = read_study(written(tmp_path, text))
    assert study.table.column("age") == IntegerColumn("age", 17, 65)
    assert study.table.column("region") == CategoryColumn("region", ("canary-north", "canary-south"))
    assert study.table.column("born") == DateColumn(
        "born", datetime.date(1950, 5, 5), datetime.date(1999, 9, 9)
    )
    assert study.table.rows == 3


def test_a_draft_counts_rows_only_where_they_are_public(data: Path, tmp_path: Path) -> None:
    private = draft_study(data, DraftOptions("1", "1e-9", adjacency="add-remove"), tmp_path / "people.toml")
    assert "rows = 3" not in private
    assert "rows = 3  #" in draft_study(data, DraftOptions("1", "1e-9"), tmp_path / "people.toml")


@pytest.mark.parametrize(
    ("wishes", "says"),
    [
        (DraftOptions("0", "1e-9"), "epsilon must be above 0"),
        (DraftOptions("nan", "1e-9"), "epsilon must be a finite number"),
        (DraftOptions("1", "0.5"), r"must be below 1/rows = 1/3"),
        (DraftOptions("1", "1e-3", adjacency="add-remove", rows=1000), "must be below 1/rows = 1/1000"),
        (DraftOptions("1", "1e-9", person="nobody"), "the data has no column 'nobody'"),
        (DraftOptions("1", "1e-9", rows_per_person=3), "a unit of several rows is a person"),
        (DraftOptions("1", "1e-9", accounting="rdp"), "unknown accounting"),
        (DraftOptions("1", "1e-9", accounting="pure"), "delta = 0"),
    ],
)
def test_what_the_study_would_refuse_the_draft_refuses(
    wishes: DraftOptions, says: str, data: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidRequest, match=says):
        draft_study(data, wishes, tmp_path / "people.toml")


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("a\x7fb")
@example("\U0001f600")
def test_law_a_written_text_is_read_as_it_was(text: str) -> None:
    """Mutant that fails here: the one character that JSON leaves as it is and TOML forbids is not escaped."""
    assert tomllib.loads(f"x = {toml_text(text)}")["x"] == text
    assert tomllib.loads(f"x = {toml_text([text, text])}")["x"] == [text, text]


@pytest.mark.parametrize("section", ["survey", "holdout", "server"])
def test_a_file_of_another_kind_is_told_apart_in_one_sentence(tmp_path: Path, section: str) -> None:
    file = tmp_path / "other.toml"
    file.write_text(f'[{section}]\nname = "x"\n[queries.smokes]\nvalues = ["yes", "no"]\n')
    with pytest.raises(InvalidRequest) as refused:
        read_study(file)
    assert f"'other.toml' is a {section} file, not a study file: " in str(refused.value)
    assert "\n" not in str(refused.value)
