"""The part of the engines' contract that speaks of units which are split; ``EngineContract`` includes it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.expressions import Compare
from adyton.kernel.terms.leaves import Constant, ValueOf
from adyton.kernel.terms.measures import Count, CountPersons, Mean, Quantile, Sum
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.testing.engines.cases import AGE, REGION
from adyton.testing.engines.reference import Source, SourceColumn, SourceType, expected
from adyton.testing.engines.setup import MakeEngine, Open

_OLD = Compare(ValueOf(AGE), ">=", Constant(Fraction(50)))
_NAMES: dict[str, Callable[[int], Any]] = {"integer": int, "text": "pérson, {}'s".format, "float": float}


def people(kind: SourceType, size: int = 200) -> Source:
    rng = random.Random(3)
    return (
        SourceColumn("age", "integer", [rng.choice([None, *range(100)]) for _ in range(size)]),
        SourceColumn("region", "text", [rng.choice(["north", "south", None]) for _ in range(size)]),
        SourceColumn("who", kind, [_NAMES[kind](rng.randrange(90)) for _ in range(size)]),
    )


def asked(table: Table, unit: PrivacyUnit) -> list[Reading]:
    """A filter, groups, bins, and, where a unit may have several rows, one number of each person."""
    measures = (("n", Count()), ("old", Count(_OLD)), ("m", Mean(ValueOf(AGE))), ("s", Sum(ValueOf(AGE))))
    quantile = Query(table, (("q", Quantile(ValueOf(AGE), Fraction(1, 2))),))
    readings = [*readings_of(Query(table, measures), unit), *readings_of(quantile, unit)]
    readings += readings_of(Query(table, measures, by=(REGION,)), unit)
    if unit.person is not None:
        readings += readings_of(Query(table, (("p", CountPersons(_OLD)),), by=(REGION,)), unit)
    return readings


class PartsContract:
    rows_have_positions = True
    parts_asked: ClassVar[tuple[int, ...]] = (1, 2, 3, 4, 5, 6, 7)  # fewer where planning takes long

    @pytest.mark.parametrize(("kind", "rows"), [("integer", 1), ("text", 1), ("integer", 3), ("text", 3)])
    def test_every_engine_splits_persons_alike(self, opened: Open, kind: SourceType, rows: int) -> None:
        """Mutant: a hash of the person and of a value."""
        table, source = Table("t", (AGE, REGION), person="who"), people(kind)
        unit = PrivacyUnit("add-remove", "who", rows, parts=7)
        engine, readings = opened(table, source, unit, "salt 'n' pepper"), asked(table, unit)
        for part in self.parts_asked:
            own = [replace(reading, part=part) for reading in readings]
            assert engine.exact(own) == expected(table, unit, source, "salt 'n' pepper", own), part

    def test_rows_are_split_by_their_position(self, make_engine: MakeEngine) -> None:
        table, source, unit = (
            Table("t", (AGE, REGION), 200),
            people("integer"),
            PrivacyUnit("replace-one", parts=5),
        )
        engine = make_engine(table, unit, source, "salt")
        if not self.rows_have_positions:
            with pytest.raises(InvalidRequest, match="rows of a database have no position"):
                engine.prepare()
            return
        engine.prepare()
        for part in range(1, 6):
            own = [replace(reading, part=part) for reading in asked(table, unit)]
            assert engine.exact(own) == expected(table, unit, source, "salt", own), part
        engine.close()

    def test_split_units_are_never_read_but_by_one_part(self, opened: Open) -> None:
        table, source = Table("t", (AGE, REGION), person="who"), people("integer")
        unit = PrivacyUnit("add-remove", "who", parts=3)
        engine, (reading, other, *_) = opened(table, source, unit), asked(table, unit)
        for parts in ((None, None), (0, 0), (4, 4), (1, 2), (1, None)):
            own = [replace(one, part=part) for one, part in zip((reading, other), parts, strict=True)]
            with pytest.raises(InvalidRequest, match="one part of them is read"):
                engine.exact(own)
        whole = opened(table, source, replace(unit, parts=1))
        with pytest.raises(InvalidRequest, match="one part of them is read"):
            whole.exact([replace(reading, part=1)])

    def test_persons_that_engines_write_differently_are_not_split(self, make_engine: MakeEngine) -> None:
        table = Table("t", (AGE, REGION), person="who")
        with pytest.raises(InvalidRequest, match="must be an integer or a string"):
            make_engine(table, PrivacyUnit("add-remove", "who", parts=3), people("float"), "salt").prepare()
