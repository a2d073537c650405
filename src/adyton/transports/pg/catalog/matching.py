"""LIKE and regular expressions of statements about catalogs, without patterns that take for ever."""

from __future__ import annotations

import re
from functools import lru_cache

from adyton.transports.pg.catalog.relations import unsupported

_LONGEST, _LONGEST_LIKE = 300, 1000
_MOST_REPEATS = 3
# Letters, classes and groups; only one letter or one class may be repeated, never a group.
_PLAIN = re.compile(r"(?:\^|\$|\(|\)|\||(?:[^\\^$()|\[\]*+?{}]|\\[^\w]|\[\^?[^\[\]\\]+\])[*+?]?)*")


def is_like(text: str, pattern: str, escape: str = "\\", *, small: bool = False) -> bool:
    """As LIKE; every mark of the text is looked at a few times, whatever the pattern."""
    if small:
        text, pattern = text.lower(), pattern.lower()
    marks = _marks(pattern, escape)
    place = at = 0
    star, back = -1, 0
    while place < len(text):
        if at < len(marks) and marks[at] in ("_", "=" + text[place]):
            place, at = place + 1, at + 1
        elif at < len(marks) and marks[at] == "%":
            star, back = at, place
            at += 1
        elif star >= 0:
            back += 1
            place, at = back, star + 1
        else:
            return False
    return all(mark == "%" for mark in marks[at:])


def _marks(pattern: str, escape: str) -> list[str]:
    if len(pattern) > _LONGEST_LIKE:
        raise unsupported("so long a pattern")
    marks, letters = [], iter(pattern)
    for letter in letters:
        if letter == escape:
            marks.append("=" + next(letters, ""))
        else:
            marks.append(letter if letter in "%_" else "=" + letter)
    return marks


def matches(text: str, pattern: str, *, small: bool = False) -> bool:
    """As the sign ~, or with ``small`` as ~*."""
    return _compiled(pattern, small).search(text[:_LONGEST]) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str, small: bool) -> re.Pattern[str]:
    repeats = sum(pattern.count(mark) for mark in "*+")
    if len(pattern) > _LONGEST or repeats > _MOST_REPEATS or not _PLAIN.fullmatch(pattern):
        raise unsupported("this regular expression")
    try:
        return re.compile(pattern, re.IGNORECASE if small else 0)
    except re.error:
        raise unsupported("this regular expression") from None
