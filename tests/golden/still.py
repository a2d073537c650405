"""A world that stands still: whatever is random or a moment is the same in every run, on every machine.

Nothing of the product is called by name here but the moment of a charge: noise and secrets are taken from the system's
generator wherever they are drawn, so code may move without a change of this file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any
from unittest.mock import patch

from adyton.kernel.ledger import base

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).isoformat(timespec="seconds")


class Told:
    """Bytes that a name says, as many as one likes."""

    def __init__(self, name: str) -> None:
        self._name, self._drawn = name, 0

    def __call__(self, size: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(f"{self._name} {self._drawn}".encode()).digest(size)


@contextlib.contextmanager
def still(name: str) -> Iterator[None]:
    """Noise and secrets are two streams that ``name`` says: one more secret moves no noise.

    Secrets are the salts of a ledger and of its receipts, tokens, and keys of connections; heads need no cleaning.
    """
    with contextlib.ExitStack() as undo:
        undo.enter_context(patch.object(os, "urandom", Told(f"noise of {name}")))
        undo.enter_context(patch.object(random, "_urandom", Told(f"secrets of {name}")))
        for module in _those_with_the_moment(len(sys.modules)):
            undo.enter_context(patch.object(module, "now", lambda: MOMENT))
        yield


@cache
def _those_with_the_moment(loaded: int) -> list[Any]:
    """Anew, where more modules are ``loaded`` by now."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("adyton.")]
    return [module for module in modules if vars(module).get("now") is base.now]
