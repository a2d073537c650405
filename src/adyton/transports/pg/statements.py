"""A text with several statements, and the first words of each, which say what kind it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from adyton.service.limits import LIMITS
from adyton.transports.pg.errors import SqlError

_MARK = re.compile(
    r"""(?P<escaped>(?<![\w$])[eE]')|'|"|--|/\*|(?P<parameter>(?<![\w$])\$[0-9]{1,5}(?!\w))"""
    r"""|(?P<tag>(?<![\w$])\$(?:[A-Za-z_]\w*)?\$)|;"""
)
_ESCAPED = re.compile(r"(?:[^'\\]|\\.|'')*'", re.DOTALL)
_ENDS = {"'": "'", '"': '"', "--": "\n", "/*": "*/"}
_BEFORE = re.compile(r"(?:[\s(]|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*+")
_WORD = re.compile(r"[A-Za-z_]+")
_FEWER = "Send less at once."


@dataclass(frozen=True, slots=True)
class WireStatement:
    """One statement, and where it begins in what was sent."""

    text: str
    start: int = 0

    @property
    def words(self) -> tuple[str, str]:
        """Its first two words in capitals, behind comments and brackets."""
        first = _WORD.match(self.text, _begin(self.text))
        if first is None:
            return "", ""
        second = _WORD.match(self.text, _begin(self.text, first.end()))
        return first.group().upper(), second.group().upper() if second else ""

    @property
    def bare(self) -> str:
        """With a space for each comment outside strings and quoted names, as commands are read."""
        kept, start = [], 0
        for mark, end in closed_marks(self.text):
            if mark.group() in ("--", "/*"):
                kept += [self.text[start : mark.start()], " "]
                start = end
        return "".join([*kept, self.text[start:]])

    @property
    def is_empty(self) -> bool:
        return _begin(self.text) == len(self.text)


def statements_in(text: str) -> list[WireStatement]:
    """Split at semicolons; what is empty is left out, unless all is.  SqlError if one is too long, or they
    are too many.
    """
    found, start = [], 0
    for mark in _marks(text):
        if mark.group() == ";":
            found.append(_statement(text, start, mark.start()))
            start = mark.end()
            if len(found) > LIMITS.wire_statements:  # those without a word count too
                raise SqlError(
                    "54000", f"a message has at most {LIMITS.wire_statements:,} statements", _FEWER
                )
    found.append(_statement(text, start, len(text)))
    return [one for one in found if not one.is_empty] or [WireStatement("")]


def _statement(text: str, start: int, end: int) -> WireStatement:
    if end - start > LIMITS.wire_statement_letters:
        message = f"a statement has at most {LIMITS.wire_statement_letters:,} characters"
        raise SqlError("54000", message, _FEWER)
    return WireStatement(text[start:end], start)


def parameters_in(text: str) -> list[tuple[int, int, int]]:
    """Where $1, $2 and so on stand, outside strings, names and comments: number, start and end."""
    return [(int(mark.group()[1:]), *mark.span()) for mark in _marks(text) if mark["parameter"]]


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Semicolons and parameters outside strings, quoted names and comments, in one walk.

    What is opened and never closed is the rest of the text.
    """
    return (mark for mark, _ in closed_marks(text) if mark.group() == ";" or mark["parameter"])


def closed_marks(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """All marks, each with the end of what it opens."""
    place = 0
    while (mark := _MARK.search(text, place)) is not None:
        said, place = mark.group(), mark.end()
        if said == ";" or mark["parameter"]:
            yield mark, place
            continue
        if mark["escaped"]:
            closed = _ESCAPED.match(text, place)
            end = closed.end() if closed else -1
        else:
            closing = mark["tag"] or _ENDS[said]
            end = text.find(closing, place)
            end = end + len(closing) if end >= 0 else -1
        if end < 0:
            if said == "--":  # the last line
                yield mark, len(text)
            return
        yield mark, end
        place = end


def folded(name: str) -> str:
    """A name as it is looked for: in small letters, unless it is quoted."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _begin(text: str, start: int = 0) -> int:
    """Where what is neither space nor comment nor bracket begins."""
    found = _BEFORE.match(text, start)
    return found.end() if found else start
