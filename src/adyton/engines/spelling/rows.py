"""SQL for numbers and conditions on one row: one emitter for all engines, fed with nodes, never with a text.

It reads columns called ``c0, c1, ...``, integers, booleans and texts, so a bigint can hold everything that
it computes (``schema.LARGEST_VALUE``).  A ``Dialect`` says the few things that engines spell apart;
everything else is SQL that all of them understand alike.  Nothing here can fail on any row.

Beside them it reads which values came from outside of what is declared: a bit for each column, packed into
few small integers.  A clipped integer does not say whether it was clipped, nor a missing category whether
there was a value.  With the value the bits say everything: a number that is missing was no number, a
category that is there is declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol, assert_never

from adyton.duckdb_files import quoted
from adyton.engines.spelling.kinds import SourceType
from adyton.kernel.schema import CategoryColumn, Column, Table, common_step, times_finer
from adyton.kernel.terms.expressions import (
    And,
    Case,
    Clip,
    Comparable,
    Compare,
    Condition,
    Curved,
    Floor,
    Indicator,
    Negative,
    Not,
    Or,
    Plus,
    Quotient,
    Square,
    Times,
)
from adyton.kernel.terms.leaves import (
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
from adyton.query.missing import NEVER, missing

Places = Mapping[str, str]  # column name -> c0, c1, ...

# 719,166 days are 102,738 weeks: a day from the year 1 on, and this, is never below zero.
_WEEKS = 719_166
_FROM_MONDAY = 3  # 1970-01-01 was a Thursday


class Dialect(Protocol):
    """How one engine spells what all of them must mean: what is read from a source, and what is computed on
    the loaded integers.  Where most engines spell it alike, that is written here.
    """

    text_type: str
    division: str  # the sign that gives the whole part of a quotient
    in_order: bool = False  # whether a source keeps its rows in one order
    fence: str = ""  # after a SELECT: keeps what it computes from being written anew where its name is used

    def name(self, name: str) -> str:
        """The name of a source column, quoted."""
        return quoted(name)

    def text_of(self, name: str, longest: int) -> str:
        """The text of a source column; NULL where it has more bytes in UTF-8, or is no text at all."""
        text = f"CAST({self.name(name)} AS {self.text_type})"  # Postgres reads no long value for its length
        return f"CASE WHEN octet_length({text}) <= {longest} THEN {text} END"

    def text(self, value: str) -> str:
        """A literal."""

    def double(self, value: float) -> str:
        """A literal of exactly this value."""
        return f"CAST('{value!r}' AS DOUBLE)"  # from text: a decimal literal would be rounded twice

    def matches(self, text: str, pattern: str) -> str:
        """Whether the pattern matches; a text of any length and content has an answer."""

    def number(self, source: str, kind: SourceType) -> str:
        """A double; a decimal rounded to the nearest, a text that matches NUMBER read as C's strtod does."""
        return f"TRY_CAST({source} AS DOUBLE)"

    def not_a_number(self, double: str) -> str:
        """Whether it is NaN."""
        return f"isnan({double})"

    def whole(self, value: str) -> str:
        """A bigint, from a whole double below 2**63, an integer, or a text of up to 18 digits."""
        return f"TRY_CAST({value} AS BIGINT)"

    def day(self, source: str, kind: SourceType) -> str:
        """A date, of an instant in UTC, from a kind that has days or a text YYYY-MM-DD; NULL if none."""
        return f"TRY_CAST({source} AS DATE)"

    def days(self, date: str) -> str:
        """The bigint number of days from 1970-01-01."""

    def seconds(self, source: str, kind: SourceType) -> str:
        """The bigint of whole seconds from 1970-01-01, of a timestamp or an instant in UTC, rounded down."""

    def date(self, day: str) -> str:
        """The date that lies a bigint of days after 1970-01-01."""
        return f"(DATE '1970-01-01' + CAST({day} AS INTEGER))"

    def position(self, text: str, values: tuple[str, ...]) -> str:
        """The index of a text in a list, or NULL."""

    def byte_order(self, text: str) -> str:
        """An ASCII text, to be put in the order of its bytes."""
        return text

    def key(self, text: str) -> str:
        """A text that equals another only if their bytes do; NULL where they are no valid Unicode."""

    def exact_sum(self, value: str, largest: int) -> str:
        """The sum of a bigint expression that is never beyond ``largest``, without overflow."""
        return f"sum({value})"  # of bigints it is wider than they are

    def code(self, number: str, size: int) -> str:
        """A bigint that is not negative and below ``size``, in the type that is best to group by."""
        return number

    def quotient(self, dividend: str, divisor: int) -> str:
        """The whole part of a bigint that is not negative, divided by a number above 0."""
        return self.ratio(dividend, integer(divisor))

    def ratio(self, dividend: str, divisor: str) -> str:
        """The whole part of one bigint divided by another, both not negative; NULL where that is NULL."""
        return f"({dividend} {self.division} {divisor})"

    def lookup(self, index: str, numbers: Sequence[int | None]) -> str:
        """The bigint at a place, from 0, of a list; NULL where the place or the number is missing."""


