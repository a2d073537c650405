"""What an asker may name as the price of a query, always its total, and how noise follows from it.

A width may be named for each value: one number is for values of one unit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypedDict, Unpack, assert_never, get_args

from adyton.errors import BudgetRefused, InvalidRequest, about
from adyton.kernel.accounting.noisy_reading import LEVEL, step_of
from adyton.kernel.accounting.rules import TOO_SMALL, NoiseKind
from adyton.kernel.exact import Number, decimal_text, positive
from adyton.kernel.mechanisms import Mechanism
from adyton.kernel.schema import Table, TextColumn
from adyton.kernel.sensitivity import Reading
from adyton.kernel.terms.expressions import (
    Case,
    Clip,
    Curved,
    Floor,
    Indicator,
    Negative,
    NumberExpression,
    Plus,
    Quotient,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import Constant, DatePart, DayCount, Lookup, ValueOf
from adyton.kernel.terms.measures import Count, CountPersons, Mean, Proportion, Sum, SumOfPersons
from adyton.kernel.terms.names import columns_in
from adyton.noise_intervals.proportions import noise_for_cost
from adyton.noise_intervals.widths import noise_of_scale, noise_within
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.nodes import Query
from adyton.query.request import Request
from adyton.refusals import Refusal, refused
from adyton.study import Study
from adyton.study.validity import refuse_where_rounded

By = Literal["within", "epsilon", "share", "scale"]
_MOST_NAMED = 8  # values of a long batch in one message
_Wide = Count | CountPersons | Proportion | Sum | SumOfPersons | Mean
_Leaf = ValueOf | DatePart | DayCount | Lookup
EXPECTED_ROWS = "--expected-rows, in Python expected_rows"  # how an asker says how many rows match


# Prices as they are named ----------------------------------------------------------------------------------


class PriceWords(TypedDict, total=False):
    """Exactly one of the first four, and ``expected_rows`` if the asker knows it.

    ``within``: half-width of each value's 95 % noise interval, one number or one for each value by its name,
    {"n": 100} or "n=100,mean=5".  ``epsilon``: the query's own guarantee at the study's delta.
    ``share``: of what is left.  ``scale``: of each value's noise.  ``expected_rows``: how many rows the
    asker expects to contribute to a mean, whose width depends on it.
    """

    within: Number | Mapping[str, Number]
    epsilon: Number
    share: Number
    scale: Number
    expected_rows: int


@dataclass(frozen=True, slots=True)
class Price:
    """``each``: where values have widths of their own, these, by name; ``amount`` is a factor for all."""

    by: By | Literal["units"]  # of the ledger, which no asker names
    amount: Fraction
    expected_rows: int | None = None
    each: tuple[tuple[str, Fraction], ...] = ()

    def of(self, value: str) -> Fraction:
        """What is named for the value of this name."""
        own = {name.casefold(): width for name, width in self.each}
        return self.amount * own[value.casefold()] if self.each else self.amount


def names_a_price(requests: Sequence[Request], words: PriceWords) -> bool:
    beside = any(words.get(by) is not None for by in get_args(By))
    return beside or any(asking.epsilon is not None for asking in requests)


def agreed_price(requests: Sequence[Request], words: PriceWords, study: Study) -> Price:
    """The price that the caller names, or the one that the query itself names in its OPTIONS."""
    written = [asking for asking in requests if asking.epsilon is not None]
    for asking in requests:
        if asking.delta is not None and asking.delta < study.budget.delta:
            raise InvalidRequest(
                f"this study guarantees delta = {float(study.budget.delta):g}; a query cannot guarantee less"
            )
    if not written:
        return price_of(**words)
    if len(requests) > 1 or names_a_price((), words):
        twice = "a price was named twice: in the query's OPTIONS and beside it; name it once"
        raise InvalidRequest(twice, field="epsilon")
    named: PriceWords = {**words, "epsilon": str(written[0].epsilon)}
    return price_of(**named)


def price_of(**words: Unpack[PriceWords]) -> Price:
    """The one price that was named; InvalidRequest if none or several were."""
    unknown = set(words) - set(PriceWords.__annotations__)
    if unknown:
        raise InvalidRequest(
            f"unknown option {sorted(unknown)[0]!r}; known: {', '.join(PriceWords.__annotations__)}"
        )
    named = [by for by in get_args(By) if words.get(by) is not None]
    exactly_one = "give exactly one of within, epsilon, share or scale"
    if not named:
        raise InvalidRequest(f"no price was named: {exactly_one}", reason="no_price", field="within")
    if len(named) > 1:
        raise InvalidRequest(f"{len(named)} prices were named: {exactly_one}", field=named[0])
    by: By = named[0]
    with about(by):
        each = _each(words["within"]) if by == "within" else ()
        amount = Fraction(1) if each else positive(words[by], by)
        if by == "share" and amount > 1:
            raise InvalidRequest(f"share must be above 0 and at most 1, not {words['share']}")
    expected_rows = words.get("expected_rows")
    if expected_rows is not None and (type(expected_rows) is not int or expected_rows < 1):
        wrong = "expected_rows must be a whole number of rows, at least 1"
        raise InvalidRequest(wrong, field="expected_rows")
    return Price(by, amount, expected_rows, each)


def _each(within: Number | Mapping[str, Number]) -> tuple[tuple[str, Fraction], ...]:
    """The widths of values by their names; nothing where one number is for all of them."""
    return tuple((name, positive(width, f"within for {name!r}")) for name, width in by_name(within, "within"))


def by_name(given: Number | Mapping[str, Number], what: str) -> list[tuple[str, Number]]:
    """Numbers of values by their names, a mapping or name=number,name=number; nothing for one number."""
    named: list[tuple[str, Number]]
    if isinstance(given, str) and "=" in given:
        pieces = [piece.rpartition("=") for piece in given.split(",")]
        if any(not name.strip() for name, _, _ in pieces):
            raise InvalidRequest(f"{what} is one number, or name=number,name=number, not {given[:100]!r}")
        named = [(name.strip(), number.strip()) for name, _, number in pieces]
    elif isinstance(given, Mapping):
        named = [(str(name), number) for name, number in given.items()]
        if not named:
            raise InvalidRequest(f'{what} names no value: {{"n": 100}} gives the one called n a width of 100')
    else:
        return []
    folded = [name.casefold() for name, _ in named]
    twice = next((name for name in folded if folded.count(name) > 1), None)
    if twice is not None:
        raise InvalidRequest(f"{what} names {twice!r} twice")
    return named


# Which width is meant for which value ----------------------------------------------------------------------


def check_widths(price: Price, queries: Sequence[Query]) -> None:
    """Refuses one number for values of different units, and names that are missing or unknown.

    Values whose width nobody can guarantee, such as quantiles, are left to those who refuse them.
    """
    if price.by != "within":
        return
    measures = [named for query in queries for named in query.measures]
    wide = [(name, measure) for name, measure in measures if isinstance(measure, _Wide)]
    if not price.each:
        if len({_unit_of(measure) for _, measure in wide}) > 1:
            raise InvalidRequest(_different(wide))
        return
    named = {name.casefold() for name, _ in price.each}
    known = {name.casefold(): name for name, _ in measures}
    if unknown := [name for name, _ in price.each if name.casefold() not in known]:
        raise InvalidRequest(
            f"within names {unknown[0]!r}, which is not a value of this query; its values are: "
            f"{', '.join(known.values())}"
        )
    if missing := [known[name.casefold()] for name, _ in wide if name.casefold() not in named]:
        missed = ", ".join(dict.fromkeys(missing))
        raise InvalidRequest(f"within says nothing about {missed}: give every value its width")


def _different(wide: Sequence[tuple[str, _Wide]]) -> str:
    examples = {_unit_of(measure): f"{name} is {_unit_text(measure)}" for name, measure in reversed(wide)}
    names = list(dict.fromkeys(name for name, _ in wide))
    more = ",..." if len(names) > _MOST_NAMED else ""
    return (
        f"one width does not suit values of different units ({', '.join(reversed(examples.values()))}); "
        f"give each its own, as within {','.join(f'{name}=W' for name in names[:_MOST_NAMED])}{more}"
    )


def _unit_of(measure: _Wide) -> tuple[str, frozenset[_Leaf]]:
    """Two values have one unit if they count, or are shares, or are made of the same columns in one way."""
    match measure:
        case Count() | CountPersons():
            return "a count", frozenset()
        case Proportion():
            return "a share", frozenset()
        case Mean(value):
            return "a mean", frozenset(_leaves(value))
        case Sum(value) | SumOfPersons(value):
            return "a sum", frozenset(_leaves(value))
        case _:
            assert_never(measure)


def _unit_text(measure: _Wide) -> str:
    kind, leaves = _unit_of(measure)
    columns = sorted({column.name for column in columns_in(*leaves)})
    return f"{kind} of {' and '.join(columns)}" if columns else kind


def _leaves(value: NumberExpression | None) -> set[_Leaf]:
    """What a number is made of; the columns in its conditions only choose."""
    match value:
        case ValueOf() | DatePart() | DayCount() | Lookup():
            return {value}
        case Plus(left, right) | Times(left, right) | Quotient(left, right):
            return _leaves(left) | _leaves(right)
        case Negative(inner) | Square(inner) | Floor(inner) | Clip(inner) | Curved(_, inner):
            return _leaves(inner)
        case Case(branches, otherwise):
            return _leaves(otherwise).union(*(_leaves(then) for _, then in branches))
        case Constant() | Indicator() | None:
            return set()
        case _:
            assert_never(value)


# From the price to the noise of a reading ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pricing:
    """The price of a query in a study that has ``left`` units left."""

    study: Study
    price: Price
    left: int
    expected_rows: int | None

    @property
    def is_total(self) -> bool:
        """Whether the price names what the whole query may cost, not how wide its values may be."""
        return self.price.by in ("epsilon", "share", "units")

    @property
    def units(self) -> int:
        return units_of(self.study, self.price, self.left)

    def noise(self, reading: Reading, part: Fraction) -> Mechanism:
        """For a reading that may use this part of the price; on a grid, where the study rounds."""
        with about(self.price.by):
            if self.study.grid is None:
                return self._plain_noise(reading, part)
            from adyton.planning.grids import on_grid

            return on_grid(self.study, reading.sensitivity, self._plain_noise(reading, part))

    def _plain_noise(self, reading: Reading, part: Fraction) -> Mechanism:
        if self.is_total:
            return self.noise_for_units(reading, int(self.units * part))
        steps = float(self._in_steps(reading))
        if self.price.by == "within":
            if self.study.grid is not None:
                from adyton.planning.grids import room_for_noise

                steps = room_for_noise(self.study, reading.sensitivity, steps)
            return _made_once(noise_within, self._kind, reading.sensitivity, steps, LEVEL)
        return _made_once(noise_of_scale, self._kind, reading.sensitivity, steps)

    def noise_for_units(self, reading: Reading, units: int) -> Mechanism:
        cost = self.study.rule.noise_cost(units)
        return _made_once(noise_for_cost, self._kind, reading.sensitivity, cost)

    def check_total(self, what: str) -> None:
        """For values whose width nobody can guarantee before the rows are read; they are never rounded."""
        refuse_where_rounded(self.study, what)
        if not self.is_total:
            raise InvalidRequest(
                f"how wide the interval of {what} is depends on the rows: name the price as epsilon or share",
                field=self.price.by,
            )

    @property
    def _kind(self) -> NoiseKind:
        return self.study.rule.noise

    def _or_declare(self, reading: Reading) -> str:
        """What the owner could do; nothing where groups are discovered, or where tables are joined."""
        finds = any(isinstance(group, TextColumn) for group in reading.by)
        key = rows_key(self.study, reading.table or self.study.table)
        return f", declare {key}" if key is not None and not finds else ""

    def _in_steps(self, reading: Reading) -> Fraction:
        """The price, given in the units of the answer, in steps of the integers that are read."""
        step, named = step_of(reading), self.price.of(reading.name)
        if reading.public_rows is not None:
            return named * reading.public_rows / step
        if len(reading.coordinates) == 1:
            return named / step
        if self.expected_rows is None:
            raise InvalidRequest(
                f"how wide the interval of {reading.name!r} is depends on how many rows match, which is "
                f"private: say how many you expect ({EXPECTED_ROWS}){self._or_declare(reading)}, or name the "
                "price as epsilon or share",
                field="expected_rows",
            )
        return named * self.expected_rows / step


def rows_key(study: Study, table: Table) -> str | None:
    """The key of the study file that would say about how many rows of ``table`` count; None for a join."""
    if table.join is not None and len(table.join.tables) > 1:
        return None
    name = table.join.tables[0].name if table.join is not None else table.name
    section = "table" if name == study.table.name else f"private.{name}"
    return f"{section}.{'rows' if study.unit_of(table).rows == 1 else 'lines'}"


def matching_rows(price: Price, query: Query, study: Study) -> int | None:
    """How many rows are expected to contribute to one mean: what the asker says, or an equal share of all."""
    rows = study.rows_expected(query.table)
    if price.expected_rows is not None or rows is None or query.discovers_groups:
        return price.expected_rows
    return max(1, rows // number_of_cells(query))


def units_of(study: Study, price: Price, left: int) -> int:
    match price.by:
        case "units":
            units = int(price.amount)
        case "share":
            units = int(price.amount * left)
        case "epsilon":
            units = study.units_for(price.amount)
        case "within" | "scale":
            raise AssertionError("the noise of each value is named, not the total")
        case _:
            assert_never(price.by)
    if study.parts > 1 and units <= study.allowed:
        units = min(units, left)  # all of the budget leaves room for the charges of later queries
    if units < 1:
        raise _nothing_left(study) if price.by == "share" and left < 1 else InvalidRequest(TOO_SMALL)
    return units


def _nothing_left(study: Study) -> BudgetRefused:
    """Of nothing there is no share; the least that could be charged is one unit."""
    budget = decimal_text(study.allowed)
    facts = Refusal(
        counted_in=study.accounting, requested=decimal_text(1), spent=budget, budget=budget, largest="0"
    )
    return refused(facts.fitting(None, "share"))


@lru_cache(maxsize=4096)
def _made_once(make: Callable[..., Mechanism], *given: Hashable) -> Mechanism:
    """Many queries of a batch are alike.  A class is hashable, although mypy looks at its instances."""
    return make(*given)
