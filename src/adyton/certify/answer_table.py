"""The table of an answer: one line for each group, or one for each value where that would be too wide.

What is shown differs from what was released in two ways, and exports have the released numbers: a count
and the ends of its intervals are whole and not below 0, and a value without information is a dash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, isnan

from adyton.certify.rows import NO_VALUE, NOTHING_KNOWN, UNINFORMATIVE, KnownRange
from adyton.certify.values import Absent, Interval, Row, Value, day_text, key_text
from adyton.show import MOST_ROWS, Sheet, ends, half_width, number

_SIMULTANEOUS = "simultaneous for all answers of the study"
_NONE = "-"
_NOISE, _POPULATION = "noise interval", "population interval"


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """The values of one measure, in the order of the rows."""

    name: str
    values: tuple[Value, ...]
    known: KnownRange

    @property
    def has_population(self) -> bool:
        return any(isinstance(v.population_interval, Interval) for v in self.values)

    def answers(self) -> list[str]:
        return [self._answer(v) if self._tells(v) else _NONE for v in self.values]

    def _answer(self, v: Value) -> str:
        if self.known.day:
            return day_text(v.value)
        return number(self._clipped(v.value), _half(v), step=self.known.step)

    def noise(self) -> list[str]:
        return [self._ends(v.noise_interval, v) for v in self.values]

    def population(self) -> list[str]:
        return [
            self._ends(v.population_interval, v) if isinstance(v.population_interval, Interval) else _NONE
            for v in self.values
        ]

    def answers_with_noise(self) -> list[str]:
        """Value and half-width, or all of them with both ends where one has unlike sides."""
        answers = self.answers()
        halves = [self._half_width(v) if self._tells(v) else "" for v in self.values]
        if None not in halves:
            return [f"{a} ± {half}" if half else a for a, half in zip(answers, halves, strict=True)]
        return [
            f"{a} ({noise})" if self._tells(v) else a
            for a, noise, v in zip(answers, self.noise(), self.values, strict=True)
        ]

    def _half_width(self, v: Value) -> str | None:
        if self.known.day:
            return None
        low, high = (self._clipped(end) for end in (v.noise_interval.low, v.noise_interval.high))
        return half_width(self._clipped(v.value), low, high, step=self.known.step)

    def _ends(self, interval: Interval, v: Value) -> str:
        low, high = self._clipped(interval.low), self._clipped(interval.high)
        if not (isfinite(low) and isfinite(high)):
            return _one_sided(low, high)
        if self.known.day:
            return f"{day_text(low, floor)} .. {day_text(high, ceil)}"
        return ends(low, high, _half(v), step=self.known.step)

    def _clipped(self, value: float) -> float:
        return max(0.0, value) if self.known.count else value

    def _tells(self, v: Value) -> bool:
        return self.known.is_informative(v)


LONGEST_TITLE = 600  # characters; the whole text is a detail


def answer_sheet(
    title: str,
    rows: Sequence[Row],
    known: Mapping[str, KnownRange],
    notes: tuple[str, ...] = (),
    details: tuple[str, ...] = (),
) -> Sheet:
    """Only the rows that are shown are looked at: an answer may have very many."""
    shown = rows[:MOST_ROWS]
    keys = [tuple(map(key_text, row.keys.values())) for row in shown]
    names = tuple(shown[0].keys) if shown else ()
    measured = [
        MeasureColumn(name, tuple(row.values[name] for row in shown), known.get(name, NOTHING_KNOWN))
        for name in (shown[0].values if shown else ())
    ]
    if len(title) > LONGEST_TITLE:
        title, details = f"{title[:LONGEST_TITLE]} ...", (title, *details)
    plain = Sheet(title, (), (), notes, len(names), details, hidden=len(rows) - len(shown))
    if not shown:
        return replace(plain, notes=("No rows.", *notes))
    if not measured:
        return replace(plain, headers=names, rows=tuple(keys))
    listed = _listed(plain, names, keys, measured)
    if not names and len(measured) > 1:
        return listed
    several = _with_halves(plain, names, keys, measured, listed)
    return several if len(measured) > 1 else _with_ends(plain, names, keys, measured[0], several)


def _with_ends(
    plain: Sheet, names: tuple[str, ...], keys: list[tuple[str, ...]], one: MeasureColumn, narrower: Sheet
) -> Sheet:
    """For a single measure: the answer, its noise interval, and that of the population if there is one."""
    columns = [one.answers(), one.noise()] + ([one.population()] if one.has_population else [])
    headers = (*names, one.name, _NOISE, *([_POPULATION] if one.has_population else []))
    notes = (*legend("Noise interval:", [one]), *plain.notes)
    return replace(plain, headers=headers, rows=_lines(keys, columns), notes=notes, narrower=narrower)


def _with_halves(
    plain: Sheet,
    names: tuple[str, ...],
    keys: list[tuple[str, ...]],
    measured: list[MeasureColumn],
    narrower: Sheet,
) -> Sheet:
    """For each measure the answer with its noise in one column, and the population's interval if any."""
    columns, blocks, headers = [], [], list(names)
    for one in measured:
        columns += [one.answers_with_noise()] + ([one.population()] if one.has_population else [])
        beside = ("population",) if one.has_population else ()
        headers += [one.name, *beside]
        blocks.append((one.name, ("answer", *beside)))
    notes = (*legend("Noise interval, after ± or in brackets:", measured), *plain.notes)
    grouped = tuple(blocks) if any(one.has_population for one in measured) else ()
    rows = _lines(keys, columns)
    return replace(plain, headers=tuple(headers), rows=rows, notes=notes, blocks=grouped, narrower=narrower)


