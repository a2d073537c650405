"""The part of the engines' contract that speaks of keys nobody declared; ``EngineContract`` includes it."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table, TextColumn
from adyton.kernel.terms.expressions import Compare
from adyton.kernel.terms.leaves import Constant, ValueOf
from adyton.kernel.terms.measures import Count, CountPersons, Mean, Sum, SumOfPersons
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.testing.engines.cases import AGE, BUCKETS, ODD_KEYS, ROWS, SMOKER
from adyton.testing.engines.reference import Source, expected_found
from adyton.testing.engines.setup import Open
from adyton.testing.engines.values import SourceColumn, too_long

CITY = TextColumn("city")
DRUG = TextColumn("drug")
TABLE = Table("t", (AGE, CITY, SMOKER, DRUG))


def _source(size: int, seed: int = 3) -> Source:
    rng = random.Random(seed)
    return (
        SourceColumn("age", "integer", [rng.choice([None, *range(-3, 130)]) for _ in range(size)]),
        SourceColumn("city", "text", [rng.choice(ODD_KEYS) for _ in range(size)]),
        SourceColumn("smoker", "boolean", [rng.choice([None, True, False]) for _ in range(size)]),
        SourceColumn("drug", "text", [rng.choice(["a", "b", "a,b", None]) for _ in range(size)]),
        SourceColumn("who", "integer", [rng.choice([None, *range(12)]) for _ in range(size)]),
    )


class KeysContract:
    @pytest.mark.parametrize("by", [(CITY,), (SMOKER, CITY), (CITY, BUCKETS[0]), (DRUG, CITY)], ids=len)
    def test_the_keys_that_occur_are_found(self, opened: Open, by: tuple[Any, ...]) -> None:
        source = _source(150)
        old = Compare(ValueOf(AGE), ">", Constant(Fraction(100)))
        measures = (("n", Count(old)), ("s", Sum(ValueOf(AGE))), ("m", Mean(ValueOf(AGE), old)))
        readings = readings_of(Query(TABLE, measures, by=by), ROWS)
        found = opened(TABLE, source).found(readings)
        assert found == expected_found(TABLE, ROWS, source, "salt", readings)
        assert found[0] == sorted(set(found[0]))
        assert {type(part) for key in found[0] for part in key} <= {str, int}

    def test_where_nothing_counts_there_is_no_key(self, opened: Open) -> None:
        """A key that only a filtered row holds would be given away by its mere place in a list."""
        source = (
            SourceColumn("age", "integer", [1, 2, None, 120]),
            SourceColumn("city", "text", ["young", "young", "ageless", "old"]),
            SourceColumn("smoker", "boolean", [None] * 4),
            SourceColumn("drug", "text", [None] * 4),
        )
        engine = opened(TABLE, source)
        old = Compare(ValueOf(AGE), ">", Constant(Fraction(100)))

        def keys(*measures: Any, by: tuple[Any, ...] = (CITY,)) -> Any:
            named = tuple((f"m{i}", measure) for i, measure in enumerate(measures))
            return engine.found(readings_of(Query(TABLE, named, by=by), ROWS))

        assert keys(Count(old)) == ([("old",)], [[[1]]])
        assert keys(Sum(ValueOf(AGE))) == ([("old",), ("young",)], [[[120, 3]]])
        assert keys(Count(old), Sum(ValueOf(AGE)))[1] == [[[1, 0]], [[120, 3]]]
        assert keys(Count(), by=(DRUG,)) == keys(Count(), by=(CITY, SMOKER)) == ([], [[[]]])
        assert keys(Mean(ValueOf(AGE)), by=(DRUG,)) == ([], [[[], []]])

    def test_an_empty_table_has_no_keys(self, opened: Open) -> None:
        readings = readings_of(Query(TABLE, (("n", Count()),), by=(CITY,)), ROWS)
        assert opened(TABLE, _source(0)).found(readings) == ([], [[[]]])

    def test_texts_are_different_if_their_bytes_are(self, opened: Open) -> None:
        table = Table("t", (CITY,))
        source = (SourceColumn("city", "text", [*ODD_KEYS, *ODD_KEYS[:3]]),)
        readings = readings_of(Query(table, (("n", Count()),), by=(CITY,)), ROWS)
        (keys, [[counts]]) = opened(table, source).found(readings)
        texts = [text for text in ODD_KEYS if text is not None and not too_long(text)]
        assert keys == [(text,) for text in sorted(texts)]
        assert counts == [2 if text in ODD_KEYS[:3] else 1 for text in sorted(texts)]

    @pytest.mark.parametrize("most", [None, 1, 2])
    @pytest.mark.parametrize("rows", [1, 4])
    def test_persons_under_the_discovered_groups(self, opened: Open, rows: int, most: int | None) -> None:
        source, unit = _source(150), PrivacyUnit("add-remove", "who", rows)
        measures = (
            ("p", CountPersons()),
            ("s", SumOfPersons(ValueOf(AGE), Fraction(10), Fraction(150))),
            ("n", Count()),
        )
        engine = opened(TABLE, source, unit)
        for by in ((CITY,), (DRUG, SMOKER)):
            readings = readings_of(Query(TABLE, measures, by=by, most_groups=most), unit)
            assert engine.found(readings) == expected_found(TABLE, unit, source, "salt", readings)

    def test_texts_that_agree_up_to_a_comma_are_different_rows_of_a_person(self, opened: Open) -> None:
        """Which row is kept depends on every letter, not on how the letters are joined."""
        pairs = [("a,b", "c"), ("a", "b,c"), ("-", None), (None, "-"), ("", "-,"), ("-,", "")]
        source = (
            SourceColumn("city", "text", [city for city, _ in pairs] * 40),
            SourceColumn("drug", "text", [drug for _, drug in pairs] * 40),
            SourceColumn("who", "integer", [i // len(pairs) for i in range(40 * len(pairs))]),
        )
        table, unit = Table("t", (CITY, DRUG)), PrivacyUnit("add-remove", "who")
        engine = opened(table, source, unit)
        for by in ((CITY,), (DRUG,)):
            readings = readings_of(Query(table, (("n", Count()),), by=by), unit)
            assert engine.found(readings) == expected_found(table, unit, source, "salt", readings)
