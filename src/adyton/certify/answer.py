"""What the curator releases."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from adyton.certify.amounts import Amount, Promise, cost_notes, verbose_notes
from adyton.certify.answer_table import answer_sheet
from adyton.certify.known import NOTHING_KNOWN, UNINFORMATIVE, Known
from adyton.certify.values import Certificate, Interval, KeysFound, Proof, Row, Value
from adyton.errors import InvalidRequest
from adyton.show import Sheet, Shown

_LEFT_OUT = (
    "Rows answered and left out by HAVING or LIMIT: {}; noise intervals are for each value alone,"
    " not for values that were chosen because they are large or small."
)


@dataclass(frozen=True, slots=True)
class Answer(Shown):
    """What the curator releases.  It prints, shows itself in a notebook, and exports.

    ``more``: how many more charges of this cost would fit; None if it was asked before and is free.
    """

    question: str
    rows: tuple[Row, ...]
    cost: Amount
    spent: Amount
    left: Amount
    limit: Promise
    more: int | None
    receipt: Proof
    certificate: Certificate
    repeated: bool = False
    keys_found: KeysFound | None = None
    left_out: int = 0
    together: int = 1
    known: Mapping[str, Known] = field(default_factory=dict)  # of each value, by its name
    left_out_rows: str | None = None  # which rows the study never counts

    @property
    def value(self) -> float:
        """The value of an answer that has only one; not a number if it says nothing."""
        values = [v for row in self.rows for v in row.values.values()]
        if len(values) != 1:
            raise InvalidRequest(
                f"this answer has {len(values)} values; see .rows, .to_pandas() or .to_json()"
            )
        (name,) = self.rows[0].values
        return values[0].value if self.is_informative(name, values[0]) else math.nan

    def is_informative(self, name: str, value: Value) -> bool:
        """Whether the noise interval of a value of this answer excludes anything that was possible before."""
        return self.known.get(name, NOTHING_KNOWN).is_informative(value)

    def records(self) -> list[dict[str, Any]]:
        """One flat record a row: keys, values and the ends of the intervals.

        A value that says nothing is None, and so is an interval that does not exist where others do.
        """
        population = {
            name
            for row in self.rows
            for name, v in row.values.items()
            if isinstance(v.population_interval, Interval)
        }
        return [self._record(row, population) for row in self.rows]

    def to_csv(self) -> str:
        """The records as comma-separated values, after a line of names; what is None is empty."""
        records, paper = self.records(), io.StringIO()
        names = list(records[0] if records else self.known)
        writer = csv.DictWriter(paper, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return paper.getvalue()

    def to_pandas(self) -> Any:
        frame = _optional("pandas").DataFrame(self.records())
        return frame.astype(dict.fromkeys(frame.columns[frame.isna().all()], float))

    def to_arrow(self) -> Any:
        arrow = _optional("pyarrow")
        table = arrow.Table.from_pylist(self.records())
        empty = [field.type == arrow.null() for field in table.schema]
        fields = [f.with_type(arrow.float64()) if e else f for f, e in zip(table.schema, empty, strict=True)]
        return table.cast(arrow.schema(fields))

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        return {
            "question": self.question,
            "repeated": self.repeated,
            "answer": [
                {"keys": row.keys, "values": {n: self._value_json(n, v) for n, v in row.values.items()}}
                for row in self.rows
            ],
            "cost": self.cost.to_json(),
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            "more": self.more,
            "limit": self.limit.to_json(),
            "receipt": self.receipt.to_json(),
            "certificate": self.certificate.to_json(),
            **({"keys": self.keys_found.to_json()} if self.keys_found else {}),
            **({"left_out": self.left_out} if self.left_out else {}),
            **({"together": self.together} if self.together > 1 else {}),
            **({"left_out_rows": self.left_out_rows} if self.left_out_rows else {}),
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        details = verbose_notes(self.certificate, self.cost, self.spent, self.left)
        sheet = answer_sheet(self.question, self.rows, self.known, self.notes(), details)
        return sheet.detailed() if verbose else sheet

    def notes(self) -> tuple[str, ...]:
        """What there is to say beside the values."""
        return (
            *([self.left_out_rows] if self.left_out_rows else []),
            *([str(self.keys_found)] if self.keys_found else []),
            *([_LEFT_OUT.format(self.left_out)] if self.left_out else []),
            *cost_notes(self.cost, self.spent, self.left, self.limit, self.more, together=self.together),
            f"Receipt {self.receipt.number}, {self.receipt.digest[:12]}.",
        )

    def _value_json(self, name: str, v: Value) -> dict[str, Any]:
        said = v.to_json()
        return said if self.is_informative(name, v) else {**said, "uninformative": UNINFORMATIVE}

    def _record(self, row: Row, population: set[str]) -> dict[str, Any]:
        record: dict[str, Any] = dict(row.keys)
        for name, v in row.values.items():
            noise, wide = v.noise_interval, v.population_interval
            record[name] = v.value if self.is_informative(name, v) else None
            record[f"{name}_noise_low"], record[f"{name}_noise_high"] = noise.low, noise.high
            if name in population:
                low, high = (wide.low, wide.high) if isinstance(wide, Interval) else (None, None)
                record[f"{name}_population_low"], record[f"{name}_population_high"] = low, high
        return record


def _optional(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InvalidRequest(f"this export needs {module}: pip install {module}") from None
