"""DuckDB, embedded: the default engine.

The source is read once, into a table of clipped integers that lives in memory; then the database is locked:
no files, no network, no extensions, no settings.  What is asked later can only touch that table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from adyton.engines.loaded import JoinMember, LoadedEngine, Loading
from adyton.engines.loading.clipped import Origin
from adyton.engines.loading.csv_lines import SEPARATORS
from adyton.engines.loading.sources import (
    PARQUET,
    DuckDBDialect,
    Unreadable,
    connect,
    execute,
    load_lines,
    named,
    one_thread,
    opened,
    opened_with_care,
    parted_by_position,
)
from adyton.engines.scans.reading import KeptCubes, exact_from
from adyton.engines.stopping import SECONDS, SECONDS_TO_LOAD, interruptible
from adyton.errors import sealed
from adyton.kernel.engine import Exact
from adyton.kernel.exact.cells import Array, weighted
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table
from adyton.kernel.sensitivity import Reading

_LOCKED = """
    SET autoinstall_known_extensions = false;
    SET autoload_known_extensions = false;
    SET allow_community_extensions = false;
    SET python_enable_replacements = false;
    SET enable_external_access = false;
    SET lock_configuration = true
"""

_HALF = 2**62  # a machine integer holds what is left of a division by it

# DuckDB would write what does not fit into memory, in clear, to a folder ``.tmp`` of whoever started us.
_MEMORY_ONLY = ""


class DuckDBLimits(TypedDict, total=False):
    memory_limit: str
    threads: int
    temp_directory: str  # where it may write what does not fit into memory


class DuckDBEngine(LoadedEngine):
    """Answers from a Parquet or CSV file, or from a pandas, polars or Arrow table.

    ``timeout`` is in seconds for one scan.  ``limits`` are DuckDB's own: ``memory_limit`` (four fifths of
    the machine unless given), ``threads``, and ``temp_directory``, a folder for what does not fit into memory
    (none unless given: then it fails).
    """

    def __init__(
        self,
        table: Table,
        unit: PrivacyUnit,
        source: Path | Any,
        salt: str = "",
        *,
        timeout: float = SECONDS,
        loads: Callable[..., Loading] = Loading,
        **limits: Unpack[DuckDBLimits],
    ) -> None:
        super().__init__(loads(table, unit, source, salt), "units", DuckDBDialect(), timeout)
        self._limits = limits
        self._connection: Any = None
        self._kept = KeptCubes()  # the table is loaded once

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        if self._connection is not None:
            return  # without the lock: whoever is refused must not wait for a scan, and learn how long it was
        with self._lock:
            if self._connection is None:
                self._connection = sealed(
                    self._loaded,
                    lambda error: f"{named(self._loading.source)} cannot be read: {type(error).__name__}",
                )

    def _loaded(self) -> Any:
        """A connection that holds the units.  What one value made impossible is tried once more, with care:
        DuckDB itself refuses all of a Parquet file for a text that is too large, or no valid Unicode.
        """
        for careful in (False, True):
            connection = connect(**({"temp_directory": _MEMORY_ONLY} | self._limits))
            try:
                with self._time.on(connection.interrupt, SECONDS_TO_LOAD):
                    self._load(connection, careful)
                return connection
            except Unreadable:
                connection.close()
                if careful or not any(_is_parquet(member) for member in self._loading.members):
                    raise
            except BaseException:
                connection.close()
                raise
        raise AssertionError("the second attempt ends the loop")

    def exact(self, readings: Sequence[Reading]) -> Exact:
        return exact_from(self._units, self._run, readings, self._run_columns, self._kept)

    def close(self) -> None:
        self._time.close()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        with self._lock, interruptible(), self._time.on(self._connection.interrupt):
            rows: list[tuple[Any, ...]] = self._connection.execute(sql).fetchall()
        return rows

    def _run_columns(self, sql: str, keys: int, values: int) -> list[Array]:
        """A sum has 128 bits, of which numpy knows nothing: each comes in two parts."""
        names = [f"k{i}" for i in range(keys)], [f"v{i}" for i in range(values)]
        parts = [f"CAST({v} {sign} {_HALF} AS BIGINT)" for v in names[1] for sign in ("//", "%")]
        present = " AND ".join(f"{key} IS NOT NULL" for key in names[0])
        listed = [*names[0], *(f"coalesce({part}, 0) AS p{i}" for i, part in enumerate(parts))]
        inner = f"({sql}) AS found({', '.join([*names[0], *names[1]])})"
        statement = f"SELECT {', '.join(listed)} FROM {inner} WHERE {present or 'true'}"
        with self._lock, interruptible(), self._time.on(self._connection.interrupt):
            told = list(self._connection.execute(statement).fetchnumpy().values())
        sides = [np.asarray(side).astype(np.int64) for side in told]
        pairs = zip(sides[keys::2], sides[keys + 1 :: 2], strict=True)
        return sides[:keys] + [weighted((_HALF, high), (1, low)) for high, low in pairs]

    def _load(self, connection: Any, careful: bool) -> None:
        loading = self._loading
        told_apart = loading.unit.parts > 1 or loading.unit.reserve is not None
        by_position = told_apart and loading.by_rows
        with contextlib.ExitStack() as sources:
            if by_position:
                sources.enter_context(one_thread(connection))
            known = [self._open(sources, connection, place, careful) for place in range(len(loading.members))]
            self._units = replace(self._units, told=loading.told(known))
            if known[0].valued != "units":
                execute(connection, f"CREATE TABLE units AS {loading.sql(known)}", loading.source)
            self._check_size(known, lambda sql: execute(connection, sql, loading.source))
        for one in known:
            if one.valued not in (None, "units"):
                connection.execute(f"DROP TABLE {one.valued}")
        if by_position:
            execute(connection, parted_by_position(loading.unit, loading.salt), loading.source)
        connection.execute(_LOCKED)

    def _open(self, sources: contextlib.ExitStack, connection: Any, place: int, careful: bool) -> Origin:
        """A member's source; the lines of a CSV file are read here already, part by part, and so is what is
        read twice: a source may be one that is gone after the first time.
        """
        member, given = self._loading.members[place], f"given{place}"
        known: Origin = sources.enter_context(opened(connection, member.source, given))
        if careful and _is_parquet(member):
            wanted = self._loading.wanted(place, known)
            known = sources.enter_context(opened_with_care(connection, member.source, known, wanted, given))
        lines = isinstance(member.source, Path) and member.source.suffix.lower() in SEPARATORS
        if not lines and not self._loading.counts_persons:
            return known
        target = "units" if self._loading.by_rows else f"valued{place}"
        valued = self._loading.valued(place, known)
        if lines:
            load_lines(connection, member.source, given, target, valued)
        else:
            execute(connection, f"CREATE TABLE {target} AS {valued}", member.source)
        return replace(known, valued=target)


def _is_parquet(member: JoinMember) -> bool:
    return isinstance(member.source, Path) and member.source.suffix.lower() in PARQUET
