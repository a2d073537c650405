"""However often it is read for one receipt, at most one noisy answer is released."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adyton
from adyton.errors import EngineFailed, Interrupted
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.noisy import NoisyQueries
from adyton.kernel.schema import IntegerColumn, Table
from support.curators import open_kept
from support.tries import often
from support.worlds import study_with

ROWS = pd.DataFrame({"age": range(30)})
STUDY = study_with(Table("people", (IntegerColumn("age", 0, 100),), 30), epsilon=50)
ASKED = "SELECT COUNT(*) FROM people WHERE age > 3"
ENDS = ("interrupted", "engine failed", "lost with the process", "overtaken", "shown")


class Lost(BaseException):
    """The process is gone."""


class Attempts:
    """Readings that end in the given ways; ``seen`` are all noisy integers that were ever drawn."""

    def __init__(self, ends: list[str], ledger: Any) -> None:
        self._ends, self._ledger, self.seen, self.elsewhere = ends, ledger, [], []
        self._release = NoisyQueries.release

    def release(self, measurement: Any, source: Any, bits: Any) -> Any:
        end = self._ends.pop(0) if self._ends else "shown"
        if end == "engine failed":
            raise EngineFailed("test")
        drawn = self._release(measurement, source, bits)
        self.seen.append(drawn)
        if end == "interrupted":
            raise KeyboardInterrupt
        if end == "lost with the process":
            raise Lost
        if end == "overtaken":  # another process keeps its answer first
            self._ends.insert(0, "shown")
            other = open_kept(STUDY, data=ROWS, ledger=self._ledger)
            self.elsewhere.append(other.ask(ASKED, scale=100))
        return drawn


@settings(max_examples=often(30, 60), deadline=None)
@given(st.lists(st.sampled_from(ENDS), min_size=1, max_size=6))
def test_theorem_ONE_ANSWER_whatever_happens_one_receipt_shows_one_answer(ends: list[str]) -> None:
    """Mutants: ``remember`` that lets the last answer win; ``release`` that returns what it drew itself."""
    ledger = MemoryLedger.of(STUDY)
    curator = open_kept(STUDY, data=ROWS, ledger=ledger)
    attempts = Attempts([*ends, "shown"], ledger)
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NoisyQueries, "release", lambda *release: attempts.release(*release))
        for _ in range(len(ends) + 2):
            try:
                shown.append(curator.ask(ASKED, scale=100))
            except (Interrupted, EngineFailed, Lost):
                continue
    shown += attempts.elsewhere
    values = {str([row.values for row in answer.rows]) for answer in shown}
    assert len(values) == 1
    assert {answer.receipt.number for answer in shown} == {1}
    assert ledger.count() == 1
    assert ledger.spent() == shown[0].receipt.number * ledger.receipt(1).order.amount


def test_theorem_ONE_ANSWER_a_shown_answer_was_kept_before() -> None:
    """Mutant: ``_answer`` that certifies before it remembers."""
    ledger = MemoryLedger.of(STUDY)
    curator = open_kept(STUDY, data=ROWS, ledger=ledger)

    def full(_number: int, _answer: str, _radius: int | None = None) -> str:
        raise adyton.LedgerCorrupt("the disk is full")

    ledger.remember = full  # type: ignore[method-assign]
    with pytest.raises(adyton.LedgerCorrupt, match="receipt 1 is paid for: ask the same again"):
        curator.ask(ASKED, scale=100)
    del ledger.remember  # type: ignore[attr-defined]
    assert curator.ask(ASKED, scale=100).receipt.number == ledger.count() == 1
