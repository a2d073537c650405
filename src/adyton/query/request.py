"""All that one text says: the question, how its answer is shown, and a price if it names one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from adyton.query.draft import Draft, question_of
from adyton.query.nodes import Question
from adyton.query.scope import joined
from adyton.query.shape import AS_ASKED, Shape
from adyton.schema import Table


@dataclass(frozen=True, slots=True)
class Asking:
    """A question, the shape of its answer, and what SELECT WITH ... OPTIONS says about its price."""

    question: Question
    shape: Shape = AS_ASKED
    epsilon: Fraction | None = None
    delta: Fraction | None = None


def asking_of(asked: str | Draft | Question, table: Table, *further: Table) -> Asking:
    """What is asked about ``table``, however it was asked: as SQL, as a draft, or ready.

    SQL may join ``further`` tables of the same persons.
    """
    if isinstance(asked, str):
        from adyton.query.sql.read import parse_asking

        return parse_asking(asked, table, *further)
    if isinstance(asked, Question) and _is_about(asked, (table, *further)):
        return Asking(asked)
    return Asking(question_of(asked, table))


def _is_about(question: Question, tables: Sequence[Table]) -> bool:
    """A join must be exactly what its members make: bounds of its own would not fit the noise."""
    join = question.table.join
    if join is None:
        return question.table in tables
    return all(member in tables for member in join.tables) and question.table == joined(
        join.tables, join.links
    )
