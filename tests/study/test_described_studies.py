"""Which descriptions a study has: as its file says, and none that was made after answers were known."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.errors import CuratorError, InvalidRequest
from adyton.kernel.schema import IntegerColumn, Table, TextColumn
from adyton.query.description import Dictionary, canonical_value
from adyton.query.request import request_of
from adyton.setup.amending import amend
from adyton.study import Study, Validity, read_study
from support.worlds import shared_budget_of, study_of, study_with

FILE = """
[table]
name = "t"
source = "t.parquet"
rows = 4000
{table}

[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 2
delta = 1e-9
{privacy}

[validity]
independent = true
{validity}

[columns.x]
kind = "integer"
low = 0
high = {high}
"""
SQL = "SELECT AVG(x) FROM t"
HIGH = (99, 100, 101)


def written(
    folder: Path, name: str = "t", *, validity: str = "", table: str = "", privacy: str = "", high: int = 99
) -> Path:
    source = folder / "t.parquet"
    if not source.exists():
        pd.DataFrame({"x": np.random.default_rng(1).integers(0, 100, 4_000)}).to_parquet(source)
    path = folder / f"{name}.toml"
    text = FILE.format(validity=validity, table=table, privacy=privacy, high=high)
    path.write_text(text, encoding="utf-8")
    return path


def nats(path: Path, sql: str = SQL) -> float:
    with adyton.open(path) as curator:
        (found,) = curator.preview(sql, epsilon="0.01").certificate.nats.values()
        return found


def test_the_default_is_the_universal_dictionary(tmp_path: Path) -> None:
    assert nats(written(tmp_path)) == nats(written(tmp_path, validity='dictionary = "universal"'))
    assert nats(written(tmp_path)) > 3 * nats(written(tmp_path, validity='dictionary = "schema"'))


def test_registered_queries_have_the_shortest_descriptions(tmp_path: Path) -> None:
    listed = 'dictionary = "schema"\nregistered = ["SELECT AVG(x) AS m FROM t WHERE x BETWEEN 17 AND 83"]'
    path, plain = written(tmp_path, validity=listed), written(tmp_path, "u", validity='dictionary = "schema"')
    long = "SELECT AVG(x) FROM t WHERE x >= 17 AND x <= 83"
    assert nats(path, long) < 1 < nats(plain, long) - 10  # ln 2 for the only one, by whatever name
    assert nats(path) == pytest.approx(nats(plain) + np.log(2), abs=1 / 32)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"validity": 'dictionary = "both"'}, "validity.dictionary"),
        ({"validity": 'registered = "SELECT"'}, "a list of SQL texts"),
        ({"validity": 'registered = ["SELECT AVG(y) FROM t"]'}, "validity.registered.*cannot be read"),
        (
            {"validity": 'registered = ["SELECT COUNT(*) FROM t UNION ALL SELECT COUNT(*) FROM t"]'},
            "not one query",
        ),
        ({"validity": 'dictionary = "schema"', "table": "values_from_rows = true"}, "init --public"),
        (
            {"validity": 'registered = ["SELECT AVG(x) FROM t"]', "table": "values_from_rows = true"},
            "remove validity.registered",
        ),
        ({"table": "values_from_rows = 3"}, "true or false"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path: Path, words: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        read_study(written(tmp_path, **words))
    assert not list(tmp_path.glob("*.ledger"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"dictionary": "both"}, "schema or universal, not 'both'"),
        ({"dictionary": None}, "schema or universal, not None"),
        ({"registered": "SELECT AVG(x) FROM t"}, "a list of SQL texts"),
        ({"registered": (3,)}, "a list of SQL texts"),
    ],
)
def test_a_study_made_in_python_is_refused_with_the_same_reasons(words: dict[str, Any], said: str) -> None:
    """Mutant: whatever is not universal stands for the owner's word that nobody looked."""
    with pytest.raises(InvalidRequest, match=said):
        Validity(Fraction(95, 100), **words)


@pytest.mark.parametrize(
    "changed", ['dictionary = "universal"', 'dictionary = "schema"\nregistered = ["SELECT SUM(x) FROM t"]']
)
def test_a_dictionary_cannot_be_changed_after_the_first_receipt(tmp_path: Path, changed: str) -> None:
    """Mutant: a dictionary that is no fact of the study."""
    with adyton.open(written(tmp_path, validity='dictionary = "schema"')) as curator:
        curator.ask(SQL, epsilon="0.1")
    with pytest.raises(CuratorError), adyton.open(written(tmp_path, validity=changed)) as curator:
        curator.ask("SELECT COUNT(*) FROM t", epsilon="0.1")


def test_the_version_of_the_weights_is_a_fact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that was charged under other weights is refused with the reason, and not charged again."""
    path = written(tmp_path, validity='dictionary = "schema"')
    with adyton.open(path) as curator:
        curator.ask(SQL, epsilon="0.1")
        charged = curator.budget().spent
    with monkeypatch.context() as later:
        later.setattr("adyton.study.facts.VERSION", 2)
        said = r'dictionary: \["schema", 1\] in the ledger, \["schema", 2\] here'
        with pytest.raises(CuratorError, match=said), adyton.open(path) as curator:
            curator.ask("SELECT COUNT(*) FROM t", epsilon="0.1")
    with adyton.open(path) as curator:
        assert curator.budget().spent == charged


PEOPLE = adyton.PrivacyUnit("add-remove", person="who", rows=2)


def _of_persons(dictionary: str) -> Study:
    validity = Validity(Fraction(95, 100), dictionary=dictionary)
    table = Table("t", (IntegerColumn("x", 0, 99), IntegerColumn("z", 0, 9)), rows=4_000, person="who")
    return Study(table, PEOPLE, adyton.Guarantee(2, 1e-9), validity=validity)


def test_persons_whose_rows_are_cut_have_descriptions_by_the_schema_alone() -> None:
    """Which rows of a person count follows from a hash of all columns, so a query depends on the whole file.

    Mutant: columns that a query does not name are not spelled out, and yet the query has a description.
    """
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"who": np.arange(12_000) // 3, "x": rng.integers(0, 100, 12_000), "z": 0})
    found = {}
    for name in ("schema", "universal"):
        with adyton.open(_of_persons(name), data=frame) as curator:
            curator.ask("SELECT COUNT(DISTINCT who) FROM t", epsilon="0.2")
            answer = curator.ask(SQL, epsilon="0.5")
            found[name] = list(answer.certificate.nats.values())
            assert ("DESCRIBED-QUERIES" in answer.certificate.theorems) == (name == "schema")
            interval = answer.population_interval
            assert interval.low <= 49.5 <= interval.high
    assert found["universal"] == []
    assert 0 < found["schema"][0] < 6


def test_persons_of_an_amended_study_have_no_descriptions() -> None:
    query = request_of(SQL, _of_persons("schema").table).query
    known = _of_persons("schema")
    amended = known.after_its_first_receipt(amended=True, described=True)
    assert known.nats(query, query.measures[0][1]) is not None
    assert amended.nats(query, query.measures[0][1]) is None


def test_an_amended_study_has_universal_descriptions_alone(tmp_path: Path) -> None:
    """The corrected file was written when answers were known.  Mutant: it keeps the schema dictionary."""
    old = written(tmp_path, validity='dictionary = "schema"')
    with adyton.open(old) as curator:
        curator.ask(SQL, epsilon="0.1")
    new = written(tmp_path, "new", validity='dictionary = "schema"', high=100)
    amend(read_study(old), read_study(new))
    universal = written(tmp_path, "other", validity='dictionary = "universal"', high=100)
    assert nats(new) == pytest.approx(nats(universal) + np.log(16), abs=1 / 32)


def _sharing(shared_budget: Path, name: str) -> tuple[Study, pd.DataFrame]:
    columns = (IntegerColumn("x", 0, 99),)
    validity = Validity(Fraction(95, 100), dictionary="schema")
    frame = pd.DataFrame({"x": np.arange(4_000) % 100})
    return study_of(name, shared_budget, columns=columns, rows=4_000, validity=validity), frame


def test_in_a_shared_budget_only_the_first_study_has_descriptions(tmp_path: Path) -> None:
    """Where validity counts what all studies released.  Mutant: every study has its own dictionary."""
    shared_budget = shared_budget_of(tmp_path / "shared.ledger", confidence=Fraction(95, 100))
    (one, frame), (two, _) = _sharing(shared_budget, "one"), _sharing(shared_budget, "two")
    ledgers: list[Any] = [adyton.kernel.ledger.MemoryLedger.of(study) for study in (one, two)]
    with adyton.open(one, data=frame, ledger=ledgers[0]) as first:
        first.ask("SELECT COUNT(*) FROM one", epsilon="0.01")
    with adyton.open(one, data=frame, ledger=ledgers[0]) as first:
        assert first.preview("SELECT AVG(x) FROM one", epsilon="0.01").certificate.nats
    with adyton.open(two, data=frame, ledger=ledgers[1]) as second:
        assert not second.preview("SELECT AVG(x) FROM two", epsilon="0.01").certificate.nats
        assert not second.ask("SELECT AVG(x) FROM two", epsilon="0.01").certificate.nats


@pytest.mark.parametrize("rows", ["same", "related"])
def test_an_amended_study_with_a_shared_budget_has_universal_descriptions(tmp_path: Path, rows: str) -> None:
    """They depend on no file, and the study that was amended, even twice, was the first to be charged.

    Mutants: a corrected study that looks for receipt 1 in its own ledger has none; one that does not look at
    all has some although another study was first.
    """
    confidence = Fraction(95, 100) if rows == "same" else None
    shared = {"privacy": 'shared_budget = "shared.ledger"', "validity": 'dictionary = "schema"'}
    shared_budget_of(tmp_path / "shared.ledger", rows=rows, confidence=confidence, epsilon=3)
    of_two = [[written(tmp_path, f"{name}{high}", high=high, **shared) for high in HIGH] for name in "ab"]
    for files in of_two:
        with adyton.open(files[0]) as curator:
            curator.ask(SQL, epsilon="0.1")
    for files in of_two:
        for old, new in pairwise(files):
            amend(read_study(old), read_study(new))
            with adyton.open(new) as curator:
                curator.ask("SELECT COUNT(*) FROM t", epsilon="0.1")
    for new, high in zip(of_two[0][1:], HIGH[1:], strict=True):
        universal = written(tmp_path, f"other{high}", validity='dictionary = "universal"', high=high)
        assert nats(new) == pytest.approx(nats(universal) + np.log(16), abs=1 / 32)
    for new in of_two[1][1:]:
        with adyton.open(new) as curator:
            assert not curator.preview(SQL, epsilon="0.01").certificate.nats


@pytest.mark.parametrize("points", ["10", "10, 20, 30, 40, 50, 60, 70, 80"])
def test_each_point_of_a_registered_distribution_is_counted(tmp_path: Path, points: str) -> None:
    """Every point has an interval of its own.  Mutant: all points for the price of one."""
    sql = f"SELECT CDF(x, {points}) FROM t"
    path = written(tmp_path, validity=f'dictionary = "schema"\nregistered = ["{sql}"]')
    many = points.count(",") + 1
    assert nats(path, sql) == pytest.approx(np.log(2 * many), abs=1 / 32)


def test_a_query_whose_groups_are_found_in_the_data_cannot_be_registered() -> None:
    """Nobody knows in advance how many groups there are, so none of them has a weight.

    Mutants: such a query has the ln(2N) nats of the others, in the study file or in its dictionary.
    """
    table = Table("t", (TextColumn("city"), IntegerColumn("x", 0, 99)), rows=4_000)
    sql = "SELECT city, AVG(x) FROM t GROUP BY city"
    query = request_of(sql, table).query
    listed = frozenset([canonical_value(query, query.measures[0][1])])
    assert Dictionary(table, "schema", listed).nats(query, query.measures[0][1]) is None
    limit, unit = adyton.Guarantee(2, Fraction(1, 10**9)), adyton.PrivacyUnit("replace-one")
    validity = Validity(Fraction(95, 100), dictionary="schema", registered=(sql,))
    with pytest.raises(InvalidRequest, match="has discovered groups"):
        Study(table, unit, limit, validity=validity, discovery_delta=Fraction(1, 10**10))


def test_a_table_without_a_name_for_it_is_described_by_its_columns() -> None:
    study = study_with(Table("t", (IntegerColumn("x", 0, 99),), 4000), delta=Fraction(1, 10**9))
    assert study.dictionary is None  # nothing is said about a population
