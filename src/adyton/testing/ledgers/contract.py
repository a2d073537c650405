"""The guarantee of ``adyton.kernel.ledger.Ledger``, as tests.

pytest.register_assert_rewrite("adyton.testing")   # in conftest.py: readable failures

from adyton.testing import LedgerContract

class TestMyLedger(LedgerContract):
    @pytest.fixture
    def make_ledger(self):
        return lambda budget: MyLedger(...)      # a new, empty ledger each time

    @pytest.fixture
    def reopen(self):                            # leave out if the ledger does not outlive its process
        return lambda ledger: MyLedger(...)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from adyton.testing.ledgers.caps import CapsContract
from adyton.testing.ledgers.charges import ChargesContract, RequestsContract
from adyton.testing.ledgers.final_radius import FinalRadiusContract, OpenLinksContract
from adyton.testing.ledgers.history import AnswersContract, ChainContract
from adyton.testing.ledgers.machine import LedgerMachine
from adyton.testing.ledgers.names import NamesContract
from adyton.testing.ledgers.notes import NotesContract
from adyton.testing.ledgers.orders import FEW, MakeLedger, Reopen, order

__all__ = ["LedgerContract", "LedgerMachine", "MakeLedger", "Reopen", "order"]


class LedgerContract(
    ChargesContract,
    CapsContract,
    NamesContract,
    RequestsContract,
    AnswersContract,
    FinalRadiusContract,
    ChainContract,
    OpenLinksContract,
    NotesContract,
):
    """Subclass it, supply ``make_ledger``, and ``reopen`` if the history is kept."""

    @pytest.fixture
    def make_ledger(self) -> MakeLedger:
        raise NotImplementedError("supply a fixture make_ledger: budget -> a new, empty ledger")

    @pytest.fixture
    def reopen(self) -> Reopen:
        pytest.skip("this ledger does not outlive its process")

    @pytest.fixture
    def restless(self) -> Iterator[None]:
        """Let Python change threads as often as it can, so that a missing lock shows."""
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        yield
        sys.setswitchinterval(usual)

    def test_a_ledger_behaves_like_a_list_of_charges(self, make_ledger: MakeLedger) -> None:
        class Machine(LedgerMachine):
            def __init__(self) -> None:
                super().__init__(make_ledger)

        run_state_machine_as_test(Machine, settings=settings(FEW, stateful_step_count=20))
