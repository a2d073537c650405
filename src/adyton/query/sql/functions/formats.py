"""Dates as strings: the formats of STRFTIME, TO_CHAR and others, and the strings that a date can become."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from adyton.errors import InvalidRequest
from adyton.kernel.terms.expressions import MOST_STEPS, Days, NumberExpression
from adyton.kernel.terms.leaves import Constant, Part
from adyton.query.calendar import part_of, scaled, sum_of, whole
from adyton.query.sql.functions.values import Texts, merged

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# What each piece reads, in the letters of STRFTIME.
_READS: dict[str, Part] = {
    "%Y": "year",
    "%y": "year",
    "%q": "quarter",
    "%m": "month",
    "%B": "month",
    "%b": "month",
    "%d": "day",
    "%A": "weekday",
    "%a": "weekday",
    "%u": "weekday",
}
_C_LETTERS = {**{piece: piece for piece in _READS if piece != "%q"}, "%F": "%Y-%m-%d", "%%": "%"}
_WORDS = {  # of Postgres, Snowflake and others
    "YYYY": "%Y",
    "YY": "%y",
    "MM": "%m",
    "DD": "%d",
    "Q": "%q",
    "Mon": "%b",
    "MON": "%b",
    "Dy": "%a",
    "FMMonth": "%B",
    "FMDay": "%A",
}
_MYSQL_LETTERS = {**{piece: piece for piece in ("%Y", "%y", "%m", "%d", "%b", "%a")}, "%M": "%B", "%W": "%A"}
_JAVA_WORDS = {"yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "dd": "%d", "EEEE": "%A"}
_OTHERS = re.compile(r"[^A-Za-z%]")


def read_format(function: str, text: str) -> list[str]:
    """The pieces of a format, in the letters of STRFTIME; whatever else is in it stands for itself."""
    if function == "TO_CHAR":
        known = _WORDS
    elif function == "DATE_FORMAT":
        known = _MYSQL_LETTERS if "%" in text else _JAVA_WORDS
    else:
        known = _C_LETTERS
    pieces: list[str] = []
    while text:
        found = next((word for word in sorted(known, key=len, reverse=True) if text.startswith(word)), None)
        if found is None and not _OTHERS.match(text):
            raise InvalidRequest(f"{text[:20]!r} is not one of the formats {', '.join(known)}")
        said = known[found] if found else text[0]
        pieces += re.findall(r"%\w|.", said, re.DOTALL) if said != "%" else ["%"]
        text = text[len(found) if found else 1 :]
    return pieces


def formatted(day: Days, pieces: Sequence[str]) -> Texts:
    """The strings that ``day`` can become, numbered by the parts that they show."""
    parts = sorted({_READS[piece] for piece in pieces if piece in _READS}, key=_ORDER.index)
    if not parts:
        raise InvalidRequest("this format shows no part of a date")
    numbers = [part_of(day, part) for part in parts]
    spans = [range(number.lattice.low, number.lattice.high + 1) for number in numbers]
    code: NumberExpression = Constant(Fraction(0))
    size = 1
    for number, span in zip(numbers, spans, strict=True):
        place = sum_of(number, whole(-span.start))
        code = place if size == 1 else sum_of(scaled(code, len(span)), place)
        size *= len(span)
    if size > MOST_STEPS:
        raise InvalidRequest(
            f"this format has {size} possible strings, and at most {MOST_STEPS} are listed: use the date "
            "itself, or DATE_TRUNC"
        )
    rows = (dict(zip(parts, values, strict=True)) for values in product(*spans))
    return merged(code, ["".join(_shown(piece, row) for piece in pieces) for row in rows])


_ORDER: tuple[Part, ...] = ("year", "quarter", "month", "day", "weekday")


def _shown(piece: str, row: dict[Part, int]) -> str:
    if piece not in _READS:
        return piece
    value = row[_READS[piece]]
    match piece:
        case "%Y":
            return f"{value:04}"
        case "%y":
            return f"{value % 100:02}"
        case "%m" | "%d":
            return f"{value:02}"
        case "%B" | "%b":
            return _MONTHS[value - 1][: 3 if piece == "%b" else None]
        case "%A" | "%a":
            return _WEEKDAYS[value - 1][: 3 if piece == "%a" else None]
    return str(value)
