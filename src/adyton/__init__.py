"""adyton: question data you may not see.

Every answer is differentially private, carries its intervals, and leaves a receipt in a ledger that cannot be
overspent.  ``adyton.open("people.toml").ask("SELECT COUNT(*) FROM people", within=50)``
"""

from typing import TYPE_CHECKING

from adyton.certify import Answer, Certificate, Interval, Preview, Statement
from adyton.curator import Curator
from adyton.curator import open_study as open  # the front door is called open, as files have it  # noqa: A004
from adyton.errors import (
    BudgetRefused,
    CuratorError,
    EngineFailed,
    Forbidden,
    InvalidRequest,
    LedgerCorrupt,
)
from adyton.late import late
from adyton.ledger import MemoryLedger, Receipt, SqliteLedger
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.query import questions
from adyton.query.questions import count, histogram, mean, proportion, sum_of
from adyton.schema import Table
from adyton.study import Study, read_study

if TYPE_CHECKING:
    from adyton.holdout import Holdout, Leaderboard

__getattr__ = late(__name__, {"Holdout": "holdout", "Leaderboard": "holdout"})

__all__ = [
    "Answer",
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
    "PrivacyUnit",
    "Receipt",
    "SqliteLedger",
    "Statement",
    "Study",
    "Table",
    "count",
    "histogram",
    "mean",
    "open",
    "proportion",
    "questions",
    "read_study",
    "sum_of",
]
