"""Bugs planted into a function wherever it was imported, as a wrong line in it would be everywhere at once."""

from __future__ import annotations

import sys
from typing import Any

import pytest


def plant(monkeypatch: pytest.MonkeyPatch, sound: Any, mutant: Any) -> None:
    """Every module of the project that has this function has the mutant in its place."""
    planted = 0
    for name, module in list(sys.modules.items()):
        if name.startswith("adyton.") and vars(module).get(sound.__name__) is sound:
            monkeypatch.setattr(module, sound.__name__, mutant)
            planted += 1
    assert planted, sound


def trust_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the kernel believes what a reading says of its own sensitivity."""
    from adyton.kernel.sensitivities import check_reading

    plant(monkeypatch, check_reading, lambda reading, unit: None)
