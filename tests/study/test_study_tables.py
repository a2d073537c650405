"""Public and further private tables in a study file: kinds are inferred, and what is wrong is named with its fix."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import adyton
from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    Attribute,
    BooleanColumn,
    CategoryColumn,
    Dimension,
    IntegerColumn,
    RealColumn,
    Table,
)
from adyton.query.sql.read import parse
from adyton.study import Study, read_study

GOOD = """
[table]
name = "people"
source = "people.csv"

[privacy]
unit = "person"
person = "pid"
adjacency = "add-remove"
epsilon = 50
delta = 1e-9

[columns.region]
kind = "category"
values_from = "regions"

[columns.smoker]
kind = "boolean"

[public.regions]
source = "regions.csv"
key = "region"

[private.visits]
source = "visits.csv"
rows_per_person = 3

[private.visits.columns.cost]
kind = "real"
low = 0
high = 100
"""
REGIONS = "region,zone,height,share,eu,code,note\nn,cold,10,0.25,TRUE,01,\ns,warm,-3,1e-1,false,02,\nw,warm,,,,03,\n"
FILES = {
    "people.csv": "pid,region,smoker\n1,n,true\n2,s,false\n3,w,true\n",
    "visits.csv": "pid,cost\n1,5\n1,6\n2,7\n9,8\n",
    "regions.csv": REGIONS,
}


def study_in(folder: Path, text: str = GOOD, **files: str) -> Study:
    named = {**FILES, **{name.replace("_", "."): content for name, content in files.items()}}
    for name, content in named.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "people.toml").write_text(text, encoding="utf-8")
    return read_study(folder / "people.toml")


def attributes(study: Study) -> dict[str, Attribute]:
    (dimension,) = study.table.dimensions
    return {attribute.column.name: attribute for attribute in dimension.attributes}


def test_kinds_of_a_public_table_are_inferred(tmp_path: Path) -> None:
    study = study_in(tmp_path)
    assert study.table.columns[0] == CategoryColumn("region", ("n", "s", "w"))
    (dimension,) = study.table.dimensions
    assert (dimension.name, dimension.key, dimension.joins) == ("regions", "region", "region")
    assert attributes(study) == {
        "zone": Attribute(CategoryColumn("zone", ("cold", "warm")), ("cold", "warm", "warm")),
        "height": Attribute(IntegerColumn("height", -3, 10), (10, -3, None)),
        "share": Attribute(
            RealColumn("share", Fraction(1, 10), Fraction(1, 4), Fraction(1, 20)), (5, 2, None)
        ),
        "eu": Attribute(BooleanColumn("eu"), (True, False, None)),
        "code": Attribute(CategoryColumn("code", ("01", "02", "03")), ("01", "02", "03")),
    }


def test_kinds_of_a_public_parquet_file_are_its_own(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "region": ["n", "s", "w"],
            "height": [1, 2, 2],
            "share": [0.5, float("nan"), 0.1],
            "eu": [True, False, True],
            "since": pd.to_datetime(["2020-01-01", "2020-01-02", None]).date,
            "big": [2**60, 2**60 + 1, 0],
        }
    )
    frame.to_parquet(tmp_path / "regions.parquet")
    found = attributes(study_in(tmp_path, GOOD.replace("regions.csv", "regions.parquet")))
    assert {name: type(attribute.column).__name__ for name, attribute in found.items()} == {
        "height": "IntegerColumn",
        "share": "RealColumn",
        "eu": "BooleanColumn",
        "since": "CategoryColumn",
        "big": "CategoryColumn",
    }
    assert found["since"].values == ("2020-01-01", "2020-01-02", None)
    assert found["share"].values == (5, None, 1)


def test_the_owner_may_say_another_kind(tmp_path: Path) -> None:
    text = GOOD + (
        '[public.regions.columns.height]\nkind = "category"\n'
        '[public.regions.columns.share]\nkind = "real"\nstep = 0.1\n'
        '[public.regions.columns.code]\nkind = "integer"\n'
    )
    with pytest.raises(InvalidRequest, match=r"public\.regions\.columns\.code: '01' is not a whole number"):
        study_in(tmp_path, text)
    found = attributes(study_in(tmp_path, text.rpartition("[public")[0]))
    assert found["height"].column == CategoryColumn("height", (10, -3))
    assert found["share"].values == (2, 1, None)


def test_only_declared_values_are_kept_of_a_public_table(tmp_path: Path) -> None:
    text = GOOD.replace('values_from = "regions"', 'values = ["w", "n", "elsewhere"]')
    (dimension,) = study_in(tmp_path, text).table.dimensions
    assert dimension.keys == ("w", "n")
    assert attributes(study_in(tmp_path, text))["zone"].values == ("warm", "cold")


def test_keys_are_whole_numbers_where_the_column_says_so(tmp_path: Path) -> None:
    wards = "region,zone\n1,a\n2,b\n"
    assert study_in(tmp_path, regions_csv=wards).table.columns[0] == CategoryColumn("region", (1, 2))
    text = GOOD.replace('values_from = "regions"', 'values = ["1", "2"]')
    assert study_in(tmp_path, text, regions_csv=wards).table.dimensions[0].keys == ("1", "2")
    zeros = "region,zone\n01,a\n02,b\n"
    assert study_in(tmp_path, regions_csv=zeros).table.columns[0] == CategoryColumn("region", ("01", "02"))


# What is changed in the good file, and what the error must say.
WRONG = [
    ('source = "regions.csv"', 'source = "r.csv"', "public.regions.source: the file 'r.csv' does not exist"),
    ('source = "regions.csv"', 'source = "regions.txt"', "public.regions.source: the file"),
    ('source = "regions.csv"\n', "", "public.regions.source is missing: the path of the public file"),
    ('key = "region"', "", "public.regions.key is missing: the column of the file whose values are joined"),
    ('key = "region"', 'key = "name"', "the file has no column 'name'; it has: region, zone"),
    ('key = "region"', 'key = "zone"', "the key 'warm' occurs twice; a key occurs once"),
    ('key = "region"', 'key = "note"', "row 1 has no 'note', which is the key"),
    ('key = "region"', 'key = "region"\nkeys = 1', "unknown key public.regions.keys; did you mean 'key'?"),
    ('key = "region"', 'key = "region"\njoins = "smoker"', "'smoker' is boolean; a public table is joined"),
    ('key = "region"', 'key = "region"\njoins = "regio"', "has no column 'regio'; did you mean 'region'?"),
    ('key = "region"', 'key = "region"\njoins = "x.region"', "there is no private table 'x'"),
    ("[public.regions]", "[public.people]", "columns.region.values_from: there is no public table 'regions'"),
    (
        'values_from = "regions"',
        'values_from = "region"',
        "there is no public table 'region'; there are: regions",
    ),
    (
        'values_from = "regions"',
        'values = ["n"]\nvalues_from = "regions"',
        "give either values or values_from",
    ),
    ('values_from = "regions"', 'values = ["x"]', "no key of the file is a declared value of columns.region"),
    ("[public.regions]", "[public.visits]", "there is no public table 'regions'"),
    ("rows_per_person = 3", "rows_per_person = 0", "private.visits.rows_per_person must be at least 1"),
    ("rows_per_person = 3", "rows_per_person = 1.5", "private.visits.rows_per_person must be a whole number"),
    ("rows_per_person = 3", "row = 3", "unknown key private.visits.row; did you mean 'rows'?"),
    ('source = "visits.csv"', "", "private.visits.source is missing"),
    ("high = 100", "high = -100", "private.visits.columns.cost: low must be below high"),
    ('kind = "real"', 'kind = "reel"', "private.visits.columns.cost.kind must not be 'reel'"),
    ("high = 100", "hihg = 100", "unknown key private.visits.columns.cost.hihg; did you mean 'high'?"),
    (
        'unit = "person"\nperson = "pid"',
        'unit = "row"',
        "private.visits: tables are joined on the person: write privacy.unit = 'person'",
    ),
    (
        'adjacency = "add-remove"',
        'adjacency = "replace-one"',
        "table.rows is missing",
    ),
]


@pytest.mark.parametrize(("old", "new", "says"), WRONG, ids=[new[:40] for _, new, _ in WRONG])
def test_a_wrong_entry_is_named_with_its_fix(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in GOOD
    with pytest.raises(InvalidRequest) as caught:
        study_in(tmp_path, GOOD.replace(old, new, 1))
    assert "people.toml" in caught.value.message
    assert says in caught.value.message


def test_replace_is_refused_with_several_private_tables(tmp_path: Path) -> None:
    text = GOOD.replace('"add-remove"', '"replace-one"').replace('"people.csv"', '"people.csv"\nrows = 3')
    with pytest.raises(InvalidRequest, match="the number of persons is public, and each table may hold"):
        study_in(tmp_path, text)
    assert study_in(tmp_path, text.partition("[private")[0]).table.rows == 3


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    text = (
        GOOD.replace("high = 100", "").replace('key = "region"', 'key = "zone"').replace("epsilon = 50", "")
    )
    with pytest.raises(InvalidRequest) as caught:
        study_in(tmp_path, text)
    for says in ("privacy.epsilon", "the key 'warm' occurs twice", "private.visits.columns.cost.high"):
        assert says in caught.value.message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "the file has no column 'region'"),
        ("region,zone\n", "the file has no rows"),
        ("region,zone\nn\n", "line 2 of 'regions.csv' has 1 fields, not 2"),
        ("region,Region\nn,s\n", "need names, each its own"),
        ("region,\nn,s\n", "need names, each its own"),
        ('region,zone\n"n,s\n', "cannot be read"),
        ("region\n" + "\n".join(map(str, range(10_001))), "has more than 10000 rows"),
    ],
)
def test_a_public_file_that_cannot_be_read_is_named(content: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as caught:
        study_in(tmp_path, regions_csv=content)
    assert says in caught.value.message


def test_columns_that_nobody_can_use_stop_nobody(tmp_path: Path) -> None:
    """Whoever asks for one is told why; where the owner declares a kind, all that is wrong is said at once.

    Mutant: ``_attributes`` raises the first error.
    """
    content = "region,x,y,zone\nn,1.00000000000000001,0.00000000000000003,cold\ns,123456789,987654321,warm"
    study = study_in(tmp_path, regions_csv=content)
    (dimension,) = study.table.dimensions
    assert [name for name, _ in dimension.unusable] == ["x", "y"]
    about = f"FROM {study.table.name} JOIN regions USING (region)"
    parse(f"SELECT regions.zone, COUNT(*) {about} GROUP BY regions.zone", *study.tables)
    for name in ("x", "regions.x"):
        with pytest.raises(
            InvalidRequest, match=r"regions\.x cannot be used: .*too many digits; give a step"
        ):
            parse(f"SELECT AVG({name}) {about}", *study.tables)
    declared = "".join(f'[public.regions.columns.{name}]\nkind = "real"\n' for name in "xy")
    with pytest.raises(InvalidRequest) as caught:
        study_in(tmp_path, GOOD + declared, regions_csv=content)
    assert caught.value.message.count("too many digits") == 2


def test_ten_thousand_keys_are_not_too_many(tmp_path: Path) -> None:
    rows = "region,zone\n" + "\n".join(f"r{i},z{i % 7}" for i in range(10_000))
    assert len(study_in(tmp_path, regions_csv=rows).table.dimensions[0].keys) == 10_000


def test_the_fingerprint_covers_all_that_answers_depend_on(tmp_path: Path) -> None:
    changes = {
        "what is public": study_in(tmp_path, regions_csv=REGIONS.replace("cold", "cool")),
        "a kind": study_in(tmp_path, GOOD + '[public.regions.columns.height]\nkind = "category"\n'),
        "rows of a person": study_in(tmp_path, GOOD.replace("rows_per_person = 3", "rows_per_person = 4")),
        "bounds": study_in(tmp_path, GOOD.replace("high = 100", "high = 200")),
        "one table less": study_in(tmp_path, GOOD.partition("[private")[0]),
        "no public table": study_in(tmp_path, _without_public()),
        "the person": study_in(
            tmp_path, GOOD.replace("rows_per_person = 3", 'rows_per_person = 3\nperson = "p"')
        ),
    }
    known = study_in(tmp_path)
    assert len({known.fingerprint, *(study.fingerprint for study in changes.values())}) == 1 + len(changes)
    assert study_in(tmp_path, regions_csv=REGIONS + "\n").fingerprint == known.fingerprint


def _without_public() -> str:
    before, after = GOOD.split("[public.regions]")
    private = after.partition("[private")[1] + after.partition("[private")[2]
    return before.replace('values_from = "regions"', 'values = ["n", "s", "w"]') + private


def test_a_study_without_further_tables_keeps_its_ledger(tmp_path: Path) -> None:
    """What is new has no part in the fingerprint of a study that does not use it."""
    text = _without_public().partition("[private")[0]
    assert (
        study_in(tmp_path, text).fingerprint
        == "9a6794dc22a3bbfce30b26022fd222cd88bf68cd340ceb0ba9f5674b96c673b1"
    )


def test_a_dimension_made_in_python_is_checked() -> None:
    region, eu = CategoryColumn("region", ("n", "s")), Attribute(BooleanColumn("eu"), (True, None))
    good = Dimension("regions", "region", "region", ("n", "s"), (eu,))
    assert Table("people", (region,), dimensions=(good,)).dimensions == (good,)
    with pytest.raises(InvalidRequest, match="a key is not a declared value"):
        Table("people", (CategoryColumn("region", ("n",)),), dimensions=(good,))
    with pytest.raises(InvalidRequest, match="has no category 'region'"):
        Table("people", (IntegerColumn("region", 0, 1),), dimensions=(good,))
    for attribute in (
        Attribute(BooleanColumn("eu"), (True,)),
        Attribute(BooleanColumn("eu"), (None, None)),
        Attribute(CategoryColumn("zone", ("a", "b")), ("a", "a")),
        Attribute(CategoryColumn("zone", ("a",)), ("a", "b")),
        Attribute(IntegerColumn("height", 0, 9), (0, 8)),
        Attribute(IntegerColumn("height", 1, 9), (1, 10)),
    ):
        with pytest.raises(InvalidRequest, match=r"public\.regions: "):
            Dimension("regions", "region", "region", ("n", "s"), (attribute,))


# Asking -----------------------------------------------------------------------------------------------------


def test_all_tables_can_be_asked(tmp_path: Path) -> None:
    study_in(tmp_path)
    with adyton.open(tmp_path / "people.toml") as curator:
        for tables, rows, persons in (
            ("people", 3, 3),
            ("visits", 4, 3),
            ("people JOIN visits USING (pid)", 3, 2),
        ):
            asked = f"SELECT COUNT(*), COUNT(DISTINCT pid) FROM {tables}"
            steps = curator.preview(asked, epsilon=1).steps
            assert [step.value for step in steps] == ["count", "count_persons"]
            answer = curator.ask(asked, epsilon=10)
            values = answer.rows[0].values
            assert abs(values["count"].value - rows) < 10
            assert abs(values["count_persons"].value - persons) < 10
        assert len(curator.receipts()) == 3


def test_a_person_of_a_join_costs_as_many_rows_as_it_has(tmp_path: Path) -> None:
    study_in(tmp_path, GOOD.replace('person = "pid"', 'person = "pid"\nrows_per_person = 2', 1))
    with adyton.open(tmp_path / "people.toml") as curator:
        wide = [
            curator.preview(f"SELECT COUNT(*) FROM {tables}", epsilon=1).steps[0].sensitivity
            for tables in ("people", "visits", "people JOIN visits USING (pid)")
        ]
    assert [float(one) for one in wide] == [2, 3, 6]


def test_what_is_wrong_with_a_join_is_found_before_the_charge(tmp_path: Path) -> None:
    study_in(tmp_path)
    people = pd.DataFrame({"pid": [1, 2], "region": ["n", "s"], "smoker": [True, False]})
    with adyton.open(tmp_path / "people.toml", data={"people": people}) as curator:
        with pytest.raises(InvalidRequest, match="give both the same type"):
            curator.ask("SELECT COUNT(*) FROM people JOIN visits USING (pid)", epsilon=1)
        assert curator.receipts() == []


def test_frames_by_name(tmp_path: Path) -> None:
    study_in(tmp_path)
    data = {
        "people": pd.DataFrame({"pid": [1, 2], "region": ["n", "s"], "smoker": [True, False]}),
        "visits": pd.DataFrame({"pid": [1, 1, 3], "cost": [1.0, 2.0, 3.0]}),
    }
    with adyton.open(tmp_path / "people.toml", data=data) as curator:
        answer = curator.ask("SELECT COUNT(*) FROM people JOIN visits USING (pid)", epsilon=20)
        assert abs(answer.value - 2) < 8


@pytest.mark.parametrize("name", ["people", "PEOPLE", "regions"])
def test_every_table_has_a_name_of_its_own(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=f"two tables are called '(?i:{name})'"):
        study_in(tmp_path, GOOD.replace("private.visits", f"private.{name}"))
