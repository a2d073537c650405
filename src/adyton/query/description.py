"""How many nats describe a query: the logarithm of one over its weight in a dictionary fixed in advance.

A dictionary gives every query that it can describe a weight, and all weights together are at most 1.  So a
union bound covers every query that could be asked, whatever the analyst has seen; a query with a short
description pays little for that.  Theorem: DESCRIBED-QUERIES.

A description is a sequence of choices.  What can be chosen follows from what was chosen before, and the
weights of each list of choices sum to at most 1; so do their products, over all descriptions.  The weights
are the constants of ``description_weights``.  They may never change for a study: ``VERSION`` is part of its
fingerprint.
A query may have several descriptions and then has the weight of one of them, or of several together: the
parts of a condition that can be written in any order have the weight of all orders.

The *schema* dictionary chooses columns, declared values and places in declared bounds from the study file,
which must have been written without looking at the rows.  The *universal* one spells out every declaration
that a query depends on, letter by letter; it needs no such assumption.

Claim:    over all functions of one unit, the weights exp(-nats) of one dictionary sum to at most 1.
Assumes:  for the schema dictionary, that the declarations of the study do not depend on the rows.
Source:   prefix codes (Kraft 1949); these choices and weights are ours.  Theorem: DESCRIBED-QUERIES.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, assert_never, get_args

from adyton.kernel.exact.curves import Curve
from adyton.kernel.exact.outward import COARSE
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.kernel.terms.buckets import Bucket, Group, group_size, has_null
from adyton.kernel.terms.expressions import (
    MIRRORED,
    And,
    Case,
    Clip,
    Comparable,
    Compare,
    Condition,
    Curved,
    Days,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Operator,
    Or,
    Plus,
    Quotient,
    Square,
    Times,
    all_of,
    constant_of,
)
from adyton.kernel.terms.leaves import (
    EVERY_ROW,
    Always,
    Constant,
    DatePart,
    Day,
    DayCount,
    DayFrom,
    DayOf,
    IsMissing,
    IsOutside,
    IsTrue,
    Lookup,
    OneOf,
    Part,
    ValueOf,
)
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Measure,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
    Which,
)
from adyton.kernel.terms.names import columns_in
from adyton.kernel.terms.persons import Kind, PersonNumber, TableOfPersons
from adyton.query.canonical import canonical_text
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.day_functions import day_function, part_function
from adyton.query.description_weights import (
    ALL_DAYS,
    DAYS,
    FOR_AMENDED,
    FROM,
    GROUPS,
    MEASURES,
    NUMBERS,
    OF_A_BOOLEAN,
    OF_A_CATEGORY,
    OF_A_TEXT,
    OF_AN_ORDER,
    OPERATORS,
    PARTS,
    PARTS_OF_DAYS,
    WITH_NULL,
    ChoiceWeights,
    constant_nats,
    day_nats,
    declaration_nats,
    fraction_nats,
    function_nats,
    in_any_order,
    list_nats,
    nats_of,
    rational_nats,
    several_nats,
    step_nats,
    value_nats,
)
from adyton.query.nodes import Query
from adyton.query.text import condition_text

DictionaryName = Literal["schema", "universal"]


class NoDescription(Exception):
    """The dictionary has no description of this."""


# Queries ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Describer:
    """Describes queries about one table whose declarations are known: ``columns``.

    ``spelled``: values of categories are written letter by letter, and not chosen from the declared ones.
    """

    columns: tuple[Column, ...]
    spelled: bool = False

    # Conditions

    def where(self, condition: Condition) -> float:
        """A condition as parts that must all be true, in any order."""
        parts = _joined_ranges(_flat(condition, And))
        return several_nats(len(parts)) + sum(map(self._part, parts)) - in_any_order(len(parts))

    def _part(self, part: Condition | _Between) -> float:
        if (own := self._of_one_column(part)) is not None:
            return PARTS.nats["column"] + own
        match part:
            case Or():
                return PARTS.nats["any"] + self._several(_flat(part, Or))
            case And():
                return PARTS.nats["all"] + self._several(_joined_ranges(_flat(part, And)))
            case Not(inner):
                return PARTS.nats["negated"] + self._part(inner) + self._lists_in(inner)
            case Always():
                return PARTS.nats["always"] + math.log(2)
            case Compare(left, operator, right):
                return PARTS.nats["expression"] + self._compared(left, operator, right)
        raise NoDescription

    def _several(self, parts: Sequence[Condition | _Between]) -> float:
        """At least one; one alone is left where the others repeated it."""
        return several_nats(len(parts), 1) + sum(map(self._part, parts)) - in_any_order(len(parts))

    def _compared(self, left: Comparable, operator: Operator, right: Comparable) -> float:
        """Of numbers or of days, with a constant or with another."""
        if constant_of(left) is not None:
            left, operator, right = right, MIRRORED[operator], left
        sides = math.log(2) + math.log(2) + OPERATORS.nats[operator]
        if isinstance(left, Days):
            assert isinstance(right, Days)
            if isinstance(right, Day):
                return sides + self.day(left) + day_nats(right.number, left.lattice)
            return sides + self.day(left) + self.day(right)
        assert not isinstance(right, Days)
        value = constant_of(right)
        if value is not None:
            return sides + self.number(left) + constant_nats(value, left.lattice)
        return sides + self.number(left) + self.number(right)

    # Conditions on one column

    def _of_one_column(self, part: Condition | _Between) -> float | None:
        """None where there is more than one column in it, or an expression."""
        match part:
            case IsTrue(column):
                return self._column(column) + OF_A_BOOLEAN.nats["true"]
            case Not(IsTrue(column)):
                return self._column(column) + OF_A_BOOLEAN.nats["false"]
            case OneOf(column, values):
                return self._column(column) + self._values(column, values, "one", "several")
            case Not(OneOf(column, values)):
                # False of every other declared value, and neither of what is not declared.
                return self._column(column, whole=True) + self._values(
                    column, values, "not_one", "not_several"
                )
            case IsMissing(column):
                return self._column(column, whole=True) + _kinds_of(column).nats["missing"]
            case Not(IsMissing(column)):
                return self._column(column, whole=True) + _kinds_of(column).nats["present"]
            case IsOutside(column):
                return self._column(column, whole=True) + _kinds_of(column).nats["outside"]
            case Not(IsOutside(column)):
                return self._column(column, whole=True) + _kinds_of(column).nats["inside"]
            case _Between(low, high):
                ends = math.log(4) + self._constant(low) + self._constant(high)
                return self._column(_column_of(low)) + OF_AN_ORDER.nats["between"] + ends
            case Compare() if _is_plain(part):
                constant = OPERATORS.nats[_turned(part).operator] + self._constant(part)
                return self._column(_column_of(part)) + OF_AN_ORDER.nats["comparison"] + constant
            case Or() if (listed := _listed(_flat(part, Or))) is not None:
                constants = sum(map(self._constant, listed)) + several_nats(len(listed), 1)
                own = self._column(_column_of(listed[0])) + OF_AN_ORDER.nats["listed"]
                return own + constants - in_any_order(len(listed))
        return None

    def _column(self, column: Column, *, whole: bool = False) -> float:
        """Any of all columns.  ``whole``: the list of a category decides, and not only the values named."""
        if not any(other is column for other in self.columns) and column not in self.columns:
            raise NoDescription
        own = math.log(len(self.columns))
        return (
            own + list_nats(column.values)
            if self.spelled and whole and isinstance(column, CategoryColumn)
            else own
        )

    def _among(self, column: Column, kinds: tuple[type, ...], *, whole: bool = False) -> float:
        """Any of all columns of these kinds."""
        fitting = [other for other in self.columns if isinstance(other, kinds)]
        return self._column(column, whole=whole) - math.log(len(self.columns)) + math.log(len(fitting))

    def category(self, column: CategoryColumn) -> float:
        return self._among(column, (CategoryColumn,), whole=True)

    def _lists_in(self, condition: Condition) -> float:
        """What is not true of a value need not be false: it may not be declared."""
        if not self.spelled:
            return 0.0
        return sum(
            list_nats(column.values) for column in columns_in(condition) if isinstance(column, CategoryColumn)
        )

    def _values(self, column: CategoryColumn, values: Sequence[str | int], one: str, several: str) -> float:
        wanted = sorted(set(values), key=str)
        if len(wanted) == 1:
            kind, choice = one, math.log(len(column.values))
        else:
            many, of = len(wanted), len(column.values)
            kind, choice = several, several_nats(many, 2)
            choice += math.lgamma(of + 1) - math.lgamma(many + 1) - math.lgamma(of - many + 1)
        if self.spelled:
            choice = sum(map(value_nats, wanted)) + several_nats(len(wanted)) - in_any_order(len(wanted))
        return OF_A_CATEGORY.nats[kind] + choice

    def _constant(self, compared: Compare) -> float:
        turned = _turned(compared)
        value = constant_of(turned.right)
        assert value is not None
        if isinstance(turned.left, DayOf):
            return day_nats(int(value), turned.left.lattice)
        return constant_nats(value, turned.left.lattice)

    # Numbers and days

    def number(self, node: NumberExpression) -> float:
        if (called := part_function(node)) is not None:
            return NUMBERS.nats["part"] + math.log(PARTS_OF_DAYS) + self.day(called[2])
        weight = NUMBERS.nats[type(node).__name__]
        match node:
            case ValueOf(column):
                return weight + self._among(column, (IntegerColumn, RealColumn))
            case Constant(value):
                return weight + rational_nats(value)
            case Plus(left, right) | Times(left, right):
                return weight + self.number(left) + self.number(right)
            case Negative(inner) | Square(inner):
                return weight + self.number(inner)
            case Clip(inner, low, high):
                ends = constant_nats(low, inner.lattice) + constant_nats(high, inner.lattice)
                return weight + self.number(inner) + ends
            case Floor(inner, step):
                return weight + self.number(inner) + step_nats(step)
            case Curved(_, inner, _):
                return weight + math.log(len(get_args(Curve))) + math.log(10) + self.number(inner)
            case Quotient(over, under, low, high, _):
                ends = rational_nats(low) + rational_nats(high) + math.log(10)
                return weight + self.number(over) + self.number(under) + ends
            case Indicator(condition):
                return weight + self.where(condition)
            case Case(branches, otherwise):
                own = sum(self.where(when) + self.number(then) for when, then in branches)
                last = 0.0 if otherwise is None else self.number(otherwise)
                return weight + several_nats(len(branches), 1) + own + math.log(2) + last
            case Lookup(column, numbers, step):
                listed = sum(self._step_or_none(step) for step in numbers)
                own = self._among(column, (CategoryColumn,), whole=True)
                return weight + own + listed + rational_nats(step)
            case DatePart(_, day):
                return weight + math.log(len(get_args(Part))) + self.day(day)
            case DayCount(day):
                return weight + self.day(day)
            case _:
                assert_never(node)

    def _step_or_none(self, step: int | None) -> float:
        return math.log(4) if step is None else math.log(4 / 3) + rational_nats(Fraction(step))

    def day(self, node: Days) -> float:
        weight = DAYS.nats[type(node).__name__]
        match node:
            case DayOf(column):
                return weight + self._among(column, (DateColumn,))
            case DayFrom(inner):
                if (called := day_function(node)) is not None:
                    return DAYS.nats["function"] + function_nats(called[1]) + self.day(called[2])
                return weight + self.number(inner)
            case Day():
                return weight + math.log(ALL_DAYS)
            case _:
                assert_never(node)

    # Measures and groups

    def measure(self, measure: Measure) -> float:
        """Without its filter, which is a condition of the query."""
        if isinstance(measure, Extreme):  # the extremes of a population have no intervals
            raise NoDescription
        weight = MEASURES.nats[type(measure).__name__]
        match measure:
            case Count() | CountPersons():
                return weight
            case Mean(value) | Sum(value) | Variance(value):  # a root says the same
                return weight + self.number(value)
            case Proportion(condition):
                return weight + self.where(condition)
            case SumOfPersons(value, low, high):
                return weight + self.number(value) + rational_nats(low) + rational_nats(high)
            case Moments(y, x):
                return weight + math.log(len(get_args(Which))) + self.number(y) + self.number(x)
            case Quantile(value, fraction):
                return weight + self.number(value) + fraction_nats(fraction)
            case Cdf(value, points):
                worst = max(constant_nats(point, value.lattice) for point in points)
                return weight + self.number(value) + worst
            case _:
                assert_never(measure)

    def groups(self, groups: Sequence[Group]) -> float:
        """What rows are grouped by, in any order; labels say nothing, as long as they are different."""
        by = [group.value if isinstance(group, Bucket) else group for group in groups]
        if any(value in by[:place] for place, value in enumerate(by)):
            raise NoDescription
        return several_nats(len(groups)) + sum(map(self._group, groups)) - in_any_order(len(groups))

    def _group(self, group: Group) -> float:
        if isinstance(group, TextColumn):  # its values are discovered
            raise NoDescription
        if not isinstance(group, Bucket):
            return GROUPS.nats["column"] + self._among(group, (CategoryColumn, BooleanColumn, TextColumn))
        if group.labels is not None and len(set(group.labels)) < len(group.labels):
            raise NoDescription
        with_null = WITH_NULL.nats[group.null]
        if isinstance(group.value, Days):
            return GROUPS.nats["day"] + with_null + self.day(group.value)
        return GROUPS.nats["number"] + with_null + self.number(group.value)


@dataclass(frozen=True, slots=True)
class _Between:
    """Two comparisons of one column with constants: from one on, and up to another."""

    low: Compare
    high: Compare


def _flat(condition: Condition, kind: type[And] | type[Or]) -> list[Condition]:
    """The different parts of a condition that one word joins; none of one that is always true."""
    if isinstance(condition, kind):
        found = [part for inner in condition.parts for part in _flat(inner, kind)]
    else:
        found = [] if kind is And and condition == EVERY_ROW else [condition]
    if len(found) < 2:
        return found
    return list({condition_text(part): part for part in found}.values())


def _joined_ranges(parts: Sequence[Condition]) -> list[Condition | _Between]:
    """Where a column is compared from below and from above, once each, the two become one."""
    ends: dict[str, list[Compare]] = {}
    for part in parts:
        if isinstance(part, Compare) and _is_plain(part):
            ends.setdefault(_column_of(part).name, []).append(part)
    between: list[Condition | _Between] = []
    taken: set[int] = set()
    for compared in ends.values():
        signs = {_turned(part).operator[0]: part for part in compared}
        if len(compared) == 2 and signs.keys() == {"<", ">"} and not {"<>"} & _operators(compared):
            between.append(_Between(signs[">"], signs["<"]))
            taken |= {id(part) for part in compared}
    return [part for part in parts if id(part) not in taken] + between


def _operators(compared: Iterable[Compare]) -> set[str]:
    return {_turned(part).operator for part in compared}


def _is_plain(compared: Compare) -> bool:
    """Whether a column is compared with a constant."""
    turned = _turned(compared)
    return isinstance(turned.left, ValueOf | DayOf) and constant_of(turned.right) is not None


def _turned(compared: Compare) -> Compare:
    """With a constant on the right."""
    if constant_of(compared.left) is None:
        return compared
    return Compare(compared.right, MIRRORED[compared.operator], compared.left)


def _column_of(compared: Compare) -> Column:
    left = _turned(compared).left
    assert isinstance(left, ValueOf | DayOf)
    return left.column


def _listed(parts: Sequence[Condition]) -> list[Compare] | None:
    """Comparisons of one column, each for equality."""
    plain = [part for part in parts if isinstance(part, Compare) and _is_plain(part)]
    equal = all(_turned(part).operator == "=" for part in plain)
    same = len({_column_of(part).name for part in plain}) == 1
    return plain if len(plain) == len(parts) and equal and same else None


def _kinds_of(column: Column) -> ChoiceWeights:
    match column:
        case BooleanColumn():
            return OF_A_BOOLEAN
        case CategoryColumn():
            return OF_A_CATEGORY
        case TextColumn():
            return OF_A_TEXT
        case IntegerColumn() | RealColumn() | DateColumn():
            return OF_AN_ORDER
        case _:
            assert_never(column)


# Dictionaries ----------------------------------------------------------------------------------------------

_PRECISION = 64  # nats are rounded up to this part of one, so that many queries are alike


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The weights of all queries about one table, fixed without looking at its rows.

    ``registered``: canonical texts of queries that the study file lists; together they have half of all
    weight.  ``persons``: a unit is a person with more rows than count, so that which rows count depends on
    all columns.  ``amended``: the study file was changed after answers were seen; then only universal
    descriptions were fixed in advance, for which every schema dictionary keeps a sixteenth of its weight.
    ``open``: not so where it was another study whose dictionary was fixed first; then nothing is described.
    """

    table: Table
    name: DictionaryName
    registered: frozenset[str] = frozenset()
    persons: bool = False
    amended: bool = False
    open: bool = True

    def nats(self, query: Query, measure: Measure) -> float | None:
        """How long the description of one value of one cell is, rounded up; None if there is none."""
        if not self.open:
            return None
        try:
            nats = self._described(query, measure)
        except NoDescription:
            return None
        return math.ceil(max(nats, 0.0) * (1 + COARSE) * _PRECISION) / _PRECISION

    def is_registered(self, query: Query, measure: Measure) -> bool:
        """Never one whose groups are discovered: nothing says in advance which cells there are."""
        if not self.registered or query.discovers_groups:
            return False
        return canonical_value(query, measure) in self.registered

    def _described(self, query: Query, measure: Measure) -> float:
        if not self.amended and self.is_registered(query, measure):
            claims = number_of_cells(query) * (len(measure.points) if isinstance(measure, Cdf) else 1)
            return math.log(2 * len(self.registered)) + math.log(claims)
        other = math.log(2) if self.registered else 0.0
        if self.name == "universal":
            return other + self._spelled(query, measure)
        if self.amended:
            return other + nats_of(FOR_AMENDED) + self._spelled(query, measure)
        return other + nats_of(1 - FOR_AMENDED) + self._chosen(query, measure)

    def _chosen(self, query: Query, measure: Measure) -> float:
        """By the declarations of the study file."""
        body = Describer(query.table.columns)
        inside = self._from(query.table) + _limit_nats(query) + _body_nats(body, query, measure)
        return inside + math.log(number_of_cells(query))

    def _from(self, table: Table) -> float:
        if isinstance(table, TableOfPersons):
            return FROM.nats["persons"] + self._from(table.of) + _persons_nats(table)
        if table == self.table:
            return FROM.nats["table"]
        join = table.join
        if join is None or join.tables != (self.table,):
            raise NoDescription
        links = [math.log(len(self.table.dimensions)) + math.log(2) for _ in join.links]
        return FROM.nats["public"] + several_nats(len(links), 1) + sum(links) - in_any_order(len(links))

    def _spelled(self, query: Query, measure: Measure) -> float:
        """With the declarations of all columns that it depends on, letter by letter."""
        if self.persons or query.table != self.table:
            raise NoDescription
        used = {column.name: column for column in columns_in(query.by, query.where, measure)}
        columns = tuple(used[name] for name in sorted(used))
        declared = several_nats(len(columns)) + sum(map(declaration_nats, columns))
        body = Describer(columns, spelled=True)
        inside = declared + _limit_nats(query) + _body_nats(body, query, measure)
        return inside + sum(map(_spelled_cell, query.by))


