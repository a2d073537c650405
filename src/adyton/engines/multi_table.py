"""The engines of a study with several private tables: one for each table that is asked about."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from adyton.engines.choosing import EngineLimits, engine_for
from adyton.engines.loaded import Joined, JoinMember
from adyton.errors import InvalidRequest
from adyton.kernel.engine import DiscoveredGroup, Engine, Exact
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table
from adyton.kernel.sensitivity import Reading


class Engines:
    """Opens an engine when its table, joined or not, is first asked about, and asks each for its readings.

    ``members`` are the private tables of a study, its own first; ``salt`` and ``limits`` are for each engine.
    """

    def __init__(self, members: tuple[JoinMember, ...], salt: str, limits: EngineLimits) -> None:
        self._table = members[0].table
        self._members, self._salt, self._limits = {one.table.name: one for one in members}, salt, limits
        self._opened: dict[tuple[str, ...], Engine] = {}
        self._lock = threading.Lock()

    def of(self, table: Table) -> Engine:
        """The engine that reads ``table``; perhaps not yet prepared."""
        with self._lock:
            key = _key(table)
            if key not in self._opened:
                members = table.join.tables if table.join is not None else ()
                joined = tuple(replace(self._members[one.name], table=one) for one in members)
                source = Joined(joined) if joined else self._members[table.name].source
                self._opened[key] = engine_for(table, self._unit_of(table), source, self._salt, self._limits)
            return self._opened[key]

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        """Checks the public facts of all tables that are read, before anything is charged."""
        for table in self._tables_of(readings).values() or [self._table]:
            self.of(table).prepare()

    def exact(self, readings: Sequence[Reading]) -> Exact:
        """Each table is scanned once."""
        found: dict[int, Sequence[Sequence[int]]] = {}
        for key, table in self._tables_of(readings).items():
            places = [i for i, reading in enumerate(readings) if _key(self._table_of(reading)) == key]
            own = self.of(table).exact([readings[i] for i in places])
            found.update(zip(places, own, strict=True))
        return [found[i] for i in range(len(readings))]

    def found(self, readings: Sequence[Reading]) -> tuple[list[DiscoveredGroup], Exact]:
        return self.of(self._table_of(readings[0])).found(readings)

    def close(self) -> None:
        with self._lock:
            for engine in self._opened.values():
                engine.close()
            self._opened.clear()

    def _tables_of(self, readings: Sequence[Reading]) -> dict[tuple[str, ...], Table]:
        return {_key(table): table for table in map(self._table_of, readings)}

    def _table_of(self, reading: Reading) -> Table:
        """Where noise was made for fewer rows of a person than the table keeps, nothing is read."""
        asked = reading.table or self._table
        table = asked.behind
        most = reading.sensitivity.rows if table is asked else table.most_rows or 0
        if (reading.persons is None or table is not asked) and most < self._unit_of(table).rows:
            raise InvalidRequest(f"the noise does not fit the rows of a person in {table.name!r}")
        return table

    def _unit_of(self, table: Table) -> PrivacyUnit:
        units = [self._members[name].unit for name in _key(table)]
        return units[0].with_rows(table.person or units[0].person, tuple(unit.rows for unit in units))


def _key(table: Table) -> tuple[str, ...]:
    return tuple(member.name for member in table.join.tables) if table.join is not None else (table.name,)
