"""LIKE and regular expressions of statements about catalogs, without patterns that take for ever."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from adyton.query.sql.functions.texts import is_like as fits_marks
from adyton.transports.pg.catalog.relations import unsupported

_LONGEST, _LONGEST_LIKE, _DEEPEST = 300, 1000, 30
# Letters, classes, and signs of the grammar; each begins with another letter, so there is one way to read it.
_SIGN = re.compile(r"\\[^\w]|\[[^\[\]\\]+\]|[^\\\[\]{}]")
_Fits = Callable[[str], bool]


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
    text = text[:_LONGEST]
    return _compiled(pattern, small).search(text.lower() if small else text)


class _Machine:
    """A pattern as states, all of which are followed at once: no text makes it look back.

    A state is a test of one letter and where it leads, or, without a test, places to go on from at once: at
    the beginning or the end of the text alone, or anywhere.
    """

    def __init__(self, signs: list[str]) -> None:
        self._signs, self._place = signs, 0
        self._states: list[tuple[_Fits | str, list[int]]] = []
        self._end = self._new("end", [])
        self._first = self._either(self._end)
        if self._place < len(signs):  # a bracket that nobody opened
            raise unsupported("this regular expression")

    def search(self, text: str) -> bool:
        found: set[int] = set()
        for place in range(len(text) + 1):
            found = self._reached([*found, self._first], first=place == 0, last=place == len(text))
            if self._end in found:
                return True
            if place < len(text):
                found = {to for one in found for to in self._after(one, text[place])}
        return False

    def _after(self, state: int, letter: str) -> Iterable[int]:
        test, leads = self._states[state]
        return leads if not isinstance(test, str) and test(letter) else ()

    def _reached(self, states: list[int], *, first: bool, last: bool) -> set[int]:
        found: set[int] = set()
        while states:
            state = states.pop()
            if state in found:
                continue
            found.add(state)
            test, leads = self._states[state]
            if test == "anywhere" or (test == "^" and first) or (test == "$" and last):
                states += leads
        return found

    # Made from its end to its beginning, as each state says where it leads.

    def _new(self, test: _Fits | str, leads: list[int]) -> int:
        self._states.append((test, leads))
        return len(self._states) - 1

    def _either(self, after: int) -> int:
        ways = [self._one_way(after)]
        while self._sign() == "|":
            self._place += 1
            ways.append(self._one_way(after))
        return self._new("anywhere", ways)

    def _one_way(self, after: int) -> int:
        last, pieces = after, list[tuple[int, int]]()  # where each piece begins and ends among the signs
        while (sign := self._sign()) not in ("", "|", ")"):
            begin = self._place
            if sign == "(":
                self._place = _closing(self._signs, begin)
            self._place += 1
            if self._sign() in ("*", "+", "?"):
                self._place += 1
            pieces.append((begin, self._place))
        end = self._place
        for begin, stop in reversed(pieces):
            last = self._piece(begin, stop, last)
        self._place = end
        return last

    def _piece(self, begin: int, stop: int, after: int) -> int:
        sign, repeat = self._signs[begin], self._signs[stop - 1] if stop - begin > 1 else ""
        if sign in ("*", "+", "?") or (sign in ("(", "^", "$") and repeat in ("*", "+", "?")):
            raise unsupported("this regular expression")  # a group is never repeated
        if sign == "(":
            self._place = begin + 1
            return self._either(after)
        if sign in ("^", "$"):
            return self._new(sign, [after])
        leads = [after]
        one = self._new(_fits(sign), leads)
        if repeat in ("*", "+"):
            leads.append(one)
        return self._new("anywhere", [one, after]) if repeat in ("*", "?") else one

    def _sign(self) -> str:
        return self._signs[self._place] if self._place < len(self._signs) else ""


def _closing(signs: list[str], place: int) -> int:
    """Where the group ends that begins here."""
    depth = 0
    for at in range(place, len(signs)):
        depth += {"(": 1, ")": -1}.get(signs[at], 0)
        if depth == 0:
            return at
    raise unsupported("this regular expression")


def _fits(sign: str) -> _Fits:
    """A letter, any letter, or one of a class, which is short and is asked about one letter at a time."""
    if sign == ".":
        return lambda letter: True
    if len(sign) > 1 and sign[0] == "[":
        try:
            one = re.compile(sign)
        except re.error:
            raise unsupported("this regular expression") from None
        return lambda letter: one.fullmatch(letter) is not None
    wanted = sign[-1]
    return lambda letter: letter == wanted


@lru_cache(maxsize=256)
def _compiled(pattern: str, small: bool) -> _Machine:
    if small:
        pattern = pattern.lower()
    signs = _SIGN.findall(pattern) if len(pattern) <= _LONGEST else []
    if "".join(signs) != pattern or pattern.count("(") > _DEEPEST:
        raise unsupported("this regular expression")
    return _Machine(signs)
