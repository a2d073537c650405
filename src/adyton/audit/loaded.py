"""Tables that many runs of an audit ask about: loaded once, and read anew by every run."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import finalize

from adyton.curator import Curator, open_study
from adyton.study import Study

_MOST = 16  # each has memory and threads of its own


class LoadedTables:
    """Opens curators as ``open_study`` does, each with a ledger of its own, for files that are asked often.

    Which rows there are, and in which part, follows from the study's fingerprint, which is also the salt of
    its engine, and from what is in the file.  Where both are the same, so is the engine.
    """

    def __init__(self) -> None:
        self._engines: dict[tuple[str, bytes], Any] = {}
        finalize(self, self._engines.clear)  # at the end of the process at the latest

    def open(self, study: Study, data: Path) -> Curator:
        opened, rows = open_study(study, data=data), (study.fingerprint, data.read_bytes())
        engine = self._engines.pop(rows, opened._engine)
        engine._kept = type(engine._kept)()  # no run is spared a scan because one before it made it
        self._engines[rows] = engine  # the newest last
        if len(self._engines) > _MOST:
            del self._engines[next(iter(self._engines))]  # it is closed with whatever still reads it
        return Curator(study, _StaysOpen(engine), opened._ledger)


class _StaysOpen:
    """An engine that is not closed with a curator: others read it too."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.prepare, self.exact, self.found = engine.prepare, engine.exact, engine.found

    def close(self) -> None:
        pass
