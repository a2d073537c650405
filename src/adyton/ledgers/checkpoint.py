"""A small file, or a row in a database, outside the ledger that says how far it was: keep it elsewhere.

It is written anew after each addition; of a file under another name first, so that there is always a whole
one.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, fields
from pathlib import Path

from adyton.errors import LedgerCorrupt
from adyton.kernel.ledger.base import Mark, now
from adyton.kernel.ledger.faults import reason
from adyton.kernel.ledger.stored.sqlite import flush_folder
from adyton.kernel.ledger.texts import is_address

WAY_OUT = (
    "put the right file back; or go on with this copy, with all that was spent: adyton checkpoint accept "
    "STUDY; or, if the ledger is right and only its checkpoint was lost: adyton verify STUDY "
    "--write-checkpoint"
)
_FORMAT = 1
_LARGE = ("spent", "spent_radius", "spent_pure")  # as text: other readers of JSON know no large integers
_KINDS = {"str": str, "int": int, "bool": bool}


class Checkpoint:
    """``read`` and ``write``; whoever writes must make sure that it does not move backwards."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()

    @property
    def name(self) -> str:
        return self.path.name

    def read(self) -> Mark | None:
        """None if there is none."""
        try:
            text = self._stored()
            return None if text is None else _mark_in(text)
        except OSError as fault:
            raise self._failed(reason(fault)) from fault
        except (ValueError, TypeError, KeyError, AttributeError):
            raise self._failed(f"it is damaged, or not a checkpoint: {WAY_OUT}") from None

    def write(self, mark: Mark) -> None:
        """Durable when it returns, the old one or the new one at any moment before."""
        known = asdict(mark)
        known |= {name: str(known[name]) for name in _LARGE}
        self._store(json.dumps({"format": _FORMAT, **known, "written_at": now()}, indent=2) + "\n")

    def _stored(self) -> str | None:
        try:
            return self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def _store(self, text: str) -> None:
        draft: Path | None = None
        try:
            handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
            draft = Path(name)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
            flush_folder(self.path.parent)
        except OSError as fault:
            raise self._failed(reason(fault)) from fault
        finally:
            if draft is not None:
                draft.unlink(missing_ok=True)

    def _failed(self, why: str) -> LedgerCorrupt:
        return LedgerCorrupt(f"the checkpoint {self.name} cannot be used: {why}; nothing was answered")


def _mark_in(text: str) -> Mark:
    known = json.loads(text)
    if known.pop("format") != _FORMAT:
        raise ValueError
    del known["written_at"]
    mark = Mark(**known | {name: int(known[name]) for name in _LARGE})
    if not all(isinstance(getattr(mark, field.name), _KINDS[str(field.type)]) for field in fields(Mark)):
        raise ValueError
    return mark


def checkpoint_at(place: str | Path) -> Checkpoint:
    """A file, or at an address of Postgres a table."""
    if not is_address(place):
        return Checkpoint(place)
    from adyton.ledgers.checkpoint_table import TableCheckpoint

    return TableCheckpoint(str(place))
