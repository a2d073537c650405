"""What a query names, and where: columns, tables, the person; and the words in which it is refused."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import eq
from typing import NamedTuple, NoReturn, TypeGuard

from sqlglot import Dialect, exp
from sqlglot.errors import ErrorLevel
from sqlglot.tokenizer_core import Token, TokenType

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Column, Table
from adyton.query.names import entry_of, has_entry, is_person

LONGEST_COLUMN_NAME = 200
PLACE = re.compile(r" \(line (\d+), column (\d+): .*\)$", re.DOTALL)  # at the end of a refusal
SAID = "said"  # of a call that was rewritten: how the text calls it


class Refused(InvalidRequest):
    """What says where in a text it is, also in its facts ``line`` and ``column``."""


class Why(NamedTuple):
    """Why a text is refused: a sentence for people, and a word for programs."""

    message: str
    reason: str


def refuse(word: Token, text: str, why: str | Why) -> NoReturn:
    """Stop at ``word`` and say why."""
    raise refused_at(text, word.start, text[word.start : word.end + 1], why)


def refused_at(text: str, start: int, fragment: str, why: str | Why, **facts: object) -> Refused:
    """The error that names the place of ``fragment``."""
    line, column = line_and_column(text, start)
    known = facts | ({"reason": why.reason} if isinstance(why, Why) else {})
    message = why.message if isinstance(why, Why) else why
    return Refused(f"{message} {place(text, start, fragment)}", **known, line=line, column=column)


@contextlib.contextmanager
def placed(word: Token, text: str) -> Iterator[None]:
    """What is found wrong meanwhile is said with the place of ``word``."""
    try:
        yield
    except InvalidRequest as wrong:
        where = text[word.start : word.end + 1]
        raise refused_at(text, word.start, where, wrong.message, **wrong.facts) from None


def place(text: str, start: int, fragment: str) -> str:
    """Where something stands, for a message."""
    line, column = line_and_column(text, start)
    return f"(line {line}, column {column}: {shortened(fragment)})"


def line_and_column(text: str, start: int) -> tuple[int, int]:
    """Both from 1."""
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


def unplaced(message: str) -> str:
    """A refusal without the place that it names."""
    return PLACE.sub("", message)


def shortened(fragment: str) -> str:
    """The beginning of a fragment, as it can be shown on one line."""
    visible = (mark if mark.isprintable() else ascii(mark)[1:-1] for mark in " ".join(fragment[:200].split()))
    plain = "".join(visible)
    return plain if len(plain) <= 60 else plain[:57] + "..."


@dataclass(frozen=True, slots=True)
class Names:
    """The text that is read, the table it asks about, and what the names of tables in it stand for."""

    text: str
    table: Table
    aliases: Mapping[str, str] = field(default_factory=dict)  # in small letters -> the table's own name

    @contextlib.contextmanager
    def at(self, node: exp.Expr) -> Iterator[None]:
        """What is found wrong meanwhile is said with the place of ``node``, unless a place was named."""
        try:
            yield
        except InvalidRequest as wrong:
            raise self.placed(node, wrong) from None

    def placed(self, node: exp.Expr, wrong: InvalidRequest) -> Refused:
        """``wrong`` with the place of ``node``, unless it names one."""
        return wrong if isinstance(wrong, Refused) else self.refusal(node, wrong.message, **wrong.facts)

    def refusal(self, node: exp.Expr, why: str | Why, **facts: object) -> Refused:
        """The error that names the place of ``node`` and why it is refused."""
        start, end = written_at(self.text, node)
        return refused_at(self.text, start, self.text[start:end], why, **facts)

    def check_parts(self, node: exp.Expr, *allowed: str) -> None:
        """Nothing but ``allowed`` may be said about ``node``, so nothing can be left out by mistake."""
        for name, value in node.args.items():
            if name not in allowed and not (value is None or value is False or value == []):
                said = self._if_written(name.rstrip("_").replace("_", " ").upper())
                raise self.refusal(node, f"{said} is not supported in {self.title(node)}")

    def title(self, node: exp.Expr) -> str:
        """What kind of node it is, in words that the text has."""
        named = type(node) is exp.Anonymous or type(node) in _TITLES
        return title(node) if named else self._if_written(title(node))

    def _if_written(self, words: str) -> str:
        """Names that the parser has for itself would help nobody."""
        text = self.text.upper()
        return words if all(word in text for word in words.split()) else "this"

    def column(self, node: exp.Expr) -> Column:
        """The column that ``node`` names."""
        if type(node) is not exp.Column or type(node.this) is not exp.Identifier:
            raise self.refusal(node, "a column is needed here")
        name = self._own_name(node)
        if len(name) > LONGEST_COLUMN_NAME:
            raise self.refusal(node, Why("no column has a name that long", "no_such_column"))
        source = self._source_of(node)
        if self.is_person(node) and not has_entry(self.table, name, source):
            raise self.refusal(
                node,
                Why(
                    f"{name!r} identifies persons, who can only be counted: COUNT(DISTINCT {name})",
                    "no_such_column",
                ),
            )
        try:
            return entry_of(self.table, name, source).shown
        except InvalidRequest as wrong:
            if self.text[_start(node) : _start(node) + 1] == '"':
                hint = f"{wrong.message}. A string stands in single quotes: '{name}'"
                raise self.refusal(node, hint, **wrong.facts) from None
            raise self.placed(node, wrong) from None

    def is_person(self, node: exp.Expr) -> bool:
        """Whether ``node`` names the column that says whose row it is."""
        if type(node) is not exp.Column or type(node.this) is not exp.Identifier or self.table.person is None:
            return False
        return is_person(self.table, self._own_name(node), self._source_of(node))

    def has_column(self, name: str) -> bool:
        return any(column.name.casefold() == name.casefold() for column in self.table.columns)

    def plain_name(self, node: exp.Expr) -> str | None:
        """The name, if ``node`` is nothing else and belongs to no table by name."""
        if type(node) is not exp.Column or node.args.get("table") is not None:
            return None
        return self._own_name(node) if type(node.this) is exp.Identifier else None

    def _own_name(self, node: exp.Expr) -> str:
        """The name of a column, which may be said to belong to the table."""
        self.check_parts(node, "this", "table")
        return self.name(node.this)

    def _source_of(self, node: exp.Expr) -> str | None:
        """The table that a column is said to belong to."""
        qualifier = node.args.get("table")
        if qualifier is None:
            return None
        known = self.aliases or {self.table.name.casefold(): self.table.name}
        found = known.get(self.name(qualifier).casefold())
        if found is None:
            names = ", ".join(map(repr, known))
            raise self.refusal(
                node, f"the {'only table here is' if len(known) == 1 else 'tables here are'} {names}"
            )
        return found

    def name(self, node: exp.Expr) -> str:
        if type(node) is not exp.Identifier:
            raise self.refusal(node, "a name is needed here")
        self.check_parts(node, "this", "quoted")
        return str(node.this)

    def item(self, node: exp.Expr) -> tuple[exp.Expr, str | None]:
        """An item of the SELECT list, and the name that AS gives it."""
        if type(node) is not exp.Alias:
            return self.bare(node), None
        self.check_parts(node, "this", "alias")
        return self.bare(node.this), self.name(node.args["alias"])

    def alias(self, node: exp.Expr) -> str | None:
        """The name that AS gives a table or a sub-select."""
        self.check_parts(node, "this", "alias")
        if (alias := node.args.get("alias")) is None:
            return None
        self.check_parts(alias, "this")
        return self.name(alias.this)

    def sides(self, node: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        """What stands before and behind a sign; of || the parser says that it is safe, which says nothing."""
        self.check_parts(node, "this", "expression", "safe")
        return node.this, node.args["expression"]

    def bare(self, node: exp.Expr) -> exp.Expr:
        """``node`` without the brackets around it."""
        while type(node) is exp.Paren:
            self.check_parts(node, "this")
            node = node.this
        return node

    def chain(
        self, node: exp.Expr, kinds: Collection[type[exp.Expr]]
    ) -> tuple[exp.Expr, list[tuple[type[exp.Expr], exp.Expr]]]:
        """The first operand of a chain like a - b + c, and the others with their signs, from the left."""
        rest = []
        while type(node) in kinds:
            kind = type(node)
            node, last = self.sides(node)
            rest.append((kind, last))
        return node, rest[::-1]

    def operands(self, node: exp.Expr) -> list[exp.Expr]:
        """All operands of a chain of one sign, from the left."""
        first, rest = self.chain(node, (type(node),))
        return [first, *(part for _, part in rest)]


def _start(node: exp.Expr) -> int:
    """Where a node begins, or what holds it: some words leave no trace in the tree."""
    inside: exp.Expr | None = node
    while inside is not None:
        if starts := starts_in(inside):
            return min(starts)
        inside = inside.parent
    return 0


def starts_in(node: exp.Expr) -> list[int]:
    """Where the parts of a node begin that know their place in the text."""
    return [int(part.meta["start"]) for part in node.walk() if "start" in part.meta]


# Where a node is written -----------------------------------------------------------------------------------

_SAY_NOTHING = {"as", "inner", "outer", "asc"}
_OTHER_SIGNS = {"!=": "<>", "==": "="}
_BEFORE = (exp.Cast, exp.TryCast, exp.Interval)  # their words stand before what they hold
_BRACKETS = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
_WORDS_BEFORE = {"(", "cast", "try_cast", "safe_cast", "date", "timestamp", "interval"}


def written_at(text: str, node: exp.Expr) -> tuple[int, int]:
    """From where to where ``node`` stands in ``text``: what is said there, whatever it was rewritten to."""
    words, start = _words_of(text), _start(node)
    at = next((i for i, word in enumerate(words) if word.end >= start), None)
    if at is None:
        return start, len(text)
    try:
        printed = _words_of(node.sql(comments=False, unsupported_level=ErrorLevel.IGNORE))
    except Exception:  # a quotation is a courtesy; the refusal stands without it
        printed = ()
    found = _said_so(words, printed, at)
    if found is None and not isinstance(node, exp.Query):
        found = _span(words, printed, at, node)
    first, last = found or _piece(words, at, node)
    return words[first].start, words[last].end + 1


@lru_cache(maxsize=8)
def _words_of(text: str) -> tuple[Token, ...]:
    return tuple(word for word in Dialect().tokenize(text) if word.text.casefold() not in _SAY_NOTHING)


def _meaning(word: Token) -> str:
    said = " ".join(word.text.split()).casefold()
    return _OTHER_SIGNS.get(said, said)


def _said_so(words: tuple[Token, ...], printed: tuple[Token, ...], at: int) -> tuple[int, int] | None:
    """Where the same words stand, the one at ``at`` among them."""
    wanted = [_meaning(word) for word in printed]
    for first in range(at, max(at - len(wanted), -1), -1):
        found = words[first : first + len(wanted)]
        if len(found) == len(wanted) and all(map(eq, map(_meaning, found), wanted)):
            return first, first + len(wanted) - 1
    return None


def _span(
    words: tuple[Token, ...], printed: tuple[Token, ...], at: int, node: exp.Expr
) -> tuple[int, int] | None:
    """From the first part of a node to its last, if nothing else stands between them."""
    ends = [part.meta["end"] for part in node.walk() if "end" in part.meta]
    if not ends:
        return None
    first, last = at, max(i for i, word in enumerate(words) if word.start <= max(ends))
    inner: exp.Expr | None = node
    while inner is not None and not isinstance(inner, _BEFORE):
        inner = next(inner.iter_expressions(), None)
    while inner is not None and first > 0 and _meaning(words[first - 1]) in _WORDS_BEFORE:
        first -= 1
    last = _closed(words, first, last)
    known = {_meaning(word) for word in printed}
    said = {_meaning(word) for word in words[first : last + 1] if word.text[:1].isalnum()}
    return (first, last) if first <= last and said <= known else None


def _piece(words: tuple[Token, ...], at: int, node: exp.Expr) -> tuple[int, int]:
    """One word, or a call; of a SELECT all of it."""
    selects = [i for i in range(at + 1) if words[i].token_type is TokenType.SELECT]
    if isinstance(node, exp.Query) and selects:
        return selects[-1], _closed(words, selects[-1], len(words) - 1)
    calls = at + 1 < len(words) and words[at + 1].token_type is TokenType.L_PAREN
    return at, _closed(words, at, at + 1) if calls else at


def _closed(words: tuple[Token, ...], first: int, last: int) -> int:
    """``last``, or where all brackets from ``first`` on are closed, and none that was open before."""
    depth = 0
    for i in range(first, len(words)):
        depth += _BRACKETS.get(words[i].token_type, 0)
        if depth < 0:
            return i - 1
        if i >= last and depth == 0:
            return i
    return len(words) - 1


_TITLES: dict[type[exp.Expr], str] = {
    exp.Alias: "AS",
    exp.Boolean: "TRUE or FALSE",
    exp.Column: "a column",
    exp.DataType: "a type",
    exp.Dot: "a name with a dot",
    exp.Group: "GROUP BY",
    exp.Kwarg: "=>",
    exp.Literal: "a literal",
    exp.Paren: "brackets",
    exp.Star: "a star",
    exp.Subquery: "a sub-select",
    exp.Tuple: "a list",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Neg: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.BitwiseAnd: "&",
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), "a comparison"),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), "IS DISTINCT FROM"),
}


def title(node: exp.Expr) -> str:
    """What kind of node it is; of a rewritten call what the text calls it."""
    if type(node) is exp.Anonymous:
        return str(node.meta.get(SAID, node.this)).upper()
    if type(node) in _TITLES:
        return _TITLES[type(node)]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()


def calls(node: exp.Expr | None, functions: Collection[str]) -> TypeGuard[exp.Anonymous]:
    """Whether ``node`` is a call of one of these functions, whose names are in capitals."""
    return type(node) is exp.Anonymous and str(node.this).upper() in functions


def called(source: Names, node: exp.Expr) -> str:
    """The name of the function that ``node`` calls, in capitals."""
    source.check_parts(node, "this", "expressions")
    return str(node.this).upper()
