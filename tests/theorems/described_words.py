"""The words of a dictionary, written once more: a program that chooses, with the weights of the page.

The program is run in two ways.  ``Drawn`` makes each choice at random; ``AllWords`` makes every choice that leaves
a word likely enough.  Both say how many nats a word has: minus the logarithm of the weights that were chosen.  No
weight and no length is taken from ``adyton.query``, so a weight there that is too large is seen by comparison.
Weights of a choice sum to at most 1 here too, which every choice checks.

What a description can say in a way that the dictionary reads otherwise is left out (``Nothing``): a part inside its
own kind, a range as two comparisons, a column in the place of an expression.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations, product
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    IntegerColumn,
    Lattice,
    PublicJoin,
    RealColumn,
    Table,
    TextColumn,
    day_of,
)
from adyton.kernel.terms.buckets import Bucket, Group
from adyton.kernel.terms.expressions import (
    MIRRORED,
    And,
    Case,
    Clip,
    Compare,
    Condition,
    Curved,
    Days,
    Floor,
    Indicator,
    Negative,
    Not,
    NumberExpression,
    Or,
    Plus,
    Quotient,
    Square,
    Times,
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
    ValueOf,
)
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Mean,
    Measure,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.kernel.terms.names import joined
from adyton.kernel.terms.persons import PersonNumber, table_of_persons
from adyton.query.calendar import day_of_year, iso_week, iso_year, last_of_month, later, start_of
from adyton.query.nodes import Query

Weights = Mapping[Any, float]
Columns = tuple[Column, ...]
Program = Callable[..., Any]


class Nothing(Exception):
    """What was chosen is no word, or another one's description."""


# Making choices --------------------------------------------------------------------------------------------


class Choices:
    """Whoever makes the choices of a program, and counts their nats."""

    def one(self, weights: Weights) -> Any:
        """One of these; what their weights leave over is nothing."""
        raise NotImplementedError

    def word(self, program: Program, *facts: Any) -> Any:
        """What a program makes, whose choices count as well."""
        raise NotImplementedError

    def different(self, many: int, program: Program, *facts: Any) -> tuple[Any, ...]:
        """So many different words, which may stand in any order and have the weight of all orders."""
        raise NotImplementedError

    # What follows from these.

    def equally(self, among: Iterable[Any]) -> Any:
        listed = list(among)
        return self.one(dict.fromkeys(listed, 1 / len(listed) if listed else 0.0))

    def number(self, least: int) -> int:
        """How many there are, from ``least`` on."""
        return int(self.one(_how_many(least)))

    def some(self, least: int, program: Program, *facts: Any) -> tuple[Any, ...]:
        return self.different(self.number(least), program, *facts)


@cache
def _how_many(least: int) -> Weights:
    return {least + more: 2.0 ** -(more + 1) for more in range(25)}


class Drawn(Choices):
    """At random by the weights, and what they leave over is nothing.

    Or some choices are ``lifted`` so many times, as they are seldom, and nothing is left over.  The nats are those
    of the weights in both cases.
    """

    def __init__(self, rng: random.Random, lifted: Mapping[Any, float] | None = None) -> None:
        self.rng, self.lifted, self.nats = rng, lifted or {}, 0.0

    def one(self, weights: Weights) -> Any:
        _check(weights)
        chances = [weight * self.lifted.get(choice, 1.0) for choice, weight in weights.items()]
        at = self.rng.random() * (sum(chances) if self.lifted else 1.0)
        for (choice, weight), chance in zip(weights.items(), chances, strict=True):
            at -= chance
            if at < 0:
                self.nats -= math.log(weight)
                return choice
        raise Nothing

    def word(self, program: Program, *facts: Any) -> Any:
        return program(self, *facts)

    def different(self, many: int, program: Program, *facts: Any) -> tuple[Any, ...]:
        found = tuple(program(self, *facts) for _ in range(many))
        if len(set(found)) < many:
            raise Nothing
        self.nats -= math.lgamma(many + 1)
        return found


def _check(weights: Weights) -> None:
    assert sum(weights.values()) <= 1 + 1e-9


