"""TOP n, FETCH FIRST n ROWS ONLY, OFFSET n ROWS and LIMIT a, b: other words for LIMIT and OFFSET; and ROWS n
PRECEDING for a frame up to the row.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import Token, TokenType

_T = TokenType
_ROWS = ("ROW", "ROWS")


def plain_limits(words: list[Token]) -> list[Token]:
    """The words of a question with LIMIT and OFFSET at the end, where they say the same in another way.

    What has another form is left as it is, for the grammar to refuse.
    """
    said = {word.text.upper() for word in words}
    for name, rewritten in _REWRITTEN.items():
        words = rewritten(words) if name in said else words
    return words


def _at(words: list[Token], place: int) -> str:
    return words[place].text.upper() if 0 <= place < len(words) else ""


def _is_number(words: list[Token], place: int) -> bool:
    return 0 <= place < len(words) and words[place].token_type is _T.NUMBER


def _up_to_the_row(words: list[Token]) -> list[Token]:
    """ROWS 2 PRECEDING is ROWS BETWEEN 2 PRECEDING AND CURRENT ROW."""
    written: list[Token] = []
    for place, word in enumerate(words):
        begins = _at(words, place - 1) == "UNBOUNDED" or _is_number(words, place - 1)
        short = _at(words, place) == "PRECEDING" and begins and _at(words, place - 2) in ("ROWS", "RANGE")
        written.append(word)
        if short:
            written.insert(-2, _like(word, _T.BETWEEN, "BETWEEN"))
            ends = ((_T.AND, "AND"), (_T.VAR, "CURRENT"), (_T.ROW, "ROW"))
            written += [_like(word, *end) for end in ends]
    return written


def _without_rows(words: list[Token]) -> list[Token]:
    """OFFSET 5 ROWS is OFFSET 5."""
    return [
        word
        for place, word in enumerate(words)
        if not (
            _at(words, place) in _ROWS and _is_number(words, place - 1) and _at(words, place - 2) == "OFFSET"
        )
    ]


def _comma(words: list[Token]) -> list[Token]:
    """LIMIT 5, 3 is LIMIT 3 OFFSET 5."""
    for place in range(len(words)):
        numbers = _is_number(words, place + 1) and _is_number(words, place + 3)
        if _at(words, place) == "LIMIT" and numbers and _at(words, place + 2) == ",":
            limit, skipped, _, shown = words[place : place + 4]
            return [
                *words[:place],
                limit,
                shown,
                _like(limit, _T.OFFSET, "OFFSET"),
                skipped,
                *words[place + 4 :],
            ]
    return words


def _fetch(words: list[Token]) -> list[Token]:
    """FETCH FIRST 3 ROWS ONLY is LIMIT 3, and stands before OFFSET."""
    for place in range(len(words)):
        one = _at(words, place + 2) in _ROWS  # FETCH FIRST ROW ONLY
        named = _at(words, place) == "FETCH" and _at(words, place + 1) in ("FIRST", "NEXT")
        if not named or not (one or _is_number(words, place + 2)):
            continue
        end = place + (2 if one else 3)
        if _at(words, end) not in _ROWS or _at(words, end + 1) != "ONLY":
            continue
        number = _like(words[place], _T.NUMBER, "1") if one else words[place + 2]
        begin = place - 2 if _at(words, place - 2) == "OFFSET" else place
        limit = [_like(words[place], _T.LIMIT, "LIMIT"), number]
        return [*words[:begin], *limit, *words[begin:place], *words[end + 2 :]]
    return words


def _top(words: list[Token]) -> list[Token]:
    """SELECT TOP 3 of the only SELECT is LIMIT 3 at the end."""
    if _at(words, 0) != "SELECT" or _at(words, 1) != "TOP" or _said(words, "SELECT", "LIMIT") > 1:
        return words
    bracketed = _at(words, 2) == "(" and _at(words, 4) == ")"
    place = 3 if bracketed else 2
    if not _is_number(words, place) or _at(words, place + 1 + bracketed) in ("PERCENT", "WITH", ","):
        return words
    rest = [words[0], *words[place + 1 + bracketed :]]
    ended = [rest.pop()] if rest[-1].token_type is _T.SEMICOLON else []
    return [*rest, _like(words[1], _T.LIMIT, "LIMIT"), words[place], *ended]


def _said(words: list[Token], *some: str) -> int:
    return sum(word.text.upper() in some and word.token_type is not _T.STRING for word in words)


def _like(word: Token, kind: TokenType, text: str) -> Token:
    """Another word at the place of ``word``."""
    return Token(kind, text, word.line, word.col, word.start, word.end)


# By a word without which there is nothing to do; the order matters.
_REWRITTEN: dict[str, Callable[[list[Token]], list[Token]]] = {
    "PRECEDING": _up_to_the_row,
    "OFFSET": _without_rows,
    "LIMIT": _comma,
    "FETCH": _fetch,
    "TOP": _top,
}
