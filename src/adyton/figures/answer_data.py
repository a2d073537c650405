"""The numbers that the picture of an answer shows, taken from its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.certify.values import day_from, day_text
from adyton.show import ends, number

Ends = tuple[float | None, float | None]  # None: there is no such end
_DAY = 86_400_000  # milliseconds, in which Vega counts time
_MARGIN = 0.04  # of the axis beyond the outermost end
_NOTHING = "says nothing"


@dataclass(frozen=True, slots=True)
class Bar:
    """One group of one value.  Without ``noise`` the value says nothing and is not drawn."""

    group: str
    value: float | None
    noise: Ends | None
    population: Ends | None
    shown: str

    @property
    def is_open(self) -> bool:
        return any(own is not None and None in own for own in (self.noise, self.population))


@dataclass(frozen=True, slots=True)
class Panel:
    """All groups of one value.  ``days``: numbers are times in milliseconds, and drawn as dates."""

    name: str
    bars: tuple[Bar, ...]
    kinds: tuple[str, ...]  # the names of its intervals, that of the noise first
    days: bool
    missing: str  # which population intervals are not there, and why; empty if all are

    def span(self) -> tuple[float, float]:
        """Of the axis: all ends that are somewhere, and a little more; from 0 if that is not far."""
        known = [bar.value for bar in self.bars]
        known += [end for bar in self.bars for own in (bar.noise, bar.population) for end in own or ()]
        numbers = [end for end in known if end is not None]
        low, high = min(numbers, default=0.0), max(numbers, default=1.0)
        margin = (high - low) * _MARGIN or abs(high) * _MARGIN or 1.0
        if 0 <= low <= high / 2 and not self.days:
            return 0.0, high + margin
        return low - margin, high + margin

    def data(self) -> dict[str, list[dict[str, Any]]]:
        """What the marks are drawn from."""
        low, high = self.span()
        bars = []
        for bar in self.bars:
            told = dict(self.ends(bar))
            for kind, own in zip(self.kinds, (bar.noise, bar.population), strict=False):
                if own is not None:
                    first, _, last = told[kind].partition(" .. ")
                    place = {
                        "low": low if own[0] is None else own[0],
                        "high": high if own[1] is None else own[1],
                    }
                    bars.append({"group": bar.group, "kind": kind, **place, "from": first, "to": last})
        values = [
            {"group": bar.group, "kind": "value", "value": bar.value, "shown": bar.shown} for bar in self.bars
        ]
        return {"bars": bars, "values": values}

    def ends(self, bar: Bar) -> list[tuple[str, str]]:
        """The names of the intervals of a bar, and both ends as text, rounded outwards."""
        precision = _half(bar.noise)
        both = zip(self.kinds, (bar.noise, bar.population), strict=False)
        return [(kind, self._written(own, precision)) for kind, own in both if own is not None]

    def _written(self, own: Ends, precision: float) -> str:
        low, high = own
        if self.days:
            return f"{_date(low)} .. {_date(high)}"
        if low is not None and high is not None:
            return ends(low, high, precision)
        first = "" if low is None else ends(low, low, precision).partition(" .. ")[0]
        last = "" if high is None else ends(high, high, precision).rpartition(" .. ")[2]
        return f"{first} .. {last}"


def panels_of(rows: Sequence[Mapping[str, Any]], groups: Sequence[str], names: Sequence[str]) -> list[Panel]:
    """One panel for each value; ``groups`` are the labels of the rows."""
    return [_panel(name, [row["values"][name] for row in rows], groups) for name in names if rows]


def _panel(name: str, values: Sequence[Mapping[str, Any]], groups: Sequence[str]) -> Panel:
    wide = [value["population_interval"] for value in values]
    there = [interval for interval in wide if "level" in interval]
    kinds = [f"noise interval ({_percent(values[0]['noise_interval'])}, for these rows)"]
    if there:
        kinds.append(f"population interval ({_percent(there[0])}, simultaneous for all answers of the study)")
    days = any(isinstance(value["value"], str) for value in values)
    bars = tuple(_bar(group, value, days) for group, value in zip(groups, values, strict=True))
    absent = [str(interval["absent"]) for interval in wide if "absent" in interval]
    which = "no population interval" if not there else f"{len(absent):,} groups without a population interval"
    missing = f"{which}, {absent[0].rstrip('.')}." if absent else ""
    return Panel(name, bars, tuple(kinds), days, missing)


def _bar(group: str, told: Mapping[str, Any], days: bool) -> Bar:
    if "uninformative" in told:
        return Bar(group, None, None, None, _NOTHING)
    noise = _ends(told["noise_interval"])
    wide = told["population_interval"]
    value = _number(told["value"])
    shown = "-" if value is None else str(told["value"]) if days else number(value, _half(noise))
    return Bar(group, value, noise, _ends(wide) if "level" in wide else None, shown)


def _ends(interval: Mapping[str, Any]) -> Ends:
    return _number(interval["low"]), _number(interval["high"])


def _number(value: float | str | None) -> float | None:
    """Dates become times; what is null stays so."""
    if isinstance(value, str):
        return float(day_from(value) * _DAY)
    return None if value is None else float(value)


def _date(time: float | None) -> str:
    return "" if time is None else day_text(time // _DAY)


def _half(own: Ends | None) -> float:
    if own is None or own[0] is None or own[1] is None:
        return 0.0
    return (own[1] - own[0]) / 2


def _percent(interval: Mapping[str, Any]) -> str:
    return f"{100 * interval['level']:.12g} %"
