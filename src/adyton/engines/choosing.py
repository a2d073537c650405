"""Which engine reads a source: the one that lives where the data lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adyton.engines.duckdb import DuckDBEngine, DuckDBLimits
from adyton.engines.loaded import Joined, JoinMember, Loading
from adyton.engines.postgres import SCHEMES, PostgresEngine, is_postgres_address
from adyton.engines.spark import SparkEngine, is_spark_frame
from adyton.errors import InvalidRequest
from adyton.kernel.engine import Engine
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table


class EngineLimits(DuckDBLimits, total=False):
    """What an engine may take: ``timeout`` in seconds for one scan; memory as the engine itself writes it."""

    timeout: float
    work_mem: str  # Postgres


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """``make(table, unit, source, salt, **limits)`` is a new engine; ``reads`` says if a source is its."""

    make: Callable[..., Any]
    reads: Callable[[Any], bool]
    limits: tuple[str, ...]
    from_files: bool = False  # and from tables in memory: a text is a path, and rows have a position


# The first that reads a source is its engine: a new one is a line here.
ENGINES = (
    EngineEntry(PostgresEngine, is_postgres_address, ("timeout", "work_mem")),
    EngineEntry(SparkEngine, is_spark_frame, ("timeout",)),
    EngineEntry(
        DuckDBEngine, lambda source: True, ("timeout", *DuckDBLimits.__annotations__), from_files=True
    ),
)


def engine_for(
    table: Table,
    unit: PrivacyUnit,
    source: Any,
    salt: str,
    limits: EngineLimits,
    **how: Callable[..., Loading],
) -> Engine:
    """The engine that lives where the data lives."""
    members = source.members if isinstance(source, Joined) else (JoinMember(table, unit, source),)
    entry, *others = {_entry_of(member.source): None for member in members}
    if others:
        raise InvalidRequest("tables are joined where they lie: all of them must be for one engine")
    unknown = next((name for name in limits if name not in entry.limits), None)
    if unknown is not None:
        raise InvalidRequest(f"this engine has no limit {unknown!r}; known: {', '.join(entry.limits)}")
    if entry.from_files and isinstance(source, Joined):
        source = Joined(tuple(replace(one, source=path_or_table(one.source)) for one in members))
    place = path_or_table(source) if entry.from_files else source
    made: Engine = entry.make(table, unit, place, salt, **limits, **how)
    return made


def is_file_or_table(source: Any) -> bool:
    """Whether a source is a file, or a table in the memory of this process."""
    return _entry_of(source).from_files


def path_or_table(source: Any) -> Any:
    return Path(source) if isinstance(source, str) else source


def _entry_of(source: Any) -> EngineEntry:
    entry = next(one for one in ENGINES if one.reads(source))
    if entry.from_files and isinstance(source, str) and "://" in source:
        raise InvalidRequest(
            f"no engine reads addresses that begin with {source.partition('://')[0]}://; "
            f"known: {', '.join(SCHEMES)}"
        )
    return entry
