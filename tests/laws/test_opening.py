"""Opening a study: what an engine may take can be named, and nothing else."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

import adyton
from adyton.errors import EngineFailed, InvalidRequest
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.schema import IntegerColumn, Table
from adyton.study import Study

STUDY = Study(
    Table("t", (IntegerColumn("x", 0, 10**6),)),
    PrivacyUnit("add-or-remove"),
    Guarantee(Fraction(10), Fraction(1, 10**9)),
)


def test_an_engine_that_takes_too_long_fails_and_the_charge_stands() -> None:
    data = pd.DataFrame({"x": range(200_000)})
    with adyton.open(STUDY, data=data, timeout=1e-6) as hasty, pytest.raises(EngineFailed):
        hasty.ask("SELECT MEDIAN(x) FROM t", epsilon=1)
    assert hasty.study is STUDY
    with adyton.open(STUDY, data=data, timeout=60, memory_limit="1GB", threads=1) as patient:
        assert patient.ask("SELECT COUNT(*) FROM t", epsilon=1).value > 0
        assert patient.statement().questions == 1


def test_a_limit_that_the_engine_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="knows no limit 'work_mem'; known: timeout, memory_limit"):
        adyton.open(STUDY, data=pd.DataFrame({"x": [1]}), work_mem="1GB")
