"""Bugs planted into a shared budget of two studies: charges that are too small, or that one study does not make.

The sound shared budgets are in ``make audit``.  Bits are seeded, so nothing here depends on luck.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adyton.audit.cases.catalogue import entry_named, target_of
from adyton.audit.report import Tried, try_one
from adyton.kernel.accounting import ACCOUNTING_NAMES
from adyton.ledgers.shared_budget import file as of_shared_budget
from adyton.ledgers.shared_budget.file import SharedBudget
from support.randomness import SeededByHash

SAMPLES = 20_000
TARGET = target_of()  # its tables are loaded once: no bug here is in how they are loaded
TOGETHER = "the answers of both studies tell apart more than their shared budget was charged"
ALL = {"a row of each", "a person in both", "a person who leaves both"}


def tried(accounting: str) -> dict[str, Tried]:
    trials = entry_named(f"{accounting}-shared-budgets").trials(replace(TARGET, bits=SeededByHash(1)))
    return {trial.pair_name: try_one(trial, SAMPLES, 0.999) for trial in trials}


def refuted(accounting: str) -> set[str]:
    """By replay alone."""
    trials = entry_named(f"{accounting}-shared-budgets").trials(replace(TARGET, bits=SeededByHash(1)))
    return {trial.pair_name for trial in trials if trial.replayed and TOGETHER in trial.replayed.faults}


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES, scope="module")  # its tables stay loaded
def test_a_sound_shared_budget_is_not_refuted_and_much_of_it_is_seen(accounting: str) -> None:
    """A sound shared budget is not refuted, and much of what was paid is seen."""
    found = tried(accounting)
    assert set(found) == ALL
    for name, one in found.items():
        assert not one.refuted, name
        assert one.verdict.lower_bound > 0.3 * one.verdict.claim.epsilon, name


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES, scope="module")  # its tables stay loaded
def test_a_shared_budget_that_is_charged_half_is_found(
    monkeypatch: pytest.MonkeyPatch, accounting: str
) -> None:
    """Mutant: the shared budget gets half of what a study pays."""
    sound = of_shared_budget._order

    def half(*known: Any) -> Any:
        order = sound(*known)
        return replace(order, amount=order.amount // 2)

    monkeypatch.setattr(of_shared_budget, "_order", half)
    assert refuted(accounting) == ALL


def test_a_study_whose_charge_its_shared_budget_does_not_get_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mutant: only the first study that charges is in the shared budget."""
    sound = SharedBudget.enter

    def only_the_first(self: SharedBudget, study: Any, entrant: Any, receipt: Any, cap: Any) -> Any:
        newest = self.first()
        return sound(self, study, entrant, receipt, cap) if newest is None else newest

    monkeypatch.setattr(SharedBudget, "enter", only_the_first)
    monkeypatch.setattr(SharedBudget, "behind", lambda self, *_: self.first())
    monkeypatch.setattr(SharedBudget, "confirm", lambda *_: None)
    assert refuted("pure") == ALL
    assert all(one.refuted for one in tried("pure").values())