def draw(drawn: Drawn, program: Program, *facts: Any) -> tuple[float, Any]:
    """A word and its nats; ``Nothing`` where none was drawn."""
    drawn.nats = 0.0
    try:
        found = program(drawn, *facts)
    except InvalidRequest:
        raise Nothing from None
    return drawn.nats, found


class _Ways(Exception):
    """All that can be chosen here, with its nats."""


class _Tried(Choices):
    """Makes the choices of a path, and says what can be chosen next."""

    def __init__(self, all_words: AllWords, limit: float, path: Sequence[tuple[float, Any]]) -> None:
        self.all_words, self.left, self.path, self.at = all_words, limit, path, 0

    def _next(self, ways: Callable[[], Iterable[tuple[float, Any]]]) -> Any:
        if self.at == len(self.path):
            raise _Ways([way for way in ways() if way[0] <= self.left])
        nats, choice = self.path[self.at]
        self.at, self.left = self.at + 1, self.left - nats
        return choice

    def one(self, weights: Weights) -> Any:
        assert not isinstance(weights, Listed) or self.left <= weights.complete
        return self._next(lambda: _with_nats(weights))

    def word(self, program: Program, *facts: Any) -> Any:
        return self._next(lambda: self.all_words(self.left, program, *facts))

    def different(self, many: int, program: Program, *facts: Any) -> tuple[Any, ...]:
        return self._next(lambda: _sets(self.all_words(self.left, program, *facts), many, self.left))


def _with_nats(weights: Weights) -> list[tuple[float, Any]]:
    _check(weights)
    return [(-math.log(weight), choice) for choice, weight in weights.items()]


def _sets(words: list[tuple[float, Any]], many: int, limit: float) -> Iterable[tuple[float, tuple[Any, ...]]]:
    """All sets of so many words, which are sorted by their nats.

    No word of a set is longer than the limit: what all orders gain is less than what the others cost.
    """
    gain = math.lgamma(many + 1)
    assert len(words) < many or sum(nats for nats, _ in words[: many - 1]) >= gain
    waiting: list[tuple[float, int, tuple[Any, ...]]] = [(-gain, 0, ())]
    while waiting:
        nats, first, chosen = waiting.pop()
        if len(chosen) == many:
            yield nats, chosen
            continue
        for place in range(first, len(words)):
            own, word = words[place]
            if nats + own * (many - len(chosen)) > limit:  # those that follow are no shorter
                break
            waiting.append((nats + own, place + 1, (*chosen, word)))