def places_of(table: Table) -> dict[str, str]:
    """What the loaded columns of a table are called."""
    return {column.name: f"c{i}" for i, column in enumerate(table.columns)}


class RowSql:
    """Emits the nodes of one table."""

    def __init__(self, places: Places, dialect: Dialect, marks: Mapping[str, BitMark] | None = None) -> None:
        self._places, self._dialect, self._marks = places, dialect, marks or {}

    def number(self, node: Comparable) -> str:
        """The node's integer on its own lattice; NULL where it is missing."""
        match node:
            case ValueOf(column) | DayOf(column) | DayCount(DayOf(column)):
                return self._places[column.name]
            case Constant() | Day():
                return integer(node.lattice.low)
            case Plus(left, right):
                step = node.lattice.step
                return f"({self._on(left, step)} + {self._on(right, step)})"
            case Times(left, right):
                return f"({self.number(left)} * {self.number(right)})"
            case Negative(inner):
                return f"(- {self.number(inner)})"
            case Square(inner):
                text = self.number(inner)
                return f"({text} * {text})"
            case Clip():
                return self._clip(node)
            case Floor():
                return self._floor(node)
            case Curved(_, inner):
                place = f"({self.number(inner)} - {integer(inner.lattice.low)})"
                return self._dialect.lookup(place, node.numbers)
            case Quotient():
                return self._quotient(node)
            case Indicator(condition):
                return f"(CASE WHEN {self.condition(condition)} THEN {integer(1)} ELSE {integer(0)} END)"
            case Case():
                return self._case(node)
            case Lookup(column, numbers):
                return self._dialect.lookup(self._places[column.name], numbers)
            case DayFrom(inner):
                return self._on(inner, node.lattice.step)
            case DatePart():
                return self._part(node)
            case _:
                assert_never(node)

    def condition(self, node: Condition) -> str:
        match node:
            case Compare(left, operator, right):
                return f"({self._compared(left, operator, right)})"
            case OneOf(column, values):
                wanted = set(values)
                codes = ", ".join(str(i) for i, v in enumerate(column.values) if v in wanted)
                return f"({self._places[column.name]} IN ({codes}))"
            case IsTrue(column):
                return self._places[column.name]
            case IsMissing(column):
                return f"({self._places[column.name]} IS NULL)"
            case IsOutside(column):
                return self._outside(self._places[column.name], self._marks[column.name], column)
            case Always(truth):
                return "TRUE" if truth else "FALSE"
            case Not(IsMissing(column)):
                return f"({self._places[column.name]} IS NOT NULL)"
            case Not(inner):
                return f"(NOT {self.condition(inner)})"
            case And(parts):
                return f"({' AND '.join(self.condition(part) for part in parts)})"
            case Or(parts):
                return f"({' OR '.join(self.condition(part) for part in parts)})"
            case _:
                assert_never(node)

    def _compared(self, left: Comparable, operator: str, right: Comparable) -> str:
        """A constant is brought to the step of the rows once, and not each row to its step."""
        step = common_step(left.lattice.step, right.lattice.step)
        if isinstance(right, Constant | Day):
            value = right.lattice.low * times_finer(right.lattice.step, step)
            edge = _edge(operator, value, times_finer(left.lattice.step, step))
            if edge is not None:
                return f"{self.number(left)} {operator} {integer(edge)}"
        return f"{self._on(left, step)} {operator} {self._on(right, step)}"

    def _outside(self, place: str, mark: BitMark, column: Column) -> str:
        """A category that is there is declared; a number that is missing was none."""
        if isinstance(column, CategoryColumn):
            return f"(CASE WHEN {place} IS NOT NULL THEN FALSE WHEN {mark.is_set} THEN TRUE END)"
        return f"(CASE WHEN {place} IS NOT NULL THEN {mark.is_set} END)"

    def _clip(self, node: Clip) -> str:
        inner: Comparable = node
        while isinstance(inner, Clip):  # a clip of a clip is one, to the bounds of the outer
            inner = inner.inner
        reach, bounds = (inner.lattice.low, inner.lattice.high), (node.lattice.low, node.lattice.high)
        return clipped(self.number(inner), reach, bounds, self._present(inner))

    def _present(self, node: Comparable) -> tuple[str, ...]:
        """Conditions that all hold where the node has a value.  They do not repeat the node: its text would
        double with every clip inside a clip.
        """
        absent = missing(node)
        parts = absent.parts if isinstance(absent, Or) else (absent,)
        return tuple(self.condition(Not(part)) for part in parts if part != NEVER)

    def _floor(self, node: Floor) -> str:
        """The dividend is moved up by a whole number of steps until it is not negative: below zero, engines
        round apart.  By the checks of the node it lies below 2**62 + 2**61, and in a bigint.
        """
        ratio = node.inner.lattice.step / node.step
        dividend = _times(self.number(node.inner), ratio.numerator)
        if ratio.denominator == 1:
            return dividend
        least = min(node.lattice.low, 0)
        if not least:
            return self._dialect.quotient(dividend, ratio.denominator)
        moved = f"({dividend} + {integer(-least * ratio.denominator)})"
        return f"({self._dialect.quotient(moved, ratio.denominator)} + {integer(least)})"

    def _quotient(self, node: Quotient) -> str:
        """Of the sizes, because engines round apart below zero; by the node's checks all fits in a bigint."""
        over, under = self.number(node.over), self.number(node.under)
        top, half = node.factors
        divisor = _times(f"abs({under})", half)
        size = f"({_times(f'abs({over})', top)} + {divisor})"
        whole = self._dialect.ratio(size, f"nullif({_times(divisor, 2)}, {integer(0)})")
        zero = integer(0)
        signed = f"(CASE WHEN ({over} < {zero}) = ({under} < {zero}) THEN {whole} ELSE - {whole} END)"
        reach = 2**62  # more than it can be, so that both bounds are held
        bounds = (node.lattice.low, node.lattice.high)
        return clipped(signed, (-reach, reach), bounds, self._present(node))

    def _case(self, node: Case) -> str:
        step = node.lattice.step
        whens = " ".join(
            f"WHEN {self.condition(when)} THEN {self._on(then, step)}" for when, then in node.branches
        )
        otherwise = "" if node.otherwise is None else f" ELSE {self._on(node.otherwise, step)}"
        return f"(CASE {whens}{otherwise} END)"

    def _part(self, node: DatePart) -> str:
        day = self.number(node.day)
        if node.part == "weekday":
            return f"(({day} + {integer(_WEEKS + _FROM_MONDAY)}) % {integer(7)} + {integer(1)})"
        return f"CAST(EXTRACT({node.part.upper()} FROM {self._dialect.date(day)}) AS BIGINT)"

    def _on(self, node: Comparable, step: Fraction) -> str:
        """The node's integer, counted in a finer step."""
        factor = times_finer(node.lattice.step, step)
        if isinstance(node, Constant | Day):
            return integer(node.lattice.low * factor)
        return _times(self.number(node), factor)


