"""What is asked, as it is sent: queries as text, numbers as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from adyton.curator.tables import Asking
from adyton.errors import InvalidRequest
from adyton.kernel.exact import rational
from adyton.kernel.schema import Table
from adyton.query.draft import Draft
from adyton.query.nodes import Query
from adyton.query.text import query_text

_SELECTIONS = (
    "best_of is not asked over the network; of groups, ask for the first in the order of a value that is not "
    "listed, at an epsilon or a share: SELECT region FROM people GROUP BY region ORDER BY COUNT(*) DESC "
    "LIMIT 1"
)


def text_of(query: Asking, table: Table) -> str:
    """SQL as it is; a query that was made in Python as its canonical text."""
    match query:
        case str():
            return query
        case Draft():
            return query.text(table)
        case Query():
            return query_text(query)
        case _ if hasattr(query, "candidates"):
            raise InvalidRequest(_SELECTIONS)
        case _:
            raise InvalidRequest(f"a query is SQL, a draft or a Query, not a {type(query).__name__}")


def words_of(**said: Any) -> dict[str, Any]:
    """What was said, without what was not; numbers with every digit."""
    return {name: _plain(value, name) for name, value in said.items() if value is not None}


def _plain(value: Any, name: str) -> Any:
    match value:
        case str() | bool() | int() | float() | list():
            return value
        case Decimal() | Fraction():
            return str(value)
        case Mapping():
            return {str(inner): _plain(one, f"{name} for {inner!r}") for inner, one in value.items()}
        case _:
            return str(rational(value, name))  # refuses what is no number, in the words of a curator
