"""What the curator releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from adyton.certify.amounts import Amount, Promise, cost_notes, verbose_notes
from adyton.certify.rows import Rows
from adyton.certify.values import Absent, Certificate, Interval, KeysFound, Proof, Row, Value
from adyton.errors import InvalidRequest
from adyton.show import Sheet, Shown, ends, number

_AT_ONCE = "for all answers of the study at once"
_LEFT_OUT = (
    "Rows answered and left out by HAVING or LIMIT: {}; noise intervals are for each value alone,"
    " not for values that were chosen because they are large or small."
)


@dataclass(frozen=True, slots=True)
class Answer(Shown):
    """What the curator releases.  It prints, shows itself in a notebook, and exports.

    ``rows`` is a sequence of ``Row`` with keys and values; it is kept as columns, so that a million rows need
    not be made for an export.
    ``more``: how many more charges of this cost would fit; None if it was asked before and is free.
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
    left_out: int = 0
    together: int = 1

    @property
    def value(self) -> float:
        """The value of an answer that has only one."""
        number = len(self.rows) * len(self.rows.values)
        if number != 1:
            raise InvalidRequest(f"this answer has {number} values; see .rows, .to_pandas() or .to_json()")
        (only,) = self.rows[0].values.values()
        return only.value

    def records(self) -> list[dict[str, Any]]:
        """One flat record a row: keys, values and the ends of the intervals."""
        columns = self.rows.columns()
        sides = (side if isinstance(side, list) else side.tolist() for side in columns.values())
        return [dict(zip(columns, row, strict=True)) for row in zip(*sides, strict=True)]

    def to_pandas(self) -> Any:
        return _optional("pandas").DataFrame(self.rows.columns())

    def to_arrow(self) -> Any:
        return _optional("pyarrow").table(self.rows.columns())

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        return {
            "question": self.question,
            "repeated": self.repeated,
            "answer": self.rows.to_json(),
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
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        keys = tuple(self.rows[0].keys) if self.rows else ()
        absent = {v.population_interval.reason for v in _absent_values(self.rows)}
        levels = {i.level for i in _population_intervals(self.rows) if isinstance(i, Interval)}
        at_once = " and ".join(f"{100 * level:.12g} %" for level in sorted(levels)) + f", {_AT_ONCE}"
        reasons = "; ".join(sorted(absent))
        said = " Where there is none: ".join(filter(None, (at_once + "." if levels else "", reasons)))
        notes = (
            *([str(self.keys_found)] if self.keys_found else []),
            *([_LEFT_OUT.format(self.left_out)] if self.left_out else []),
            *(
                [f"Noise interval: 95 %, for these rows. Population interval: {said.rstrip('.')}."]
                if said
                else []
            ),
            *cost_notes(self.cost, self.spent, self.left, self.limit, self.more, together=self.together),
            f"Receipt {self.receipt.number}, {self.receipt.digest[:12]}.",
            *(verbose_notes(self.certificate, self.cost, self.spent, self.left) if verbose else ()),
        )
        cells = [
            [str(row.keys[k]) for k in keys] + _cells(name, v)
            for row in self.rows
            for name, v in row.values.items()
        ]
        headers = (*keys, "value of", "answer", "noise interval", "population interval")
        return Sheet(self.question, headers, tuple(map(tuple, cells)), notes, left_aligned=len(keys) + 1)


def _population_intervals(rows: Sequence[Row]) -> list[Interval | Absent]:
    return [v.population_interval for row in rows for v in row.values.values()]


def _absent_values(rows: Sequence[Row]) -> list[Any]:
    return [v for row in rows for v in row.values.values() if isinstance(v.population_interval, Absent)]


def _cells(name: str, v: Value) -> list[str]:
    noise = v.noise_interval
    half = (noise.high - noise.low) / 2
    population = v.population_interval
    return [
        name,
        number(v.value, half),
        ends(noise.low, noise.high, half),
        ends(population.low, population.high, half) if isinstance(population, Interval) else "-",
    ]


def _optional(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InvalidRequest(f"this export needs {module}: pip install {module}") from None
