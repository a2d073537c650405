"""The pieces of an answer: values with their intervals, certificates, proofs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import import_module
from math import ceil, floor, isfinite
from typing import Any, Literal

from adyton.documents import Document, HighEnd, LowEnd
from adyton.errors import InvalidRequest
from adyton.kernel.schema import day_number, day_of
from adyton.query.labels import KeyLabel as KeyLabel
from adyton.show import half_width

Way = Literal["description", "releases", "both"]
"""A population interval is as narrow as it is because its query has a short description, because little was
released before it, or, end by end and cell by cell, sometimes for one reason and sometimes for the other."""


def key_text(key: KeyLabel) -> str:
    """As tables show a key; a text that reads NULL is in quotes, so that it is told from what is missing."""
    return "NULL" if key is None else "'NULL'" if key == "NULL" else str(key)


@dataclass(frozen=True, slots=True)
class Interval(Document):
    """From ``low`` to ``high``, at a confidence ``level``: of one value, or of all answers of a study.

    >>> answer = curator.ask("SELECT COUNT(*) FROM people", within=100)
    >>> answer.noise_interval.level
    0.95
    """

    level: float
    low: LowEnd
    high: HighEnd


@dataclass(frozen=True, slots=True)
class Absent(Document):
    """No interval, and why."""

    reason: str

    json_keys = "absent=reason"


@dataclass(frozen=True, slots=True)
class Bound(Document):
    """How wide the noise interval of a value will be; for a mean, if ``if_rows`` rows contribute to it."""

    level: float
    half_width: float | None
    if_rows: int | None = None
    way: Way | None = None  # of a population interval: why it is not wider

    json_keys = "level half_width if_rows way?"


@dataclass(frozen=True, slots=True)
class Value:
    value: float
    noise_interval: Interval
    population_interval: Interval | Absent


@dataclass(frozen=True, slots=True)
class Row:
    keys: dict[str, KeyLabel]
    values: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Certificate(Document):
    """By which theorems, and what must be true of the world.

    >>> answer = curator.ask("SELECT COUNT(*) FROM people", within=100)
    >>> "GDP-FILTER" in answer.certificate.theorems
    True
    """

    theorems: tuple[str, ...]
    assumptions: tuple[str, ...]
    nats: Mapping[str, float] = field(default_factory=dict, hash=False)  # of values that have a description

    json_keys = "theorems assumptions nats?"

    def citing(self, *theorems: str, assuming: tuple[str, ...] = ()) -> Certificate:
        """With more theorems, each once, and more assumptions."""
        more = tuple(name for name in theorems if name not in self.theorems)
        return replace(self, theorems=self.theorems + more, assumptions=self.assumptions + assuming)


@dataclass(frozen=True, slots=True)
class Proof(Document):
    """The link of the ledger's chain that paid for an answer."""

    number: int
    digest: str
    previous: str


@dataclass(frozen=True, slots=True)
class DiscoveryResult(Document):
    """For groups that nobody declared: how many groups are shown, and about how many are not."""

    shown: int
    suppressed: float
    interval: Interval
    threshold: int
    surely_shown: int

    json_keys = "shown suppressed noise_interval=interval threshold surely_shown_from=surely_shown"

    def __str__(self) -> str:
        return (
            f"{self.shown:,} groups are shown; about {self.suppressed:,.0f} ({self.interval.low:,.0f} .. "
            f"{self.interval.high:,.0f}) were too rare. A group with {self.surely_shown:,} units is shown "
            f"with probability {100 * self.interval.level:.12g} %."
        )


@dataclass(frozen=True, slots=True)
class DiscoveryPreview(Document):
    """For groups that nobody declared: how many units one needs to be shown, by the number of a receipt."""

    receipt: int
    threshold: int
    surely_shown: int
    level: float

    json_keys = "receipt threshold surely_shown_from=surely_shown level"

    def __str__(self) -> str:
        return (
            "One row for every discovered group that is common enough: as receipt "
            f"{self.receipt}, a group is shown from a noisy count of {self.threshold:,} units on; one with "
            f"{self.surely_shown:,} units is shown with probability {100 * self.level:.12g} %. If no group "
            "has that many, no row is shown, and the price is paid all the same"
        )


@dataclass(frozen=True, slots=True)
class Chosen(Document):
    """With probability ``level`` every one that is shown lies at most ``within`` from the one that is truly
    in its place, in these rows.

    ``selected``: only the choice was paid for; otherwise all values were.  ``otherwise``: how near the other
    way would have come at this price; None where there is no other, or where a width was the price.
    """

    candidates: int
    most: int
    largest: bool
    level: float
    within: float
    selected: bool
    otherwise: float | None = None

    def __str__(self) -> str:
        side = "below the largest" if self.largest else "above the least"
        if self.most > 1:
            side = f"{'below' if self.largest else 'above'} what is truly in its place"
        whose = "its value is" if self.most == 1 else "the value of each is"
        near = f"with {100 * self.level:.12g} %, {whose} at most {_up(self.within)} {side}"
        if self.selected:
            other = "all values"
            how = f"Selected among {self.candidates:,} candidates, of which nothing else is released"
        else:
            other = "a selection"
            how = f"The values of all {self.candidates:,} candidates are released, and the best are shown"
        against = f"; {other} would be within {_up(self.otherwise)}" if self.otherwise is not None else ""
        return f"{how}: {near}, in these rows{against}."


def _up(distance: float) -> str:
    return half_width(0.0, -distance, distance) or str(distance)


def finite(value: float) -> float | None:
    """As JSON has it: null for what is no number, and for an end that is nowhere."""
    return value if isfinite(value) else None


def day_text(days: float, rounded: Callable[[float], int] = round) -> str:
    """The date so many days after 1970-01-01; an end of an interval is rounded outwards."""
    return day_of(rounded(days)).isoformat()


def day_from(text: str) -> int:
    """The number of days that ``day_text`` wrote as a date."""
    return day_number(date.fromisoformat(text))


def in_days(end: str, days: Any) -> list[Any]:
    """A column of dates: the ends of intervals outwards, None where there is nothing."""
    rounded = floor if end.endswith("low") else ceil if end else round
    return [day_text(one, rounded) if isfinite(one) else None for one in days.tolist()]


def as_days(value: dict[str, Any]) -> dict[str, Any]:
    """A value as JSON has it, with dates for days."""
    told = value | {"value": _day_or_none(value["value"], round)}
    for kind in ("noise_interval", "population_interval"):
        ends = value[kind]
        if "low" in ends:
            low, high = _day_or_none(ends["low"], floor), _day_or_none(ends["high"], ceil)
            told[kind] = ends | {"low": low, "high": high}
    return told


def _day_or_none(days: float | None, rounded: Callable[[float], int]) -> str | None:
    return None if days is None else day_text(days, rounded)


def json_text(value: object) -> str:
    """JSON as every program reads it: no NaN, no infinity."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def toml_text(value: str | int | list[str] | list[int]) -> str:
    """A value as a TOML file has it: its escapes are those of JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def optional(module: str) -> Any:
    """A library that exports are made with, and nothing else needs."""
    try:
        return import_module(module)
    except ImportError:
        raise InvalidRequest(f"this export needs {module}: pip install {module}") from None
