"""Bugs planted into whole questions: too little paid, too low a threshold.  The auditor of questions finds them.

The sound twin of each is in ``make audit``.  Bits are seeded, so nothing here depends on luck.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adyton.audit.catalogue import wish_of
from adyton.audit.questions import QUESTIONS, ask_both
from adyton.audit.report import Tried, try_one
from adyton.audit.trial import Trial
from adyton.curator import families, plan
from adyton.mechanisms.key_selection import KeySelection
from adyton.privacy import Neighbours
from adyton.sensitivity import readings

SAMPLES = 20_000


class Seeded:
    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def words(self, count: int) -> np.ndarray:
        return self._generator.integers(0, 2**64, count, dtype=np.uint64)


def tried(name: str, neighbours: Neighbours = "replace", filter_name: str = "gdp") -> Tried:
    asked = ask_both(name, neighbours, filter_name, wish_of(bits=Seeded(1)))
    trial = Trial("planted", name, neighbours, asked.release, asked.pair, asked.claim, mu=asked.mu)
    return try_one(trial, SAMPLES, 0.999)


def test_a_search_that_pays_for_one_comparison_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not tried("greatest").refuted
    monkeypatch.setattr(plan, "rounds_of", lambda reading: 1)
    assert tried("greatest").refuted


def test_disjoint_filters_that_pay_once_for_an_exchange_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that leaves one filter enters another: both must be paid."""
    whole = lambda made, unit: {place: Fraction(1, len(made)) for own in made for place in own}  # noqa: E731
    assert not tried("disjoint filters").refuted
    monkeypatch.setattr(plan, "shares_of", whole)
    monkeypatch.setattr(
        plan, "due", lambda parts, made, unit, rule: families.due(parts, made, _added(unit), rule)
    )
    assert tried("disjoint filters").refuted


def _added(unit: Any) -> Any:
    from dataclasses import replace

    return replace(unit, neighbours="add-or-remove")


def test_a_distribution_whose_bins_are_taken_for_one_cell_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = readings._readings

    def one_cell(name: str, measure: Any, question: Any, unit: Any, cells: int) -> Any:
        from dataclasses import replace

        found = sound(name, measure, question, unit, cells)
        return tuple(replace(r, sensitivity=replace(r.sensitivity, cells=1)) for r in found)

    assert not tried("distribution").refuted
    monkeypatch.setattr(readings, "_readings", one_cell)
    assert tried("distribution").refuted


@pytest.mark.parametrize("neighbours", ["replace", "add-or-remove"])
def test_a_threshold_that_shows_keys_of_one_unit_is_found(
    monkeypatch: pytest.MonkeyPatch, neighbours: Neighbours
) -> None:
    assert not tried("a key of one unit", neighbours).refuted
    monkeypatch.setattr(KeySelection, "threshold", property(lambda selection: 4))
    assert tried("a key of one unit", neighbours).refuted


def test_persons_that_are_counted_once_for_all_their_groups_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A person of two regions counts in both: two cells must be paid."""
    sound = readings._of_persons

    def once(*given: Any) -> Any:
        from dataclasses import replace

        found = sound(*given)
        return replace(found, sensitivity=replace(found.sensitivity, touched=1))

    assert not tried("persons by region", "add-or-remove").refuted
    monkeypatch.setattr(readings, "_of_persons", once)
    assert tried("persons by region", "add-or-remove").refuted


def test_every_kind_of_question_is_there() -> None:
    asked = " ".join(sql for case in QUESTIONS.values() for sql in case.asked)
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
    ):
        assert word in asked
    assert any(len(case.asked) > 1 for case in QUESTIONS.values())
