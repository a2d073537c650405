"""What the curator releases, what is guaranteed, what it cost and what is left.

The guarantee of a study is its budget.  An epsilon that is worked out from what happens to be spent is no
guarantee, because whoever stops or names prices by the answers can make it false; where a running epsilon is
wanted, it is the reading of an odometer.  So amounts are shares of a budget that was fixed in advance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any, ClassVar, Self, overload

import numpy as np

from adyton.certify.answer_table import answer_sheet
from adyton.certify.csv_text import csv_text
from adyton.certify.rows import (
    NO_VALUE,
    NOTHING_KNOWN,
    UNINFORMATIVE,
    ColumnNames,
    Intervals,
    KeyedRows,
    KnownRange,
    NamedRange,
    ShownRow,
    Values,
)
from adyton.certify.values import (
    Absent,
    Certificate,
    Chosen,
    DiscoveryResult,
    Interval,
    KeyLabel,
    Proof,
    Row,
    Value,
    Way,
    as_days,
    finite,
    in_days,
    optional,
)
from adyton.documents import Document, Units, read_fields
from adyton.errors import InvalidRequest
from adyton.kernel.exact import UNITS_PER_ONE, float_down, float_up
from adyton.kernel.exact.cells import Floats
from adyton.refusals import percent
from adyton.show import Sheet, Shown, in_short, number

_LEFT_OUT = (
    "Rows answered and left out by HAVING, QUALIFY or LIMIT: {}; noise intervals are for each value alone,"
    " not for values that were chosen because they are large or small."
)
_HIDDEN = "Asked for, paid for and not shown: {}."
_PLANNED = "The width of a mean was planned for {:,} matching rows; with fewer it is wider."
_SAY_ROWS = "Say how many you expect: --expected-rows, in Python expected_rows."
_MUCH = 1.25  # times the width that was named: so much wider is said aloud


# Amounts ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Amount(Document):
    """A cost, or what is spent, as the accounting of the study counts it and as a share of its budget.

    A share is rounded up, but that of what is left down.
    """

    accounting: str
    units: Units
    of: Units

    json_keys = "accounting amount=units share of"
    rounds_up: ClassVar[bool] = True

    @property
    def share(self) -> float:
        exact = Fraction(self.units, self.of)
        return float_up(exact) if self.rounds_up else float_down(exact)

    def __str__(self) -> str:
        """Per cent of the budget; programs read ``to_json``."""
        return percent(Fraction(self.units, self.of), up=self.rounds_up)

    @property
    def in_units(self) -> str:
        """Six digits and the accounting, for people who ask for more."""
        return f"{self.units / UNITS_PER_ONE:.6g} {self.accounting}"

    def shown(self, verbose: bool) -> str:
        return f"{self} ({self.in_units})" if verbose else str(self)


@dataclass(frozen=True, slots=True)
class AmountLeft(Amount):
    """What is left of the budget."""

    rounds_up = False


@dataclass(frozen=True, slots=True)
class RoundedGuarantee(Document):
    """(epsilon, delta): what a study, or a mechanism, guarantees at most, fixed in advance."""

    epsilon: float
    delta: float

    def __str__(self) -> str:
        return f"epsilon {digits_up(self.epsilon)}, delta {digits_up(self.delta)}"


@dataclass(frozen=True, slots=True)
class Odometer(Document):
    """A running epsilon that holds whenever somebody stops, by whatever rule, with a delta of its own.

    It may be above the budget's epsilon; then the budget is the better guarantee.
    """

    epsilon: float
    delta: float
    theorem: str

    def __str__(self) -> str:
        return f"epsilon {digits_up(self.epsilon)}, delta {digits_up(self.delta)}"


def cost_notes(
    cost: Amount,
    spent: Amount,
    left: Amount,
    budget: RoundedGuarantee,
    more: int | None,
    *,
    batch_size: int = 1,
) -> tuple[str, ...]:
    """What an answer says about money; ``more`` is None where a stored answer was returned."""
    batch = f" for {batch_size} queries together" if batch_size > 1 else ""
    asked = f"Cost {cost} of the budget{batch}" if more is not None else "Asked before: free of charge"
    like = f": {more:,} more of this cost would fit" if more else ": no more of this cost would fit"
    return (
        f"{asked}. Spent {spent}, left {left}{like if more is not None else ''}.",
        f"The guarantee: {budget}, whatever is asked.",
    )


def verbose_notes(certificate: Certificate, cost: Amount, spent: Amount, left: Amount) -> tuple[str, ...]:
    """What is said only to those who ask for it."""
    amounts = f"Cost {cost.in_units}, spent {spent.in_units}, left {left.in_units}."
    return amounts, f"Theorems: {', '.join(certificate.theorems)}."


def ways_notes(ways: Mapping[str, Way], nats: Mapping[str, float]) -> tuple[str, ...]:
    """Of which values the population intervals do not widen with what was asked before, and why."""
    steady = [name for name, way in ways.items() if way == "description" and name in nats]
    if not steady:
        return ()
    longest = max(nats[name] for name in steady)
    named = "The population interval" if len(ways) == 1 else f"Population intervals of {', '.join(steady)}"
    does = "does" if len(ways) == 1 else "do"
    return (
        f"{named} {does} not widen with other queries, before or after: the query has a short description "
        f"({longest:.1f} nats).",
    )


def digits_up(value: float) -> str:
    """Six digits, rounded up: 1e-9, 0.25, 1.00001e-9."""
    written = Context(prec=6, rounding=ROUND_CEILING).create_decimal(repr(value))
    mantissa, _, exponent = f"{float(written):g}".partition("e")
    return mantissa if not exponent else f"{mantissa}e{int(exponent)}"


# Answers ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer(Shown, Document):
    """What the curator releases.  It prints, shows itself in a notebook, and exports.

    ``answer.value``, ``answer.noise_interval`` and ``answer.population_interval`` if it has a single value;
    ``answer["n"]`` by name; ``len(answer)``, ``answer[0]`` and ``for row in answer`` for its rows.

    ``rows`` is a sequence of ``Row`` with keys and values; it is kept as columns, so that a million rows need
    not be made for an export.
    ``more``: how many more charges of this cost would fit; None if it was asked before and is free.

    >>> answer = curator.ask("SELECT COUNT(*) AS n FROM people", within=100)
    >>> answer.noise_interval.low <= answer.value <= answer.noise_interval.high
    True
    >>> answer["n"].value == answer.value and len(answer) == 1
    True
    """

    query: str
    rows: KeyedRows
    cost: Amount
    spent: Amount
    left: AmountLeft
    budget: RoundedGuarantee
    more: int | None
    receipt: Proof
    certificate: Certificate
    repeated: bool = False
    discovered_groups: DiscoveryResult | None = None
    rows_hidden: int = 0
    batch_size: int = 1
    known: Mapping[str, KnownRange] = field(default_factory=dict)  # of each value, by its name
    left_out_rows: str | None = None  # which rows the study never counts
    hidden: tuple[str, ...] = ()  # values that were asked for and are not shown, by their names
    remarks: tuple[str, ...] = ()  # how rows were chosen or counted by noisy values
    rows_planned: int | None = None  # asked within a width, that of a mean was planned for that many
    widths_named: Mapping[str, float] = field(default_factory=dict)  # of means, as the price
    free: str | None = None  # why nothing was read and nothing charged; then the receipt is number 0
    chosen: Chosen | None = None  # how near the rows are to the best of their candidates

    json_keys = (
        "query repeated answer=_listed cost spent left more budget receipt=_paid certificate ways? "
        "discovered_groups? rows_hidden? batch_size? left_out_rows? hidden? remarks? rows_planned? "
        "widths_named? free? derived_from=_derived? chosen? known=_known? columns=_columns?"
    )

    @property
    def value(self) -> float:
        """The value of an answer that has only one; not a number if it says nothing."""
        name, only = self._only()
        return only.value if self.is_informative(name, only) else math.nan

    @property
    def noise_interval(self) -> Interval:
        """Of an answer that has only one value: where the exact value for these rows is."""
        return self._only()[1].noise_interval

    @property
    def population_interval(self) -> Interval | Absent:
        """Of an answer that has only one value: where the population's value is, or why nothing is said."""
        return self._only()[1].population_interval

    def _only(self) -> tuple[str, Value]:
        number = len(self.rows) * len(self.rows.values)
        if number != 1:
            raise InvalidRequest(
                f"this answer has {number} values: see answer[name], its rows, .to_pandas() or .to_json()"
            )
        return next(iter(self.rows[0].values.items()))

    def __len__(self) -> int:
        """How many rows it has."""
        return len(self.rows)

    def __bool__(self) -> bool:
        """An answer is an answer, also one without rows."""
        return True

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    @overload
    def __getitem__(self, place: str) -> Value | Values: ...
    def __getitem__(self, place: int | slice | str) -> Row | Sequence[Row] | Value | Values:
        """A row by its place; by a name its value, or where there are groups those of all rows."""
        if not isinstance(place, str):
            return self.rows[place]
        if place not in self.rows.values:
            names = ", ".join(self.rows.values)
            raise InvalidRequest(f"this answer has no value called {place!r}; it has {names}")
        values = self.rows.values[place]
        return values if self.rows.keys.columns or len(values) != 1 else values[0]

    @property
    def ways(self) -> dict[str, Way]:
        """By which way each population interval is as narrow as it is, by the name of its value."""
        wide = {name: values.population for name, values in self.rows.values.items()}
        return {name: one.way for name, one in wide.items() if isinstance(one, Intervals) and one.way}

    def is_informative(self, name: str, value: Value) -> bool:
        """Whether the noise interval of a value of this answer excludes anything that was possible before."""
        return self.known.get(name, NOTHING_KNOWN).is_informative(value)

    def columns(self) -> dict[str, list[KeyLabel] | Floats]:
        """As they are exported: a value that says nothing is not a number."""
        columns = self.rows.columns()
        for name, values in self.rows.values.items():
            tells = self.known.get(name, NOTHING_KNOWN).tells(values)
            columns[name] = np.where(tells, values.value, np.nan)
            if self.known.get(name, NOTHING_KNOWN).day:
                columns |= {one: in_days(one[len(name) :], columns[one]) for one in values.columns(name)}
        return columns

    def records(self) -> list[dict[str, Any]]:
        """One flat record a row: keys, values and the ends of the intervals; None for what says nothing."""
        columns = self.columns()
        sides = (side if isinstance(side, list) else map(finite, side.tolist()) for side in columns.values())
        return [dict(zip(columns, row, strict=True)) for row in zip(*sides, strict=True)]

    def to_csv(self) -> str:
        """The records as comma-separated values, after a line of names; what is None is empty, and an empty
        text is in quotes.

        A text that a spreadsheet would execute has an apostrophe before it.
        """
        return csv_text(list(self.columns()), self.records())

    def to_pandas(self) -> Any:
        """The records as a pandas.DataFrame; what says nothing is NaN, a key that is NULL stays missing."""
        pandas = optional("pandas")
        columns: dict[str, Any] = dict(self.columns())
        for name, column in columns.items():
            if isinstance(column, list) and {type(one) for one in column} == {int, type(None)}:
                columns[name] = pandas.array(column, dtype="Int64")  # not as floats
        return pandas.DataFrame(columns)

    def to_polars(self) -> Any:
        """The records as a polars.DataFrame; what says nothing is null."""
        frame = optional("polars").DataFrame(self.columns(), strict=False)
        return frame.fill_nan(None)

    def to_arrow(self) -> Any:
        """The records as a pyarrow.Table; what says nothing is null."""
        arrow = optional("pyarrow")
        columns = self.columns()
        told = {n: c if isinstance(c, list) else arrow.array(c, from_pandas=True) for n, c in columns.items()}
        return arrow.table(told)

    @property
    def _listed(self) -> tuple[ShownRow, ...]:
        """Rows of the JSON object: ``to_json`` fills them in, for they are made of columns."""
        return ()

    @property
    def _paid(self) -> Proof | None:
        return None if self.free else self.receipt

    @property
    def _derived(self) -> Proof | None:
        return self.receipt if self.free and self.receipt.number else None

    @property
    def _known(self) -> tuple[NamedRange, ...]:
        known = self.known.items()
        return tuple(NamedRange(one.count, one.low, one.high, one.step, one.day, name) for name, one in known)

    @property
    def _columns(self) -> ColumnNames | None:
        return None if len(self.rows) else self.rows.names()

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        return self.head_json() | {"answer": self.rows_json()}

    def head_json(self) -> dict[str, Any]:
        """The same without its rows."""
        return Document.to_json(self)

    @classmethod
    def _from_shape(cls, shape: Any, **known: Any) -> Self:
        from adyton.certify.reading import answer_facts

        return cls(**read_fields(cls, shape) | answer_facts(shape))

    def sheet(self, verbose: bool = False) -> Sheet:
        """The answer as a table with notes."""
        details = verbose_notes(self.certificate, self.cost, self.spent, self.left)
        sheet = answer_sheet(in_short(self.query), self.rows, self.known, self.notes(), details)
        return sheet.detailed() if verbose else sheet

    def notes(self) -> tuple[str, ...]:
        """What there is to say beside the values."""
        if self.free is not None:
            columns = ", ".join((*self.rows.keys.columns, *self.rows.values))
            return (
                *([] if len(self.rows) else [f"Columns: {columns}."]),  # no table shows them
                f"Free of charge: {self.free}. Nothing was read. Spent {self.spent}, left {self.left}.",
            )
        return (
            *([str(self.chosen)] if self.chosen else []),
            *([self._planned_note()] if self.rows_planned else []),
            *([self.left_out_rows] if self.left_out_rows else []),
            *([_HIDDEN.format(", ".join(self.hidden))] if self.hidden else []),
            *self.remarks,
            *([str(self.discovered_groups)] if self.discovered_groups else []),
            *([_LEFT_OUT.format(self.rows_hidden)] if self.rows_hidden else []),
            *ways_notes(self.ways, self.certificate.nats),
            *cost_notes(self.cost, self.spent, self.left, self.budget, self.more, batch_size=self.batch_size),
            f"Receipt {self.receipt.number}, {self.receipt.digest[:12]}.",
        )

    def _planned_note(self) -> str:
        """Loud where an interval came out much wider than the width that was paid for."""
        note, wider = _PLANNED.format(self.rows_planned), []
        for name, named in self.widths_named.items():
            if name not in self.rows.values:  # it was asked for, and what is shown is computed from it
                continue
            noise = self.rows.values[name].noise
            widest = float(np.max(noise.high - noise.low, initial=0.0)) / 2
            if widest > _MUCH * named:
                wider.append(f"{name} is ± {number(widest, widest)}, not ± {number(named, named)}")
        return f"WIDER THAN ASKED: {'; '.join(wider)}. {note} {_SAY_ROWS}" if wider else note

    def rows_json(self, places: slice = slice(None)) -> list[dict[str, Any]]:
        """Rows as JSON has them; those of all places, if nothing else is said."""
        rows = self.rows if places == slice(None) else self.rows.at(places)
        told: list[dict[str, Any]] = rows.to_json()
        for name, values in rows.values.items():
            for place in np.flatnonzero(~self.known.get(name, NOTHING_KNOWN).tells(values)).tolist():
                computed = math.isnan(values.value[place])
                told[place]["values"][name]["uninformative"] = NO_VALUE if computed else UNINFORMATIVE
            if self.known.get(name, NOTHING_KNOWN).day:
                for row in told:
                    row["values"][name] = as_days(row["values"][name])
        return told
