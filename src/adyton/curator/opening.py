"""Opening a study: the file, the engine and the ledger, put together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from adyton.curator.curator import Curator
from adyton.engines.base import Engine
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.loading.joining import Joined, Loading, Member
from adyton.engines.multi_table import Engines
from adyton.engines.postgres import SCHEMES, PostgresEngine
from adyton.engines.spark import SparkEngine, is_spark_frame
from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.ledger import Anchor, AnchoredLedger, Ledger, LedgerOnDemand, Mark, MemoryLedger
from adyton.privacy import PrivacyUnit
from adyton.schema import Table
from adyton.study import Study, named_facts, read_study


class Limits(TypedDict, total=False):
    """What an engine may take: ``timeout`` in seconds for one scan; memory as the engine itself writes it."""

    timeout: float
    memory_limit: str  # DuckDB
    threads: int  # DuckDB
    temp_directory: str  # DuckDB: where it may write what does not fit into memory
    work_mem: str  # Postgres


def open_study(
    study: str | Path | Study, *, data: Any = None, ledger: Ledger | None = None, **limits: Unpack[Limits]
) -> Curator:
    """A curator for a study file, or for a Study made in Python.

    ``data`` takes the place of the study's source: a pandas, polars or Arrow table, a Spark frame, the path
    of a file, or postgresql://HOST/DATABASE/TABLE; for a study with several private tables, a dict of them by
    name.  ``limits`` are for the engine: ``timeout`` for all, more for some.  The ledger is the file beside
    the study file; a Study without a file gets one that lasts as long as the process.

    >>> with adyton.open(study, data=people) as curator:
    ...     print(len(curator.ask(adyton.count(by="region"), within=100)))
    2
    """
    known = study if isinstance(study, Study) else read_study(study)
    sources = _sources(known, data)
    return Curator(known, _engine_of(known, sources, limits), ledger or _ledger_of(known))


def _sources(study: Study, data: Any) -> dict[str, Any]:
    """Where each private table lies, by its name."""
    declared = {study.table.name: study.source, **{one.table.name: one.source for one in study.further}}
    given = data if isinstance(data, dict) else {study.table.name: data}
    unknown = next((name for name in given if name not in declared), None)
    if unknown is not None:
        raise InvalidRequest(f"data has no table {unknown!r} to fill; there are: {', '.join(declared)}")
    sources = {name: declared[name] if given.get(name) is None else given[name] for name in declared}
    missing = next((name for name, source in sources.items() if source is None), None)
    if missing is not None:
        which = f" for table {missing!r}" if study.further else ""
        raise InvalidRequest(f"this study has no source{which}: give data = a table or the path of a file")
    return sources


def _engine_of(study: Study, sources: dict[str, Any], limits: Limits | None = None) -> Engine:
    own = limits or {}
    if not study.further:
        unit, source = study.unit_of(study.table), sources[study.table.name]
        return _engine_for(study.table, unit, source, study.fingerprint, own)

    def make(table: Table, unit: PrivacyUnit) -> Engine:
        members = table.join.tables if table.join is not None else ()
        joined = tuple(Member(one, study.unit_of(one), sources[one.name]) for one in members)
        source = Joined(joined) if joined else sources[table.name]
        return _engine_for(table, unit, source, study.fingerprint, own)

    return Engines(study.table, study.unit_of, make)


def _engine_for(
    table: Table, unit: PrivacyUnit, source: Any, salt: str, limits: Limits, **how: Callable[..., Loading]
) -> Engine:
    """The engine that lives where the data lives."""
    members = source.members if isinstance(source, Joined) else (Member(table, unit, source),)
    kinds = {_kind_of(member.source) for member in members}
    if len(kinds) > 1:
        raise InvalidRequest("tables are joined where they lie: all in Postgres, in Spark, or in files")
    (kind,) = kinds
    engine, known = _ENGINES[kind]
    unknown = next((name for name in limits if name not in known), None)
    if unknown is not None:
        raise InvalidRequest(f"this engine knows no limit {unknown!r}; known: {', '.join(known)}")
    if kind == "duckdb" and isinstance(source, Joined):
        source = Joined(tuple(replace(one, source=_path_or_table(one.source)) for one in members))
    place = _path_or_table(source) if kind == "duckdb" else source
    made: Engine = engine(table, unit, place, salt, **limits, **how)
    return made


_ENGINES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "duckdb": (DuckDBEngine, ("timeout", "memory_limit", "threads", "temp_directory")),
    "postgres": (PostgresEngine, ("timeout", "work_mem")),
    "spark": (SparkEngine, ("timeout",)),
}


def _kind_of(source: Any) -> Literal["postgres", "spark", "duckdb"]:
    if isinstance(source, str) and source.startswith(SCHEMES):
        return "postgres"
    if isinstance(source, str) and "://" in source:
        raise InvalidRequest(
            f"no engine reads addresses that begin with {source.partition('://')[0]}://; "
            f"known: {', '.join(SCHEMES)}"
        )
    return "spark" if is_spark_frame(source) else "duckdb"


def _path_or_table(source: Any) -> Any:
    return Path(source) if isinstance(source, str) else source


def _ledger_of(study: Study) -> Ledger:
    if study.ledger is None:
        return MemoryLedger.of(study)
    ledger = _ledger_file(study, study.ledger)
    if study.anchor is None:
        return ledger
    try:
        return AnchoredLedger(ledger, Anchor(study.anchor))
    except BaseException:
        ledger.close()
        raise


def _ledger_file(study: Study, path: Path) -> LedgerOnDemand:
    return LedgerOnDemand(
        path,
        study=study.fingerprint,
        filter_name=study.filter_name,
        limit=study.allowed,
        facts=named_facts(study),
    )


def write_anchor(study: str | Path) -> tuple[Mark | None, Mark]:
    """Replays the ledger and writes its anchor anew, whatever it said: the old one and the new one."""
    known = read_study(study)
    if known.ledger is None or known.anchor is None:
        raise InvalidRequest("this study has no anchor: write [ledger] anchor = FILE into the study file")
    ledger, anchor = _ledger_file(known, known.ledger), Anchor(known.anchor)
    with closing(ledger):
        if not ledger.verify().receipts:
            raise InvalidRequest("nothing was charged yet: the first charge writes the anchor")
        try:
            before = anchor.read()
        except LedgerCorrupt:
            before = None
        return before, ledger.mark(lambda mark, _: anchor.write(mark))
