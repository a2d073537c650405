"""Several queries in one file: SQL with semicolons, one SELECT a line, or a JSON list of texts.

They are asked as one batch, and their answers printed one after the other.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adyton.certify import Answer, Preview
from adyton.curator import Curator
from adyton.errors import InvalidRequest
from adyton.query.request import asked_of
from adyton.transports.places import Asker

if TYPE_CHECKING:  # loaded by whoever prints a table
    from rich.console import Group

# Quoted texts, quoted names and comments are taken whole: a semicolon in them ends nothing.
_PIECES = re.compile(
    r"""(?P<whole>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?P<begin>(?m:^)(?:[ \t]|/\*.*?\*/)*"""
    r"""(?:SELECT\b|WITH\b(?=\s+"?\w+"?\s+AS\s*\()))|"""
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)|(?P<end>;)|(?P<other>[^'"/;\n-]+|.)""",
    re.DOTALL | re.IGNORECASE,
)
_COMPARED = 'a list of queries holds texts, or objects such as {"query": "SELECT ...", "above": 100}'
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")


@dataclass(frozen=True, slots=True)
class Batch:
    """The answers to a batch, or its previews, as tables and as a JSON list."""

    answers: Sequence[Answer | Preview]

    def to_json(self) -> list[dict[str, Any]]:
        return [answer.to_json() for answer in self.answers]

    def to_csv(self) -> str:
        """One table after the other, with an empty line between them."""
        return "\n".join(answer.to_csv() for answer in self.answers if isinstance(answer, Answer))

    def sheet(self, verbose: bool = False) -> Group:
        """One below the other."""
        from rich.console import Group

        sheets = [answer.sheet(verbose=verbose) for answer in self.answers]
        return Group(*(part for sheet in sheets for part in (sheet, "")))


@contextlib.contextmanager
def numbered(curator: Asker, queries: Sequence[str], dialect: str | None) -> Iterator[None]:
    """An error says which query is wrong by itself, if one is; a server keeps the tables for that."""
    try:
        yield
    except InvalidRequest as wrong:
        if not isinstance(curator, Curator):
            raise
        raise _which(curator, queries, dialect or curator.study.dialect) or wrong from None


def _which(curator: Curator, queries: Sequence[str], dialect: str | None) -> InvalidRequest | None:
    for number, query in enumerate(queries, start=1):
        try:
            asked_of(query, *curator.study.tables, dialect=dialect)
        except InvalidRequest as wrong:
            return InvalidRequest(f"query {number} of {len(queries)}: {wrong.message}", **wrong.facts)
    return None


def check_asked(sql: str | None, file: Path | None) -> None:
    if (sql is None) == (file is None):
        raise InvalidRequest("give either a query or --file, a file of queries")


def read_queries(path: Path) -> list[str]:
    """The queries in a file; ``-`` is standard input."""
    queries = _queries_in(path)
    if not all(isinstance(query, str) for query in queries):
        raise InvalidRequest('a list of queries holds strings: ["SELECT ...", "SELECT ..."]')
    return queries


def read_compared(path: Path, above: str | None) -> list[tuple[str, str | None]]:
    """The queries in a file, each with its threshold; ``above`` is that of all that name none.

    In a JSON list a query is a text, or an object: {"query": "SELECT ...", "above": 100}.
    """
    return [_compared(one, above) for one in _queries_in(path)]


def _compared(one: Any, above: str | None) -> tuple[str, str | None]:
    if isinstance(one, str):
        return one, above
    own = one.get("above", above) if isinstance(one, dict) else None
    if not isinstance(one, dict) or not set(one) <= {"query", "above"}:
        raise InvalidRequest(_COMPARED)
    if not isinstance(one.get("query"), str) or not (own is None or type(own) in (str, int)):
        raise InvalidRequest(_COMPARED)
    return one["query"], None if own is None else str(own)


def _queries_in(path: Path) -> list[Any]:
    text = _text_of(path)
    found = _list_in(text) if text.lstrip().startswith("[") else split_queries(text)
    if not found:
        raise InvalidRequest(f"the file of queries {str(path)!r} has no query in it")
    return found


def _text_of(path: Path) -> str:
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidRequest(f"there is no file of queries {str(path)!r}") from None
    except (OSError, UnicodeDecodeError):
        raise InvalidRequest(f"the file of queries {str(path)!r} cannot be read as text") from None


def split_queries(text: str) -> list[str]:
    """A semicolon ends a query, and so does a line that begins with SELECT, unless it is a part of one.

    It is in brackets, behind UNION ALL, or the first SELECT behind WITH.
    """
    queries, current, asked = [], "", False

    def finish() -> None:
        nonlocal current, asked
        if asked:
            queries.append(current.strip())
        current, asked = "", False

    for piece in _PIECES.finditer(text):
        if piece["end"] is not None or (piece["begin"] is not None and asked and _is_whole(current)):
            finish()
        if piece["end"] is None and piece["comment"] is None:
            current += piece[0]
            asked = asked or not piece[0].isspace()
        elif piece["comment"] is not None:
            current += " "
    finish()
    return queries


def _is_whole(text: str) -> bool:
    """Whether a SELECT on the next line begins another query."""
    plain = _QUOTED.sub("''", text)
    open_brackets = plain.count("(") - plain.count(")")
    continued = re.search(r"\b(UNION|ALL|EXCEPT|INTERSECT)\s*$", plain, re.IGNORECASE)
    while (closed := re.sub(r"\([^()]*\)", "", plain)) != plain:
        plain = closed
    selects = re.search(r"\bSELECT\b", plain, re.IGNORECASE)
    ahead = re.match(r"\s*WITH\b", plain, re.IGNORECASE)
    return open_brackets <= 0 and not continued and (selects is not None or ahead is None)


def _list_in(text: str) -> list[Any]:
    """Numbers with a point stay as they are written."""
    try:
        return list(json.loads(text, parse_float=str))
    except (json.JSONDecodeError, RecursionError) as error:
        why = error if isinstance(error, json.JSONDecodeError) else "too many brackets"
        raise InvalidRequest(f"the list of queries is not JSON: {why}") from None
