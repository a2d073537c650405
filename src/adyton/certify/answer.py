"""What the curator releases."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, overload

import numpy as np

from adyton.certify.amounts import Amount, Promise, cost_notes, verbose_notes
from adyton.certify.answer_table import answer_sheet
from adyton.certify.known import NOTHING_KNOWN, UNINFORMATIVE, Known
from adyton.certify.rows import Rows, Values
from adyton.certify.values import Absent, Certificate, Interval, KeyLabel, KeysFound, Proof, Row, Value
from adyton.columns import Floats
from adyton.errors import InvalidRequest
from adyton.show import Sheet, Shown, number

_LEFT_OUT = (
    "Rows answered and left out by HAVING or LIMIT: {}; noise intervals are for each value alone,"
    " not for values that were chosen because they are large or small."
)
_PLANNED = "The width of a mean was planned for {:,} matching rows; with fewer it is wider."
_SAY_ROWS = "Say how many you expect: --expected-rows, in Python expected_rows."
_MUCH = 1.25  # times the width that was named: so much wider is said aloud


@dataclass(frozen=True, slots=True)
class Answer(Shown):
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

    question: str
    rows: Rows
    cost: Amount
    spent: Amount
    left: Amount
    limit: Promise
    more: int | None
    receipt: Proof
    certificate: Certificate
    repeated: bool = False
    keys_found: KeysFound | None = None
    rows_hidden: int = 0
    batch_size: int = 1
    known: Mapping[str, Known] = field(default_factory=dict)  # of each value, by its name
    left_out_rows: str | None = None  # which rows the study never counts
    rows_planned: int | None = None  # asked within a width, that of a mean was planned for that many
    widths_named: Mapping[str, float] = field(default_factory=dict)  # of means, as the price

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

    def is_informative(self, name: str, value: Value) -> bool:
        """Whether the noise interval of a value of this answer excludes anything that was possible before."""
        return self.known.get(name, NOTHING_KNOWN).is_informative(value)

    def records(self) -> list[dict[str, Any]]:
        """One flat record a row: keys, values and the ends of the intervals; None for what says nothing."""
        columns = self._columns()
        sides = (side if isinstance(side, list) else _or_none(side) for side in columns.values())
        return [dict(zip(columns, row, strict=True)) for row in zip(*sides, strict=True)]

    def to_csv(self) -> str:
        """The records as comma-separated values, after a line of names; what is None is empty."""
        paper = io.StringIO()
        writer = csv.DictWriter(paper, list(self._columns()), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return paper.getvalue()

    def to_pandas(self) -> Any:
        """The records as a pandas.DataFrame; what says nothing is NaN."""
        return _optional("pandas").DataFrame(self._columns())

    def to_polars(self) -> Any:
        """The records as a polars.DataFrame; what says nothing is null."""
        frame = _optional("polars").DataFrame(self._columns(), strict=False)
        return frame.fill_nan(None)

    def to_arrow(self) -> Any:
        """The records as a pyarrow.Table; what says nothing is null."""
        arrow = _optional("pyarrow")
        columns = self._columns()
        told = {n: c if isinstance(c, list) else arrow.array(c, from_pandas=True) for n, c in columns.items()}
        return arrow.table(told)

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        return {
            "question": self.question,
            "repeated": self.repeated,
            "answer": self._rows_json(),
            "cost": self.cost.to_json(),
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            "more": self.more,
            "limit": self.limit.to_json(),
            "receipt": self.receipt.to_json(),
            "certificate": self.certificate.to_json(),
            **({"keys": self.keys_found.to_json()} if self.keys_found else {}),
            **({"rows_hidden": self.rows_hidden} if self.rows_hidden else {}),
            **({"batch_size": self.batch_size} if self.batch_size > 1 else {}),
            **({"left_out_rows": self.left_out_rows} if self.left_out_rows else {}),
            **({"rows_planned": self.rows_planned} if self.rows_planned else {}),
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        """The answer as a table with notes."""
        details = verbose_notes(self.certificate, self.cost, self.spent, self.left)
        sheet = answer_sheet(self.question, self.rows, self.known, self.notes(), details)
        return sheet.detailed() if verbose else sheet

    def notes(self) -> tuple[str, ...]:
        """What there is to say beside the values."""
        return (
            *([self._planned_note()] if self.rows_planned else []),
            *([self.left_out_rows] if self.left_out_rows else []),
            *([str(self.keys_found)] if self.keys_found else []),
            *([_LEFT_OUT.format(self.rows_hidden)] if self.rows_hidden else []),
            *cost_notes(self.cost, self.spent, self.left, self.limit, self.more, batch_size=self.batch_size),
            f"Receipt {self.receipt.number}, {self.receipt.digest[:12]}.",
        )

    def _planned_note(self) -> str:
        """Loud where an interval came out much wider than the width that was paid for."""
        note, wider = _PLANNED.format(self.rows_planned), []
        for name, named in self.widths_named.items():
            noise = self.rows.values[name].noise
            widest = float(np.max(noise.high - noise.low, initial=0.0)) / 2
            if widest > _MUCH * named:
                wider.append(f"{name} is ± {number(widest, widest)}, not ± {number(named, named)}")
        return f"WIDER THAN ASKED: {'; '.join(wider)}. {note} {_SAY_ROWS}" if wider else note

    def _columns(self) -> dict[str, list[KeyLabel] | Floats]:
        """As they are exported: a value that says nothing is not a number."""
        columns = self.rows.columns()
        for name, values in self.rows.values.items():
            tells = self.known.get(name, NOTHING_KNOWN).tells(values)
            columns[name] = np.where(tells, values.value, np.nan)
        return columns

    def _rows_json(self) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = self.rows.to_json()
        for name, values in self.rows.values.items():
            for place in np.flatnonzero(~self.known.get(name, NOTHING_KNOWN).tells(values)).tolist():
                told[place]["values"][name]["uninformative"] = UNINFORMATIVE
        return told


def _or_none(values: Floats) -> list[float | None]:
    return [None if math.isnan(v) else v for v in values.tolist()]


def _optional(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InvalidRequest(f"this export needs {module}: pip install {module}") from None
