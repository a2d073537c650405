"""The grammar of a query as far as the parser does not hold it: where words may stand, and the head.

The parser forgives missing and misplaced words, and a forgiven query may not be the one that was meant.
It does not know the head, SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(name = value, ...): its words are read
here, one by one, and taken out before the rest is parsed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from adyton.errors import InvalidRequest
from adyton.kernel.exact import rational
from adyton.query.sql.names import Why, placed, refuse, shortened

DEEPEST_NESTING = 20  # brackets, CASEs, NOTs and signs around one another
NAMED_ARGUMENTS = ("CONTRIBUTION_BOUNDS_PER_GROUP", "CONTRIBUTION_BOUNDS_PER_ROW", "STEP")

_T = TokenType
_CLAUSES = (
    *(_T.SELECT, _T.FROM, _T.WHERE, _T.GROUP_BY, _T.HAVING, _T.QUALIFY, _T.ORDER_BY, _T.LIMIT, _T.OFFSET),
)
_ORDER = "SELECT, FROM, WHERE, GROUP BY, HAVING, QUALIFY, ORDER BY, LIMIT, OFFSET"
_BEHIND = {_T.ORDER_BY, _T.LIMIT, _T.OFFSET}
_DIRECTIONS = {_T.ASC, _T.DESC}
_PREFIXES = {_T.NOT, _T.DASH}
_ENDS_VALUE = {
    *(_T.IDENTIFIER, _T.NUMBER, _T.STRING, _T.R_PAREN, _T.END, _T.NULL, _T.TRUE, _T.FALSE),
    *(_T.ASC, _T.DESC),
}
_BEGINS_VALUE = {
    *(_T.IDENTIFIER, _T.NUMBER, _T.STRING, _T.L_PAREN, _T.CASE, _T.NULL, _T.TRUE, _T.FALSE, _T.DATE, _T.VAR),
    *(_T.EXISTS, _T.INTERVAL, _T.TIMESTAMP),
}
_BEFORE_JOIN = {_T.JOIN, _T.LEFT, _T.RIGHT, _T.INNER, _T.OUTER, _T.CROSS}
_NAMED = {_T.IDENTIFIER, _T.ALIAS, _T.COMMA, _T.DOT, _T.L_PAREN, _T.R_PAREN, _T.UNION}
# What may stand in each part of FROM.
_IN_FROM: dict[TokenType, set[TokenType]] = {
    _T.FROM: {_T.FROM, *_NAMED, *_BEFORE_JOIN},
    _T.JOIN: {*_NAMED, *_BEFORE_JOIN},
    _T.USING: {_T.USING, _T.COMMA, _T.L_PAREN, _T.R_PAREN, _T.UNION, *_BEFORE_JOIN},
}
_JOIN_WORDS = {*_BEFORE_JOIN, _T.ON, _T.USING}
_BEFORE_TABLE = {_T.FROM, _T.JOIN, _T.COMMA, _T.L_PAREN}
_TABLE = {_T.IDENTIFIER, _T.L_PAREN}
# What must follow a word, where the parser would also take something else or nothing.
_MUST_FOLLOW: dict[TokenType, tuple[set[TokenType], str]] = {
    _T.FROM: (_TABLE, "the name of the table follows FROM"),
    _T.JOIN: (_TABLE, "the name of a table follows JOIN"),
    _T.LEFT: ({_T.JOIN, _T.OUTER}, "JOIN follows LEFT"),
    _T.RIGHT: ({_T.JOIN, _T.OUTER}, "JOIN follows RIGHT"),
    _T.INNER: ({_T.JOIN}, "JOIN follows INNER"),
    _T.OUTER: ({_T.JOIN}, "JOIN follows OUTER"),
    _T.CROSS: ({_T.JOIN}, "JOIN follows CROSS"),
    _T.ON: (_BEGINS_VALUE | _PREFIXES, "write ON a.key = b.key"),
    _T.USING: ({_T.L_PAREN}, "write USING (key)"),
    _T.FILTER: ({_T.L_PAREN}, "write FILTER (WHERE condition)"),
    _T.ROWS: ({_T.BETWEEN}, "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or from UNBOUNDED PRECEDING"),
    _T.OVER: ({_T.L_PAREN}, "write OVER (), or OVER (PARTITION BY ... ORDER BY ...)"),
    _T.IS: (
        {_T.NOT, _T.NULL, _T.TRUE, _T.FALSE, _T.DISTINCT},
        "NULL, TRUE or FALSE follows IS, or NOT and one of them",
    ),
    _T.IN: ({_T.L_PAREN}, "a list in brackets follows IN"),
    _T.UNION: ({_T.ALL}, "ALL follows UNION: rows of answers are never compared with one another"),
    _T.DOT: ({_T.IDENTIFIER, _T.NUMBER, _T.STAR}, "the name of a column follows the dot"),
    _T.LIMIT: ({_T.NUMBER}, "a whole number follows LIMIT"),
    _T.OFFSET: ({_T.NUMBER}, "a whole number follows OFFSET"),
    _T.FARROW: ({_T.L_PAREN}, "bounds are written as (low, high)"),
    _T.COMMA: (
        _BEGINS_VALUE | _PREFIXES | {_T.STAR, _T.DOT, _T.ROLLUP, _T.CUBE, _T.GROUPING_SETS},
        "nothing follows this comma",
    ),
}
CASTS = ("CAST", "TRY_CAST", "SAFE_CAST")
# Databases read a = b IS NULL as (a = b) IS NULL, and the parser as a = (b IS NULL).
_COMPARISONS = {_T.EQ, _T.NEQ, _T.LT, _T.LTE, _T.GT, _T.GTE}
_ENDS_COMPARISON = {_T.AND, _T.OR, _T.COMMA, _T.WHEN, _T.THEN, _T.ELSE, _T.ON, _T.JOIN, _T.UNION}
NO_WORD = Token(_T.UNKNOWN, "")
_NAMES = {_T.VAR, _T.IDENTIFIER}
_NUMBERS = ("epsilon", "delta", "max_groups_contributed")
_REASONS = {
    "max_rows_contributed": "how many rows of a person count is declared in the study",
    "group_selection_strategy": "groups are declared, or found by a threshold",
}


def word_at(words: list[Token], place: int) -> Token:
    """The word at this place; before the first and behind the last there is one that says nothing."""
    return words[place] if 0 <= place < len(words) else NO_WORD


def words_around(words: list[Token], place: int) -> tuple[Token, Token, Token]:
    """The word before the one at this place, that one, and the word behind it."""
    return word_at(words, place - 1), words[place], word_at(words, place + 1)


def retold(word: Token, kind: TokenType, text: str) -> Token:
    """Another word at the place of ``word``."""
    return Token(kind, text, word.line, word.col, word.start, word.end)


def check_order(words: list[Token], text: str, *, whole: bool) -> None:
    """Refuses the first word that cannot stand where it does.  ``whole`` says that a query is read."""
    _check_nesting(words, text)
    _Order(words, text, whole=whole).check()


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


@dataclass(slots=True)
class _Scope:
    """What stands in one pair of brackets: the word before them, and the clause that it has reached."""

    opener: str = ""
    clause: TokenType = _T.UNKNOWN
    reached: int = -1  # the place of the clause in their order
    may_select: bool = True
    compared: bool = False  # whether a comparison goes on
    between: bool = False  # whether the next AND is that of a BETWEEN
    outside_case: list[bool] = field(default_factory=list)  # ``compared`` before each CASE that is open

    def goes_on(self, kind: TokenType) -> None:
        """``kind`` begins or ends a comparison."""
        if kind is _T.CASE:
            self.outside_case.append(self.compared)
        elif kind is _T.END and self.outside_case:
            self.compared = self.outside_case.pop()
        elif kind is _T.AND and self.between:
            self.between = False
        elif kind in _COMPARISONS:
            self.compared = True
        elif kind is _T.BETWEEN:
            self.between = True
        elif kind in _ENDS_COMPARISON or kind in _CLAUSES:
            self.compared = self.between = False


class _Order:
    """Reads the words from the left and keeps the brackets that are open."""

    def __init__(self, words: list[Token], text: str, *, whole: bool) -> None:
        self.words, self.text, self.whole = words, text, whole
        self.scopes = [_Scope(may_select=whole)]

    def check(self) -> None:
        first = self.words[0]
        if self.whole and first.token_type not in (_T.SELECT, _T.WITH, _T.L_PAREN):
            refuse(first, self.text, Why("a query begins with SELECT", "syntax"))
        for place in range(len(self.words)):
            before, word, after = words_around(self.words, place)
            if word.token_type is _T.R_PAREN and len(self.scopes) > 1:
                self.scopes.pop()
            if reason := self._wrong(place, before, word, after):
                refuse(word, self.text, Why(reason, "syntax"))
            if word.token_type is _T.IS and self.scopes[-1].compared:
                refuse(
                    word, self.text, Why("IS needs brackets beside a comparison: (a = b) IS NULL", "syntax")
                )
            self.scopes[-1].goes_on(word.token_type)
            if word.token_type is _T.L_PAREN:
                self.scopes.append(self._opened(before, after))

    def _opened(self, before: Token, after: Token) -> _Scope:
        """What a bracket begins: tables of FROM with JOIN between them, or anything else."""
        scope = _Scope(before.text.upper())
        tables = self.scopes[-1].clause in (_T.FROM, _T.JOIN) and before.token_type in _BEFORE_TABLE
        if tables and after.token_type not in (_T.SELECT, _T.WITH):
            scope.clause, scope.reached = _T.FROM, _CLAUSES.index(_T.FROM)
        return scope

    def _wrong(self, place: int, before: Token, word: Token, after: Token) -> str | None:
        """Why ``word`` cannot stand there, if so."""
        scope, kind = self.scopes[-1], word.token_type
        if scope.opener == "FILTER" and before.token_type is _T.L_PAREN and kind is not _T.WHERE:
            return "write FILTER (WHERE condition)"
        if kind in _JOIN_WORDS and scope.clause not in (*_IN_FROM, _T.ON):
            return f"{word.text.upper()} stands in FROM only"
        if kind in _BEHIND and before.token_type is _T.R_PAREN and scope.reached < 0 and scope.may_select:
            scope.reached = _CLAUSES.index(_T.QUALIFY)  # (SELECT ...) UNION ALL (SELECT ...) ORDER BY
        if kind in _CLAUSES and not self._is_part_of_form(place, scope, kind):
            if reason := self._wrong_clause(scope, word):
                return reason
        elif kind in (*_CLAUSES, _T.JOIN, _T.ON, _T.USING) and kind is not _T.FROM:
            scope.clause = kind
        if kind is _T.UNION:
            scope.reached, scope.clause, scope.may_select = -1, _T.UNKNOWN, True
        typed = word_at(self.words, place - 2).token_type is _T.DCOLON and kind is not _T.L_PAREN  # x::INT
        ended = before.token_type in _ENDS_VALUE or typed
        return _wrong_form(self.words, place) or _misplaced(before, word, after, scope, follows=ended)

    def _is_part_of_form(self, place: int, scope: _Scope, kind: TokenType) -> bool:
        """FILTER (WHERE), OVER (... ORDER BY), WITHIN GROUP (ORDER BY), EXTRACT(... FROM), DISTINCT FROM."""
        if kind is _T.WHERE:
            return scope.opener == "FILTER"
        if kind is _T.ORDER_BY:
            return scope.opener in ("OVER", "GROUP")
        return kind is _T.FROM and (
            _extracts(self.words, place) or word_at(self.words, place - 1).token_type is _T.DISTINCT
        )

    def _wrong_clause(self, scope: _Scope, word: Token) -> str | None:
        order = _CLAUSES.index(word.token_type)
        if order == 0 and (scope.reached >= 0 or not scope.may_select):
            return "SELECT inside a query stands in brackets of its own, or behind UNION ALL"
        if order > 0 > scope.reached:
            return f"{word.text.upper()} cannot stand here"
        if order <= scope.reached:
            return f"the order is {_ORDER}, each at most once"
        scope.reached, scope.clause = order, word.token_type
        return None


def _wrong_form(words: list[Token], place: int) -> str | None:
    """COUNT(DISTINCT column), EXTRACT(part FROM column) and name => (...) have one form each."""
    word, before = words[place], word_at(words, place - 1).token_type
    apart = before in (_T.SELECT, _T.IS, _T.NOT) or _calls(words, place - 2, "COUNT")
    if word.token_type is _T.DISTINCT and not apart:
        return "DISTINCT stands in COUNT(DISTINCT person) only"
    if word.token_type is _T.FARROW and before is not _T.VAR:
        return f"the arguments with names are {', '.join(NAMED_ARGUMENTS).lower()}"
    if _calls(words, place, "EXTRACT") and not _extracts(words, place + 3):
        return "write EXTRACT(part FROM column), such as EXTRACT(YEAR FROM born)"
    return None


def _calls(words: list[Token], place: int, name: str) -> bool:
    if not 0 <= place < len(words) - 1:
        return False
    word, after = words[place : place + 2]
    called = word.token_type is _T.VAR and after.token_type is _T.L_PAREN
    return called and word.text.upper() == name


def _extracts(words: list[Token], place: int) -> bool:
    """Whether the word there is the FROM of an EXTRACT."""
    if place >= len(words) or words[place].token_type is not _T.FROM:
        return False
    return _calls(words, place - 3, "EXTRACT") and words[place - 1].token_type is _T.VAR


def _misplaced(before: Token, word: Token, after: Token, scope: _Scope, *, follows: bool) -> str | None:
    """Why ``word`` cannot stand between its neighbors, if so.  ``follows``: a value ends before it."""
    kind, clause = word.token_type, scope.clause
    follows = follows or (before.token_type is _T.VAR and before.text.upper() == "LAST")  # NULLS LAST
    needed, reason = _MUST_FOLLOW.get(kind, ({after.token_type}, ""))
    if kind is _T.FROM and scope.opener == "EXTRACT":
        needed = _BEGINS_VALUE
    if after.token_type not in needed and not (kind is _T.FROM and before.token_type is _T.DISTINCT):
        return reason
    names_select = after.token_type is _T.L_PAREN and scope.reached < 0  # WITH name AS (SELECT ...)
    names = after.token_type is _T.IDENTIFIER or names_select or scope.opener in CASTS
    if kind is _T.ALIAS and not names:
        return "a name follows AS; it may be quoted with double quotes"
    if kind not in _IN_FROM.get(clause, {kind}) and kind not in _CLAUSES and kind not in _JOIN_WORDS:
        if clause is _T.FROM:
            return "FROM names one table and perhaps an alias, or tables with JOIN between them"
        return "write JOIN table ON a.key = b.key, or JOIN table USING (key)"
    if kind is _T.ALL and before.token_type not in (_T.UNION, _T.GROUP_BY, _T.ORDER_BY):
        return "ALL stands behind UNION, GROUP BY or ORDER BY"
    if kind is _T.OUTER and before.token_type not in (_T.LEFT, _T.RIGHT):
        return "LEFT or RIGHT stands before OUTER"
    if clause in (_T.LIMIT, _T.OFFSET) and kind not in (clause, _T.NUMBER, _T.R_PAREN, _T.UNION):
        return "LIMIT and OFFSET take one number each, in this order"
    ordered = follows or before.token_type is _T.ALL  # ORDER BY ALL DESC
    if kind in _DIRECTIONS and (clause is not _T.ORDER_BY or not ordered or before.token_type in _DIRECTIONS):
        return f"{word.text.upper()} stands behind what ORDER BY orders by"
    if clause is _T.SELECT and kind is _T.NUMBER and before.text.upper() == "TOP":
        return f"TOP is not supported: write LIMIT {shortened(word.text)} at the end of the query"
    alias = kind is _T.IDENTIFIER and clause in (_T.SELECT, _T.FROM, _T.JOIN)
    stands_for_itself = kind is _T.VAR and after.token_type is not _T.L_PAREN
    if follows and kind in _BEGINS_VALUE and not alias and not stands_for_itself:
        return f"{shortened(word.text)!r} cannot follow {shortened(before.text)!r}"
    if follows and kind is _T.NOT and after.token_type not in (_T.IN, _T.BETWEEN, _T.LIKE, _T.ILIKE):
        return "NOT stands before a condition, or before IN, BETWEEN or LIKE"
    after_star = before.token_type is _T.STAR and kind is not _T.PLUS
    after_star = after_star or before.token_type is _T.VAR  # INTERVAL 3 DAY + x
    if kind in (_T.PLUS, _T.ALIAS, _T.COMMA) and not follows and not after_star:
        return f"nothing stands before {word.text.upper()!r}"
    apart = after.token_type is _T.NUMBER and after.start != word.end + 1
    if kind is _T.DOT and (follows is (after.token_type is _T.NUMBER) or apart):
        return "a dot stands in a number, or between a table and a column"
    return None


@dataclass(frozen=True, slots=True)
class Options:
    """What the head says; None where it says nothing."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    max_groups_contributed: int | None = None
    privacy_unit_column: str | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.epsilon <= 0:
            raise InvalidRequest("epsilon must be above 0")
        if self.delta is not None and not 0 <= self.delta < 1:
            raise InvalidRequest("delta must be at least 0 and below 1")
        if self.max_groups_contributed is not None and self.max_groups_contributed < 1:
            raise InvalidRequest("max_groups_contributed must be at least 1")


