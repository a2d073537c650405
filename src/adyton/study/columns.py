"""The sections of columns: kinds, bounds and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from fractions import Fraction
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from adyton.errors import InvalidRequest
from adyton.kernel.exact import positive, rational
from adyton.kernel.schema import (
    CLOCK,
    LONGEST_TEXT,
    BooleanColumn,
    CategoryColumn,
    ClockPart,
    Column,
    DateColumn,
    IntegerColumn,
    RealColumn,
    TextColumn,
)
from adyton.study.notes import FILL_IN, Notes, choice, date_at, text_at, whole

_STEPS_OF_DEFAULT_GRAIN = 10_000

_COLUMN_KEYS: dict[str, tuple[str, ...]] = {
    "integer": ("low", "high"),
    "real": ("low", "high", "step"),
    "date": ("low", "high"),
    "category": ("values",),
    "boolean": (),
    "text": (),
}
# In place of values or bounds, or to be left out.
_OTHER_KEYS = {
    "category": ("values_from", "missing"),
    "integer": ("from", "part", "zone", "missing"),
    "real": ("missing",),
    "date": ("zone", "missing"),
    "boolean": ("missing",),
    "text": ("longest",),
}
_NO_NULL = (
    "{}.missing: the values of a text column are discovered, and NULL is never one of them. Remove missing, "
    "or declare a category"
)


Keys = Callable[[str, str], tuple[str, ...] | tuple[int, ...]]


def columns_of(sections: dict[str, Any], notes: Notes, keys: Keys, inside: str = "") -> tuple[Column, ...]:
    """The columns of one table; ``keys`` are those of a public table, by its name."""
    if not sections:
        notes.add(f"{inside}columns: declare at least one column, e.g. [{inside}columns.age]")
    return tuple(notes.each(sections, partial(_column, notes=notes, keys=keys, inside=inside), inside))


def _column(name: str, raw: Any, notes: Notes, keys: Keys, inside: str) -> Column:
    where = f"columns.{name}"
    if not isinstance(raw, dict):
        raise InvalidRequest(f"{where} must be a section: [{inside}{where}]")
    kind = choice(raw.get("kind"), f"{where}.kind", tuple(_COLUMN_KEYS))
    if kind == "text" and "missing" in raw:
        raise InvalidRequest(_NO_NULL.format(where))
    notes.check_keys(raw, f"{inside}{where}.", ("kind", *_COLUMN_KEYS[kind], *_OTHER_KEYS.get(kind, ())))
    if type(raw.get("missing", False)) is not bool:
        raise InvalidRequest(f"{where}.missing must be true or false, not {raw['missing']!r}")
    declared = _declared(name, kind, raw, where, keys)
    if isinstance(declared, TextColumn):
        return declared
    return replace(declared, missing=raw.get("missing", False))


def _declared(name: str, kind: str, raw: dict[str, Any], where: str, keys: Keys) -> Column:
    if kind == "category" and "values_from" in raw:
        if "values" in raw:
            raise InvalidRequest(f"{where}: give either values or values_from")
        named = text_at(raw, where, "values_from", "the name of a public table")
        return CategoryColumn(name, keys(named, f"{where}.values_from"))
    if kind == "integer" and "from" in raw:
        return _clock_column(name, raw, where)
    missing = [k for k in _COLUMN_KEYS[kind] if raw.get(k) == FILL_IN or (k not in raw and k != "step")]
    if missing:
        listed = " and ".join(f"{where}.{key}" for key in missing)
        raise InvalidRequest(f"{listed}: not filled in; {_WHAT_TO_WRITE[missing[0]]}; or delete the column")
    match kind:
        case "integer":
            astray = next((key for key in ("part", "zone") if key in raw), None)
            if astray is not None:
                raise InvalidRequest(f"{where}.{astray} goes with from, the column of timestamps")
            return IntegerColumn(name, whole(raw["low"], f"{where}.low"), whole(raw["high"], f"{where}.high"))
        case "real":
            low, high = (rational(raw[key], f"{where}.{key}") for key in ("low", "high"))
            step = positive(raw["step"], f"{where}.step") if "step" in raw else _default_step(name, low, high)
            return RealColumn(name, low, high, step)
        case "date":
            first, last = (date_at(raw[key], f"{where}.{key}") for key in ("low", "high"))
            return DateColumn(name, first, last, _zone(raw, where))
        case "category":
            if not isinstance(raw["values"], list):
                raise InvalidRequest(f'{where}.values must be a list, e.g. ["north", "south"]')
            return CategoryColumn(name, tuple(raw["values"]))
        case "text":
            return TextColumn(name, whole(raw.get("longest", LONGEST_TEXT), f"{where}.longest"))
        case _:
            return BooleanColumn(name)


def _clock_column(name: str, raw: dict[str, Any], where: str) -> IntegerColumn:
    """A part of the time of day: its bounds are known."""
    if "low" in raw or "high" in raw:
        raise InvalidRequest(f"{where}: leave out low and high; a part of a timestamp has bounds of its own")
    of = text_at(raw, where, "from", "the data's column of timestamps")
    part = choice(raw.get("part"), f"{where}.part", tuple(CLOCK))
    return IntegerColumn(name, *CLOCK[part], ClockPart(of, part, _zone(raw, where)))


def _zone(raw: dict[str, Any], where: str) -> str | None:
    if "zone" not in raw:
        return None
    named = text_at(raw, where, "zone", "a time zone, e.g. America/New_York")
    try:
        ZoneInfo(named)
    except (KeyError, OSError, ValueError):
        close = get_close_matches(named, available_timezones(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "write one as in America/New_York"
    else:
        return named
    raise InvalidRequest(f"{where}.zone: this machine knows no time zone {named!r:.60}; {hint}")


_WHAT_TO_WRITE = {
    "low": "write the smallest and the largest possible value, from public knowledge, not from the data",
    "high": "write the largest possible value, from public knowledge, not from the data",
    "step": "write the step to which values are rounded, or leave the key out",
    "values": 'list the values the column may take, e.g. values = ["north", "south"]; others are missing',
}


def _default_step(name: str, low: Fraction, high: Fraction) -> Fraction:
    """The largest power of ten that divides the bounds and leaves at least ten thousand steps."""
    if not low < high:
        raise InvalidRequest(f"columns.{name}: low must be below high")
    step = Fraction(10) ** 40
    while (
        step * _STEPS_OF_DEFAULT_GRAIN > high - low
        or (low / step).denominator * (high / step).denominator > 1
    ):
        step /= 10
    return step
