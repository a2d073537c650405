"""From SQL text to a syntax tree, word by word.

The parser understands far more than is answered here, and skips over some words without a trace.  So every
word is checked before it is parsed: one that has no meaning here is refused where it stands, and a name is
marked as a name, so that it can never be read as anything else.  The text never reaches an engine.
"""

from __future__ import annotations

import re
import unicodedata
from typing import ClassVar, NoReturn

from sqlglot import Dialect, Parser, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from adyton.errors import InvalidRequest
from adyton.query.sql_options import Options, taken_options
from adyton.query.sql_place import place, refuse, shortened

LONGEST_TEXT = 10_000  # characters
DEEPEST_NESTING = 20  # brackets, CASEs, NOTs and signs around one another
MOST_TREE_NODES = 50_000  # also bounds the time that the parser spends on going back and forth

FUNCTIONS = (
    *("COUNT", "COUNT_IF", "SUM", "AVG", "PROPORTION", "VARIANCE", "VAR_POP", "VAR_SAMP"),
    *("STDDEV", "STDDEV_POP", "STDDEV_SAMP", "MIN", "MAX", "MEDIAN", "QUANTILE", "PERCENTILE_CONT", "CDF"),
    *("HISTOGRAM", "CLAMP", "LEAST", "GREATEST", "FLOOR", "SQUARE", "LOOKUP", "LABEL"),
    *("EXTRACT", "YEAR", "QUARTER", "MONTH", "DAY", "ISODOW"),
)
NAMED_ARGUMENTS = ("CONTRIBUTION_BOUNDS_PER_GROUP", "CONTRIBUTION_BOUNDS_PER_ROW", "GRAIN")

_T = TokenType
_SYMBOLS = {
    *(_T.L_PAREN, _T.R_PAREN, _T.COMMA, _T.DOT, _T.STAR, _T.PLUS, _T.DASH, _T.SLASH),
    *(_T.EQ, _T.NEQ, _T.LT, _T.LTE, _T.GT, _T.GTE, _T.NUMBER, _T.STRING, _T.IDENTIFIER),
    _T.FARROW,
}
_KEYWORDS = {
    *(_T.SELECT, _T.FROM, _T.WHERE, _T.GROUP_BY, _T.ALIAS, _T.AND, _T.OR, _T.NOT, _T.BETWEEN, _T.IN, _T.IS),
    *(_T.NULL, _T.TRUE, _T.FALSE, _T.CASE, _T.WHEN, _T.THEN, _T.ELSE, _T.END, _T.FILTER, _T.DATE),
    *(_T.DISTINCT, _T.HAVING, _T.ORDER_BY, _T.ASC, _T.DESC, _T.LIMIT, _T.OFFSET),
    *(_T.JOIN, _T.LEFT, _T.INNER, _T.OUTER, _T.ON, _T.USING),
}
_CLAUSES = (_T.SELECT, _T.FROM, _T.WHERE, _T.GROUP_BY, _T.HAVING, _T.ORDER_BY, _T.LIMIT, _T.OFFSET)
_ORDER = "SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, OFFSET"
_DIRECTIONS = {_T.ASC, _T.DESC}
_PREFIXES = {_T.NOT, _T.DASH}
_ENDS_VALUE = {
    *(_T.IDENTIFIER, _T.NUMBER, _T.STRING, _T.R_PAREN, _T.END, _T.NULL, _T.TRUE, _T.FALSE),
    *(_T.ASC, _T.DESC),
}
_BEGINS_VALUE = {
    *(_T.IDENTIFIER, _T.NUMBER, _T.STRING, _T.L_PAREN, _T.CASE, _T.NULL, _T.TRUE, _T.FALSE, _T.DATE, _T.VAR),
}
_BEFORE_JOIN = {_T.JOIN, _T.LEFT, _T.INNER, _T.OUTER}
# What may stand in each part of FROM.
_IN_FROM: dict[TokenType, set[TokenType]] = {
    _T.FROM: {_T.FROM, _T.IDENTIFIER, _T.ALIAS, _T.COMMA, _T.DOT, *_BEFORE_JOIN},
    _T.JOIN: {_T.IDENTIFIER, _T.ALIAS, _T.DOT, *_BEFORE_JOIN},
    _T.ON: {_T.ON, _T.IDENTIFIER, _T.DOT, _T.EQ, _T.R_PAREN, *_BEFORE_JOIN},
    _T.USING: {_T.USING, _T.R_PAREN, *_BEFORE_JOIN},
}
_JOIN_WORDS = {*_BEFORE_JOIN, _T.ON, _T.USING}
# What must follow a word, where the parser would also take something else or nothing.
_MUST_FOLLOW: dict[TokenType, tuple[set[TokenType], str]] = {
    _T.ALIAS: ({_T.IDENTIFIER}, "a name follows AS; it may be quoted with double quotes"),
    _T.FROM: ({_T.IDENTIFIER}, "the name of the table follows FROM"),
    _T.JOIN: ({_T.IDENTIFIER}, "the name of a table follows JOIN"),
    _T.LEFT: ({_T.JOIN, _T.OUTER}, "JOIN follows LEFT"),
    _T.INNER: ({_T.JOIN}, "JOIN follows INNER"),
    _T.OUTER: ({_T.JOIN}, "JOIN follows OUTER"),
    _T.ON: ({_T.IDENTIFIER, _T.L_PAREN}, "write ON a.key = b.key"),
    _T.USING: ({_T.L_PAREN}, "write USING (key)"),
    _T.FILTER: ({_T.L_PAREN}, "write FILTER (WHERE condition)"),
    _T.IN: ({_T.L_PAREN}, "a list in brackets follows IN"),
    _T.DOT: ({_T.IDENTIFIER, _T.NUMBER}, "the name of a column follows the point"),
    _T.LIMIT: ({_T.NUMBER}, "a whole number follows LIMIT"),
    _T.OFFSET: ({_T.NUMBER}, "a whole number follows OFFSET"),
    _T.FARROW: ({_T.L_PAREN}, "bounds are written as (low, high)"),
    _T.COMMA: (_BEGINS_VALUE | _PREFIXES | {_T.STAR, _T.DOT}, "nothing follows this comma"),
}

