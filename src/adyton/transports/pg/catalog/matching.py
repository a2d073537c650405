"""LIKE and regular expressions of statements about catalogs, without patterns that take for ever."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from adyton.query.sql.functions.texts import is_like as fits_marks
from adyton.transports.pg.catalog.relations import unsupported

_LONGEST, _LONGEST_LIKE, _DEEPEST = 300, 1000, 30
# Letters, classes, and signs of the grammar; each begins with another letter, so there is one way to read it.
_SIGN = re.compile(r"\\[^\w]|\[[^\[\]\\]+\]|[^\\\[\]{}]")
_REPEATS, _THIS = ("*", "+", "?"), "this regular expression"
# Where in a text a part of a pattern may end, of all places where it may begin: no text makes it look back.
_Step = Callable[[str, set[int]], set[int]]


def is_like(text: str, pattern: str, escape: str = "\\", *, small: bool = False) -> bool:
    """As LIKE; every mark of the text is looked at a few times, whatever the pattern."""
    if small:
        text, pattern = text.lower(), pattern.lower()
    return fits_marks(text, _marks(pattern, escape))


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
    text = text[:_LONGEST].lower() if small else text[:_LONGEST]
    return bool(_compiled(pattern.lower() if small else pattern)(text, set(range(len(text) + 1))))


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> _Step:
    signs = _SIGN.findall(pattern) if len(pattern) <= _LONGEST else []
    if "".join(signs) != pattern or pattern.count("(") > _DEEPEST:
        raise unsupported(_THIS)
    signs.append(")")
    step, end = _either(signs, 0)
    if end < len(signs):  # a bracket that nobody opened
        raise unsupported(_THIS)
    return step


def _either(signs: list[str], at: int) -> tuple[_Step, int]:
    """The ways from here to the bracket that closes them, and the place behind it."""
    ways: list[list[_Step]] = [[]]
    while (sign := signs[at]) != ")":
        at += 1
        if sign == "|":
            ways.append([])
            continue
        step, at = _either(signs, at) if sign == "(" else (_one(sign), at)
        if at == len(signs):  # a bracket that nobody closed
            raise unsupported(_THIS)
        if signs[at] in _REPEATS:
            if sign in ("(", "^", "$"):  # a group is never repeated
                raise unsupported(_THIS)
            step, at = _repeated(step, signs[at]), at + 1
        ways[-1].append(step)

    def ends(text: str, places: set[int]) -> set[int]:
        found: set[int] = set()
        for way in ways:
            reached = places
            for step in way:
                reached = step(text, reached)
            found |= reached
        return found

    return ends, at + 1


def _one(sign: str) -> _Step:
    """A letter, any letter, one of a class, which is short and is asked about one letter at a time; or an end
    of the text.
    """
    if sign in _REPEATS:
        raise unsupported(_THIS)
    if sign in ("^", "$"):
        return lambda text, places: places & {0 if sign == "^" else len(text)}
    if len(sign) > 1 and sign[0] == "[":
        try:
            fits: Callable[[str], object] = re.compile(sign).fullmatch
        except re.error:
            raise unsupported(_THIS) from None
        return lambda text, places: {at + 1 for at in places if at < len(text) and fits(text[at])}
    wanted = None if sign == "." else sign[-1]
    return lambda text, places: {at + 1 for at in places if at < len(text) and wanted in (None, text[at])}


def _repeated(step: _Step, sign: str) -> _Step:
    def ends(text: str, places: set[int]) -> set[int]:
        newest = step(text, places)
        found = newest if sign == "+" else places | newest
        while sign != "?" and newest:  # each place is new once
            newest = step(text, newest) - found
            found |= newest
        return found

    return ends
