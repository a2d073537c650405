"""All that one text says: the question, how its answer is shown, and a price if it names one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.query.draft import Draft
from adyton.query.nodes import Question
from adyton.query.scope import is_declared
from adyton.query.shape import AS_ASKED, Shape
from adyton.schema import Table


@dataclass(frozen=True, slots=True)
class Request:
    """A question, the shape of its answer, and what SELECT WITH ... OPTIONS says about its price."""

    question: Question
    shape: Shape = AS_ASKED
    epsilon: Fraction | None = None
    delta: Fraction | None = None

    @property
    def alone(self) -> Question:
        """The question, if nothing else is said: no price, and nothing about how to show its answer."""
        if self != Request(self.question):
            raise InvalidRequest(
                "a question alone is needed here, without ORDER BY, LIMIT, OFFSET, HAVING, epsilon or delta, "
                "and without another name for a column"
            )
        return self.question


def request_of(asked: str | Draft | Question, table: Table, *further: Table) -> Request:
    """What is asked about ``table``, however it was asked: as SQL, as a draft, or ready.

    SQL and ready questions may also be about ``further`` tables of the same persons, joined or not.
    """
    match asked:
        case str():
            from adyton.query.sql.read import parse_request  # the parser costs more than all other imports

            return parse_request(asked, table, *further)
        case Draft():
            return Request(asked.on(table))
        case Question():
            if not is_declared(asked.table, (table, *further)):
                raise InvalidRequest(f"the question is about another table than {table.name!r} as declared")
            return Request(asked)
        case _:
            raise InvalidRequest(f"a question is SQL, a draft or a Question, not a {type(asked).__name__}")
