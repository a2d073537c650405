"""Bugs planted into whole queries: too little paid, too low a threshold.  The auditor of queries finds them.

The sound twin of each is in ``make audit``.  Bits are seeded, so nothing here depends on luck.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from adyton.audit import replay
from adyton.audit.cases.catalogue import entry_named, target_of
from adyton.audit.cases.queries import QUERIES, ask_both
from adyton.audit.cases.queries_asked import study_of, tables_of
from adyton.audit.report import Tried, try_one
from adyton.curator import Curator
from adyton.curator.releasing import Walk
from adyton.errors import InvalidRequest
from adyton.kernel import noisy
from adyton.kernel import release as releasing
from adyton.kernel.accounting import ACCOUNTING_NAMES
from adyton.kernel.data import PaidData
from adyton.kernel.genuine import made_here
from adyton.kernel.ledger import SqliteLedger
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.kernel.release import Released
from adyton.kernel.searching import rounds_of
from adyton.kernel.special.mechanisms.key_selection import KeySelection
from adyton.planning import plan, readings
from adyton.query.conditions import possible_cells as cells
from support.faults import plant, trust_planning
from support.randomness import SeededByHash

SAMPLES = 20_000
TARGET = target_of()  # its tables are loaded once: no bug here is in how they are loaded


def tried(name: str, adjacency: Adjacency = "replace-one", accounting: str = "gdp") -> Tried:
    """By samples alone."""
    asked = ask_both(name, adjacency, accounting, replace(TARGET, bits=SeededByHash(1)))
    return try_one(replace(asked, replayed=None, slow=False), SAMPLES, 0.999)


def refused_by_the_kernel(name: str, adjacency: Adjacency = "replace-one") -> None:
    """Planning alone cannot get it wrong: the kernel works it out again, and nothing is charged."""
    with pytest.raises(InvalidRequest, match="moved farther by one unit than it says"):
        tried(name, adjacency)


def test_a_search_that_pays_for_one_comparison_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not tried("greatest").refuted
    plant(monkeypatch, rounds_of, lambda reading: 1)
    assert tried("greatest").refuted


def test_disjoint_filters_that_pay_once_for_an_exchange_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that leaves one filter enters another: both must be paid."""
    whole = lambda made, unit: {place: Fraction(1, len(made)) for own in made for place in own}  # noqa: E731
    assert not tried("disjoint filters").refuted
    sound = noisy.due
    plant(monkeypatch, noisy.shares_of, whole)
    plant(monkeypatch, sound, lambda parts, made, unit, rule: sound(parts, made, _added(unit), rule))
    assert tried("disjoint filters").refuted


def _added(unit: Any) -> Any:
    return replace(unit, adjacency="add-remove")


def test_a_distribution_whose_bins_are_taken_for_one_cell_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = readings._readings

    def one_cell(*given: Any) -> Any:
        return tuple(replace(r, sensitivity=replace(r.sensitivity, cells=1)) for r in sound(*given))

    assert not tried("distribution").refuted
    monkeypatch.setattr(readings, "_readings", one_cell)
    refused_by_the_kernel("distribution")
    trust_planning(monkeypatch)
    assert tried("distribution").refuted


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_threshold_that_shows_keys_of_one_unit_is_found(
    monkeypatch: pytest.MonkeyPatch, adjacency: Adjacency
) -> None:
    assert not tried("a key of one unit", adjacency).refuted
    monkeypatch.setattr(KeySelection, "threshold", property(lambda selection: 4))
    assert tried("a key of one unit", adjacency).refuted


def test_persons_that_are_counted_once_for_all_their_groups_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A person of two regions counts in both: two cells must be paid."""
    sound = readings._of_persons

    def once(*given: Any) -> Any:
        found = sound(*given)
        return replace(found, sensitivity=replace(found.sensitivity, touched=1))

    assert not tried("persons by region", "add-remove").refuted
    monkeypatch.setattr(readings, "_of_persons", once)
    refused_by_the_kernel("persons by region", "add-remove")
    trust_planning(monkeypatch)
    assert tried("persons by region", "add-remove").refuted


# Groups that no row can be in are left out ---------------------------------------------------------------------


def test_a_pruning_that_depends_on_the_rows_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Mutant: of the bins that can match, those are left out that hold nobody."""
    case, target = QUERIES["bins that can match"], target_of(bits=SeededByHash(1))
    study, tables = study_of(case, "replace-one", "gdp", target), tables_of(case, "replace-one", tmp_path)
    assert not replay(study, tables, case.asked[0], bits=target.bits, epsilon=1).refuted
    kept, planned, left = cells._kept, Curator._planned, []

    def looks_first(self: Any, *asked: Any, **how: Any) -> Any:
        left.clear()
        batch, engine = planned(self, *asked, **how), self._engine
        if batch.readings[0].kept is not None:
            engine.prepare(batch.readings)
            ((counts,),) = engine.exact(batch.readings)
            left.extend(place for place, rows in zip(batch.readings[0].kept, counts, strict=True) if rows)
        return planned(self, *asked, **how)

    monkeypatch.setattr(cells, "_kept", lambda *asked: tuple(left) or kept(*asked))
    monkeypatch.setattr(Curator, "_planned", looks_first)
    found = replay(study, tables, case.asked[0], bits=target.bits, epsilon=1)
    assert any(fault.startswith("the shape differs") for fault in found.faults)
    assert any(fault.startswith("the receipts differ") for fault in found.faults)


