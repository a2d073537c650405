"""Laws of the canonical text and of what is said beside a query, for every kind of query."""

from __future__ import annotations

import itertools
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.schema import CategoryColumn, TextColumn
from adyton.kernel.terms.buckets import Bucket, group_size
from adyton.kernel.terms.expressions import (
    Case,
    Clip,
    Compare,
    Floor,
    Indicator,
    Negative,
    NumberExpression,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import Constant, DatePart, DayOf, IsTrue, Lookup, ValueOf
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Measure,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.query.labels import group_values
from adyton.query.nodes import Query
from adyton.query.sql.read import parse, parse_group, parse_number
from adyton.query.text import group_value_text, number_text, query_text
from adyton.testing.engines import meaning as engine_meaning
from support.random_queries import all_groups, all_numbers, all_queries
from support.strategies import AGE, BORN, INCOME, PERSONS, REGION, SMOKER, Row, rows
from support.tries import often

law = settings(
    deadline=None,
    max_examples=often(30, 60),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@law
@given(all_queries())
def test_law_the_canonical_text_of_every_query_asks_it_again(query: Query) -> None:
    text = query_text(query)
    if len(text) > 10_000:
        return
    again = parse(text, PERSONS)
    assert query_text(again) == text
    assert [name for name, _ in again.measures] == [name for name, _ in query.measures]
    assert [type(measure) for _, measure in again.measures] == [type(m) for _, m in query.measures]
    assert [group.name for group in again.by] == [group.name for group in query.by]
    assert again.most_groups == query.most_groups


@law
@given(all_numbers(), rows())
def test_law_the_canonical_text_of_every_number_keeps_its_value(number: NumberExpression, row: Row) -> None:
    again = parse_number(number_text(number), PERSONS)
    assert again.lattice == number.lattice  # what is stored of an answer is counted in its steps
    assert _value(again, row) == _value(number, row)


@law
@given(all_groups(), rows())
def test_law_the_canonical_text_of_every_group_keeps_its_key(group: Any, row: Row) -> None:
    if isinstance(group, Bucket) and group.value.lattice.low == group.value.lattice.high:
        return
    again = parse_group(group_value_text(group), PERSONS).named(group.name)
    if isinstance(group, Bucket):
        assert isinstance(again, Bucket)
        assert _key(again, row) == _key(group, row)
    else:
        assert again == group


def _value(node: NumberExpression, row: Row) -> Fraction | None:
    """What a number is on a row; categories are places in their list there."""
    placed = {column.name: _placed(column, row.get(column.name)) for column in PERSONS.columns}
    found = engine_meaning.number(node, placed)
    return None if found is None else found * node.lattice.step


def _key(group: Bucket, row: Row) -> object:
    value = _value(group.value, row)  # type: ignore[arg-type]  # a day is read in the same way
    if value is None:
        return None
    lattice = group.value.lattice
    found = group_values(group)[int(value / lattice.step) - lattice.low]
    return type(found), found


def _placed(column: object, value: object) -> object:
    if not isinstance(column, CategoryColumn) or value is None:
        return value
    return column.values.index(value)  # type: ignore[arg-type]


# One text for one meaning: queries that differ in one thing only have different texts --------------------

A, EARNED, SMOKES = ValueOf(AGE), ValueOf(INCOME), IsTrue(SMOKER)
ONE, TWO = Constant(Fraction(1)), Constant(Fraction(2))
OLD = Compare(A, ">", Constant(Fraction(64)))

NUMBERS: list[NumberExpression] = [
    A,
    EARNED,
    Negative(A),
    Square(A),
    Clip(A, Fraction(1), Fraction(2)),
    Clip(A, Fraction(1), Fraction(3)),
    Clip(A, Fraction(0), Fraction(2)),
    Clip(Clip(A, Fraction(1), Fraction(3)), Fraction(1), Fraction(2)),
    Floor(A, Fraction(1)),
    Floor(A, Fraction(2)),
    Floor(EARNED, Fraction(2)),
    Floor(Floor(A, Fraction(2)), Fraction(2)),
    Times(Floor(A, Fraction(2)), TWO),
    Floor(Times(A, TWO), Fraction(2)),
    Indicator(SMOKES),
    Indicator(OLD),
    Case(((SMOKES, ONE),)),
    Case(((SMOKES, A),), EARNED),
    Case(((SMOKES, EARNED),), A),
    Case(((SMOKES, A), (OLD, EARNED))),
    Case(((OLD, EARNED), (SMOKES, A))),
    Case(((SMOKES, A),), Case(((OLD, EARNED),))),
    Case(((SMOKES, Case(((OLD, EARNED),), A)),)),
    Lookup(REGION, (1, 2, 3, None)),
    Lookup(REGION, (1, 2, None, 3)),
    Lookup(REGION, (1, 2, 0, 3)),
    Lookup(REGION, (1, 2, 3, None), Fraction(1, 2)),
    *(DatePart(part, DayOf(BORN)) for part in ("year", "quarter", "month", "day", "weekday")),
]
MEASURES: list[Measure] = [
    Count(),
    CountPersons(),
    Sum(A),
    SumOfPersons(A, Fraction(0), Fraction(1)),
    SumOfPersons(A, Fraction(0), Fraction(2)),
    SumOfPersons(A, Fraction(-1), Fraction(2)),
    SumOfPersons(ONE, Fraction(0), Fraction(1)),
    Variance(A),
    Variance(A, root=True),
    Quantile(A, Fraction(1, 2)),
    Quantile(A, Fraction(1, 3)),
    Extreme(A, "least"),
    Extreme(A, "greatest"),
    Cdf(A, (Fraction(1), Fraction(2))),
    Cdf(A, (Fraction(1),)),
    Cdf(A, (Fraction(2),)),
    CountPersons(SMOKES),
    Variance(A, where=SMOKES),
    Quantile(A, Fraction(1, 2), SMOKES),
    Extreme(A, "least", SMOKES),
    Cdf(A, (Fraction(1),), SMOKES),
    SumOfPersons(A, Fraction(0), Fraction(1), SMOKES),
]
LABELLED = Floor(A, Fraction(100))
GROUPS: list[tuple[Any, ...]] = [
    (),
    (REGION,),
    (Bucket("region", A),),
    (Bucket("age", A),),
    (Bucket("age", Floor(A, Fraction(2))),),
    (Bucket("age", LABELLED, ("1", "2")),),
    (Bucket("age", LABELLED, (1, 2)),),
    (Bucket("age", LABELLED, ("2", "1")),),
    (Bucket("age", LABELLED, ("1', '2", "2")),),
    (Bucket("age", LABELLED, (True, False)),),
    (Bucket("age", LABELLED, ("TRUE", "FALSE")),),
    (Bucket("age", LABELLED, (1, 0)),),
    (Bucket("born", DayOf(BORN)),),
    (Bucket("born", DatePart("day", DayOf(BORN))),),
]


def test_queries_that_differ_have_different_texts() -> None:
    asked = [Query(PERSONS, (("n", Sum(number)),)) for number in NUMBERS]
    asked += [Query(PERSONS, (("m", measure),)) for measure in MEASURES]
    asked += [Query(PERSONS, (("n", Count()),), by=by) for by in GROUPS]
    asked += [Query(PERSONS, (("n", CountPersons()),), most_groups=most) for most in (None, 1, 2)]
    texts = [query_text(query) for query in asked]
    assert [pair for pair in itertools.combinations(texts, 2) if pair[0] == pair[1]] == []
    assert [query_text(parse(text, PERSONS)) for text in texts] == texts


@law
@given(all_queries(), st.data())
def test_law_a_query_with_one_number_changed_has_another_text(query: Query, data: Any) -> None:
    """Every constant of a query is in its text: changing one by itself changes the text."""
    places = list(_fractions(query))
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    try:
        changed = _with_changed(query, place)
    except (InvalidRequest, AssertionError):  # such a query does not exist
        return
    assert query_text(changed) != query_text(query)


def _fractions(node: Any, path: tuple[Any, ...] = ()) -> Any:
    """Where fractions stand that an asker wrote; zero is left out, as nothing may depend on its sign."""
    if isinstance(node, Fraction):
        if node:
            yield path
    elif isinstance(node, tuple):
        for i, part in enumerate(node):
            yield from _fractions(part, (*path, i))
    elif is_dataclass(node) and not isinstance(node, type) and "schema" not in type(node).__module__:
        for part in fields(node):
            if part.init and part.name not in ("table", "step"):
                yield from _fractions(getattr(node, part.name), (*path, part.name))


def _with_changed(node: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return node * 2
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return (*node[:step], _with_changed(node[step], rest), *node[step + 1 :])
    parts = {part.name: getattr(node, part.name) for part in fields(node) if part.init}
    return type(node)(**{**parts, step: _with_changed(parts[step], rest)})


@given(all_groups().filter(lambda group: not isinstance(group, TextColumn)))
def test_law_a_group_is_as_large_as_its_list_of_values(group: Any) -> None:
    """Mutants: ``group_size`` without NULL; of a boolean 1; of a category or a number one too few."""
    null = replace(group, null=True) if isinstance(group, Bucket) else replace(group, missing=True)
    for one in (group, null):
        assert group_size(one) == len(group_values(one))
