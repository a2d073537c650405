"""Engines over rows that many tests ask about: the rows are loaded once, and closed with the process."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from functools import cache
from typing import Any

import adyton
from adyton.curator.curator import Curator
from adyton.engines.duckdb import DuckDBEngine
from adyton.privacy import PrivacyUnit
from adyton.schema import Table
from adyton.study import Study


class KeptEngine:
    def __init__(self, engine: DuckDBEngine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def close(self) -> None:
        """Others read it too."""


@cache
def kept_engine(table: Table, unit: PrivacyUnit, rows: Callable[..., Any], *how: Any) -> KeptEngine:
    engine = DuckDBEngine(table, unit, rows(*how))
    atexit.register(engine.close)
    return KeptEngine(engine)


def open_kept(study: Study, rows: Callable[..., Any], *how: Any, **more: Any) -> Curator:
    """As ``adyton.open(study, data=rows(*how))``, where no salt of a ledger decides which rows are read."""
    assert study.unit.person is None
    assert study.unit.parts == 1
    assert study.unit.reserve is None
    curator = adyton.open(study, data=rows(*how), **more)
    kept = kept_engine(study.table, study.unit, rows, *how)
    curator._engine = curator._releasing._engine = kept  # type: ignore[assignment]
    return curator
