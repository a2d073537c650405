"""The part of the engines' contract that speaks of units which no query reads; in ``EngineContract``."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Adjacency, PrivacyUnit, Reserve
from adyton.kernel.schema import Table, TextColumn
from adyton.kernel.terms.measures import Count
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.testing.engines.cases import AGE, REGION
from adyton.testing.engines.parts import asked, people
from adyton.testing.engines.reference import SourceType, expected, expected_found, in_reserve
from adyton.testing.engines.setup import MakeEngine, Open

_KEPT = Reserve(Fraction(1, 3))
_OPENED = replace(_KEPT, opened=True)


class ReserveContract:
    rows_have_positions = True

    @pytest.mark.parametrize(
        ("adjacency", "kind", "rows"),
        [("add-remove", "integer", 1), ("add-remove", "text", 3), ("replace-one", "integer", 3)],
    )
    def test_a_reserve_of_persons_is_read_by_nobody_until_it_is_opened(
        self, opened: Open, adjacency: Adjacency, kind: SourceType, rows: int
    ) -> None:
        """Mutants: the condition on the reserve left out; its sign; a hash of the person and of the salt."""
        source = people(kind)
        persons = {who for who in source[2].values if who is not None}
        size = len(persons) if adjacency == "replace-one" else None
        table, sums = Table("t", (AGE, REGION), size, "who"), []
        for reserve in (_KEPT, _OPENED, None):
            unit = PrivacyUnit(adjacency, "who", rows, reserve=reserve)
            readings = asked(table, replace(unit, reserve=_KEPT))
            engine = opened(table, source, unit)
            sums.append(engine.exact(readings))
            assert sums[-1] == expected(table, unit, source, "salt", readings), reserve
        own, others, everybody = (found[0][0][0] for found in sums)  # COUNT(*)
        assert own + others == everybody
        assert 0 < sum(in_reserve(who, _KEPT) for who in persons) <= others

    def test_keys_of_a_reserve_are_not_found(self, opened: Open) -> None:
        """Each key has one person: exactly those of the others are found."""
        key = TextColumn("who")
        table, source = Table("t", (AGE, key), person="who"), people("text")
        unit = PrivacyUnit("add-remove", "who", 3, reserve=_KEPT)
        readings = readings_of(Query(table, (("n", Count()),), by=(key,)), unit)
        found = opened(table, source, unit).found(readings)
        assert found == expected_found(table, unit, source, "salt", readings)
        assert found[0]
        assert not any(in_reserve(key, _KEPT) for (key,) in found[0])

    def test_rows_are_kept_by_their_position(self, make_engine: MakeEngine) -> None:
        """Mutant: the table of units is not made anew without them."""
        table, source = Table("t", (AGE, REGION), 200), people("integer")
        for reserve in (_KEPT, _OPENED):
            unit = PrivacyUnit("replace-one", reserve=reserve)
            engine = make_engine(table, unit, source, "salt")
            if not self.rows_have_positions:
                with pytest.raises(InvalidRequest, match="cannot be kept in a reserve"):
                    engine.prepare()
                continue
            engine.prepare()
            readings = asked(table, unit)
            assert engine.exact(readings) == expected(table, unit, source, "salt", readings)
            engine.close()

    def test_the_public_number_of_persons_is_that_of_all(self, make_engine: MakeEngine) -> None:
        source = people("integer")
        persons = len(set(source[2].values) - {None})
        unit = PrivacyUnit("replace-one", "who", 2, reserve=_KEPT)
        for size in (persons, persons - 1):
            engine = make_engine(Table("t", (AGE, REGION), size, "who"), unit, source, "salt")
            if size == persons:
                engine.prepare()
            else:
                with pytest.raises(InvalidRequest, match=f"the data holds {persons} persons"):
                    engine.prepare()
            engine.close()

    def test_persons_that_engines_write_differently_are_not_kept(self, make_engine: MakeEngine) -> None:
        table = Table("t", (AGE, REGION), person="who")
        unit = PrivacyUnit("add-remove", "who", reserve=_KEPT)
        with pytest.raises(InvalidRequest, match="must be an integer or a string"):
            make_engine(table, unit, people("float"), "salt").prepare()
