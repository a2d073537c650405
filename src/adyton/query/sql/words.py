"""From SQL text to a syntax tree, word by word, with sqlglot's parser without its functions.

The parser understands far more than is answered here, and skips over some words without a trace.  So every
word is checked before it is parsed: one that has no meaning here is refused where it stands, and a name is
marked as a name, so that it can never be read as anything else.  And every word must come back when the tree
is written out again, so that nothing is lost.  The text never reaches an engine.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import sqlglot.parser
from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Table
from adyton.query.doubles import shortest
from adyton.query.sql.grammar import (
    CASTS,
    DEEPEST_NESTING,
    NAMED_ARGUMENTS,
    NO_WORD,
    Options,
    check_order,
    retold,
    taken_options,
    word_at,
    words_around,
)
from adyton.query.sql.names import Refused, Why, refuse, refused_at, shortened
from adyton.query.sql.reasons import NO_ON, reason_against
from adyton.query.sql.several.plain_words import SIGNS, plain_limits, plain_signs

LONGEST_TEXT = 10_000  # characters
MOST_TREE_NODES = 50_000  # also bounds the time that the parser spends on going back and forth

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
# Words of the grammar, unless a column or a table is called so.
_SOFT_KEYWORDS = {
    *(_T.CROSS, _T.RIGHT, _T.WITH, _T.EXISTS, _T.UNION, _T.ALL, _T.ROLLUP, _T.CUBE, _T.GROUPING_SETS),
    *(_T.OVER, _T.PARTITION_BY, _T.QUALIFY, _T.ROWS, _T.RANGE, _T.ROW, _T.FIRST),
    *(_T.LIKE, _T.ILIKE, _T.ESCAPE, _T.DPIPE, _T.MOD, _T.DIV, _T.DCOLON, _T.INTERVAL, _T.TIMESTAMP),
}
_ALL_KEYWORDS = _KEYWORDS | _SOFT_KEYWORDS

# What may be left out, or is written in another way for the same.
_SAY_NOTHING = {_T.L_PAREN, _T.R_PAREN, _T.DOT, _T.ALIAS, _T.INNER, _T.OUTER, _T.ASC, _T.DCOLON}
_SAY_NO_MORE = {"nulls", "last", *(name.casefold() for name in CASTS)}  # what is missing is always last
_NESTING = (exp.Cast, exp.Is, exp.In, exp.Between, exp.Mod, exp.IntDiv, exp.Predicate)
_DEEPEST_CHAIN = 80
_LIMITING = {"LIMIT", "TOP", "FETCH", "OFFSET", "PRECEDING"}
_FRAME = ("UNBOUNDED", "PRECEDING", "FOLLOWING", "CURRENT")

_DIALECT = Dialect()
# To write a tree changes some kinds of nodes; these it leaves alone, so that no copy of them is needed.
_WRITTEN_AS_THEY_ARE = {
    *(exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Where, exp.Group, exp.Having, exp.Order),
    *(exp.Ordered, exp.Limit, exp.Offset, exp.Alias, exp.Column, exp.Identifier, exp.Literal),
    *(exp.Star, exp.Anonymous, exp.Distinct, exp.Filter, exp.Case, exp.If, exp.Paren, exp.Neg, exp.Not),
    *(exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Is),
    *(exp.Add, exp.Sub, exp.Mul, exp.Null, exp.Boolean),
}
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # and no tab, no line end
_PLAIN_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_PLAIN_WORD = re.compile(r"\w+")
_CLOSED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|(?!/\*)[^'"]""", re.DOTALL)
_SOURCE = "parser.py"


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that a query may use, in small letters, and the table whose columns make examples."""

    names: frozenset[str]
    table: Table
    functions: tuple[str, ...]


def syntax_tree(text: str, known: KnownNames) -> exp.Expr:
    """The tree of a number or a condition."""
    return _tree(_words(text), text, exp.Condition, known)


def query_tree(text: str, known: KnownNames) -> tuple[Options, exp.Expr]:
    """The tree of a query without its head, and what the head says."""
    options, words = taken_options(_words(text), text)
    if any(word.text.upper() in _LIMITING for word in words):
        words = plain_limits(words)
    return options, _tree(words, text, exp.Select, known)


def _words(text: str) -> list[Token]:
    _check_text(text)
    try:
        return _DIALECT.tokenize(text)
    except (SqlglotError, ValueError):
        start = _first_unclosed(text)
        why = Why("unterminated string, quoted name or comment", "syntax")
        raise refused_at(text, start, text[start:], why) from None


def _first_unclosed(text: str) -> int:
    start = 0
    while (piece := _CLOSED.match(text, start)) is not None:
        start = piece.end()
    return start


def _tree(words: list[Token], text: str, kind: type[exp.Expr], known: KnownNames) -> exp.Expr:
    words = _checked(words, text, known)
    check_order(words, text, whole=kind is exp.Select)
    try:
        parser = PlainParser(dialect=_DIALECT, max_nodes=MOST_TREE_NODES, error_message_context=LONGEST_TEXT)
        bracketed = kind is exp.Select and words[0].token_type is _T.L_PAREN
        trees = parser.parse(words, text) if bracketed else parser.parse_into(kind, words, text)
    except RecursionError:
        raise InvalidRequest(f"the text nests deeper than {DEEPEST_NESTING} levels") from None
    except SqlglotError as error:
        raise _syntax_error(error, text) from None
    except Exception:  # whatever it was, the text is what caused it
        raise InvalidRequest("this cannot be read as SQL", reason="syntax") from None
    if len(trees) != 1 or trees[0] is None:
        raise InvalidRequest("the text asks nothing", reason="syntax")
    nodes = list(trees[0].walk())
    _check_depth(nodes)
    _check_nothing_is_lost(words, text, trees[0], {type(node) for node in nodes})
    for node in nodes:
        if type(node) is exp.Literal and not node.args["is_string"]:
            node.set("this", shortest(node.this))
    return trees[0]


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise InvalidRequest(f"SQL is a string, not a {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise InvalidRequest(f"the text has {len(text)} characters; at most {LONGEST_TEXT} are read")
    if (found := _UNPRINTABLE.search(text)) is not None:
        raise InvalidRequest(
            f"the text holds the unprintable character {found.group()!a} at position {found.start() + 1}",
            reason="syntax",
        )


def _checked(words: list[Token], text: str, known: KnownNames) -> list[Token]:
    if words and words[-1].token_type is _T.SEMICOLON:
        words = words[:-1]
    if not words:
        raise InvalidRequest("the text asks nothing", reason="syntax")
    if any(word.token_type in SIGNS for word in words):
        words = plain_signs(words)
    reader = _WordReader(words, text, replace(known, names=known.names | _given_names(words)))
    return [reader.word(place) for place in range(len(words))]


def _given_names(words: list[Token]) -> set[str]:
    """Names that the text itself gives: AS name, and WITH name AS (."""
    given = set()
    for before, word, after in zip(words, words[1:], [*words[2:], NO_WORD], strict=False):
        if word.token_type is _T.ALIAS:
            given.add((before if after.token_type is _T.L_PAREN else after).text.casefold())
    return given


class _WordReader:
    """Marks each word as what it is: a name, a word of the grammar, or one that stands for itself."""

    def __init__(self, words: list[Token], text: str, known: KnownNames) -> None:
        self.words, self.text, self.known = words, text, known
        self.openers: list[str] = []  # the words before the brackets that are open, in capitals

    def word(self, place: int) -> Token:
        before, word, after = words_around(self.words, place)
        kind = word.token_type
        if kind is _T.L_PAREN:
            self.openers.append(before.text.upper())
        elif kind is _T.R_PAREN and self.openers:
            self.openers.pop()
        if kind is _T.NUMBER and after.start == word.end + 1 and _PLAIN_WORD.match(after.text):
            refuse(word, self.text, f"{shortened(word.text + after.text)!r} is not a number")
        if kind in _SYMBOLS:
            if kind is _T.IDENTIFIER and after.token_type is _T.L_PAREN and before.token_type is not _T.ALIAS:
                self._no_function(word)
            return word
        if [word.text.upper(), after.text.upper()] == ["NULLS", "FIRST"]:
            refuse(word, self.text, "what is missing comes last in every order: leave out NULLS FIRST")
        if self._stands_for_itself(place):
            return word
        if after.token_type is _T.L_PAREN and word.text.upper() in self.known.functions:
            return retold(word, _T.VAR, word.text)
        if _PLAIN_WORD.fullmatch(word.text) and self._is_name(before, word, after):
            return retold(word, _T.IDENTIFIER, word.text.lower())
        is_called = (
            kind is _T.FIRST and after.token_type is _T.L_PAREN
        )  # as an aggregate, not as in FETCH FIRST
        if kind not in _ALL_KEYWORDS or word.text == "!" or is_called:
            self._refuse(word, after)
        return word

    def _stands_for_itself(self, place: int) -> bool:
        """Whether it names neither a column nor a table: a part of a date, a type, an argument, a frame."""
        before, word, after = words_around(self.words, place)
        opener, said = self.openers[-1] if self.openers else "", word.text.upper()
        if word.token_type in _TYPES:
            is_cast = opener in CASTS and before.token_type is _T.ALIAS
            return is_cast or before.token_type is _T.DCOLON
        if word.token_type is not _T.VAR:
            return False
        if after.token_type is _T.FARROW:
            return said in NAMED_ARGUMENTS
        if word_at(self.words, place - 2).token_type is _T.INTERVAL:
            return True
        pairs = ((said, after.text.upper()), (before.text.upper(), said))
        if ("WITHIN", "GROUP") in pairs:
            return before.token_type is _T.R_PAREN or after.token_type is _T.L_PAREN
        if ("NULLS", "LAST") in pairs:
            return True
        if opener == "OVER" and said in _FRAME:
            return True
        return opener == "EXTRACT" and before.token_type is _T.L_PAREN and after.token_type is _T.FROM

    def _is_name(self, before: Token, word: Token, after: Token) -> bool:
        if before.token_type in (_T.ALIAS, _T.DOT):
            return True
        if after.token_type is _T.L_PAREN:
            return False
        if word.token_type in (_T.DATE, _T.TIMESTAMP):
            return after.token_type is not _T.STRING
        is_known = word.token_type not in _KEYWORDS and word.text.casefold() in self.known.names
        return word.token_type is _T.VAR or is_known

    def _no_function(self, word: Token) -> NoReturn:
        said = shortened(word.text.upper())
        alike = list(dict.fromkeys(get_close_matches(said, self.known.functions, 3)))
        hint = f"; do you mean {' or '.join(alike)}?" if alike else ""
        refuse(word, self.text, Why(f"there is no function {said} here{hint}", "no_such_function"))

    def _refuse(self, word: Token, after: Token) -> NoReturn:
        said = shortened(word.text.upper())
        if word.token_type is _T.SEMICOLON:
            refuse(word, self.text, "one query at a time: ask several with --file, in Python with ask_many")
        reason = reason_against(said, self.known.table)
        if after.token_type is _T.L_PAREN and reason is None and _PLAIN_WORD.fullmatch(said):
            self._no_function(word)
        hint = f'; if it is a name, write "{said.lower()}"' if _PLAIN_WORD.fullmatch(word.text) else ""
        refuse(word, self.text, f"{said} is not supported{': ' + reason if reason else hint}")


def _check_depth(nodes: list[exp.Expr]) -> None:
    """Signs behind one another nest without brackets, as in a::INT::INT or a % 2 % 2."""
    if sum(isinstance(node, _NESTING) for node in nodes) <= _DEEPEST_CHAIN:
        return
    depths: dict[int, int] = {}
    for node in nodes:
        above = depths.get(id(node.parent), 0)
        depths[id(node)] = above + isinstance(node, _NESTING)
        if depths[id(node)] > _DEEPEST_CHAIN:
            raise InvalidRequest(f"the text nests deeper than {_DEEPEST_CHAIN} levels")


def _check_nothing_is_lost(words: list[Token], text: str, tree: exp.Expr, kinds: set[type[exp.Expr]]) -> None:
    """Every word must come back when the tree is written out: the parser may skip some without a trace.

    What it does with digits does not depend on them: texts that differ in plain numbers alone are checked
    once.
    """
    found = _found_whole(tuple((word.token_type, _no_matter_which(word)) for word in words))
    if found:
        return
    try:
        printable = _printable(tree) if exp.IntDiv in kinds else tree
        copied = not kinds <= _WRITTEN_AS_THEY_ARE
        written = _DIALECT.tokenize(_DIALECT.generate(printable, copy=copied, comments=False))
    except RecursionError:
        raise InvalidRequest("the text is too long a chain of operations") from None
    said, kept = (Counter(_meanings(some)) for some in (words, written))
    for word in words:
        if any(said[meaning] > kept[meaning] for meaning in _meanings([word])):
            why = NO_ON if word.token_type is _T.JOIN else "this cannot be read as SQL"
            refuse(word, text, Why(why, "syntax"))
    if said != kept:
        raise InvalidRequest("this cannot be read as SQL", reason="syntax")
    found.append(True)


def _no_matter_which(word: Token) -> str:
    plain = word.token_type is _T.NUMBER and _PLAIN_NUMBER.fullmatch(word.text)
    return "0" if plain else word.text


@lru_cache(maxsize=256)
def _found_whole(_: tuple[tuple[TokenType, str], ...]) -> list[bool]:
    """Empty until words like these were found in what was written."""
    return []


def _printable(tree: exp.Expr) -> exp.Expr:
    """The parser writes whole division in words of its own; a remainder is written with as many words."""
    return tree.transform(lambda node: exp.Mod(**node.args) if type(node) is exp.IntDiv else node)


def _meanings(words: Iterable[Token]) -> Iterator[str]:
    """The words that say something; brackets are in the tree, and a type is written in several ways."""
    before = NO_WORD
    for word in words:
        kind, said = word.token_type, word.text.casefold()
        if before.token_type is _T.INTERVAL:
            yield from said.split()  # '1 day' or '1' day
        elif kind is _T.NUMBER:
            yield said.lstrip("0.").rstrip(".")  # .5 is 0.5
        elif kind in (_T.DIV, _T.MOD) or said == "div":
            yield "%"
        elif kind in _TYPES or kind in (_T.EQ, _T.NEQ):
            yield kind.name.casefold()  # which is also the name of the function, as in DATE(x)
        elif kind not in _SAY_NOTHING and (kind is not _T.VAR or said not in _SAY_NO_MORE):
            yield said
        before = word


def _syntax_error(error: SqlglotError, text: str) -> Refused:
    details = getattr(error, "errors", None) or [{}]
    near = details[0].get("highlight") or shortened(text)
    start = len(details[0].get("start_context") or "")
    return refused_at(text, start, near, Why("this cannot be read as SQL", "syntax"))


def parser_from_source() -> Any:
    """The class as it stands in the source file, also where a compiled form of it takes its place."""
    path = Path(sqlglot.parser.__file__).with_name(_SOURCE)
    spec = spec_from_file_location(f"{__name__}_source", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module.Parser


if TYPE_CHECKING:
    from sqlglot.parser import Parser
elif Path(sqlglot.parser.__file__).name == _SOURCE:
    Parser = sqlglot.parser.Parser
else:  # sqlglot[c]: nothing that is interpreted may inherit from what is compiled
    Parser = parser_from_source()


_TYPES = Parser.TYPE_TOKENS - {_T.VAR, _T.IDENTIFIER}


class PlainParser(Parser):
    """Reads every call as a name with arguments.  What a function means is not for the parser to decide."""

    FUNCTIONS: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = {name: Parser.FUNCTION_PARSERS[name] for name in ("EXTRACT", *CASTS)}
    NO_PAREN_FUNCTIONS: ClassVar = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
    PRIMARY_PARSERS: ClassVar = {  # with their places, for refusals
        **Parser.PRIMARY_PARSERS,
        _T.NULL: lambda self, word: self.expression(exp.Null(), word),
        _T.TRUE: lambda self, word: self.expression(exp.Boolean(this=True), word),
        _T.FALSE: lambda self, word: self.expression(exp.Boolean(this=False), word),
    }
