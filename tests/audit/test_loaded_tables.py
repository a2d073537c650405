"""Tables that an audit, or many tests, load once: the rows are those of a study that is opened anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import adyton
from adyton.audit.cases.catalogue import target_of
from adyton.audit.cases.queries_asked import QUERIES, study_of, tables_of
from adyton.audit.loaded import LoadedTables
from adyton.curator import Curator
from adyton.engines.duckdb import DuckDBEngine
from adyton.errors import InvalidRequest
from adyton.kernel.schema import IntegerColumn, Table
from adyton.planning.readings import readings_of
from adyton.query.request import request_of
from adyton.study import Study, Validity
from support.curators import open_kept
from support.worlds import study_with

CASE, TARGET = QUERIES["persons by region"], target_of()
STUDY = study_of(CASE, "replace-one", "gdp", TARGET)
Opens = Callable[[Study, Any], Curator]


@pytest.fixture(params=["an audit", "tests"])
def opens(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Opens:
    monkeypatch.setattr("support.curators._engines", {})
    return LoadedTables().open if request.param == "an audit" else open_kept


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[DuckDBEngine]:
    seen: list[DuckDBEngine] = []
    sound = DuckDBEngine._loaded
    monkeypatch.setattr(DuckDBEngine, "_loaded", lambda self: (seen.append(self), sound(self))[1])
    return seen


def integers(curator: Curator, sql: str = CASE.asked[0]) -> Any:
    study = curator.study
    readings = readings_of(request_of(sql, study.table).query, study.unit_of(study.table))
    curator._engine.prepare(readings)
    return curator._engine.exact(readings)


def test_what_is_the_same_is_loaded_once_and_charged_anew(
    tmp_path: Path, opens: Opens, loads: list[DuckDBEngine]
) -> None:
    """Mutants: a curator closes the engine; a ledger that is kept as well."""
    here, _ = tables_of(CASE, "replace-one", tmp_path)
    for _ in range(3):
        with opens(STUDY, here) as curator:
            assert curator.budget().spent.units == 0
            curator.ask(CASE.asked[0], epsilon=1)
            found = integers(curator)
    assert len(loads) == 1
    with adyton.open(STUDY, data=here) as anew:
        assert found == integers(anew)


def test_what_is_not_the_same_is_loaded_anew(tmp_path: Path, opens: Opens, loads: list[DuckDBEngine]) -> None:
    """Mutants: without the rows, the salt or the unit in what is compared."""
    here, there = tables_of(CASE, "replace-one", tmp_path)
    fewer = replace(STUDY, validity=Validity(Fraction(19, 20), reserve=Fraction(1, 2)))
    for study in (STUDY, study_of(CASE, "add-remove", "gdp", TARGET), fewer):
        for data in (here, there):
            with opens(study, data) as one, adyton.open(study, data=data) as anew:
                assert integers(one) == integers(anew)
    here.write_bytes(there.read_bytes())
    with opens(STUDY, here) as one, opens(STUDY, there) as other:
        assert integers(one) == integers(other)
    with opens(study_of(CASE, "replace-one", "zcdp", TARGET), here) as salted:
        integers(salted)
        engine: Any = salted._engine
        assert engine._engine._loading.salt == salted.study.fingerprint


def test_another_unit_is_checked_anew(tmp_path: Path, opens: Opens) -> None:
    """Under replace-one the number of rows is public, and must be right.  Mutant: without the unit."""
    case = QUERIES["count"]
    _, fewer = tables_of(case, "add-remove", tmp_path)
    with opens(study_of(case, "add-remove", "gdp", TARGET), fewer) as curator:
        integers(curator, case.asked[0])
    with (
        opens(study_of(case, "replace-one", "gdp", TARGET), fewer) as curator,
        pytest.raises(InvalidRequest, match="holds 12 rows"),
    ):
        integers(curator, case.asked[0])


def test_no_run_is_spared_a_scan(tmp_path: Path, opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: cells that an engine keeps stay from one curator to the next."""
    case = QUERIES["count"]
    study, (here, _) = study_of(case, "replace-one", "gdp", TARGET), tables_of(case, "replace-one", tmp_path)
    scans: list[str] = []
    sound = DuckDBEngine._run
    monkeypatch.setattr(DuckDBEngine, "_run", lambda self, sql: (scans.append(sql), sound(self, sql))[1])
    for number in range(1, 5):
        with opens(study, here) as curator:
            integers(curator, case.asked[0])
        assert scans == scans[:1] * number


def test_few_are_kept(
    tmp_path: Path, opens: Opens, loads: list[DuckDBEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were opened last; one that is read stays open, whatever follows it.

    Mutants: all are kept; the newest is given away; what is given away is closed.
    """
    for place in ("adyton.audit.loaded._MOST", "support.curators.MOST"):
        monkeypatch.setattr(place, 3)
    study = study_with(Table("t", (IntegerColumn("x", 0, 99),)), "pure", "add-remove")
    files = [tmp_path / f"{number}.csv" for number in range(4)]
    for number, file in enumerate(files):
        pd.DataFrame({"x": [number] * number}).to_csv(file, index=False)
    asked = "SELECT COUNT(*) FROM t"
    with opens(study, files[0]) as first:
        for file in files:
            with opens(study, file) as curator:
                integers(curator, asked)
        assert integers(first, asked) == [[[0]]]
    for file, loaded in ((files[-1], 4), (files[1], 4), (files[0], 5)):
        with opens(study, file) as curator:
            integers(curator, asked)
        assert len(loads) == loaded
