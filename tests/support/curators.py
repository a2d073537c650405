"""Curators for tests: their rows are loaded once, and their noise may be seeded."""

from __future__ import annotations

import atexit
import pickle
from collections.abc import Hashable
from fractions import Fraction
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import adyton
from adyton.curator.curator import Curator
from adyton.curator.opening import sources_of
from adyton.engines.duckdb import DuckDBEngine
from adyton.engines.multi_table import Engines
from adyton.engines.scans.reading import KeptCubes
from adyton.kernel.ledger import Ledger
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table
from adyton.population.base import PopulationContext, Position
from adyton.population.hinge import HingePopulation
from adyton.population.subset import SubsetPopulation
from adyton.study import Study, read_study
from support.randomness import SeededByHash

# Rows that are asked about again and again are loaded once: opening an engine takes longer than most queries.
#
# What decides which rows are read is compared as a whole: the tables, their unit, the values, and the salt where there
# is something that it decides.  Cells that an engine keeps from one query to the next are forgotten in between.
# A test that breaks how rows are loaded has a dict of its own for ``_engines``.

MOST = 16  # each has memory and threads of its own
_engines: dict[Hashable, Any] = {}
atexit.register(_engines.clear)


class KeptEngine:
    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def close(self) -> None:
        """Others read it too."""


def kept_engine(table: Table, unit: PrivacyUnit, data: Any, salt: str = "") -> KeptEngine:
    """As ``DuckDBEngine(table, unit, data, salt)``."""
    return _kept((table, unit, salt, _values(data)), DuckDBEngine(table, unit, data, salt))


def open_kept(asked: Study | str | Path, data: Any = None, ledger: Ledger | None = None) -> Curator:
    """As ``adyton.open(asked, data=data, ledger=ledger)``."""
    study = asked if isinstance(asked, Study) else read_study(asked)
    curator = adyton.open(study, data=data, ledger=ledger)
    units = tuple(study.unit_of(table) for table in study.tables)
    salted = any(unit.person is not None or unit.parts > 1 or unit.reserve is not None for unit in units)
    values = tuple(map(_values, sources_of(study, data).values()))
    known = (study.tables, units, study.fingerprint if salted else "", values)
    engine: Any = _kept(known, curator._engine)
    return Curator(curator.study, engine, curator._ledger)


def plain_database() -> Any:
    """DuckDB, which knows nothing of this project; what is registered here is gone when it is closed."""
    return _database().cursor()


@cache
def _database() -> Any:
    import duckdb  # what was imported before tests are collected is never given back, and DuckDB complains

    return duckdb.connect()


atexit.register(_database.cache_clear)


def _kept(rows: Hashable, unloaded: Any) -> KeptEngine:
    """The engine that loaded these rows before, or else the one that will.  Nobody closes one that is read."""
    engine = _engines.pop(rows, unloaded)
    _engines[rows] = engine  # the newest last
    if len(_engines) > MOST:
        del _engines[next(iter(_engines))]
    for one in engine._opened.values() if isinstance(engine, Engines) else (engine,):
        one._kept = KeptCubes()
    return KeptEngine(engine)


def _values(source: Any) -> Hashable:
    if isinstance(source, str | Path):
        return Path(source), Path(source).read_bytes() if Path(source).is_file() else None
    return sha256(pickle.dumps(source)).digest()


# The population intervals of a study, as its curator makes them; and curators whose noise is seeded.


def population_of(study: Study) -> HingePopulation | SubsetPopulation:
    return HingePopulation(study) if study.accounting == "pure" else SubsetPopulation(study)


def standing_of(
    study: Study,
    units: int,
    *,
    query: int = 1,
    before: Fraction = Fraction(0),
    own: Fraction = Fraction(0),
    values: int = 1,
) -> PopulationContext:
    """Where an answer with so many values stands, if so much was spent before it."""
    return PopulationContext(population_of(study), Position(query, before, own, values), units)


def undescribed(study: Study) -> Study:
    """Without descriptions of queries, as where another study of a shared budget was asked first."""
    return study.after_its_first_receipt(amended=False, described=False)


def seeded(study: Study, data: Any, seed: int) -> Curator:
    """A test that passes once passes always."""
    plain = open_kept(study, data)
    return Curator(study, plain._engine, plain._ledger, SeededByHash(seed))
