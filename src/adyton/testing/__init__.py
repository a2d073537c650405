"""Contracts for plug-in writers: a back end is accepted when it passes the contract of what it replaces.

``LedgerContract`` for a ledger; ``EngineContract`` and, for one that joins tables, ``JoinContract`` for an
engine.  The modules in here need ``pytest`` and ``hypothesis``; nothing else in adyton imports them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adyton.testing.engines.contract import EngineContract
    from adyton.testing.engines.joins import JoinContract
    from adyton.testing.ledgers.contract import LedgerContract

_PLACES = {
    "EngineContract": "engines.contract",
    "JoinContract": "engines.joins",
    "LedgerContract": "ledgers.contract",
}


def __getattr__(name: str) -> Any:
    """Loaded when asked for: pytest rewrites the asserts of what is imported after it."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


__all__ = ["EngineContract", "JoinContract", "LedgerContract"]