_REASONS = {
    "ALL": "it changes nothing here; leave it out",
    "CAST": "columns have declared kinds and are never converted",
    "CROSS JOIN": "one table is asked about at a time",
    "EXCEPT": "ask one SELECT at a time",
    "FETCH": "write LIMIT and a number",
    "INTERSECT": "ask one SELECT at a time",
    "INTO": "questions change nothing",
    "OVER": "windows look at single rows; only aggregates are answered",
    "UNION": "ask one SELECT at a time",
    "WITH": "ask one SELECT over the table itself",
}
_PLAIN_WORD = re.compile(r"\w+")


class _PlainParser(Parser):
    """Reads every call as a name with arguments.  What a function means is not for the parser to decide."""

    FUNCTIONS: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = {"EXTRACT": Parser.FUNCTION_PARSERS["EXTRACT"]}
    NO_PAREN_FUNCTIONS: ClassVar = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}


def syntax_tree(text: str, names: frozenset[str]) -> exp.Expr:
    """The tree of a number or a condition; ``names`` are the known names, folded to lower case."""
    return _tree(_words(text), text, exp.Condition, names)


def question_tree(text: str, names: frozenset[str]) -> tuple[Options, exp.Expr]:
    """The tree of a question without its head, and what the head says."""
    options, words = taken_options(_words(text), text)
    return options, _tree(words, text, exp.Select, names)


def _words(text: str) -> list[Token]:
    _check_text(text)
    try:
        return Dialect().tokenize(text)
    except (SqlglotError, ValueError):
        raise InvalidRequest("a text, a quoted name or a comment does not end; close its quotes") from None


