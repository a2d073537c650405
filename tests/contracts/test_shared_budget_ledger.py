"""A ledger with a shared budget behind it keeps the contract of every ledger, and so does one with a checkpoint too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import adyton
from adyton.errors import PrivacyRefused
from adyton.kernel.ledger import Ledger, MemoryLedger
from adyton.kernel.ledger.base import InFront, counted, with_shared_budget
from adyton.ledgers.checkpoint import Checkpoint
from adyton.ledgers.checkpointed import CheckpointedLedger
from adyton.ledgers.on_demand import LedgerOnDemand
from adyton.ledgers.shared_budget import SharedBudgetFacts, SharedBudgetLedger
from adyton.ledgers.shared_budget.file import Entrant
from adyton.testing.ledgers.contract import LedgerContract, MakeLedger, Reopen, order
from adyton.testing.ledgers.orders import trace

STUDY = "ab" * 32
ENTRANT = Entrant("people abababababab", STUDY, 50)


@pytest.fixture(autouse=True)
def any_limit(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The limit of the shared budgets here, in units: far above those of the contract, which the study must keep."""
    limit = [10**60]
    monkeypatch.setattr(SharedBudgetFacts, "allowed", property(lambda facts: limit[0]))
    return limit


def shared_budget_at(path: Path) -> adyton.SharedBudget:
    return adyton.SharedBudget.create(path, epsilon=1, delta=0, accounting="pure", rows="same")


def shared(name: Path, limit: int) -> SharedBudgetLedger:
    file = LedgerOnDemand(name.with_suffix(".ledger"), study=STUDY, accounting="pure", budget=limit)
    checkpointed = CheckpointedLedger(file, Checkpoint(name.with_suffix(".checkpoint")))
    return SharedBudgetLedger(checkpointed, adyton.SharedBudget(name.with_suffix(".shared_budget")), ENTRANT)


class TestSharedBudgetLedger(LedgerContract):
    @pytest.fixture
    def make_ledger(self, tmp_path: Path) -> Iterator[MakeLedger]:
        opened: list[SharedBudgetLedger] = []

        def make(limit: int) -> SharedBudgetLedger:
            name = tmp_path / str(len(opened))
            shared_budget_at(name.with_suffix(".shared_budget")).close()
            opened.append(shared(name, limit))
            return opened[-1]

        yield make
        for ledger in opened:
            ledger.close()

    @pytest.fixture
    def reopen(self) -> Iterator[Reopen]:
        opened: list[SharedBudgetLedger] = []

        def again(ledger: Ledger) -> SharedBudgetLedger:
            assert isinstance(ledger, SharedBudgetLedger)
            opened.append(shared(ledger.shared_budget.path.with_suffix(""), ledger.header.budget))
            return opened[-1]

        yield again
        for ledger in opened:
            ledger.close()

    def test_what_the_shared_budget_refuses_leaves_no_trace_in_either(
        self, tmp_path: Path, make_ledger: MakeLedger, any_limit: list[int]
    ) -> None:
        ledger = make_ledger(10**20)
        assert isinstance(ledger, SharedBudgetLedger)
        any_limit[0] = 7
        ledger.shared_budget = shared_budget_at(tmp_path / "tight.ledger")
        ledger.charge(order(5, request="a"))
        before = trace(ledger), list(ledger.shared_budget.receipts())
        with pytest.raises(PrivacyRefused, match=r"of the shared budget tight\.ledger") as refused:
            ledger.charge(order(3))
        assert (trace(ledger), list(ledger.shared_budget.receipts())) == before
        assert refused.value.facts["shared_budget"] == "tight.ledger"
        assert float(refused.value.facts["largest"]) == 2e-18
        assert ledger.charge(order(2)).fresh
        assert not ledger.charge(
            order(5, request="a")
        ).fresh  # paid for before, so the shared budget is not asked
        assert ledger.shared_budget.totals().spent == 7


def test_a_ledger_in_front_of_it_still_knows_the_shared_budget(tmp_path: Path) -> None:
    """As that of a name in a service: what validity counts must not hang on who asks."""
    shared_budget_at(tmp_path / "a.shared_budget").close()
    ledger = shared(tmp_path / "a", 10)
    assert with_shared_budget(InFront(InFront(ledger))) is ledger
    assert with_shared_budget(InFront(MemoryLedger(ledger.header))) is None
    receipt = InFront(ledger).charge(order(radius=3)).receipt
    assert counted(InFront(ledger), receipt) == ledger.counted(receipt) != receipt
    ledger.close()
