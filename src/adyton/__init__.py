"""adyton: query data you may not see.

Every answer is differentially private, carries its intervals, and leaves a receipt in a ledger that cannot be
overspent.  ``adyton.open("people.toml").ask("SELECT COUNT(*) FROM people", within=50)``
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Everything is loaded when it is asked for: the command can then answer Ctrl-C from its first moment on.
if TYPE_CHECKING:
    from adyton.certify import Answer, Budget, Certificate, Interval, Preview
    from adyton.client import connect
    from adyton.curator import Curator
    from adyton.curator import open_study as open  # open, like the built-in for files  # noqa: A004
    from adyton.errors import (
        BudgetRefused,
        CuratorError,
        EngineFailed,
        Forbidden,
        InvalidRequest,
        LedgerCorrupt,
        PrivacyRefused,
        ScoresRefused,
        ValidityRefused,
    )
    from adyton.holdout import Holdout, Leaderboard
    from adyton.kernel.ledger import MemoryLedger, Receipt, SqliteLedger
    from adyton.kernel.privacy import Guarantee, PrivacyUnit
    from adyton.kernel.schema import Table
    from adyton.ledgers.shared_budget import SharedBudget
    from adyton.query import queries
    from adyton.query.queries import (
        count,
        count_persons,
        histogram,
        mean,
        median,
        proportion,
        quantile,
        sum_of,
    )
    from adyton.query.selecting import best_of
    from adyton.study import Study, read_study

__version__ = "0.1.0"

_PLACES = {
    "certify": ("Answer", "Certificate", "Interval", "Preview", "Budget"),
    "client": ("connect",),
    "curator": ("Curator",),
    "errors": (
        "BudgetRefused",
        "CuratorError",
        "EngineFailed",
        "Forbidden",
        "InvalidRequest",
        "LedgerCorrupt",
        "PrivacyRefused",
        "ScoresRefused",
        "ValidityRefused",
    ),
    "holdout": ("Holdout", "Leaderboard"),
    "kernel.ledger": ("MemoryLedger", "Receipt", "SqliteLedger"),
    "ledgers.shared_budget": ("SharedBudget",),
    "kernel.privacy": ("Guarantee", "PrivacyUnit"),
    "query.queries": (
        "count",
        "count_persons",
        "histogram",
        "mean",
        "median",
        "proportion",
        "quantile",
        "sum_of",
    ),
    "query.selecting": ("best_of",),
    "kernel.schema": ("Table",),
    "study": ("Study", "read_study"),
}
_LATE = {name: place for place, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "open":
        return import_module("adyton.curator").open_study
    if name == "queries":
        return import_module("adyton.query.queries")
    if name not in _LATE:
        raise AttributeError(f"module 'adyton' has no attribute {name!r}")
    return getattr(import_module(f"adyton.{_LATE[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]


__all__ = [
    "Answer",
    "Budget",
    "BudgetRefused",
    "Certificate",
    "Curator",
    "CuratorError",
    "EngineFailed",
    "Forbidden",
    "Guarantee",
    "Holdout",
    "Interval",
    "InvalidRequest",
    "Leaderboard",
    "LedgerCorrupt",
    "MemoryLedger",
    "Preview",
    "PrivacyRefused",
    "PrivacyUnit",
    "Receipt",
    "ScoresRefused",
    "SharedBudget",
    "SqliteLedger",
    "Study",
    "Table",
    "ValidityRefused",
    "best_of",
    "connect",
    "count",
    "count_persons",
    "histogram",
    "mean",
    "median",
    "open",
    "proportion",
    "quantile",
    "queries",
    "read_study",
    "sum_of",
]
