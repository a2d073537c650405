"""Opening a study: the file, the engine and the ledger, put together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adyton.curator.curator import Curator
from adyton.engines.base import Engine
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.postgres import SCHEMES, PostgresEngine
from adyton.engines.spark import SparkEngine, is_spark_frame
from adyton.errors import InvalidRequest
from adyton.ledger import Header, Ledger, LedgerOnDemand, MemoryLedger
from adyton.study import Study, read_study


def open_study(study: str | Path | Study, *, data: Any = None, ledger: Ledger | None = None) -> Curator:
    """A curator for a study file, or for a Study made in Python.

    ``data`` takes the place of the study's source: a pandas, polars or Arrow table, a Spark frame, the path
    of a file, or postgresql://HOST/DATABASE/TABLE.  The ledger is the file beside the study file; a Study
    without a file gets one that lasts as long as the process.
    """
    known = study if isinstance(study, Study) else read_study(study)
    source = known.source if data is None else data
    if source is None:
        raise InvalidRequest("this study has no source: give data = a table or the path of a file")
    return Curator(known, _engine_for(known, source), ledger or _ledger_of(known))


def _engine_for(study: Study, source: Any) -> Engine:
    """The engine that lives where the data lives."""
    if isinstance(source, str) and source.startswith(SCHEMES):
        return PostgresEngine(study.table, study.unit, source, study.fingerprint)
    if isinstance(source, str) and "://" in source:
        raise InvalidRequest(
            f"no engine reads addresses that begin with {source.partition('://')[0]}://; "
            f"known: {', '.join(SCHEMES)}"
        )
    if is_spark_frame(source):
        return SparkEngine(study.table, study.unit, source, study.fingerprint)
    path_or_table = Path(source) if isinstance(source, str) else source
    return DuckDBEngine(study.table, study.unit, path_or_table, study.fingerprint)


def _ledger_of(study: Study) -> Ledger:
    limit = study.allowed
    if study.ledger is None:
        return MemoryLedger(Header.fresh(study.fingerprint, study.filter_name, limit))
    return LedgerOnDemand(study.ledger, study=study.fingerprint, currency=study.filter_name, limit=limit)
