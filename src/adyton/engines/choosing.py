"""Which engine reads a source: the one that lives where the data lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from adyton.engines.duckdb import DuckDBEngine, DuckDBLimits
from adyton.engines.loaded import Joined, JoinMember, Loading
from adyton.engines.postgres import SCHEMES, PostgresEngine
from adyton.engines.spark import SparkEngine, is_spark_frame
from adyton.errors import InvalidRequest
from adyton.kernel.engine import Engine
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table


class EngineLimits(DuckDBLimits, total=False):
    """What an engine may take: ``timeout`` in seconds for one scan; memory as the engine itself writes it."""

    timeout: float
    work_mem: str  # Postgres


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
    kinds = {kind_of(member.source) for member in members}
    if len(kinds) > 1:
        raise InvalidRequest("tables are joined where they lie: all in Postgres, in Spark, or in files")
    (kind,) = kinds
    engine, known = _ENGINES[kind]
    unknown = next((name for name in limits if name not in known), None)
    if unknown is not None:
        raise InvalidRequest(f"this engine has no limit {unknown!r}; known: {', '.join(known)}")
    if kind == "duckdb" and isinstance(source, Joined):
        source = Joined(tuple(replace(one, source=path_or_table(one.source)) for one in members))
    place = path_or_table(source) if kind == "duckdb" else source
    made: Engine = engine(table, unit, place, salt, **limits, **how)
    return made


_ENGINES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "duckdb": (DuckDBEngine, ("timeout", "memory_limit", "threads", "temp_directory")),
    "postgres": (PostgresEngine, ("timeout", "work_mem")),
    "spark": (SparkEngine, ("timeout",)),
}


def kind_of(source: Any) -> Literal["postgres", "spark", "duckdb"]:
    if isinstance(source, str) and source.startswith(SCHEMES):
        return "postgres"
    if isinstance(source, str) and "://" in source:
        raise InvalidRequest(
            f"no engine reads addresses that begin with {source.partition('://')[0]}://; "
            f"known: {', '.join(SCHEMES)}"
        )
    return "spark" if is_spark_frame(source) else "duckdb"


def path_or_table(source: Any) -> Any:
    return Path(source) if isinstance(source, str) else source
