"""A SQLite ledger where nothing can be written: an auditor's copy, or a folder that is read-only."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from adyton.ledger.stored.sqlite import opened


def opened_to_read(path: Path) -> sqlite3.Connection:
    """SQLite reads a log only where it may write beside it, and leaves it out of a file that cannot change.

    So a ledger without a log is read as it is, and one with a log is put together in memory.
    """
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size:
        return opened(path.as_uri() + "?mode=ro&immutable=1")
    with tempfile.TemporaryDirectory() as folder:  # for its owner alone, as the ledger is
        copy = Path(folder, path.name)
        for file, place in ((path, copy), (log, copy.with_name(log.name))):
            shutil.copyfile(file, place)
        memory = opened(":memory:")
        with closing(sqlite3.connect(copy)) as whole:
            whole.backup(memory)
    return memory
