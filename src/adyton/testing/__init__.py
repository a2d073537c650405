"""Contracts for plug-in writers: a back end is accepted when it passes the contract of what it replaces.

``LedgerContract`` for a ledger; ``EngineContract`` and, for one that joins tables, ``JoinContract`` for an
engine.  The modules in here need ``pytest`` and ``hypothesis``; nothing else in adyton imports them.
"""

from typing import TYPE_CHECKING

from adyton.late import late

if TYPE_CHECKING:
    from adyton.testing.engines.contract import EngineContract
    from adyton.testing.engines.joins import JoinContract
    from adyton.testing.ledgers.contract import LedgerContract

_LATE = {
    "EngineContract": "engines.contract",
    "JoinContract": "engines.joins",
    "LedgerContract": "ledgers.contract",
}
__getattr__ = late(__name__, _LATE)

__all__ = ["EngineContract", "JoinContract", "LedgerContract"]
