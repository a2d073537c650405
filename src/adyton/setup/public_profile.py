"""What a file says about its columns, where the owner declares that all of it is public.

Texts get the kind that all of them can be read as, by the same rules by which the engines read them.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adyton.duckdb_files import quoted, text_literal
from adyton.engines.loading.sources import connect, describe, execute, in_full, kind_of
from adyton.engines.spelling.kinds import DAY, FALSE_WORDS, NUMBER, TRUE_WORDS, WHOLE, SourceType

MOST_VALUES = 100
# A code such as 007 is a text: as a number it would lose its zeros.
_CODE = "^[+-]?0[0-9]"


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """The kind of a column, its least and greatest value, and all its values if they are few."""

    kind: str
    low: Any = None
    high: Any = None
    values: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Public:
    """A public file that is open."""

    connection: Any
    origin: str
    source: Path

    def rows(self, select: str, rest: str = "") -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = execute(
            self.connection, f"SELECT {select} FROM {self.origin} {rest}", self.source
        )
        return found

    def ends(self, value: str, present: str) -> tuple[Any, Any]:
        ((low, high),) = self.rows(f"min({value}), max({value})", f"WHERE {present.format(value)}")
        return low, high


_KNOWN, _FINITE = "{} IS NOT NULL", "isfinite({})"


def public_profiles(source: Path) -> dict[str, ColumnProfile]:
    """All columns of a public file that hold single values, by name."""
    types = describe(source)
    with contextlib.closing(connect()) as connection, in_full(connection, source) as rows:
        file = _Public(connection, rows, source)
        found = {name: _profile(file, quoted(name), kind_of(kind)) for name, kind in types.items()}
    return {name: profile for name, profile in found.items() if profile is not None}


def _profile(file: _Public, name: str, kind: SourceType) -> ColumnProfile | None:
    match kind:
        case "integer":
            return ColumnProfile("integer", *file.ends(name, _KNOWN))
        case "float" | "decimal":
            return ColumnProfile("real", *file.ends(f"CAST({name} AS DOUBLE)", _FINITE))
        case "date" | "timestamp" | "instant":
            return ColumnProfile("date", *file.ends(f"TRY_CAST({name} AS DATE)", _FINITE))
        case "boolean":
            return ColumnProfile("boolean")
        case "text":
            return _profile_of_texts(file, f"CAST({name} AS VARCHAR)")
        case "other":
            return None


def _profile_of_texts(file: _Public, name: str) -> ColumnProfile:
    text = f"trim({name}, ' \t\r\n')"
    words = ", ".join(map(text_literal, (*TRUE_WORDS, *FALSE_WORDS)))
    tests = (
        f"{text} <> ''",
        f"{_matches(text, WHOLE)} AND NOT {_matches(text, _CODE)}",
        f"{_matches(text, NUMBER)} AND NOT {_matches(text, _CODE)}",
        f"{_matches(text, DAY)} AND TRY_CAST(substr({text}, 1, 10) AS DATE) IS NOT NULL",
        f"lower({text}) IN ({words})",
    )
    ((present, *counts),) = file.rows(", ".join(f"count(*) FILTER (WHERE {test})" for test in tests))
    whole, numbers, days, truths = (count == present > 0 for count in counts)
    if whole:
        return ColumnProfile("integer", *file.ends(f"TRY_CAST({text} AS BIGINT)", _KNOWN))
    if numbers:
        return ColumnProfile("real", *file.ends(f"TRY_CAST({text} AS DOUBLE)", _FINITE))
    if days:
        return ColumnProfile("date", *file.ends(f"TRY_CAST(substr({text}, 1, 10) AS DATE)", _FINITE))
    if truths:
        return ColumnProfile("boolean")
    some = f"WHERE {text} <> '' ORDER BY 1 LIMIT {MOST_VALUES + 1}"
    listed = tuple(value for (value,) in file.rows(f"DISTINCT {name}", some))
    return ColumnProfile("category", values=listed if len(listed) <= MOST_VALUES else None)


def _matches(value: str, pattern: str) -> str:
    return f"coalesce(regexp_matches({value}, {text_literal(pattern)}), false)"
