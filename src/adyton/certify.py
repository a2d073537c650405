"""Answers, and what can be said for them.

An answer has two intervals that are never called by one name: the *noise interval* says what these rows say,
the *population interval* what the world says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import InvalidRequest
from adyton.exact import UNITS_PER_ONE, decimal_text
from adyton.show import Sheet, Shown, number

Key = str | int | bool | float
_ROWS_FOUND = "One row for every key that is found in the data and common enough"
_AT_ONCE = "for all answers of the study at once"
_LEFT_OUT = (
    "{} more rows were answered and left out by HAVING or LIMIT; noise intervals are for each value alone,"
    " not for values that were chosen because they are large or small."
)


@dataclass(frozen=True, slots=True)
class Interval:
    level: float
    low: float
    high: float

    def to_json(self) -> dict[str, object]:
        return {"level": self.level, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Absent:
    """No interval, and why."""

    reason: str

    def to_json(self) -> dict[str, object]:
        return {"absent": self.reason}


@dataclass(frozen=True, slots=True)
class Bound:
    """How wide the noise interval of a value will be; for a mean, if ``if_rows`` rows contribute to it."""

    level: float
    half_width: float | None
    if_rows: int | None = None

    def to_json(self) -> dict[str, object]:
        return {"level": self.level, "half_width": self.half_width, "if_rows": self.if_rows}


@dataclass(frozen=True, slots=True)
class Value:
    value: float
    noise_interval: Interval
    population_interval: Interval | Absent

    def to_json(self) -> dict[str, object]:
        return {
            "value": self.value,
            "noise_interval": self.noise_interval.to_json(),
            "population_interval": self.population_interval.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Row:
    keys: dict[str, Key]
    values: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Amount:
    """A price, a cost or a total, in the study's currency."""

    currency: str
    units: int

    def to_json(self) -> dict[str, str]:
        return {"currency": self.currency, "amount": decimal_text(self.units)}

    def __str__(self) -> str:
        """Six digits, for people; programs read ``to_json``."""
        return f"{self.units / UNITS_PER_ONE:.6g} {self.currency}"


@dataclass(frozen=True, slots=True)
class Promise:
    """(epsilon, delta): what has been promised so far, or at most."""

    epsilon: float
    delta: float

    def to_json(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "delta": self.delta}

    def of(self, limit: Promise) -> str:
        return f"epsilon {self.epsilon:.6g} of {limit.epsilon:g}, at delta {self.delta:g}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """By which theorems, and what must be true of the world."""

    theorems: tuple[str, ...]
    assumptions: tuple[str, ...]

    def to_json(self) -> dict[str, list[str]]:
        return {"theorems": list(self.theorems), "assumptions": list(self.assumptions)}


@dataclass(frozen=True, slots=True)
class Proof:
    """The link of the ledger's chain that paid for an answer."""

    number: int
    digest: str
    previous: str

    def to_json(self) -> dict[str, object]:
        return {"number": self.number, "digest": self.digest, "previous": self.previous}


@dataclass(frozen=True, slots=True)
class KeysFound:
    """For groups that nobody declared: how many keys are shown, and about how many are not."""

    shown: int
    suppressed: float
    interval: Interval
    threshold: int
    surely_shown: int

    def to_json(self) -> dict[str, object]:
        return {
            "shown": self.shown,
            "suppressed": self.suppressed,
            "noise_interval": self.interval.to_json(),
            "threshold": self.threshold,
            "surely_shown_from": self.surely_shown,
        }

    def __str__(self) -> str:
        return (
            f"{self.shown} keys are shown; about {self.suppressed:.0f} ({self.interval.low:.0f} .. "
            f"{self.interval.high:.0f}) were too rare. A key of {self.surely_shown} units is shown with "
            f"{100 * self.interval.level:g} %."
        )


