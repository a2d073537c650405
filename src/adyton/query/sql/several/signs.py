"""Signs that the parser reads in another way than they are meant: // is one sign, and +5 is 5."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot.tokenizer_core import Token, TokenType

_T = TokenType
SIGNS = (_T.SLASH, _T.PLUS)
_NO_WORD = Token(_T.UNKNOWN, "")
# A name can be none of these, so that a plus behind one stands between no two values.
_BEFORE_VALUE = {
    *(_T.UNKNOWN, _T.L_PAREN, _T.COMMA, _T.PLUS, _T.DASH, _T.STAR, _T.SLASH, _T.DIV, _T.MOD),
    *(_T.EQ, _T.NEQ, _T.LT, _T.LTE, _T.GT, _T.GTE, _T.SELECT, _T.WHERE, _T.HAVING, _T.GROUP_BY, _T.ORDER_BY),
    *(_T.AND, _T.OR, _T.NOT, _T.BETWEEN, _T.CASE, _T.WHEN, _T.THEN, _T.ELSE, _T.ON),
}
_SIGNED = {_T.NUMBER, _T.VAR, _T.IDENTIFIER, _T.L_PAREN, _T.CASE}


def plain_signs(words: list[Token]) -> list[Token]:
    """The words with one sign for whole division, and without a plus before a number."""
    return list(_without_plus(list(_with_whole_division(words))))


def _with_whole_division(words: list[Token]) -> Iterator[Token]:
    """Two slashes side by side are one sign."""
    before = _NO_WORD
    for word in words:
        if word.token_type is before.token_type is _T.SLASH and word.start == before.end + 1:
            yield Token(_T.DIV, "//", before.line, before.col, before.start, word.end)
            before = _NO_WORD
            continue
        if before.token_type is _T.SLASH:
            yield before
        if word.token_type is not _T.SLASH:
            yield word
        before = word
    if before.token_type is _T.SLASH:
        yield before


def _without_plus(words: list[Token]) -> Iterator[Token]:
    for before, word, after in zip([_NO_WORD, *words], words, [*words[1:], _NO_WORD], strict=False):
        alone = before.token_type in _BEFORE_VALUE and after.token_type in _SIGNED
        if word.token_type is not _T.PLUS or not alone:
            yield word
