"""Words and signs that the parser reads in another way than they are meant, or not at all.

TOP n, FETCH FIRST n ROWS ONLY, OFFSET n ROWS and LIMIT a, b are other words for LIMIT and OFFSET, and ROWS n
PRECEDING for a frame up to the row; // is one sign, and +5 is 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot.tokenizer_core import Token, TokenType

from adyton.query.sql.grammar import NO_WORD, retold, word_at

_T = TokenType
_ROWS = ("ROW", "ROWS")
SIGNS = (_T.SLASH, _T.PLUS)
# A name can be none of these, so that a plus behind one stands between no two values.
_BEFORE_VALUE = {
    *(_T.UNKNOWN, _T.L_PAREN, _T.COMMA, _T.PLUS, _T.DASH, _T.STAR, _T.SLASH, _T.DIV, _T.MOD),
    *(_T.EQ, _T.NEQ, _T.LT, _T.LTE, _T.GT, _T.GTE, _T.SELECT, _T.WHERE, _T.HAVING, _T.GROUP_BY, _T.ORDER_BY),
    *(_T.AND, _T.OR, _T.NOT, _T.BETWEEN, _T.CASE, _T.WHEN, _T.THEN, _T.ELSE, _T.ON),
}
_SIGNED = {_T.NUMBER, _T.VAR, _T.IDENTIFIER, _T.L_PAREN, _T.CASE}


def plain_limits(words: list[Token]) -> list[Token]:
    """The words of a query with LIMIT and OFFSET at the end, where they say the same in another way.

    What has another form is left as it is, for the grammar to refuse.
    """
    said = {word.text.upper() for word in words}
    for name, rewritten in _REWRITTEN.items():
        words = rewritten(words) if name in said else words
    return words


def _at(words: list[Token], place: int) -> str:
    return word_at(words, place).text.upper()


def _is_number(words: list[Token], place: int) -> bool:
    return word_at(words, place).token_type is _T.NUMBER


def _up_to_the_row(words: list[Token]) -> list[Token]:
    """ROWS 2 PRECEDING is ROWS BETWEEN 2 PRECEDING AND CURRENT ROW."""
    written: list[Token] = []
    for place, word in enumerate(words):
        begins = _at(words, place - 1) == "UNBOUNDED" or _is_number(words, place - 1)
        short = _at(words, place) == "PRECEDING" and begins and _at(words, place - 2) in ("ROWS", "RANGE")
        written.append(word)
        if short:
            written.insert(-2, retold(word, _T.BETWEEN, "BETWEEN"))
            ends = ((_T.AND, "AND"), (_T.VAR, "CURRENT"), (_T.ROW, "ROW"))
            written += [retold(word, *end) for end in ends]
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
                retold(limit, _T.OFFSET, "OFFSET"),
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
        number = retold(words[place], _T.NUMBER, "1") if one else words[place + 2]
        begin = place - 2 if _at(words, place - 2) == "OFFSET" else place
        limit = [retold(words[place], _T.LIMIT, "LIMIT"), number]
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
    return [*rest, retold(words[1], _T.LIMIT, "LIMIT"), words[place], *ended]


def _said(words: list[Token], *some: str) -> int:
    return sum(word.text.upper() in some and word.token_type is not _T.STRING for word in words)


# By a word without which there is nothing to do; the order matters.
_REWRITTEN: dict[str, Callable[[list[Token]], list[Token]]] = {
    "PRECEDING": _up_to_the_row,
    "OFFSET": _without_rows,
    "LIMIT": _comma,
    "FETCH": _fetch,
    "TOP": _top,
}


# Signs -----------------------------------------------------------------------------------------------------


def plain_signs(words: list[Token]) -> list[Token]:
    """The words with one sign for whole division, and without a plus before a number."""
    return list(_without_plus(list(_with_whole_division(words))))


def _with_whole_division(words: list[Token]) -> Iterator[Token]:
    """Two slashes side by side are one sign."""
    before = NO_WORD
    for word in words:
        if word.token_type is before.token_type is _T.SLASH and word.start == before.end + 1:
            yield Token(_T.DIV, "//", before.line, before.col, before.start, word.end)
            before = NO_WORD
            continue
        if before.token_type is _T.SLASH:
            yield before
        if word.token_type is not _T.SLASH:
            yield word
        before = word
    if before.token_type is _T.SLASH:
        yield before


def _without_plus(words: list[Token]) -> Iterator[Token]:
    for before, word, after in zip([NO_WORD, *words], words, [*words[1:], NO_WORD], strict=False):
        alone = before.token_type in _BEFORE_VALUE and after.token_type in _SIGNED
        if word.token_type is not _T.PLUS or not alone:
            yield word
