"""Opening a study: what an engine may take can be named, and nothing else."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import adyton
from adyton.errors import EngineFailed, InvalidRequest
from adyton.kernel.schema import IntegerColumn, Table
from support.worlds import study_with

STUDY = study_with(
    Table("t", (IntegerColumn("x", 0, 10**6),)), unit="add-remove", epsilon=10, delta=Fraction(1, 10**9)
)


def test_an_engine_that_takes_too_long_fails_and_the_charge_stands() -> None:
    data = pd.DataFrame({"x": range(200_000)})
    with adyton.open(STUDY, data=data, timeout=1e-6) as hasty, pytest.raises(EngineFailed):
        hasty.ask("SELECT MEDIAN(x) FROM t", epsilon=1)
    assert hasty.study is STUDY
    with adyton.open(STUDY, data=data, timeout=60, memory_limit="1GB", threads=1) as patient:
        assert patient.ask("SELECT COUNT(*) FROM t", epsilon=1).value > 0
        assert patient.budget().queries == 1


def test_a_limit_that_the_engine_does_not_know_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="has no limit 'work_mem'; known: timeout, memory_limit"):
        adyton.open(STUDY, data=pd.DataFrame({"x": [1]}), work_mem="1GB")


@pytest.mark.parametrize("study", [3, None, b"people.toml", ["people.toml"], {"table": "t"}], ids=str)
def test_what_is_no_study_is_refused_by_what_it_is(study: Any) -> None:
    """Not by the words of whoever wanted to open a file."""
    with pytest.raises(InvalidRequest, match=f"a Study made in Python, not a {type(study).__name__}"):
        adyton.open(study)


def test_receipts_break_no_word_on_a_narrow_terminal() -> None:
    """Mutant: the columns of a wide terminal on a narrow one."""
    asked = "SELECT COUNT(*) AS how_many_there_are FROM t WHERE ((x < 900000) AND (x > 100000))"
    with adyton.open(STUDY, data=pd.DataFrame({"x": [1]})) as curator:
        curator.ask(asked, epsilon="0.1")
        curator.ask("SELECT SUM(x) FROM t", epsilon="0.1")
        receipts = curator.receipts()
    for verbose in (False, True):
        wide = receipts.sheet(verbose=verbose)
        said = [word for row in wide.rows for cell in row for word in cell.split()]
        for width in (60, 80, 100, 120):
            text = wide.text(width)
            shown = text.replace("\u2502", " ").replace(",", " ").split()
            assert not [word for word in said if word.strip(",") not in shown], (verbose, width, text)
            assert max(map(len, text.splitlines())) <= width
