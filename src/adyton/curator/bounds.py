"""Private help with bounds: where nearly all values of a column lie, for a stated part of the budget.

Declared bounds must be public knowledge, so they may have to be generous, and noise grows with them.  Two
quantiles say where the values really are; queries then use CLAMP.  Rounding what was released is
post-processing, so the suggestion costs no more than its one query.  Theorem: POST-PROCESSING.

The study learns no spread from it.  All that its comparisons prove of the population is which share at most
lies beyond a place, and a variance has to count that share at the declared bound.  The fractions are as far
outside as noise allows, so that share is not small, and the bound hardly below what is declared anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from adyton.certify import Answer, Value
from adyton.curator.curator import Curator
from adyton.curator.purse import plan_as_charged
from adyton.documents import Document, restored
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact import Number, rational
from adyton.kernel.ledger.subjects import key_of_measures
from adyton.kernel.schema import IntegerColumn, Lattice, RealColumn, Table
from adyton.kernel.searching import searched
from adyton.kernel.sensitivity.reading import search_weights
from adyton.kernel.terms.expressions import Condition
from adyton.kernel.terms.leaves import EVERY_ROW, ValueOf
from adyton.kernel.terms.measures import Quantile
from adyton.planning.plan import PricedBatch, make_batch
from adyton.planning.price import EXPECTED_ROWS, PriceWords, price_of, rows_key
from adyton.query.labels import plain_number
from adyton.query.nodes import Query
from adyton.query.request import Request
from adyton.query.text import fraction_text, name_text, query_text
from adyton.show import Sheet, Shown, number

FRACTION = Fraction(5, 1000)  # of the values that are left out at each end, or as many as noise needs
_MOST_LEFT_OUT = Fraction(1, 4)
_STEPS_ACROSS = 10  # the range between the quantiles is at least so many steps of the rounding


@dataclass(frozen=True, slots=True)
class PlainEnds(Document):
    """As people write them: whole numbers without a point."""

    low: int | float
    high: int | float

    @classmethod
    def of(cls, low: Fraction, high: Fraction) -> PlainEnds:
        return cls(plain_number(low), plain_number(high))


@dataclass(frozen=True, slots=True)
class ClippedRows(Document):
    """Fractions of the rows that the bounds clip, and how many more noise may clip."""

    below: Fraction
    above: Fraction
    more_rows: int | None


@dataclass(frozen=True, slots=True)
class SuggestedBounds(Shown, Document):
    """Bounds for CLAMP, and the answer that they were rounded from.

    ``more_rows``: with 95 % for each end, noise clips at most that many rows beyond its fraction of the rows.
    It is None if others spent at the same time, so that the noise is not known.  ``vague``: it may be more
    rows than its fraction, so that noise may have moved an end anywhere.
    """

    column: IntegerColumn | RealColumn
    low: Fraction
    high: Fraction
    low_fraction: Fraction
    high_fraction: Fraction
    more_rows: int | None
    vague: bool
    answer: Answer

    json_keys = (
        "column=column.name low=ends.low high=ends.high write=clamp declared=declared_ends clipped vague "
        "asked=answer"
    )

    @property
    def clamp(self) -> str:
        """What to write in queries in place of the column."""
        return f"CLAMP({name_text(self.column.name)}, {fraction_text(self.low)}, {fraction_text(self.high)})"

    @property
    def declared(self) -> tuple[Fraction, Fraction]:
        lattice = self.column.lattice
        return lattice.low * lattice.step, lattice.high * lattice.step

    @property
    def _ends(self) -> tuple[Value, Value]:
        (row,) = self.answer.rows
        low, high = row.values.values()
        return low, high

    @property
    def ends(self) -> PlainEnds:
        return PlainEnds.of(self.low, self.high)

    @property
    def declared_ends(self) -> PlainEnds:
        return PlainEnds.of(*self.declared)

    @property
    def clipped(self) -> ClippedRows:
        return ClippedRows(self.low_fraction, 1 - self.high_fraction, self.more_rows)

    def to_json(self) -> dict[str, Any]:
        return Document.to_json(self) | {"asked": self.answer.to_json()}  # with its rows

    @classmethod
    def _from_shape(cls, shape: Any, **known: Any) -> SuggestedBounds:
        """``known``: the column."""
        clipped = restored(shape.clipped)
        return cls(
            low=rational(shape.ends__low, "low"),
            high=rational(shape.ends__high, "high"),
            low_fraction=clipped.below,
            high_fraction=1 - clipped.above,
            more_rows=clipped.more_rows,
            vague=shape.vague,
            answer=restored(shape.answer),
            **known,
        )

    def sheet(self, verbose: bool = False) -> Sheet:
        shares = (self.low_fraction, self.high_fraction)
        ends = zip(("low", "high"), shares, self._ends, (self.low, self.high), self.declared, strict=True)
        rows = tuple(
            (name, f"{float(share):g}", *self._cells(v), _written(end), _written(bound))
            for name, share, v, end, bound in ends
        )
        headers = ("end", "quantile", "answer", "noise interval", "suggested", "declared")
        return Sheet(f"Bounds for {self.column.name}", headers, rows, self._notes())

    def _cells(self, v: Value) -> tuple[str, str]:
        answer, low, high = (
            number(x, 10 * float(self.column.lattice.step))  # all digits of the step, and no more
            for x in (v.value, v.noise_interval.low, v.noise_interval.high)
        )
        return answer, f"{low} .. {high}"

    def _notes(self) -> tuple[str, ...]:
        below, above = 100 * float(self.low_fraction), 100 * float(1 - self.high_fraction)
        vague = (
            "Noise may have moved an end far out, up to the declared bound: a higher price, fractions "
            "further inside, or the number of rows that you expect (--expected-rows) say more."
        )
        more = f", and because of noise up to {self.more_rows:,} rows more at each end (95 %)"
        return (
            f"Write {self.clamp} in queries, e.g. AVG({self.clamp}).",
            f"About {below:.3g} % of the rows may be clipped below and {above:.3g} % above"
            f"{more if self.more_rows is not None else ''}.",
            *([vague] if self.vague else []),
            "Leave the bounds in the study file as they are: the ledger belongs to them.",
            *self.answer.sheet().notes,
        )


def suggest_bounds(
    curator: Curator,
    column: str,
    low_fraction: Number | None,
    high_fraction: Number | None,
    where: str | None,
    request: str | None,
    price: PriceWords,
) -> SuggestedBounds:
    """``low_fraction`` of the values are at or below the first quantile, ``high_fraction`` at or below the
    second.  Both are rounded outwards, and stay within the declared bounds.  A column of a further private
    table is written table.column.
    """
    table, known = column_of(curator.study.tables, column)
    named = price_of(**price)
    rows = price.get("expected_rows") or curator.study.rows_expected(table)

    def planned(left: int) -> tuple[Fraction, Fraction, Query, PricedBatch]:
        def at(low: Fraction, high: Fraction) -> tuple[Query, PricedBatch]:
            query = _query(table, known, low, high, where)
            return query, make_batch(curator.study, [Request(query)], named, left)

        inside = FRACTION
        if rows is not None and (low_fraction is None or high_fraction is None):
            needed = _more_rows(at(FRACTION, 1 - FRACTION)[1])
            inside = _far_enough(needed, rows, rows_key(curator.study, table))
        low = inside if low_fraction is None else rational(low_fraction, "low_fraction")
        high = 1 - inside if high_fraction is None else rational(high_fraction, "high_fraction")
        if not low < high:
            raise InvalidRequest("low_fraction must be below high_fraction")
        return low, high, *at(low, high)

    alike = key_of_measures((Quantile.__name__,), table.name)
    lefts = curator._lefts_before_any(named, alike) if request is None else []
    left = curator.left_for(request, named)
    low, high, query, batch = plan_as_charged(planned, left, lefts, lambda made: curator._was_paid(made[3]))
    answer = curator.ask(query_text(query), request=request, **price)
    (row,) = answer.rows
    one, other = (v.value for v in row.values.values())
    ends = round_outwards(one, other, known.lattice)
    more = _more_rows(batch) if answer.repeated or answer.cost.units == batch.amount else None
    vague = more is None or rows is None or more > rows * min(low, 1 - high)
    return SuggestedBounds(known, *ends, low, high, more, vague, answer)


def round_outwards(
    one: Fraction | float, other: Fraction | float, lattice: Lattice
) -> tuple[Fraction, Fraction]:
    """The least and the greatest of two numbers, moved outwards to few digits, but not past the lattice.

    They are steps of the lattice, though a float may miss one by a hair.
    """
    low, high = sorted(round(Fraction(number) / lattice.step) * lattice.step for number in (one, other))
    step = _nice_step((high - low) / _STEPS_ACROSS, lattice.step)
    first, last = floor(low / step) * step, ceil(high / step) * step
    if first == last:
        first, last = first - step, last + step
    return max(first, lattice.low * lattice.step), min(last, lattice.high * lattice.step)


def _nice_step(at_most: Fraction, step: Fraction) -> Fraction:
    """The largest of 1, 2, 5, 10, 20, ... not above ``at_most`` and on the step, or so many steps."""
    for nice in _nice_numbers(at_most, step):
        if (nice / step).denominator == 1:
            return nice
    return next((nice * step for nice in _nice_numbers(at_most / step, Fraction(1))), step)


def _nice_numbers(at_most: Fraction, at_least: Fraction) -> Iterator[Fraction]:
    """1, 2 and 5 times powers of ten, downwards."""
    power = Fraction(1)
    while power <= at_most:
        power *= 10
    while power * 5 >= at_least:
        yield from (digit * power for digit in (5, 2, 1) if at_least <= digit * power <= at_most)
        power /= 10


def column_of(tables: Sequence[Table], name: str) -> tuple[Table, IntegerColumn | RealColumn]:
    """The column that is meant by a name, or by table.column, and its table."""
    table, inner = tables[0], name
    for further in tables:
        prefix, _, rest = name.partition(".")
        if rest and prefix.casefold() == further.name.casefold():
            table, inner = further, rest
    column = table.column(inner)
    if not isinstance(column, IntegerColumn | RealColumn):
        raise InvalidRequest(
            f"{column.name!r} is {column.kind}; only numbers, integer or real, have bounds to clamp to"
        )
    return table, column


def _query(
    table: Table, column: IntegerColumn | RealColumn, low: Fraction, high: Fraction, where: str | None
) -> Query:
    condition: Condition = EVERY_ROW
    if where is not None:
        from adyton.query.sql.read import parse_condition

        condition = parse_condition(where, table)
    value = ValueOf(column)
    measures = (("low", Quantile(value, low)), ("high", Quantile(value, high)))
    return Query(table, measures, condition)


def _far_enough(more_rows: int, rows: int, said_by: str | None) -> Fraction:
    """Nearer to the end than noise reaches, every bound would do that lies beyond the last value."""
    needed = Fraction(ceil(Fraction(1000 * more_rows, rows)), 1000)
    if needed > _MOST_LEFT_OUT:
        raise InvalidRequest(
            f"at this price noise reaches {more_rows:,} of {rows:,} rows from each end, so nothing would be "
            "learned: pay more, name the fractions yourself, or say how many rows you expect, if more "
            f"({EXPECTED_ROWS}, or {said_by} in the study file); nothing was charged"
        )
    return max(FRACTION, needed)


def _more_rows(batch: PricedBatch) -> int:
    """A search goes wrong by no more than its comparisons do, which count each row ``times`` times."""
    return max(
        ceil(one.mechanism.error(1 - (1 - LEVEL) / one.times) / search_weights(searched(one.reading))[0])
        for one in batch.plans[0].noisy
    )


def _written(bound: Fraction) -> str:
    return f"{int(bound):,}" if bound.denominator == 1 else fraction_text(bound)
