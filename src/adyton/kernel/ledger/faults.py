"""What a store or a disk cannot do, in words that say what to do about it."""

from __future__ import annotations

import errno
from pathlib import Path

from adyton.errors import LedgerCorrupt

_READ_ONLY = "it is read-only here: it can be read, listed and verified, but nothing can be asked"
_FULL = "the disk is full: make room and ask again"
_DISK = "the disk reported an error, so what was written last may not be durable: check the disk"
_CLOSED_DOOR = "it cannot be opened: look at the permissions of the file and of its folder"
# The beginnings of SQLite's names for what went wrong.
_OF_SQLITE = {
    "SQLITE_FULL": _FULL,
    "SQLITE_IOERR": _DISK,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_CANTOPEN": _CLOSED_DOOR,
    "SQLITE_PERM": _CLOSED_DOOR,
    "SQLITE_AUTH": _CLOSED_DOOR,
    "SQLITE_BUSY": "other processes kept it locked for too long: ask again",
    "SQLITE_LOCKED": "other processes kept it locked for too long: ask again",
    "SQLITE_NOTADB": "it is not a ledger",
    "SQLITE_CORRUPT": "its file is damaged: keep it, and look for a backup and for a second copy",
    "SQLITE_CONSTRAINT": "it takes no changes, only additions, and something tried to change it",
    "SQLITE_ERROR": "its tables are not those of a ledger",
    "SQLITE_NOMEM": "there is not enough memory",
    "SQLITE_TOOBIG": "this is too large for it",
}
_OF_THE_SYSTEM = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EIO: _DISK,
    errno.EROFS: "its folder is read-only",
    errno.EACCES: "its folder does not allow it: look at the permissions",
    errno.EPERM: "its folder does not allow it: look at the permissions",
    errno.ENOENT: "there is no such file or folder",
    errno.ENOTDIR: "there is no such file or folder",
    errno.EISDIR: "it is a folder",
}


def reason(fault: Exception) -> str:
    name = getattr(fault, "sqlite_errorname", "")
    found = next((words for begin, words in _OF_SQLITE.items() if name.startswith(begin)), None)
    if found is None and isinstance(fault, OSError):
        found = _OF_THE_SYSTEM.get(fault.errno or 0)
    return found or "its file could not be used"


def is_of_the_disk(fault: Exception) -> bool:
    """After which nobody knows what of the last writes is on the disk."""
    return getattr(fault, "sqlite_errorname", "").startswith(("SQLITE_IOERR", "SQLITE_FULL"))


def failed(path: Path, fault: Exception) -> LedgerCorrupt:
    return LedgerCorrupt(f"the ledger {path.name} cannot be used: {reason(fault)}; nothing was answered")
