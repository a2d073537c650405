"""A measure that is an expression of measures of the kernel: they are read and paid for, it is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from adyton.kernel.terms.expressions import Condition, NumberExpression, number
from adyton.kernel.terms.measures import Measure
from adyton.query.names import default_name
from adyton.query.released.nodes import Released
from adyton.query.text import filtered_text, number_text

Parts = tuple[tuple[str, Measure], ...]


class Computed(NamedTuple):
    """What is asked for where a computed measure is: ``parts`` with their names, and its own ``name``."""

    name: str
    parts: Parts
    value: Callable[..., Released]  # from what each part released


@dataclass(frozen=True, slots=True)
class ComputedMeasure:
    """What is read for a measure, and how its value follows.

    ``parts``: from the numbers it is asked about, and the rows that count, to measures of the kernel with
    their names.  It refuses numbers that have no such value, and says what to declare or to write.
    ``value``: from the values of the parts to its own.  Its noise interval and its population interval are
    what that expression makes of theirs.  Theorem: BOX-OF-PARTS.
    """

    names: tuple[str, ...]  # in SQL; the first is the one that is written
    parts: Callable[..., Parts]
    value: Callable[..., Released]
    numbers: int = 1  # that it is asked about

    @property
    def name(self) -> str:
        return self.names[0]

    def form(self, name: str) -> str:
        """What to write, if it is called by ``name``."""
        return f"{name}({', '.join(['number'] * self.numbers)})"

    def of(self, values: list[NumberExpression], where: Condition) -> Computed:
        """What is asked for where it is asked about these numbers."""
        subject = number(values[0]) if self.numbers == 1 else None
        return Computed(default_name(self.name.lower(), subject), self.parts(*values, where), self.value)

    def text(self, values: list[NumberExpression], where: Condition) -> str:
        """As SQL writes it."""
        return filtered_text(f"{self.name}({', '.join(map(number_text, values))})", where)
