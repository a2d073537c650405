"""The first draft of a study file, from names and types alone.

No value is read unless the owner says that the file is public.  The number of rows is read only where it is
public by the owner's choice of neighbours.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from adyton.accounting import filter_named
from adyton.engines.csv_lines import SEPARATORS
from adyton.engines.duckdb import count_units, describe, public_profile
from adyton.errors import InvalidRequest
from adyton.exact import positive, rational
from adyton.privacy import Guarantee, Neighbours, PrivacyUnit
from adyton.query.text import fraction_text
from adyton.study import FILL_IN, check_size

_MOST_VALUES = 100
_NO_WORD = re.compile(r"\W")
_KINDS = (
    (re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"), "integer"),
    (re.compile(r"DOUBLE|FLOAT|REAL|DECIMAL.*"), "real"),
    (re.compile(r"DATE|TIMESTAMP.*"), "date"),
    (re.compile(r"BOOLEAN"), "boolean"),
    (re.compile(r"VARCHAR|ENUM.*"), "category"),
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the owner says on the command line; everything else is left to fill in."""

    epsilon: str
    delta: str
    neighbours: Neighbours = "replace"
    person: str | None = None
    rows_per_person: int = 1
    rows: int | None = None
    name: str | None = None
    filter: str = "gdp"
    public: bool = False


def draft_study(data: Path, wishes: Wishes, study_file: Path) -> str:
    """The text of a study file for ``data``, with FILL IN where the owner must decide."""
    types = describe(data)
    if wishes.person is not None and wishes.person not in types:
        raise InvalidRequest(f"the data has no column {wishes.person!r}; it has: {', '.join(types)}")
    rows = _rows(data, wishes)
    _check_promise(wishes, rows)
    sections = [_table(data, wishes, rows, study_file), _privacy(wishes)]
    sections += [_column(data, n, t, wishes.public) for n, t in types.items() if n != wishes.person]
    return "\n".join([_PREFACE, *([_CSV_NOTE] if data.suffix.lower() in SEPARATORS else []), *sections])


_PREFACE = """\
# What everyone may know about this study.  Review it: every promise rests on it.
# Bounds and values must come from public knowledge, never from the data.  From the first answer on, the
# ledger beside this file belongs to exactly these facts.
"""


_CSV_NOTE = """\
# The data is CSV, and CSV is text: every column below begins as a category.  Where a column holds numbers,
# days or truths, set kind to "integer", "real", "date" or "boolean" and give its bounds.
"""


def _table(data: Path, wishes: Wishes, rows: int | None, study_file: Path) -> str:
    lines = [
        "[table]",
        f"name = {_toml(wishes.name or _NO_WORD.sub('_', data.stem))}",
        f"source = {_toml(_relative(data, study_file))}  # as seen from this file",
    ]
    if wishes.neighbours == "replace":
        lines.append(f"rows = {rows}  # exact, and public under neighbours = 'replace'")
    elif rows is not None:
        lines.append(f"rows = {rows}  # a public guess; used for delta < 1/rows and to preview means")
    else:
        lines.append("# rows = 10000  # a public guess, if you want to give one; needed for delta above 1e-8")
    return "\n".join(lines) + "\n"


def _rows(data: Path, wishes: Wishes) -> int | None:
    """Counted only where the number is public: under ``replace``, or in a public file."""
    if wishes.rows is None and (wishes.neighbours == "replace" or wishes.public):
        return count_units(data, wishes.person)
    return wishes.rows


def _guarantee(wishes: Wishes) -> Guarantee:
    return Guarantee(positive(wishes.epsilon, "epsilon"), rational(wishes.delta, "delta"))


def _check_promise(wishes: Wishes, rows: int | None) -> None:
    """What the study would refuse later is refused now."""
    unit = PrivacyUnit(wishes.neighbours, wishes.person, wishes.rows_per_person)
    check_size(rows, unit, _guarantee(wishes))
    filter_named(wishes.filter).allowed(_guarantee(wishes))


def _privacy(wishes: Wishes) -> str:
    limit = _guarantee(wishes)
    lines = ["[privacy]"]
    if wishes.person is None:
        lines.append('unit = "row"  # or "person", with person = the column that identifies one')
    else:
        lines += [
            'unit = "person"',
            f"person = {_toml(wishes.person)}",
            f"rows_per_person = {wishes.rows_per_person}",
        ]
    lines += [
        f'neighbours = "{wishes.neighbours}"  # "replace": size public; "add-or-remove": size private',
        f"epsilon = {fraction_text(limit.epsilon)}",
        f"delta = {_delta(limit.delta)}",
        f'filter = "{wishes.filter}"  # "gdp", "zcdp" or "pure" (delta = 0); fixed for ever',
    ]
    return "\n".join(lines) + "\n"


def _column(data: Path, name: str, kind_of_file: str, public: bool) -> str:
    kind = next((kind for pattern, kind in _KINDS if pattern.fullmatch(kind_of_file)), None)
    if kind is None:
        return f"# column {name!r} has type {kind_of_file}, which cannot be questioned\n"
    lines = [f"[columns.{_key(name)}]", f'kind = "{kind}"']
    found = _from_values(data, name, kind) if public else {}
    for key, advice in _ADVICE[kind]:
        lines.append(
            f"{key} = {found.get(key, _toml(FILL_IN))}" + (f"  # {advice}" if key not in found else "")
        )
    if kind == "real":
        lines.append(
            "# grain = 0.01  # the step to which values are rounded; the default has at least 10,000"
        )
    return "\n".join(lines) + "\n"


_ADVICE: dict[str, list[tuple[str, str]]] = {
    "integer": [("low", "least possible value"), ("high", "greatest possible value")],
    "real": [("low", "least possible value"), ("high", "greatest possible value")],
    "date": [("low", "first possible day, e.g. 1900-01-01"), ("high", "last possible day")],
    "category": [("values", 'possible values, e.g. ["north", "south"]; others count as missing')],
    "boolean": [],
}


def _from_values(data: Path, name: str, kind: str) -> dict[str, str]:
    """Bounds and values read from a file that the owner calls public."""
    low, high, values = public_profile(data, name, _MOST_VALUES)
    if kind == "category":
        return {"values": json.dumps(values, ensure_ascii=False)} if values else {}
    shape = _SHAPES.get(kind)
    if shape is None or low is None or high is None or not low < high:
        return {}
    return {"low": shape(low, math.floor), "high": shape(high, math.ceil)}


_SHAPES: dict[str, Callable[[Any, Callable[[float], int]], str]] = {
    "integer": lambda value, _: str(int(value)),
    "real": lambda value, away: str(away(value)),
    "date": lambda value, _: (value.date() if isinstance(value, datetime.datetime) else value).isoformat(),
}


def _relative(data: Path, study_file: Path) -> str:
    try:
        return data.resolve().relative_to(study_file.resolve().parent).as_posix()
    except ValueError:
        return str(data.resolve())


def _delta(delta: Fraction) -> str:
    return f"{float(delta):g}" if Fraction(f"{float(delta):g}") == delta else fraction_text(delta)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a TOML basic string has the same escapes