def _tree(words: list[Token], text: str, kind: type[exp.Expr], names: frozenset[str]) -> exp.Expr:
    words = _checked(words, text, names)
    _check_clauses(words, text, whole=kind is exp.Select)
    try:
        parser = _PlainParser(
            dialect=Dialect(), max_nodes=MOST_TREE_NODES, error_message_context=LONGEST_TEXT
        )
        trees = parser.parse_into(kind, words, text)
    except RecursionError:
        raise InvalidRequest(f"the text nests deeper than {DEEPEST_NESTING} levels") from None
    except SqlglotError as error:
        raise _syntax_error(error, text) from None
    except Exception:  # whatever it was, the text is what caused it
        raise InvalidRequest("this is not SQL that can be read here") from None
    if len(trees) != 1 or trees[0] is None:
        raise InvalidRequest("the text asks nothing")
    return trees[0]


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise InvalidRequest(f"SQL is a text, not a {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise InvalidRequest(f"the text has {len(text)} characters; at most {LONGEST_TEXT} are read")
    for position, character in enumerate(text):
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\n\r":
            raise InvalidRequest(
                f"the text holds the unprintable character {character!a} at position {position + 1}"
            )


def _checked(words: list[Token], text: str, names: frozenset[str]) -> list[Token]:
    if words and words[-1].token_type is _T.SEMICOLON:
        words = words[:-1]
    if not words:
        raise InvalidRequest("the text asks nothing")
    end = Token(_T.UNKNOWN, "")
    neighbours = zip([end, *words[:-1]], words, [*words[1:], end], strict=True)
    checked = [_checked_word(before, word, after, text, names) for before, word, after in neighbours]
    _check_forms(checked, text)
    _check_nesting(checked, text)
    _check_neighbours(checked, text)
    return checked


def _checked_word(before: Token, word: Token, after: Token, text: str, names: frozenset[str]) -> Token:
    kind = word.token_type
    if kind is _T.NUMBER and after.start == word.end + 1 and _PLAIN_WORD.match(after.text):
        refuse(word, text, f"{shortened(word.text + after.text)!r} is not a number")
    if kind in _SYMBOLS:
        if kind is _T.IDENTIFIER and after.token_type is _T.L_PAREN:
            refuse(
                word, text, f"{shortened(word.text)!r} is not a function; functions: {', '.join(FUNCTIONS)}"
            )
        return word
    if kind is _T.VAR and _is_fixed_word(before, word, after):
        return word
    if _PLAIN_WORD.fullmatch(word.text) and _is_name(before, word, after, names):
        return Token(_T.IDENTIFIER, word.text.lower(), word.line, word.col, word.start, word.end)
    return _checked_keyword(word, after, text)


def _is_fixed_word(before: Token, word: Token, after: Token) -> bool:
    """Whether ``word`` names neither a column nor a table: the part in EXTRACT, or a named argument."""
    if after.token_type is _T.FARROW:
        return word.text.upper() in NAMED_ARGUMENTS
    return before.token_type is _T.L_PAREN and after.token_type is _T.FROM


def _is_name(before: Token, word: Token, after: Token, names: frozenset[str]) -> bool:
    if before.token_type in (_T.ALIAS, _T.DOT):
        return True
    if after.token_type is _T.L_PAREN:
        return False
    if word.token_type is _T.DATE:
        return after.token_type is not _T.STRING
    return word.token_type is _T.VAR or (word.token_type not in _KEYWORDS and word.text.casefold() in names)


def _checked_keyword(word: Token, after: Token, text: str) -> Token:
    said = word.text.upper()
    called = word.token_type is _T.VAR and after.token_type is _T.L_PAREN and said in FUNCTIONS
    if not called and (word.token_type not in _KEYWORDS or said == "!"):
        _refuse_word(word, after, text)
    return word


def _refuse_word(word: Token, after: Token, text: str) -> NoReturn:
    said = shortened(word.text.upper())
    if word.token_type is _T.SEMICOLON:
        refuse(word, text, "one question at a time: nothing may follow the semicolon")
    if after.token_type is _T.L_PAREN and said not in _REASONS and _PLAIN_WORD.fullmatch(said):
        refuse(word, text, f"there is no function {said} here; functions: {', '.join(FUNCTIONS)}")
    hint = f'; if it is a name, write "{said.lower()}"' if _PLAIN_WORD.fullmatch(word.text) else ""
    reason = _REASONS.get(said)
    refuse(word, text, f"{said} is not answered{': ' + reason if reason else hint}")


def _check_forms(words: list[Token], text: str) -> None:
    """COUNT(DISTINCT column), EXTRACT(part FROM column) and name => (...) have one form each."""
    for position, word in enumerate(words):
        if word.token_type is _T.DISTINCT and not _calls(words, position - 2, "COUNT"):
            refuse(word, text, "DISTINCT stands in COUNT(DISTINCT person) only")
        if word.token_type is _T.FARROW and words[position - 1].token_type is not _T.VAR:
            refuse(word, text, f"the arguments with names are {', '.join(NAMED_ARGUMENTS).lower()}")
        if _calls(words, position, "EXTRACT") and not _extracts(words, position + 3):
            refuse(word, text, "write EXTRACT(part FROM column), such as EXTRACT(YEAR FROM born)")


def _calls(words: list[Token], position: int, name: str) -> bool:
    if not 0 <= position < len(words) - 1:
        return False
    word, after = words[position : position + 2]
    called = word.token_type is _T.VAR and after.token_type is _T.L_PAREN
    return called and word.text.upper() == name


def _extracts(words: list[Token], position: int) -> bool:
    """Whether the word there is the FROM of an EXTRACT."""
    if position >= len(words) or words[position].token_type is not _T.FROM:
        return False
    return _calls(words, position - 3, "EXTRACT") and words[position - 1].token_type is _T.VAR


def _check_nesting(words: list[Token], text: str) -> None:
    levels, pending, before = [0], 0, _T.UNKNOWN
    for word in words:
        if word.token_type in _PREFIXES:
            pending += before not in _ENDS_VALUE  # else it is a minus between two numbers
        elif word.token_type in (_T.L_PAREN, _T.CASE):
            levels.append(levels[-1] + pending + 1)
            pending = 0
        else:
            pending = 0
            if word.token_type in (_T.R_PAREN, _T.END) and len(levels) > 1:
                levels.pop()
        if levels[-1] + pending > DEEPEST_NESTING:
            refuse(word, text, f"the text nests deeper than {DEEPEST_NESTING} levels")
        before = word.token_type


def _check_neighbours(words: list[Token], text: str) -> None:
    """The parser forgives missing words, and a forgiven question may not be the one that was meant."""
    end = Token(_T.UNKNOWN, "")
    depth, clause = 0, _T.UNKNOWN
    for before, word, after in zip([end, *words[:-1]], words, [*words[1:], end], strict=True):
        depth += (word.token_type is _T.L_PAREN) - (word.token_type is _T.R_PAREN)
        if word.token_type in _JOIN_WORDS and (depth or clause not in _IN_FROM):
            refuse(word, text, f"{word.text.upper()} stands in FROM only")
        clause = word.token_type if depth == 0 and word.token_type in (*_CLAUSES, *_IN_FROM) else clause
        reason = _misplaced(before, word, after, clause if depth == 0 else _T.UNKNOWN)
        if reason is not None:
            refuse(word, text, reason)


def _misplaced(before: Token, word: Token, after: Token, clause: TokenType) -> str | None:
    """Why ``word`` cannot stand between its neighbours, if so."""
    kind, follows = word.token_type, before.token_type in _ENDS_VALUE
    needed, reason = _MUST_FOLLOW.get(kind, ({after.token_type}, ""))
    if after.token_type not in needed:
        return reason
    if kind not in _IN_FROM.get(clause, {kind}):
        if clause is _T.FROM:
            return "FROM names one table and perhaps an alias, or tables with JOIN between them"
        return "write JOIN table ON a.key = b.key, or JOIN table USING (key)"
    if kind is _T.OUTER and before.token_type is not _T.LEFT:
        return "LEFT stands before OUTER"
    if clause in (_T.LIMIT, _T.OFFSET) and kind not in (clause, _T.NUMBER):
        return "LIMIT and OFFSET take one number each, in this order"
    if kind in _DIRECTIONS and (clause is not _T.ORDER_BY or not follows or before.token_type in _DIRECTIONS):
        return f"{word.text.upper()} stands behind what ORDER BY orders by"
    alias = kind is _T.IDENTIFIER and clause in (_T.SELECT, _T.FROM, _T.JOIN)
    if follows and kind in _BEGINS_VALUE and not alias:
        return f"{shortened(word.text)!r} cannot follow {shortened(before.text)!r}"
    if follows and kind is _T.NOT and after.token_type not in (_T.IN, _T.BETWEEN):
        return "NOT stands before a condition, or before IN or BETWEEN"
    after_star = before.token_type is _T.STAR and kind is not _T.PLUS
    if kind in (_T.PLUS, _T.ALIAS, _T.COMMA) and not follows and not after_star:
        return f"nothing stands before {word.text.upper()!r}"
    if kind is _T.DOT and follows is (after.token_type is _T.NUMBER):
        return "a point stands in a number, or between a table and a column"
    return None


def _check_clauses(words: list[Token], text: str, *, whole: bool) -> None:
    """Clauses come in one order, once each; WHERE also opens a FILTER, and FROM stands in EXTRACT."""
    if whole and words[0].token_type is not _T.SELECT:
        refuse(words[0], text, "a question begins with SELECT")
    latest, before, depth = -1, (words[0], words[0]), 0
    for position, word in enumerate(words):
        depth += (word.token_type is _T.L_PAREN) - (word.token_type is _T.R_PAREN)
        filtering = before[0].token_type is _T.FILTER
        if filtering and word.token_type is not _T.WHERE:
            refuse(word, text, "write FILTER (WHERE condition)")
        if word.token_type in _CLAUSES and not filtering and not _extracts(words, position):
            place_in_order = _CLAUSES.index(word.token_type)
            if place_in_order == 0 <= latest:
                refuse(word, text, "SELECT inside a question is not answered: ask one SELECT at a time")
            if not whole or depth:
                refuse(word, text, f"{word.text.upper()} cannot stand here")
            if place_in_order <= latest:
                refuse(word, text, f"the order is {_ORDER}, each at most once")
            latest = place_in_order
        before = (before[1], word)


def _syntax_error(error: SqlglotError, text: str) -> InvalidRequest:
    details = getattr(error, "errors", None) or [{}]
    near = details[0].get("highlight") or shortened(text)
    start = len(details[0].get("start_context") or "")
    return InvalidRequest(f"this is not SQL that can be read here {place(text, start, near)}")
