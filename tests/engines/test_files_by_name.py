"""A Parquet file is read by its very name, whoever reads it: others whose names would match are not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import adyton
from adyton.engines.loading.sources import count_units, describe
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.planning.readings import readings_of
from adyton.study import Study
from adyton.study.public_file import read_public_file

NAMES = ["a*.parquet", "a[1].parquet", "a?.parquet", "it's.parquet", "run=3/a.parquet"]


@pytest.fixture(params=NAMES)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    pd.DataFrame({"x": [7, 8]}).to_parquet(tmp_path / "a1.parquet")
    path: Path = tmp_path / request.param
    path.parent.mkdir(exist_ok=True)
    pd.DataFrame({"x": [0, 1, 2]}).to_parquet(path)
    return path


def test_an_engine_reads_this_file(file: Path) -> None:
    """Mutant that fails here: ``parquet_rows`` without ``glob.escape``, or with partitions of folders."""
    assert list(describe(file)) == ["x"]
    assert count_units(file, None) == 3
    table = Table("t", (IntegerColumn("x", 0, 10),), rows=3)
    study = Study(table, PrivacyUnit("replace-one"), Guarantee(Fraction(1), Fraction(1, 10**6)))
    with adyton.open(study, data=file) as curator:
        curator._engine.prepare()
        asked = adyton.sum_of("x").on(table)
        assert curator._engine.exact(readings_of(asked, study.unit)) == [[[3]]]


def test_a_public_file_is_this_file(file: Path) -> None:
    assert read_public_file(file, "public.x").columns == {"x": [0, 1, 2]}