@dataclass(frozen=True, slots=True)
class Answer(Shown):
    """What the curator releases.  It prints, shows itself in a notebook, and exports."""

    question: str
    rows: tuple[Row, ...]
    cost: Amount
    spent: Promise
    limit: Promise
    receipt: Proof
    certificate: Certificate
    repeated: bool = False
    keys_found: KeysFound | None = None
    left_out: int = 0
    together: int = 1

    @property
    def value(self) -> float:
        """The value of an answer that has only one."""
        values = [v for row in self.rows for v in row.values.values()]
        if len(values) != 1:
            raise InvalidRequest(
                f"this answer has {len(values)} values; see .rows, .to_pandas() or .to_json()"
            )
        return values[0].value

    def records(self) -> list[dict[str, Any]]:
        """One flat record a row: keys, values and the ends of the intervals."""
        return [_record(row) for row in self.rows]

    def to_pandas(self) -> Any:
        return _optional("pandas").DataFrame(self.records())

    def to_arrow(self) -> Any:
        return _optional("pyarrow").Table.from_pylist(self.records())

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        return {
            "question": self.question,
            "repeated": self.repeated,
            "answer": [
                {"keys": row.keys, "values": {name: v.to_json() for name, v in row.values.items()}}
                for row in self.rows
            ],
            "cost": self.cost.to_json(),
            "spent": self.spent.to_json(),
            "limit": self.limit.to_json(),
            "receipt": self.receipt.to_json(),
            "certificate": self.certificate.to_json(),
            **({"keys": self.keys_found.to_json()} if self.keys_found else {}),
            **({"left_out": self.left_out} if self.left_out else {}),
            **({"together": self.together} if self.together > 1 else {}),
        }

    def sheet(self) -> Sheet:
        keys = tuple(self.rows[0].keys) if self.rows else ()
        absent = {v.population_interval.reason for v in _absent_values(self.rows)}
        levels = {i.level for i in _population_intervals(self.rows) if isinstance(i, Interval)}
        at_once = " and ".join(f"{100 * level:g} %" for level in sorted(levels)) + f", {_AT_ONCE}"
        reasons = "; ".join(sorted(absent))
        said = " Where there is none: ".join(filter(None, (at_once + "." if levels else "", reasons)))
        free = ", asked before: free of charge" if self.repeated else ""
        batch = f" for {self.together} questions together" if self.together > 1 else ""
        notes = (
            *([str(self.keys_found)] if self.keys_found else []),
            *([_LEFT_OUT.format(self.left_out)] if self.left_out else []),
            *(
                [f"Noise interval: 95 %, for these rows. Population interval: {said.rstrip('.')}."]
                if said
                else []
            ),
            f"Cost {self.cost}{batch}{free}. Spent so far: {self.spent.of(self.limit)}.",
            f"Receipt {self.receipt.number}, {self.receipt.digest[:12]}.",
            f"Theorems: {', '.join(self.certificate.theorems)}.",
        )
        cells = [
            [str(row.keys[k]) for k in keys] + _cells(name, v)
            for row in self.rows
            for name, v in row.values.items()
        ]
        headers = (*keys, "value of", "answer", "noise interval", "population interval")
        return Sheet(self.question, headers, tuple(map(tuple, cells)), notes, left_aligned=len(keys) + 1)


@dataclass(frozen=True, slots=True)
class Step:
    """One mechanism of a plan, explained: what is read, how far one unit moves it, and the noise."""

    value: str
    mechanism: str
    scales: tuple[float, ...]
    sensitivity: float
    cost: Amount

    def to_json(self) -> dict[str, object]:
        return {
            "value": self.value,
            "mechanism": self.mechanism,
            "scales": list(self.scales),
            "sensitivity": self.sensitivity,
            "cost": self.cost.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Preview(Shown):
    """What an answer would cost and how wide its intervals would be.  Nothing was read or charged."""

    question: str
    keys: tuple[dict[str, Key], ...] | None  # None: they would be found in the data
    bounds: dict[str, Bound]
    population: dict[str, Bound | Absent]
    cost: Amount
    left: Amount
    spent: Promise
    spent_after: Promise | None
    limit: Promise
    steps: tuple[Step, ...]
    certificate: Certificate
    repeated: bool
    fits: bool
    together: int = 1

    @property
    def affordable(self) -> bool:
        """Whether it would be answered now."""
        return self.repeated or self.fits

    def to_json(self) -> dict[str, Any]:
        """As an answer's, without values and receipt; with the mechanisms behind it."""
        values = {
            name: {"noise_interval": bound.to_json(), "population_interval": self.population[name].to_json()}
            for name, bound in self.bounds.items()
        }
        return {
            "question": self.question,
            "repeated": self.repeated,
            "answer": [{"keys": keys, "values": values} for keys in self.keys or ({},)],
            "cost": self.cost.to_json(),
            "left": decimal_text(self.left.units),
            "affordable": self.affordable,
            "spent": self.spent.to_json(),
            "spent_after": self.spent_after.to_json() if self.spent_after else None,
            "limit": self.limit.to_json(),
            "mechanisms": [step.to_json() for step in self.steps],
            "certificate": self.certificate.to_json(),
        }

    def sheet(self) -> Sheet:
        rows = tuple(
            (
                step.value,
                _width_text(self.bounds.get(step.value)),
                _width_text(self.population.get(step.value)),
                f"{step.mechanism}, scale {', '.join(f'{s:,.6g}' for s in step.scales)}",
                str(step.cost),
            )
            for step in self.steps
        )
        after = (
            f"epsilon would be {self.spent_after.epsilon:.6g} of {self.limit.epsilon:g}"
            if self.spent_after
            else ""
        )
        verdict = (
            "asked before: the stored answer is free of charge"
            if self.repeated
            else f"it fits: {after}"
            if self.affordable
            else "it does NOT fit"
        )
        batch = f" for {self.together} questions together" if self.together > 1 else ""
        answered = f"{len(self.keys)} row(s) of answers" if self.keys is not None else _ROWS_FOUND
        notes = (
            f"Cost {self.cost}{batch}; left {self.left}; {verdict}.",
            f"{answered}. Nothing was read and nothing was charged.",
            *_if_rows_note(self.bounds),
            *_absent_note(self.population),
        )
        headers = ("value of", "95 % noise interval", "population interval", "mechanism", "cost")
        return Sheet(f"Preview: {self.question}", headers, rows, notes)


@dataclass(frozen=True, slots=True)
class Statement(Shown):
    """What a study has spent, of what; where it declares validity, also the stability, as mu0 squared.

    Amounts are in units of 10**-18.  ``certified_questions`` is None if the stability alone decides how many.
    """

    spent: Promise
    limit: Promise
    currency: str
    left: int
    questions: int
    stability: int | None = None
    stability_cap: int | None = None
    certified_questions: int | None = None

    @property
    def beyond(self) -> bool:
        """Whether the newest answer is already beyond what population intervals are certified for."""
        most = self.questions if self.certified_questions is None else self.certified_questions
        stable = self.stability is None or self.stability_cap is None or self.stability <= self.stability_cap
        return self.questions > most or not stable

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "spent": self.spent.to_json(),
            "limit": self.limit.to_json(),
            "currency": self.currency,
            "left": decimal_text(self.left),
            "questions": self.questions,
        }
        if self.stability is None or self.stability_cap is None:
            return shown
        validity = {
            "spent": decimal_text(self.stability),
            "cap": decimal_text(self.stability_cap),
            "questions": self.certified_questions,
            "beyond": self.beyond,
        }
        return {**shown, "validity": validity}

    def sheet(self) -> Sheet:
        rows: tuple[tuple[str, str], ...] = (
            ("questions charged", str(self.questions)),
            ("epsilon so far", f"{self.spent.epsilon:.6g}"),
            ("epsilon allowed", f"{self.limit.epsilon:g}"),
            ("delta", f"{self.limit.delta:g}"),
            ("left", str(Amount(self.currency, self.left))),
        )
        if self.stability is not None and self.stability_cap is not None:
            most = self.certified_questions
            rows += (
                ("stability so far", str(Amount("mu0²", self.stability))),
                ("stability certified", str(Amount("mu0²", self.stability_cap))),
                ("questions certified", "any number" if most is None else f"{most:,}"),
            )
        notes = ("The newest answers have no population interval: they are beyond what is certified.",)
        return Sheet("Statement", ("", ""), rows, notes if self.beyond else ())


