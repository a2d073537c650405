"""What a study fixes for good and privacy rests on: who is protected, and how costs are added up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import Accounting
from adyton.kernel.privacy import PrivacyUnit, Reserve
from adyton.kernel.schema import Table
from adyton.kernel.terms.names import is_declared, private_part
from adyton.kernel.terms.persons import TableOfPersons

_MOST_KNOWN = 64  # tables whose unit is kept: every query asks for it several times


@dataclass(frozen=True, slots=True)
class Protection:
    """Of one study.

    ``unit``: who is protected, in the study's own ``table``, with the split of the units and their reserve.
    ``further``: the further private tables, with the most rows of one person in each.
    ``rule``: how costs are added up.  ``discovery_failure``: the part of delta for discovered groups.
    ``rounded``: answers are rounded, and validity counts their bits.  ``holdout``: the table is the labels of
    a holdout.
    """

    table: Table
    unit: PrivacyUnit
    rule: Accounting
    further: tuple[tuple[Table, int], ...] = ()
    discovery_failure: Fraction = Fraction(0)
    rounded: bool = False
    holdout: bool = False
    _known: dict[int, tuple[Table, PrivacyUnit]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def refuse_split_or_rounded(self, what: str) -> None:
        """For what reads all units at once, or releases numbers that are on no grid."""
        if self.unit.parts > 1 or self.rounded:
            raise InvalidRequest(f"{what} goes neither with a split of the units nor with rounded answers")

    def unit_of(self, table: Table) -> PrivacyUnit:
        """Who is protected, with the most rows that one of them has in ``table``, joined or not.

        Refuses a table that the study does not declare: an engine reads the declared one, with its bounds.
        A person is one row of a table of persons.  Theorems: JOINED-ROWS, TWO-LEVEL.
        """
        known = self._known.get(id(table))
        if known is not None and known[0] is table:
            return known[1]
        unit = self._unit_of(table)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[id(table)] = (table, unit)
        return unit

    def _unit_of(self, table: Table) -> PrivacyUnit:
        if isinstance(table, TableOfPersons):
            if table.of.most_rows != self.unit_of(table.of).rows:
                raise InvalidRequest(
                    "the bounds of a table of persons do not fit the rows of a person that count"
                )
            return replace(self.unit_of(table.of), rows=1, rows_in=())
        if not is_declared(private_part(table), (self.table, *(one for one, _ in self.further))):
            raise InvalidRequest("only tables that the study declares are read")
        most = {self.table.name: self.unit.rows, **{one.name: rows for one, rows in self.further}}
        members = table.join.tables if table.join is not None else (table,)
        rows_in = tuple(most[member.name] for member in members)
        return _unit_in(self.unit, table.person or self.unit.person, rows_in)


def unit_with(unit: PrivacyUnit, parts: int, reserve: Reserve | None) -> PrivacyUnit:
    """The unit of a study whose units are split into ``parts``, or some of them kept in a ``reserve``."""
    return unit if (unit.parts, unit.reserve) == (parts, reserve) else _split(unit, parts, reserve)


@lru_cache(maxsize=64)
def _split(unit: PrivacyUnit, parts: int, reserve: Reserve | None) -> PrivacyUnit:
    return replace(unit, parts=parts, reserve=reserve)


@lru_cache(maxsize=64)
def _unit_in(unit: PrivacyUnit, person: str | None, rows_in: tuple[int, ...]) -> PrivacyUnit:
    """Every query asks for it several times."""
    return unit.with_rows(person, rows_in)
