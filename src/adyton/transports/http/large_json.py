"""JSON that may be large, read and written in small steps.

One call of ``json`` keeps the interpreter until it ends, also in a thread of its own, so nobody else is
answered meanwhile.  Between two steps others go on.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

from adyton.certify import json_text
from adyton.errors import InvalidRequest, TooLarge
from adyton.service.limits import LIMITS

NO_JSON = "the body is not JSON; nothing was charged"
_STEP = 65_536  # bytes that are read by one call
_FEW = 64  # elements that are written by one call
_COSTLY = 10  # a list or an object counts as so many values
_LONGEST_TEXT = 1_000_000  # bytes of one text
_BLANK = re.compile(rb"[ \t\n\r]*")
_PLAIN = re.compile(rb"[^\[\]{}\\]{0,%d}" % _STEP)  # elements of a list without lists, objects and escapes
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_WORD = re.compile(rb"[-+.0-9A-Za-z]{1,4400}")


def parsed(content: bytes, longest: int | None = None) -> Any:
    """The value of a body.  InvalidRequest if it is not JSON, TooLarge if it holds too much.

    ``longest``: the most elements of one list.
    """
    reader = _JsonReader(content, longest)
    try:
        return reader.whole()
    except ValueError:
        pass
    raise InvalidRequest(NO_JSON)


class _JsonReader:
    def __init__(self, content: bytes, longest: int | None) -> None:
        self._content, self._longest = content, longest
        self._at = self._values = 0

    def whole(self) -> Any:
        made = self._value(1)
        if self._next():
            raise ValueError
        return made

    def _value(self, depth: int) -> Any:
        first = self._next()
        if first == b"[":
            return self._list(depth)
        if first == b"{":
            return self._object(depth)
        return self._text() if first == b'"' else self._loaded(_WORD.match(self._content, self._at))

    def _next(self) -> bytes:
        """The next byte that is not blank; empty at the end."""
        found = _BLANK.match(self._content, self._at)
        assert found is not None
        self._at = found.end()
        return self._content[self._at : self._at + 1]

    def _takes(self, more: bytes, end: bytes) -> bool:
        """Whether ``more`` stands here, and not ``end``."""
        found = self._next()
        if found not in (more, end):
            raise ValueError
        self._at += 1
        return found == more

    def _opens(self, depth: int) -> None:
        if depth > LIMITS.body_depth:
            raise TooLarge(f"a body has at most {LIMITS.body_depth} levels; nothing was charged")
        self._count(_COSTLY)
        self._at += 1

    def _count(self, more: int) -> None:
        self._values += more
        if self._values > LIMITS.body_values:
            raise TooLarge(f"a body has at most {LIMITS.body_values:,} values; nothing was charged")

    def _list(self, depth: int) -> list[Any]:
        self._opens(depth)
        made: list[Any] = []
        goes_on = True
        while goes_on:
            run, goes_on = self._run(first=not made)
            self._count(len(run))
            made += run
            if goes_on and not run:  # the next element is read by itself
                made.append(self._value(depth + 1))
                goes_on = self._takes(b",", b"]")
                if goes_on and self._next() == b"]":
                    raise ValueError
            if self._longest is not None and len(made) > self._longest:
                raise TooLarge(f"a list has at most {self._longest:,} values here; nothing was charged")
        return made

    def _run(self, *, first: bool) -> tuple[list[Any], bool]:
        """Elements that are read by one call, and whether others follow.

        None, where the next one has to be read by itself.
        """
        found = _PLAIN.match(self._content, self._at)
        assert found is not None
        piece, end = found[0], found.end()
        if self._content[end : end + 1] == b"]" and not piece.count(b'"') % 2:
            self._at = end + 1
            made: list[Any] = json.loads(f"[{piece.decode()}]")
            if not made and not first:
                raise ValueError  # nothing stands behind a comma
            return made, False
        cut = piece.rfind(b",")
        if piece.count(b'"', 0, max(cut, 0)) % 2:  # inside a text: the comma before it
            cut = piece.rfind(b",", 0, piece.rfind(b'"', 0, cut))
        if cut < 0 or piece.count(b'"', 0, cut) % 2:
            return [], True
        self._at += cut + 1
        made = json.loads(f"[{piece[:cut].decode()}]")
        if not made:
            raise ValueError
        return made, True

    def _object(self, depth: int) -> dict[str, Any]:
        self._opens(depth)
        made: dict[str, Any] = {}
        if self._next() == b"}":
            self._at += 1
            return made
        goes_on = True
        while goes_on:
            self._next()
            name = self._text()
            self._takes(b":", b":")
            made[name] = self._value(depth + 1)
            if len(made) > LIMITS.body_members:
                message = f"an object has at most {LIMITS.body_members:,} members; nothing was charged"
                raise TooLarge(message)
            goes_on = self._takes(b",", b"}")
        return made

    def _text(self) -> str:
        found = _TEXT.match(self._content, self._at, self._at + _LONGEST_TEXT)
        if found is None and len(self._content) - self._at > _LONGEST_TEXT:
            raise TooLarge(f"a text has at most {_LONGEST_TEXT:,} bytes; nothing was charged")
        return str(self._loaded(found))

    def _loaded(self, found: re.Match[bytes] | None) -> Any:
        """A text, a number, or true, false or null."""
        if found is None:
            raise ValueError
        self._at = found.end()
        self._count(1)
        return json.loads(found[0].decode())


def json_bytes(made: Any) -> bytes:
    """As ``json_text`` writes it."""
    paper = io.BytesIO()
    for piece in json_pieces(made):
        paper.write(piece.encode())
    return paper.getvalue()


def json_pieces(made: Any) -> Iterator[str]:
    """The same in pieces, each made when it is asked for."""
    if isinstance(made, dict):
        before = "{"
        for name, value in made.items():
            yield f"{before}{json_text(str(name))}: "
            yield from json_pieces(value)
            before = ", "
        yield "}" if made else "{}"
    elif isinstance(made, list):
        yield "["
        for start in range(0, len(made), _FEW):
            if start:
                yield ", "
            yield from _few_pieces(made[start : start + _FEW])
        yield "]"
    else:
        yield json_text(made)


def _few_pieces(few: list[Any]) -> Iterator[str]:
    if not any(map(_is_large, few)):
        yield json_text(few)[1:-1]
        return
    for place, one in enumerate(few):
        if place:
            yield ", "
        yield from json_pieces(one)


def _is_large(one: Any) -> bool:
    inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return len(inner) > _FEW or any(len(part) > _FEW for part in inner if isinstance(part, (dict, list)))
