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
from adyton.kernel.schema import IntegerColumn, Table
from adyton.setup.amending import amend
from adyton.study import Study, Validity, read_study
from shared_budgets import shared_budget_of, study_of

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
        ({"table": "values_from_rows = 3"}, "true or false"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path: Path, words: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        read_study(written(tmp_path, **words))
    assert not list(tmp_path.glob("*.ledger"))


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
    path = written(tmp_path, validity='dictionary = "schema"')
    before = read_study(path).fingerprint
    monkeypatch.setattr("adyton.study.facts.VERSION", 2)
    assert read_study(path).fingerprint != before


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
def test_an_amended_study_that_began_a_shared_budget_has_universal_descriptions(
    tmp_path: Path, rows: str
) -> None:
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


def test_a_table_without_a_name_for_it_is_described_by_its_columns() -> None:
    study = Study(
        Table("t", (IntegerColumn("x", 0, 99),), 4_000),
        adyton.PrivacyUnit("replace-one"),
        adyton.Guarantee(1, 1e-9),
    )
    assert study.dictionary is None  # nothing is said about a population
