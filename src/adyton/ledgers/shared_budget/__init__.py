"""A budget that several studies of the same persons share: a charge must fit the study and this budget."""

from adyton.ledgers.shared_budget.facts import SharedBudgetFacts
from adyton.ledgers.shared_budget.file import SharedBudget
from adyton.ledgers.shared_budget.joining import joined
from adyton.ledgers.shared_budget.ledger import SharedBudgetLedger

__all__ = ["SharedBudget", "SharedBudgetFacts", "SharedBudgetLedger", "joined"]