def clipped(
    text: str, reach: tuple[int, int], bounds: tuple[int, int], present: tuple[str, ...] | None = None
) -> str:
    """``text``, which never leaves ``reach``, or the nearer of the bounds.

    LEAST and GREATEST pass over NULL, so it is asked first whether there is a value.
    """
    inside = text
    if bounds[0] > reach[0]:
        inside = f"greatest({inside}, {integer(bounds[0])})"
    if bounds[1] < reach[1]:
        inside = f"least({inside}, {integer(bounds[1])})"
    if inside == text or present == ():
        return inside
    held = (f"{text} IS NOT NULL",) if present is None else present
    return f"(CASE WHEN {' AND '.join(held)} THEN {inside} END)"


def integer(value: int) -> str:
    """A literal; beyond a bigint it gets the engine's own wide type."""
    return f"CAST({value} AS BIGINT)" if fits_bigint(value) else str(value)


def fits_bigint(*values: int) -> bool:
    return all(-(2**63) <= value < 2**63 for value in values)


def _edge(operator: str, value: int, times: int) -> int | None:
    """What an integer is compared with in place of ``value``, where ``times`` it was; None if with no one."""
    if value % times == 0:
        return value // times
    if operator in (">", "<="):
        return value // times
    return -(-value // times) if operator in (">=", "<") else None


def _times(text: str, factor: int) -> str:
    return text if factor == 1 else f"({text} * {integer(factor)})"


# Bits of what came from outside ----------------------------------------------------------------------------


class BitMark(NamedTuple):
    """A bit of an integer beside the loaded values."""

    word: str
    bit: int

    @property
    def is_set(self) -> str:
        return f"(({self.word} & {1 << self.bit}) <> 0)"