def _listed(
    plain: Sheet, names: tuple[str, ...], keys: list[tuple[str, ...]], measured: list[MeasureColumn]
) -> Sheet:
    """One line for each value; if that is too wide as well, one for each of its numbers."""
    groups = max(1, MOST_ROWS // len(measured))
    headers = ["answer", _NOISE] + [_POPULATION] * any(one.has_population for one in measured)
    of_each = [(one.name, [one.answers(), one.noise(), one.population()]) for one in measured]
    values = [
        ((*key, name), [column[i] for column in columns[: len(headers)]])
        for i, key in enumerate(keys[:groups])
        for name, columns in of_each
    ]
    listed = replace(
        plain,
        headers=(*names, "value of", *headers),
        rows=tuple((*named, *cells) for named, cells in values),
        notes=(*legend("Noise interval:", measured), *plain.notes),
        left_aligned=len(names) + 1,
        hidden=plain.hidden + max(0, len(keys) - groups),
    )
    return replace(listed, narrower=_stacked(listed, len(measured)))


def _stacked(listed: Sheet, measures: int) -> Sheet:
    """One line for each number of each value."""
    names, whats = listed.left_aligned, listed.headers[listed.left_aligned :]
    groups = max(1, MOST_ROWS // (measures * len(whats)))
    numbers = tuple(
        (*(row[:names] if i == 0 else ("",) * names), what.removesuffix(" interval"), cell)
        for row in listed.rows[: groups * measures]
        for i, (what, cell) in enumerate(zip(whats, row[names:], strict=True))
    )
    return replace(
        listed,
        headers=(*listed.headers[:names], "", "number"),
        rows=numbers,
        left_aligned=names + 1,
        hidden=listed.hidden + max(0, len(listed.rows) // measures - groups),
    )


def _lines(keys: list[tuple[str, ...]], columns: list[list[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple((*key, *cells) for key, *cells in zip(keys, *columns, strict=True))


def legend(noise: str, measured: list[MeasureColumn]) -> tuple[str, ...]:
    """What the intervals are for, and why some are not there."""
    values = [v for one in measured for v in one.values]
    intervals = [v.population_interval for v in values]
    levels = sorted({i.level for i in intervals if isinstance(i, Interval)})
    reasons = sorted({i.reason for i in intervals if isinstance(i, Absent)})
    levels_said = " and ".join(f"{100 * level:.12g} %" for level in levels) + f", {_SIMULTANEOUS}."
    why = "; ".join(reasons).rstrip(".") + "."
    said = [levels_said] * bool(levels) + [f"Where there is none: {why}" if levels else why] * bool(reasons)
    dashes = [v for one in measured for v in one.values if not one.known.is_informative(v)]
    none = [NO_VALUE] * any(isnan(v.value) for v in dashes)
    says_nothing = [UNINFORMATIVE] * any(not isnan(v.value) for v in dashes)
    return (
        f"{noise} 95 %, for these rows. Population interval: {' '.join(said)}",
        *(f"Where the answer is {_NONE}, {why}." for why in (*says_nothing, *none)),
    )


def _half(v: Value) -> float:
    half = (v.noise_interval.high - v.noise_interval.low) / 2
    return half if isfinite(half) else 0.0


def _one_sided(low: float, high: float) -> str:
    if isfinite(low):
        return f"from {number(low)}"
    return f"up to {number(high)}" if isfinite(high) else _NONE