def test_kept_groups_that_are_priced_as_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: two bins can match, and the price is that of one."""
    _mutate_readings(
        monkeypatch, lambda reading: replace(reading, sensitivity=replace(reading.sensitivity, cells=1))
    )
    assert tried("bins that can match").refuted


def test_an_exchange_in_the_one_kept_group_priced_as_a_join_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mutant: where one group is kept the exchanged unit is paid for as if it were not there before."""
    name = "the one group that can match"
    _mutate_readings(
        monkeypatch,
        lambda reading: replace(reading, sensitivity=replace(reading.sensitivity, adjacency="add-remove")),
    )
    assert tried(name).refuted


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_persons_of_one_kept_group_counted_by_their_rows_are_found(
    monkeypatch: pytest.MonkeyPatch, adjacency: Adjacency
) -> None:
    """Mutant: one group, so one contribution is paid for, but every row of a person counts."""
    _mutate_readings(monkeypatch, lambda reading: replace(reading, persons=None))
    assert tried("persons of the one group that can match", adjacency).refuted


# Truths about values as they came --------------------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(
    "name",
    [name for name, case in QUERIES.items() if "CLIPPED" in case.asked[0] or "UNDECLARED" in case.asked[0]],
)
def test_a_truth_about_a_raw_value_with_half_its_sensitivity_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, adjacency: Adjacency
) -> None:
    """Mutant: whether a value was outside counts twice, and is paid for once."""

    def counts_twice(reading: Any) -> Any:
        twice = (replace(one, times=2 * one.times, minus=2 * one.minus) for one in reading.coordinates)
        return replace(reading, coordinates=tuple(twice))

    _mutate_readings(monkeypatch, counts_twice)
    assert tried(name, adjacency).refuted


def _mutate_readings(
    monkeypatch: pytest.MonkeyPatch, mutant: Callable[[Any], Any], *, trusted: bool = True
) -> None:
    if trusted:
        trust_planning(monkeypatch)
    sound = plan.readings_for
    monkeypatch.setattr(plan, "readings_for", lambda *given: tuple(map(mutant, sound(*given))))


def test_what_planning_gets_wrong_about_a_reading_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _mutate_readings(
        monkeypatch,
        lambda reading: replace(reading, sensitivity=replace(reading.sensitivity, cells=1)),
        trusted=False,
    )
    refused_by_the_kernel("bins that can match")


@pytest.mark.parametrize(
    "name", [name for name in QUERIES if "can match" in name or "clipped" in name or "undeclared" in name]
)
def test_the_sound_twins_of_these_are_not_refuted(name: str) -> None:
    for adjacency in ADJACENCIES:
        assert not tried(name, adjacency).refuted


# A receipt that is read again -------------------------------------------------------------------------------------


def read_again(accounting: str) -> list[Tried]:
    trials = entry_named(f"{accounting}-read-again").trials(replace(TARGET, bits=SeededByHash(1)))
    return [try_one(trial, SAMPLES, 0.999) for trial in trials]


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES)
def test_a_receipt_that_is_read_again_loses_one_charge(accounting: str) -> None:
    """The bound also comes near the claim, so the answers are not merely hard to look at."""
    for found in read_again(accounting):
        assert not found.refuted
        assert found.verdict.lower_bound > 0.35


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES)
def test_fresh_noise_for_a_receipt_that_is_read_again_is_found(
    monkeypatch: pytest.MonkeyPatch, accounting: str
) -> None:
    """Mutant: the kernel shows what it drew itself, and not what the ledger kept."""

    def own(paid: Any, data: Any, bits: Any, written: Any) -> Any:
        number = paid.receipt.number
        kept = written.made(paid.priced.measurement.release(PaidData(paid, data), bits))
        data.observer.releases(number)
        paid.ledger.remember(number, written.text(kept), *(written.final_cost(number, kept) or ()))
        return made_here(Released(paid, lambda: kept))

    plant(monkeypatch, releasing.release, own)
    assert all(found.refuted for found in read_again(accounting))


@pytest.mark.parametrize("accounting", ACCOUNTING_NAMES)
def test_a_ledger_that_does_not_say_which_answer_it_kept_is_found(
    monkeypatch: pytest.MonkeyPatch, accounting: str
) -> None:
    """Mutant: ``remember`` returns the answer that it was given."""
    sound = SqliteLedger.remember

    def given(self: Any, number: int, answer: str, *final: int) -> str:
        sound(self, number, answer, *final)
        return answer

    monkeypatch.setattr(SqliteLedger, "remember", given)
    assert all(found.refuted for found in read_again(accounting))


def test_a_second_charge_for_an_answer_that_was_cut_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: what was paid for and never answered is not looked for."""
    monkeypatch.setattr(Walk, "_unanswered", lambda self, plan, request: None)
    for trial in entry_named("gdp-read-again").trials(target_of(bits=SeededByHash(1))):
        assert trial.replayed is not None
        assert trial.replayed.faults == ("2 charges for one answer",)


def test_every_kind_of_query_is_there() -> None:
    asked = " ".join(sql for case in QUERIES.values() for sql in case.asked)
    for word in (
        "VARIANCE",
        "STDDEV",
        "MEDIAN",
        "QUANTILE",
        "MIN(",
        "MAX(",
        "CDF",
        "DISTINCT",
        "FLOOR",
        "EXTRACT",
        "CLIPPED",
        "UNDECLARED",
    ):
        assert word in asked
    assert any(len(case.asked) > 1 for case in QUERIES.values())