def taken_options(words: list[Token], text: str) -> tuple[Options, list[Token]]:
    """What the head says, and the words without it."""
    if [word.token_type for word in words[:2]] != [_T.SELECT, _T.WITH]:
        return Options(), words
    reader = _ClauseReader(words, text, 2)
    if reader.says("DIFFERENTIAL_PRIVACY"):
        reader.position += 1
    if not reader.says("OPTIONS"):
        reader.refuse("write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) and then what is asked")
    reader.position += 1
    return reader.options(), [words[0], *words[reader.position :]]


class _ClauseReader:
    """Reads words one by one, and refuses the first that cannot stand where it does."""

    def __init__(self, words: list[Token], text: str, position: int) -> None:
        self.words, self.text, self.position = words, text, position

    def options(self) -> Options:
        self.take({_T.L_PAREN}, "OPTIONS lists its values in brackets")
        read: dict[str, Fraction | int | str] = {}
        while True:
            word = self.take({_T.VAR}, "OPTIONS lists name = value")
            name = word.text.lower()
            if name in read:
                refuse(word, self.text, Why(f"OPTIONS names {name} twice", "syntax"))
            self.take({_T.EQ}, "OPTIONS lists name = value")
            read[name] = self.value(word, name)
            if (
                self.take({_T.COMMA, _T.R_PAREN}, "after a value follows a comma or the closing bracket").text
                == ")"
            ):
                with placed(self.words[1], self.text):
                    return Options(**read)  # type: ignore[arg-type]  # each was read as its name needs it

    def value(self, word: Token, name: str) -> Fraction | int | str:
        if name == "privacy_unit_column":
            return self.take(_NAMES, "privacy_unit_column is the name of a column").text
        if name not in _NUMBERS:
            known = ", ".join((*_NUMBERS, "privacy_unit_column"))
            refuse(word, self.text, f"this option is not known: {_REASONS.get(name, 'known are ' + known)}")
        point = "." * self.points()
        written = point + self.take({_T.NUMBER}, f"{name} must be a literal number").text
        with placed(word, self.text):
            number = rational(written, name)
        if name != "max_groups_contributed":
            return number
        if number.denominator != 1:
            refuse(word, self.text, "max_groups_contributed is a whole number")
        return int(number)

    def points(self) -> bool:
        """Whether a point begins the number that follows, as in .01; if so it is taken."""
        first, second = (*self.words[self.position : self.position + 2], *self.words[-2:])[:2]
        begins = first.token_type is _T.DOT and second.token_type is _T.NUMBER
        begins = begins and second.start == first.end + 1
        self.position += begins
        return begins

    def take(self, kinds: set[TokenType], reason: str) -> Token:
        if self.position >= len(self.words) or self.words[self.position].token_type not in kinds:
            self.refuse(reason)
        self.position += 1
        return self.words[self.position - 1]

    def says(self, name: str) -> bool:
        if self.position >= len(self.words):
            return False
        word = self.words[self.position]
        return word.token_type is _T.VAR and word.text.upper() == name

    def refuse(self, reason: str) -> NoReturn:
        refuse(self.words[min(self.position, len(self.words) - 1)], self.text, Why(reason, "syntax"))
