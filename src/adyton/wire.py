"""What sits in the ledger as text, and back.  No pickle, no import by name: one explicit shape, checked."""

from __future__ import annotations

import json

from adyton.errors import LedgerCorrupt

Released = list[list[list[int]]]


def released_to_text(released: Released) -> str:
    """Noisy integers as JSON; digits as text, because other readers of JSON know no large integers."""
    return json.dumps([[[str(z) for z in cells] for cells in part] for part in released])


def released_from_text(text: str) -> Released:
    try:
        return [[[int(z) for z in cells] for cells in part] for part in json.loads(text)]
    except (ValueError, TypeError):
        raise LedgerCorrupt("a stored answer cannot be read back") from None
