"""The guarantee of ``adyton.kernel.engine.Engine``, as tests.

pytest.register_assert_rewrite("adyton.testing")   # in conftest.py: readable failures

from adyton.testing import EngineContract

class TestMyEngine(EngineContract):
    @pytest.fixture
    def make_engine(self):
        return lambda table, unit, source, salt, **limits: MyEngine(..., **limits)    # not yet prepared

A source is a tuple of ``SourceColumn``: store it in your engine's own types.  What must come out is computed
by a plain loop over the rows (``reference``), so an engine that passes gives the same integers, bit
for bit, as every other one.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, Sum
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.testing.engines.cases import AGE, ODD_NAMES, PEOPLE, REGION, ROWS, SOME
from adyton.testing.engines.fitting import FittingContract
from adyton.testing.engines.keys import KeysContract
from adyton.testing.engines.parts import PartsContract
from adyton.testing.engines.persons import PersonsContract
from adyton.testing.engines.queries import QueriesContract
from adyton.testing.engines.random import RandomContract
from adyton.testing.engines.reference import Source, SourceColumn, expected
from adyton.testing.engines.reserves import ReserveContract
from adyton.testing.engines.setup import AnyEngine, MakeEngine, Open


class EngineContract(
    QueriesContract,
    FittingContract,
    PersonsContract,
    PartsContract,
    ReserveContract,
    KeysContract,
    RandomContract,
):
    """Subclass it and supply ``make_engine``."""

    @pytest.fixture
    def make_engine(self) -> MakeEngine:
        raise NotImplementedError("a fixture that returns a new engine for a source")

    @pytest.fixture
    def opened(self, make_engine: MakeEngine) -> Iterator[Open]:
        made: list[AnyEngine] = []

        def open_(table: Table, source: Source, unit: PrivacyUnit = ROWS, salt: str = "salt") -> AnyEngine:
            made.append(make_engine(table, unit, source, salt))
            made[-1].prepare()
            return made[-1]

        yield open_
        for engine in made:
            engine.close()

    def test_names_are_only_ever_names(self, opened: Open) -> None:
        columns = tuple(IntegerColumn(name, 0, 99) for name in ODD_NAMES)
        source = tuple(SourceColumn(name, "integer", [i, 1, None]) for i, name in enumerate(ODD_NAMES))
        table = Table("t", columns)
        unit = PrivacyUnit("add-remove", "who", 2)
        measures = tuple((f"s{i}", Sum(ValueOf(column))) for i, column in enumerate(columns))
        readings = readings_of(Query(table, measures), unit)
        found = opened(table, source, unit).exact(readings)
        assert (
            found
            == expected(table, unit, source, "salt", readings)
            == [[[i + 1]] for i in range(len(ODD_NAMES))]
        )

    def test_capital_letters_in_names_do_not_count(self, opened: Open) -> None:
        table = Table("t", (IntegerColumn("Age", 0, 99),))
        readings = readings_of(Query(table, (("s", Sum(ValueOf(table.columns[0]))),)), ROWS)  # type: ignore[arg-type]
        assert opened(table, (SourceColumn("aGE", "integer", [3, 4]),)).exact(readings) == [[[7]]]

    def test_the_declared_size_is_checked_only_where_it_is_public(self, make_engine: MakeEngine) -> None:
        source = (
            SourceColumn("age", "integer", [1, 2, 3, 4]),
            SourceColumn("who", "text", ["a", "a", "b", None]),
        )
        for unit, right, said in (
            (PrivacyUnit("replace-one"), 4, "4 rows"),
            (PrivacyUnit("replace-one", "who"), 2, "2 persons"),
        ):
            with pytest.raises(InvalidRequest, match=rf"table\.rows = 9, but the data holds {said}"):
                make_engine(Table("t", (AGE,), 9), unit, source, "").prepare()
            engine = make_engine(Table("t", (AGE,), right), unit, source, "")
            engine.prepare()
            engine.close()
        engine = make_engine(Table("t", (AGE,), 9), ROWS, source, "")
        engine.prepare()
        engine.close()

    def test_a_column_that_is_not_there_is_named(self, make_engine: MakeEngine) -> None:
        source = (SourceColumn("other", "text", ["canary"]),)
        for table, unit in ((Table("t", (AGE,)), ROWS), (Table("t", ()), PrivacyUnit("replace-one", "age"))):
            with pytest.raises(InvalidRequest, match="has no column 'age'; it has: other") as caught:
                make_engine(table, unit, source, "").prepare()
            assert "canary" not in str(caught.value)
            assert caught.value.__cause__ is None

    def test_queries_from_many_threads(self, opened: Open) -> None:
        engine = opened(PEOPLE, SOME)
        readings = readings_of(Query(PEOPLE, (("s", Sum(ValueOf(AGE))),), by=(REGION,)), ROWS)
        wanted = engine.exact(readings)
        with ThreadPoolExecutor(4) as pool:
            assert all(found == wanted for found in pool.map(lambda _: engine.exact(readings), range(12)))

    def test_prepare_and_close_may_be_repeated(self, make_engine: MakeEngine) -> None:
        engine = make_engine(PEOPLE, ROWS, SOME, "")
        engine.close()
        for _ in range(2):
            engine.prepare()
            engine.prepare()
            assert engine.exact(readings_of(Query(PEOPLE, (("n", Count()),)), ROWS)) == [[[7]]]
            engine.close()
            engine.close()

    def test_a_query_without_time_fails(self, make_engine: MakeEngine, opened: Open) -> None:
        """Each time, and nothing else does: loading has a limit of its own; with time there is an answer."""
        readings = readings_of(Query(PEOPLE, (("s", Sum(ValueOf(AGE))),), by=(REGION,)), ROWS)
        hasty = make_engine(PEOPLE, ROWS, SOME, "salt", timeout=1e-9)
        hasty.prepare()
        for _ in range(2):
            with pytest.raises(TimeoutError):
                hasty.exact(readings)
        hasty.close()
        assert opened(PEOPLE, SOME).exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings)

    @pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
    def test_a_limit_that_is_none_is_refused(self, make_engine: MakeEngine, seconds: float) -> None:
        with pytest.raises(InvalidRequest, match="time-out"):
            make_engine(PEOPLE, ROWS, SOME, "salt", timeout=seconds)
