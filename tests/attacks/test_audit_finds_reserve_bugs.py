"""Bugs planted into studies that keep a reserve: a reader that includes it is seen by replay.

The sound studies are in ``make audit``.  Bits are seeded, so nothing here depends on luck.
"""

from __future__ import annotations

from typing import Any

import pytest

from adyton.audit.cases.catalogue import entry_named, target_of
from adyton.audit.cases.reserves import READ
from adyton.audit.report import try_one
from adyton.engines.loading import clipped, sources
from support.randomness import SeededByHash

INSIDE = {"a row in the reserve", "a person in the reserve", "a person who leaves the reserve"}


def trials(accounting: str) -> Any:
    return entry_named(f"{accounting}-reserve").trials(target_of(bits=SeededByHash(1)))


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_sound_studies_are_not_refuted_and_what_differs_outside_is_seen(accounting: str) -> None:
    for trial in trials(accounting):
        assert trial.replayed is not None
        assert not trial.replayed.faults, trial.title
        assert (trial.pair[0] == trial.pair[1]) == (trial.pair_name in INSIDE), trial.title
    found = try_one(next(trials(accounting)), 20_000, 0.999)
    assert not found.refuted
    assert found.verdict.lower_bound > 0.3 * found.verdict.claim.epsilon


def test_a_reader_that_includes_the_reserve_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: ``kept_by`` is always true, where persons are loaded and where rows are."""
    for place in (clipped, sources):
        monkeypatch.setattr(place, "kept_by", lambda *_: "true")
    found = {trial.pair_name for trial in trials("gdp") if READ in trial.replayed.faults}
    assert found == INSIDE
