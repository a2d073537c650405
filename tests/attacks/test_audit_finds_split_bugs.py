"""Bugs planted into studies that split their units: too little charged, or a part that two queries read.

The sound studies are in ``make audit``.  Bits are seeded, so nothing here depends on luck.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from adyton.audit.cases.catalogue import entry_named, target_of
from adyton.audit.report import Tried, try_one
from adyton.engines.loading import parting
from adyton.engines.scans import scan
from adyton.errors import LedgerCorrupt
from adyton.kernel import noisy, paid
from support.faults import plant
from support.randomness import SeededByHash
from support.tries import often

ACCOUNTING_NAMES = ["gdp", "zcdp"][: often(1, 2)]  # the noise of zcdp is that of gdp at another price
SAMPLES = 20_000
TARGET = target_of()  # its tables are loaded once: no bug here is in how they are loaded
TOGETHER = "all answers together tell the two tables apart by more than was charged"


def tried(accounting: str, only: str = "") -> dict[str, Tried]:
    trials = entry_named(f"{accounting}-split").trials(replace(TARGET, bits=SeededByHash(1)))
    return {trial.pair_name: try_one(trial, SAMPLES, 0.999) for trial in trials if only in trial.pair_name}


def refuted(accounting: str, most: int | None = None) -> set[str]:
    """By replay alone, of all studies or of the first ones."""
    trials = islice(entry_named(f"{accounting}-split").trials(replace(TARGET, bits=SeededByHash(1))), most)
    return {trial.pair_name for trial in trials if trial.replayed and TOGETHER in trial.replayed.faults}


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES)
def test_sound_studies_are_not_refuted_and_nearly_all_paid_is_seen(accounting: str) -> None:
    for name, one in tried(accounting).items():
        assert not one.refuted, name
        assert one.verdict.lower_bound > 0.3 * one.verdict.claim.epsilon, name


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES)
def test_one_part_charged_for_a_person_who_moves_is_found(
    monkeypatch: pytest.MonkeyPatch, accounting: str
) -> None:
    """Mutant: an exchanged person is paid for in one part, not in the two that differ."""
    plant(monkeypatch, noisy.whole_price, lambda amount, *_: amount)
    assert refuted(accounting) == {"a person, to another part"}


def test_one_part_charged_is_found_by_samples_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, noisy.whole_price, lambda amount, *_: amount)
    (moved,) = tried("gdp", "a person, to another part").values()
    assert moved.trade_off is not None
    assert moved.trade_off.refuted


def test_an_exchange_within_a_part_that_is_not_paid_for_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: only what leaves one part and enters another is paid for."""
    sound = noisy.whole_price
    plant(monkeypatch, sound, lambda amount, *rest: sound(0, *rest) or amount)
    assert refuted("gdp") == {"a person, in one part"}


def test_half_a_charge_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: of what is missing to the greatest price, half is charged, and the receipt is not looked at."""
    plant(monkeypatch, noisy.still_due, lambda price, spent: 1 if spent else price // 2)
    with pytest.raises(LedgerCorrupt, match="did not pay for this"):
        refuted("gdp")
    plant(monkeypatch, paid._is_for, lambda *charged: True)
    assert refuted("gdp") == {
        "a row",
        "a person, to another part",
        "a person, in one part",
        "a person who leaves",
    }


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES)
def test_a_part_that_both_queries_read_is_found(monkeypatch: pytest.MonkeyPatch, accounting: str) -> None:
    """Mutant: every query reads nearly all units, and is charged as if it had a part of its own."""

    def nearly_all(named: Any, parts: int, spelling: Any) -> str:
        parting.in_part(named, parts, spelling)
        return f"{spelling.byte_order('part')} >= {spelling.text('0')}"

    monkeypatch.setattr(scan, "in_part", nearly_all)
    assert refuted(accounting, 1) == {"a row"}
