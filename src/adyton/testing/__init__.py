"""Contracts for plug-in writers: a back end is accepted when it passes the contract of what it replaces.

The modules in here need ``pytest`` and ``hypothesis``; nothing else in adyton imports them.
"""

from typing import TYPE_CHECKING

from adyton.late import late

if TYPE_CHECKING:
    from adyton.testing.engines.contract import EngineContract
    from adyton.testing.engines.joins import JoinContract
    from adyton.testing.ledgers.contract import LedgerContract

# Loaded when asked for: pytest can rewrite the asserts of what is imported after it, and of nothing before.
__getattr__ = late(
    __name__,
    {
        "EngineContract": "engines.contract",
        "JoinContract": "engines.joins",
        "LedgerContract": "ledgers.contract",
    },
)

__all__ = ["EngineContract", "JoinContract", "LedgerContract"]
