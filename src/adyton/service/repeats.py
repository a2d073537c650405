"""Answers that were given before, as they left: whoever asks the same again gets the same bytes.

What a repeat says follows from the ledger, down to what is left.  So it is given again only as long as
nothing was written there, by whatever process; then it is made anew.  Who may ask is somebody else's to know.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger import Ledger
from adyton.ledgers.changes import Changes, Stamp, changes_of
from adyton.service.identity import Identity

_MOST_BYTES = 16_000_000  # of all that is kept
_LARGEST = 100_000  # of one
Key = tuple[Identity, str, bytes]  # who asks, in which form, and the request as it came
_Told = TypeVar("_Told")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[_Told]):
    told: _Told
    stamp: Stamp
    size: int


class Repeats(Generic[_Told]):
    """Of one study.  ``find`` waits for nothing, and may be called where nothing may take long."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._changes = ledger, None
        self._kept: OrderedDict[Key, _Kept[_Told]] = OrderedDict()
        self._bytes, self._lock = 0, threading.Lock()

    _changes: Changes | None

    def find(self, key: Key) -> _Told | None:
        """What was told before, if it would be told in the same words now."""
        with self._lock:
            kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.stamp == self.stamp():
            return kept.told
        self._drop(key)
        return None

    def stamp(self) -> Stamp | None:
        """None where nobody can say whether anything was written."""
        if self._changes is None:
            self._changes = changes_of(self._ledger)
        try:
            return None if self._changes is None else self._changes.stamp()
        except LedgerCorrupt:  # whoever asks the ledger itself is told so
            return None

    def keep(self, key: Key, told: _Told, size: int, before: Stamp | None) -> None:
        """``told`` was made after ``before``: if anything was written meanwhile it is never found."""
        size += len(key[1]) + len(key[2])
        if before is None or size > _LARGEST:
            return
        self._drop(key)
        with self._lock:
            self._kept[key] = _Kept(told, before, size)
            self._bytes += size
            while self._bytes > _MOST_BYTES:
                self._bytes -= self._kept.popitem(last=False)[1].size

    def close(self) -> None:
        if self._changes is not None:
            self._changes.close()

    def _drop(self, key: Key) -> None:
        with self._lock:
            kept = self._kept.pop(key, None)
            self._bytes -= kept.size if kept is not None else 0