def canonical_value(query: Query, measure: Measure) -> str:
    """One text for one value of a query, whatever it is called and wherever its filter is written."""
    where = all_of(query.where, measure.where)
    bare = replace(measure, where=EVERY_ROW)
    return canonical_text(replace(query, measures=(("x", bare),), where=where))


def _body_nats(body: Describer, query: Query, measure: Measure) -> float:
    where = body.where(all_of(query.where, measure.where))
    return body.measure(measure) + where + body.groups(query.by)


def _limit_nats(query: Query) -> float:
    """In how many groups a person may be."""
    if query.most_groups is None:
        return math.log(8 / 7)
    return math.log(8) + several_nats(query.most_groups, 1)


def _persons_nats(table: TableOfPersons) -> float:
    inside = Describer(table.of.columns)
    numbers = [_person_number_nats(inside, number) for _, number in table.numbers]
    return inside.where(table.given) + several_nats(len(numbers), 1) + sum(numbers)


def _person_number_nats(inside: Describer, number: PersonNumber) -> float:
    kind = math.log(len(get_args(Kind))) + inside.where(number.where)
    match number.value:
        case None:
            return kind
        case CategoryColumn() as column:
            return kind + math.log(3) + inside.category(column)
        case DayOf() as day:
            return kind + math.log(3) + inside.day(day)
        case value:
            return kind + math.log(3) + inside.number(value)


def _spelled_cell(group: Group) -> float:
    """The longest value of a group.  Which rows are in the group NULL follows from the whole list."""
    match group:
        case CategoryColumn(_, values):
            longest = max(map(value_nats, values))
            return math.log(2) + max(longest, list_nats(values)) if has_null(group) else longest
        case BooleanColumn() | TextColumn() | Bucket():
            return math.log(group_size(group))
        case _:
            assert_never(group)
