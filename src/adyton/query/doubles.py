"""Written numbers that came from doubles: a program sends all digits of what a person writes with few.

A program that holds 0.3 as a double may send 0.29999999999999999: the same double, and another number.  So a
literal with a point or an exponent and at least 16 significant digits, more than every double keeps, is read
as the shortest text of its double.  Whole numbers and shorter decimals are read exactly.
"""

from __future__ import annotations

import re

from adyton.errors import InvalidRequest
from adyton.kernel.exact import rational

LONGEST_EXACT = 15  # significant digits, which every double keeps
_WRITTEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/"""
    r"|(?P<number>(?<![\w.])(?:[0-9]+\.[0-9]*|\.?[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))",
    re.DOTALL,
)
_LONG = re.compile(r"[0-9.]{16}")
_MOST_SAID = 3


def shortest(written: str) -> str:
    """What a number literal is read as: itself, or the shortest text of the double that it stands for."""
    mantissa, _, exponent = written.lower().partition("e")
    digits = mantissa.replace(".", "").lstrip("0")
    if len(digits) <= LONGEST_EXACT or (mantissa.isdecimal() and not exponent):
        return written
    return short_double(written)


def short_double(written: str) -> str:
    """The shortest text of the double nearest to a number, if that is another number."""
    short = repr(float(written))
    try:
        same = rational(short, "a number") == rational(written, "a number")
    except InvalidRequest:  # too long, or beyond all doubles: whoever reads it says so
        return written
    return written if same else short


def remarks_on(*texts: str) -> tuple[str, ...]:
    """Which literals of these texts were read as others."""
    found = [
        number
        for text in texts
        if _LONG.search(text)
        for one in _WRITTEN.finditer(text)
        if (number := one["number"])
    ]
    changed = {written: short for written in found if (short := shortest(written)) != written}
    said = [
        f"{written} was read as {short}, the shortest text of the same double."
        for written, short in list(changed.items())[:_MOST_SAID]
    ]
    more = len(changed) - len(said)
    return (*said, *([f"So were {more:,} more numbers of the text."] if more > 0 else []))