def promise(epsilon: float, delta: Fraction) -> Promise:
    return Promise(epsilon, float(delta))


def _record(row: Row) -> dict[str, Any]:
    record: dict[str, Any] = dict(row.keys)
    for name, v in row.values.items():
        record[name] = v.value
        record[f"{name}_noise_low"], record[f"{name}_noise_high"] = (
            v.noise_interval.low,
            v.noise_interval.high,
        )
        if isinstance(v.population_interval, Interval):
            record[f"{name}_population_low"] = v.population_interval.low
            record[f"{name}_population_high"] = v.population_interval.high
    return record


def _population_intervals(rows: tuple[Row, ...]) -> list[Interval | Absent]:
    return [v.population_interval for row in rows for v in row.values.values()]


def _absent_values(rows: tuple[Row, ...]) -> list[Any]:
    return [v for row in rows for v in row.values.values() if isinstance(v.population_interval, Absent)]


def _cells(name: str, v: Value) -> list[str]:
    noise = v.noise_interval
    half = (noise.high - noise.low) / 2
    population = v.population_interval
    return [
        name,
        number(v.value, half),
        f"{number(noise.low, half)} .. {number(noise.high, half)}",
        f"{number(population.low, half)} .. {number(population.high, half)}"
        if isinstance(population, Interval)
        else "-",
    ]


def _absent_note(population: dict[str, Bound | Absent]) -> tuple[str, ...]:
    reasons = sorted({p.reason for p in population.values() if isinstance(p, Absent)})
    return (f"Population interval: {'; '.join(reasons)}.",) if reasons else ()


def _width_text(bound: Bound | Absent | None) -> str:
    if bound is None or isinstance(bound, Absent):
        return "-"
    return (
        "depends on the rows"
        if bound.half_width is None
        else f"+- {number(bound.half_width, bound.half_width)}"
    )


def _if_rows_note(bounds: dict[str, Bound]) -> tuple[str, ...]:
    assumed = {b.if_rows for b in bounds.values() if b.if_rows is not None}
    if any(b.half_width is None for b in bounds.values()):
        return (
            "Where no width is given it depends on the rows; for a mean, say how many you expect to match.",
        )
    return tuple(f"The width of a mean holds if {n:,} rows match; with fewer it is wider." for n in assumed)


def _optional(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise InvalidRequest(f"this export needs {module}: pip install {module}") from None


def json_text(value: object) -> str:
    """JSON as every program reads it: no NaN, no infinity."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