class AllWords:
    """All words of a program with at most so many nats, each with its nats, shortest first."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[float, list[tuple[float, Any]]]] = {}

    def __call__(self, limit: float, program: Program, *facts: Any) -> list[tuple[float, Any]]:
        known = self._known.get((program, facts))
        if known is None or known[0] < limit:
            self._known[program, facts] = known = limit, self._found(limit, program, facts)
        return known[1][: bisect_right(known[1], limit, key=lambda word: word[0])]

    def _found(self, limit: float, program: Program, facts: tuple[Any, ...]) -> list[tuple[float, Any]]:
        found, waiting = [], [()]
        while waiting:
            path: tuple[tuple[float, Any], ...] = waiting.pop()
            tried = _Tried(self, limit, path)
            try:
                word = program(tried, *facts)
            except _Ways as ways:
                waiting += [(*path, way) for way in ways.args[0]]
            except (Nothing, InvalidRequest):
                pass
            else:
                found.append((limit - tried.left, word))
        return sorted(found, key=lambda word: word[0])


# Lists of constants ----------------------------------------------------------------------------------------

COMPLETE = 9.5  # nats: every constant that is no longer is listed; of others none, or some


class Listed(dict[Any, float]):
    """Constants, all of at most ``complete`` nats among them."""

    complete = COMPLETE


def _bits(number: int) -> float:
    """Whole numbers from 0 on: by bits, or by digits and zeros behind them; half of the weight each."""
    by_bits, by_digits = 2.0 ** (1 - 2 * (number + 1).bit_length()), 0.0
    if number:
        zeros = len(str(number)) - len(str(number).rstrip("0"))
        digits = len(str(number)) - zeros
        by_digits = 2.0**-digits * 2.0 ** -(zeros + 1) / 9 / 10 ** (digits - 1)
    return max(by_bits, by_digits) / 2


def _rational(value: Fraction) -> float:
    return _bits(abs(value.numerator)) * _bits(value.denominator - 1) / 2


def _likely(weights: Mapping[Any, float]) -> Listed:
    return Listed({value: weight for value, weight in weights.items() if weight >= math.exp(-COMPLETE)})


@cache
def wholes() -> Weights:
    """Longer ones have many bits, or more than two digits before their zeros."""
    numbers = {*range(2000), *(digits * 10**zeros for digits in range(100) for zeros in range(12))}
    return _likely({number: _bits(number) for number in sorted(numbers)})


@cache
def rationals() -> Weights:
    found = list(product(wholes().items(), wholes().items()))
    likely = [(n, d + 1) for (n, a), (d, b) in found if a * b / 2 >= math.exp(-COMPLETE)]
    signed = [Fraction(s * n, d) for (n, d), s in product(likely, (-1, 1)) if math.gcd(n, d) == 1]
    return _likely({value: _rational(value) for value in signed})


@cache
def _whole() -> Weights:
    return Listed({int(value): weight for value, weight in rationals().items() if value.denominator == 1})


@cache
def _steps() -> Weights:
    return Listed({value: weight for value, weight in rationals().items() if value > 0})


@cache
def bins() -> Weights:
    """1, 2 or 5 times a power of ten with its sign, or any rational above 0."""
    round_ones = {f * Fraction(10) ** p: _bits(abs(p)) / 12 for p in range(-99, 100) for f in (1, 2, 5)}
    others = {value: weight / 2 for value, weight in rationals().items() if value > 0}
    return _likely(others | round_ones)


@cache
def fractions() -> Weights:
    percent = {Fraction(n, 100): 1 / 32 for n in (1, 5, 10, 25, 75, 90, 95, 99)} | {Fraction(1, 2): 1 / 2}
    places = {Fraction(n, 10_000): 1 / 8 / 9_999 for n in range(7, 10_000, 613)}  # a sample: 11.3 nats
    others = {value: weight / 8 for value, weight in rationals().items() if 0 < value < 1}
    listed = Listed(places | others | percent)
    listed.complete = 11.0
    return listed


def _power(value: Fraction) -> int:
    """The greatest k with 10**k <= value."""
    return max(k for k in range(-40, 41) if Fraction(10) ** k <= value)


@lru_cache(maxsize=4096)
def constants(lattice: Lattice) -> Weights:
    """A step, a place of the range, a decimal, any rational; the likeliest of these ways counts."""
    step, low, high = lattice.step, lattice.low, lattice.high
    found = {value: weight / 16 for value, weight in rationals().items()}
    ways = [(k * step, 15 / 64 / (high - low + 1)) for k in range(low, min(high, low + 3200) + 1)]
    if low < high:
        ways += [
            (low * step + (high - low) * step * Fraction(k, 10**s), 15 / 64 / 2**s / (10**s + 1))
            for s in (2, 1)
            for k in range(10**s + 1)
        ]
    first, last = _power(step), max(_power(abs(end) * step) for end in (low, high, 1) if end)
    signs = (1, -1) if low < 0 else (1,)
    ways += [(Fraction(0), 30 / 64 / 8)]
    for digits, k, sign in product((1, 2), range(first, last + 1), signs):
        own = 30 / 64 * 7 / 8 / len(signs) / 2**digits / (9 * 10 ** (digits - 1)) / (last - first + 1)
        several = range(10 ** (digits - 1), 10**digits)
        ways += [(sign * n * Fraction(10) ** k, own) for n in several if n % 10 or k == last]
    for value, weight in ways:
        found[value] = max(found.get(value, 0.0), weight)
    return _likely(found)


@cache
def days(lattice: Lattice) -> Weights:
    """An end of a year or of a month, or any day within the bounds; any day at all has a weight as well."""
    inside = range(lattice.low, min(lattice.high, lattice.low + 3000) + 1)
    many = lattice.high - lattice.low + 1
    ends: dict[str, list[int]] = {
        "year": [k for k in inside if _ends(k, lambda day: day.year)],
        "month": [k for k in inside if _ends(k, lambda day: day.month)],
    }
    found = dict.fromkeys(inside, 30 / 128 / many) | {lattice.high + 1: 8 / 128 / 3_652_059}
    for name in ("month", "year"):
        for k in ends[name]:
            found[k] = max(found[k], 45 / 128 / len(ends[name]))
    return found


def _ends(number: int, of: Callable[[Any], int]) -> bool:
    return len({of(day_of(number + d)) for d in (-1, 0, 1)}) > 1


# Numbers and days ------------------------------------------------------------------------------------------

NUMBERS = {
    name: share / 128
    for name, share in [
        *(("column", 96), ("constant", 1), ("part", 1), ("plus", 4), ("times", 4), ("negative", 1)),
        *(("square", 2), ("clip", 4), ("floor", 2), ("curve", 1), ("quotient", 2), ("indicator", 3)),
        *(("case", 3), ("lookup", 1), ("date part", 2), ("day count", 1)),
    ]
}
DAYS = {"column": 11 / 16, "function": 3 / 16, "computed": 1 / 16, "written": 1 / 16}


def number(pick: Choices, columns: Columns) -> NumberExpression:
    match pick.one(NUMBERS):
        case "column":
            return ValueOf(pick.equally(_of(columns, IntegerColumn, RealColumn)))
        case "constant":
            return Constant(pick.one(rationals()))
        case "plus":
            return _no_part(Plus(*_in_order(pick.word(number, columns), pick.word(number, columns))))
        case "times":
            return Times(*_in_order(pick.word(number, columns), pick.word(number, columns)))
        case "negative":
            return Negative(pick.word(number, columns))
        case "square":
            return Square(pick.word(number, columns))
        case "clip":
            inner = pick.word(number, columns)
            ends = [pick.one(constants(inner.lattice)) for _ in range(2)]
            return _no_part(Clip(inner, *ends))
        case "floor":
            return Floor(pick.word(number, columns), pick.one(bins()))
        case "curve":
            curve, decimals = pick.equally(("sqrt", "ln", "log10", "exp")), pick.equally(range(10))
            return Curved(curve, pick.word(number, columns), decimals)
        case "quotient":
            decimals, low, high = pick.equally(range(10)), pick.one(rationals()), pick.one(rationals())
            return Quotient(pick.word(number, columns), pick.word(number, columns), low, high, decimals)
        case "indicator":
            return Indicator(pick.word(where, columns))
        case "case":
            return _case(pick, columns)
        case "lookup":
            return _lookup(pick, columns)
        case kind:
            return _of_a_day(pick, columns, kind)


def _case(pick: Choices, columns: Columns) -> Case:
    many = range(pick.number(1))
    branches = tuple((pick.word(where, columns), pick.word(number, columns)) for _ in many)
    return Case(branches, pick.word(number, columns) if pick.equally((False, True)) else None)


def _lookup(pick: Choices, columns: Columns) -> Lookup:
    column = pick.equally(_of(columns, CategoryColumn))
    known = [pick.one({False: 1 / 4, True: 3 / 4}) for _ in column.values]
    return Lookup(column, tuple(pick.one(_whole()) if one else None for one in known), pick.one(_steps()))


def _of_a_day(pick: Choices, columns: Columns, kind: str) -> NumberExpression:
    if not _of(columns, DateColumn):
        raise Nothing
    if kind == "part":
        called = pick.equally((day_of_year, iso_week, iso_year))
        return called(_not_written(pick.word(day, columns)))  # type: ignore[no-any-return]
    if kind == "day count":
        return DayCount(pick.word(day, columns))
    return DatePart(pick.equally(("year", "quarter", "month", "day", "weekday")), pick.word(day, columns))


def _in_order(left: Any, right: Any) -> tuple[Any, Any]:
    """Of two descriptions that say the same, one."""
    return (left, right) if repr(left) <= repr(right) else (right, left)


def _no_part(node: Plus | Clip) -> NumberExpression:
    """Sums and clipped numbers of days may be parts that have a name."""
    if any(isinstance(inner, DatePart | DayCount) for inner in parts_of(node)):
        raise Nothing
    return node


def parts_of(node: object) -> Iterable[object]:
    """Itself, and all that it is made of, down to columns."""
    yield node
    names = getattr(node, "__slots__", ())
    for each in node if isinstance(node, tuple) else [getattr(node, name) for name in names]:
        if not isinstance(each, Column | Lattice | Fraction | str):
            yield from parts_of(each)


def day(pick: Choices, columns: Columns) -> Days:
    kind = pick.one(DAYS)
    if not _of(columns, DateColumn):
        raise Nothing
    match kind:
        case "column":
            return DayOf(pick.equally(_of(columns, DateColumn)))
        case "function":
            return _day_function(pick, columns)
        case "computed":
            inner = pick.word(number, columns)
            if any(isinstance(one, DatePart | DayCount) for one in parts_of(inner)):
                raise Nothing
            return DayFrom(inner)
        case _:
            return Day(pick.one(dict.fromkeys(range(-719_162, 2_932_897, 99_991), 1 / 3_652_059)))


def _day_function(pick: Choices, columns: Columns) -> DayFrom:
    kind = pick.equally(("week", "month", "quarter", "year", "last", "moved"))
    if kind == "moved":
        sign, unit, many = pick.equally((-1, 1)), pick.equally(("days", "months")), pick.one(wholes())
        if not many:
            raise Nothing
        by = (0, sign * many) if unit == "days" else (sign * many, 0)
        return later(_not_written(pick.word(day, columns)), *by)
    of = _not_written(pick.word(day, columns))
    return last_of_month(of) if kind == "last" else start_of(kind, of)


def _not_written(of: Days) -> Any:
    """What follows from a written day is a written day, or a number."""
    if isinstance(of, Day):
        raise Nothing
    return of


def _of(columns: Columns, *kinds: type) -> list[Any]:
    return [column for column in columns if isinstance(column, kinds)]


# Conditions ------------------------------------------------------------------------------------------------

PARTS = {
    name: share / 32
    for name, share in [
        *(("column", 23), ("any", 3), ("expression", 3), ("all", 1), ("negated", 1), ("always", 1)),
    ]
}
OF_A_BOOLEAN = {"true": 7 / 16, "false": 7 / 16, "missing": 1 / 16, "present": 1 / 16}
OF_A_CATEGORY = {
    "one": 16 / 32,
    "several": 8 / 32,
    "not one": 2 / 32,
    "not several": 2 / 32,
    **dict.fromkeys(("missing", "present", "outside", "inside"), 1 / 32),
}
OF_AN_ORDER = {
    "comparison": 40 / 64,
    "between": 16 / 64,
    "listed": 4 / 64,
    **dict.fromkeys(("missing", "present", "outside", "inside"), 1 / 64),
}
SIGNS = {"<": 3 / 16, "<=": 3 / 16, ">=": 3 / 16, ">": 3 / 16, "=": 1 / 8, "<>": 1 / 8}


def where(pick: Choices, columns: Columns) -> Condition:
    parts = pick.some(0, part, columns, And)
    _check_ranges(parts)
    return parts[0] if len(parts) == 1 else And(parts) if parts else EVERY_ROW


def part(pick: Choices, columns: Columns, inside: type | None) -> Condition:
    """``inside``: a part of AND is not itself an AND, and one of OR no OR: they would be one."""
    match pick.one(PARTS):
        case "column":
            found = pick.word(about, pick.equally(columns))
            if inside is Or and isinstance(found, Or):
                raise Nothing
            return found  # type: ignore[no-any-return]
        case "any" if inside is not Or:
            return _joined(Or, pick.some(1, part, columns, Or))
        case "all" if inside is not And:
            return _joined(And, pick.some(1, part, columns, And))
        case "expression":
            return _compared(pick, columns)
        case "negated":
            inner = pick.word(part, columns, None)
            if isinstance(inner, IsTrue | OneOf | IsMissing | IsOutside):
                raise Nothing
            return Not(inner)
        case "always":
            truth = pick.equally((True, False))
            if truth and inside is And:
                raise Nothing
            return Always(truth)
    raise Nothing


def _joined(kind: type[And] | type[Or], parts: tuple[Condition, ...]) -> Condition:
    """Two at least; not a list of values, and not a range, which are written otherwise."""
    if len(parts) < 2:
        raise Nothing
    if kind is And:
        _check_ranges(parts)
    elif len({_compared_column(one) for one in parts}) == 1 and all(_sign(one) == "=" for one in parts):
        raise Nothing
    return kind(parts)


def _check_ranges(parts: tuple[Condition, ...]) -> None:
    """Two ends of a column are a range, unless it is compared more often."""
    flat = [one for each in parts for one in (each.parts if isinstance(each, And) else (each,))]
    for column in {_compared_column(one) for one in flat} - {None}:
        signs = [_sign(one) for one in flat if _compared_column(one) == column]
        if any(isinstance(one, And) and _compared_column(one.parts[0]) == column for one in parts):
            if len(signs) > 2:
                raise Nothing
        elif "<>" not in signs and sorted(sign[0] for sign in signs) == ["<", ">"]:
            raise Nothing


def _compared_column(one: Condition) -> str | None:
    plain = isinstance(one, Compare) and isinstance(one.left, ValueOf | DayOf)
    return one.left.column.name if plain and constant_of(one.right) is not None else None


def _sign(one: Condition) -> str:
    return one.operator if isinstance(one, Compare) else ""


def _compared(pick: Choices, columns: Columns) -> Compare:
    """Of two numbers or two days, of which one may be a constant; a plain column is none of these."""
    of, constant = pick.equally((number, day)), pick.equally((True, False))
    sign, left = pick.one(SIGNS), pick.word(of, columns)
    if constant_of(left) is not None or (constant and isinstance(left, ValueOf | DayOf)):
        raise Nothing
    if constant:
        return Compare(left, sign, _constant(pick, left))
    right = pick.word(of, columns)
    if constant_of(right) is not None:
        raise Nothing
    if sign in (">", ">="):
        return Compare(right, MIRRORED[sign], left)
    if sign in ("=", "<>"):
        left, right = _in_order(left, right)
    return Compare(left, sign, right)


def _constant(pick: Choices, left: Any) -> Any:
    if isinstance(left, Days):
        return Day(pick.one(days(left.lattice)))
    return Constant(pick.one(constants(left.lattice)))


def about(pick: Choices, column: Column) -> Condition:
    """A condition on one column."""
    kinds = {BooleanColumn: OF_A_BOOLEAN, CategoryColumn: OF_A_CATEGORY}
    kinds[TextColumn] = {"missing": 1 / 2, "present": 1 / 2}
    match pick.one(kinds.get(type(column), OF_AN_ORDER)):
        case "true":
            return IsTrue(column)
        case "false":
            return Not(IsTrue(column))
        case "missing":
            return IsMissing(column)
        case "present":
            return Not(IsMissing(column))
        case "outside":
            return IsOutside(column)
        case "inside":
            return Not(IsOutside(column))
        case "one":
            return OneOf(column, (pick.equally(column.values),))
        case "not one":
            return Not(OneOf(column, (pick.equally(column.values),)))
        case "several" | "not several" as kind:
            listed = OneOf(column, pick.equally(combinations(column.values, pick.number(2))))
            return listed if kind == "several" else Not(listed)
        case kind:
            return _of_an_order(
                pick, DayOf(column) if isinstance(column, DateColumn) else ValueOf(column), kind
            )


def _of_an_order(pick: Choices, value: Any, kind: str) -> Condition:
    if kind == "comparison":
        return Compare(value, pick.one(SIGNS), _constant(pick, value))
    if kind == "between":
        low, high = pick.equally(product((">", ">="), ("<", "<=")))
        return And(
            (Compare(value, low, _constant(pick, value)), Compare(value, high, _constant(pick, value)))
        )
    listed = pick.some(1, _constant, value)
    if len(listed) < 2:
        raise Nothing
    return Or(tuple(Compare(value, "=", one) for one in listed))


# Measures, groups, tables ----------------------------------------------------------------------------------

MEASURES = {
    "count": 1 / 4,
    "mean": 1 / 4,
    "sum": 1 / 8,
    **dict.fromkeys(("proportion", "count of persons", "variance", "quantile", "moments"), 1 / 16),
    "sum of persons": 1 / 32,
    "cdf": 1 / 32,
}
FROM = {"table": 5 / 8, "public": 1 / 4, "persons": 1 / 8}
MOMENTS = ("covariance", "correlation", "r2", "slope", "intercept")
KINDS = ("rows", "sum", "least", "greatest", "distinct")


def measure(pick: Choices, columns: Columns, has_persons: bool) -> Measure:
    match pick.one(MEASURES):
        case "count":
            return Count()
        case "mean":
            return Mean(pick.word(number, columns))
        case "sum":
            return Sum(pick.word(number, columns))
        case "variance":
            return Variance(pick.word(number, columns))
        case "proportion":
            return Proportion(pick.word(where, columns))
        case "quantile":
            return Quantile(pick.word(number, columns), pick.one(fractions()))
        case "moments":
            return Moments(pick.word(number, columns), pick.word(number, columns), pick.equally(MOMENTS))
        case "cdf":
            value = pick.word(number, columns)
            return Cdf(value, (pick.one(constants(value.lattice)),))
        case "count of persons" if has_persons:
            return CountPersons()
        case "sum of persons" if has_persons:
            return SumOfPersons(pick.word(number, columns), pick.one(rationals()), pick.one(rationals()))
    raise Nothing


def group(pick: Choices, columns: Columns) -> Group:
    kind = pick.one({"column": 12 / 16, "number": 3 / 16, "day": 1 / 16})
    if kind == "column":
        column = pick.equally(_of(columns, CategoryColumn, BooleanColumn, TextColumn))
        if isinstance(column, TextColumn):  # its values are discovered
            raise Nothing
        return column  # type: ignore[no-any-return]
    null = pick.one({False: 15 / 16, True: 1 / 16})
    return Bucket("g", pick.word(number if kind == "number" else day, columns), None, null)


def table(pick: Choices, of: Table) -> Table:
    match pick.one(FROM):
        case "table":
            return of
        case "public":
            return joined((of,), pick.some(1, link, of))
        case _:
            if pick.one(FROM) != "table":  # what its rows are
                raise Nothing
            many, condition = pick.number(1), pick.word(where, of.columns)
            numbers = [(f"p{place}", pick.word(person_number, of.columns)) for place in range(many)]
            return table_of_persons(of, condition, tuple(numbers))


def link(pick: Choices, of: Table) -> PublicJoin:
    return PublicJoin(of.name, pick.equally(of.dimensions), pick.equally((False, True)))


def person_number(pick: Choices, columns: Columns) -> PersonNumber:
    kind = pick.equally(KINDS)
    own = pick.word(where, columns)
    if kind == "rows":
        return PersonNumber(kind, None, own)
    match pick.equally(("number", "day", "category")):
        case "number":
            return PersonNumber(kind, pick.word(number, columns), own)
        case "day":
            return PersonNumber(kind, pick.word(day, columns), own)
        case _:
            return PersonNumber(kind, pick.equally(_of(columns, CategoryColumn)), own)


@dataclass(frozen=True, slots=True)
class Word:
    """A value of a query; each of its cells is a code word."""

    table: Table
    most_groups: int | None
    by: tuple[Group, ...]
    where: Condition
    measure: Measure

    @property
    def query(self) -> Query:
        by = [
            Bucket(f"g{i}", g.value, g.labels, g.null) if isinstance(g, Bucket) else g
            for i, g in enumerate(self.by)
        ]
        return Query(self.table, (("x", self.measure),), self.where, tuple(by), self.most_groups)


def word(pick: Choices, of: Table) -> Word:
    """The cell, which is chosen last, is left to whoever asks: it has ln K nats."""
    if pick.one({"by the file": 15 / 16, "spelled": 1 / 16}) == "spelled":
        raise Nothing
    own = pick.word(table, of)
    limit = pick.one({"none": 7 / 8, "some": 1 / 8})
    most = None if limit == "none" else pick.number(1)
    by = pick.some(0, group, own.columns)
    values = [one.value if isinstance(one, Bucket) else one for one in by]
    if len(set(values)) < len(values):
        raise Nothing
    condition = pick.word(where, own.columns)
    asked = pick.word(measure, own.columns, own.person is not None)
    if own is not of and any(isinstance(one, IsOutside) for one in parts_of((by, condition, asked))):
        raise Nothing  # nothing public or computed comes from outside
    return Word(own, most, by, condition, asked)
