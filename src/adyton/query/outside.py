"""A truth about a value as it came: before it was clipped, rounded, or looked for in a list.

Everything else that can be asked is about the value as it is declared, so nobody would see how much of it is
an artefact of wrong bounds or of a list that lacks a value.
"""

from __future__ import annotations

from dataclasses import dataclass

from adyton.errors import InvalidRequest
from adyton.schema import CategoryColumn, DateColumn, IntegerColumn, RealColumn

# What can lie outside: a number or a day of its bounds, a category of its list.
Bounded = IntegerColumn | RealColumn | DateColumn | CategoryColumn


@dataclass(frozen=True, slots=True)
class IsOutside:
    """Whether the value came from outside of what is declared; missing where there was none.

    SQL: CLIPPED(column) of a number or a date, UNDECLARED(column) of a category.
    """

    column: Bounded

    def __post_init__(self) -> None:
        if not isinstance(self.column, Bounded):
            name, kind = self.column.name, self.column.kind
            advice = {
                "text": "no values of it are declared, so none is undeclared; a column with a list of values "
                "is a category",
                "boolean": f"it has neither bounds nor a list; ask where {name} IS NULL",
            }
            raise InvalidRequest(f"{name!r} is a {kind} column: {advice.get(kind, 'it has no bounds')}")

    @property
    def word(self) -> str:
        """The function that asks for it."""
        return word_for(self.column)


def word_for(column: Bounded) -> str:
    return "UNDECLARED" if isinstance(column, CategoryColumn) else "CLIPPED"
