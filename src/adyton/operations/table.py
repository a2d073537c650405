"""All operations, and the few that are not on every surface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.operations.holdouts import HoldoutOperations
from adyton.operations.operation import Operation, OperationTable, Surface, entries
from adyton.operations.server import ServerOperations
from adyton.operations.studies import MockOperations, MonitorOperations, StudyOperations
from adyton.operations.tokens import TokenOperations

TABLES: tuple[type[OperationTable], ...] = (
    ServerOperations,
    StudyOperations,
    MockOperations,
    MonitorOperations,
    HoldoutOperations,
    TokenOperations,
)


def operations() -> tuple[Operation[Any, Any], ...]:
    """Every operation, once."""
    return tuple(operation for table in TABLES for operation in entries(table))


@dataclass(frozen=True, slots=True)
class NotThere:
    """Why something is not on a surface."""

    operation: Operation[Any, Any]
    surface: Surface
    reason: str


_IN_A_CONVERSATION = "a conversation with a model is read by others, and a token in it would be theirs"
_TOKENS = tuple(entries(TokenOperations))
EXCEPTIONS: tuple[NotThere, ...] = (
    *(NotThere(token, "tool", _IN_A_CONVERSATION) for token in _TOKENS),
    NotThere(
        MonitorOperations.feed,
        "page",
        "a form that is sent twice would be compared twice, and might use up two positives",
    ),
)
