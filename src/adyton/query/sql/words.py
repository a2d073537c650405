"""From SQL text to a syntax tree, word by word, with sqlglot's parser without its functions.

The parser understands far more than is answered here, and skips over some words without a trace.  So every
word is checked before it is parsed: one that has no meaning here is refused where it stands, and a name is
marked as a name, so that it can never be read as anything else.  The text never reaches an engine.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import sqlglot.parser
from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from adyton.errors import InvalidRequest
from adyton.query.sql.grammar import DEEPEST_NESTING, NAMED_ARGUMENTS, Options, check_order, taken_options
from adyton.query.sql.names import Refused, place, refuse, shortened
from adyton.query.sql.reasons import EVERY_COLUMN, reason_against, with_examples
from adyton.schema import Table

LONGEST_TEXT = 10_000  # characters
MOST_TREE_NODES = 50_000  # also bounds the time that the parser spends on going back and forth

FUNCTIONS = (
    *("COUNT", "COUNT_IF", "COUNTIF", "SUM", "AVG", "PROPORTION", "VARIANCE", "VAR_POP", "VAR_SAMP"),
    *("STDDEV", "STDDEV_POP", "STDDEV_SAMP", "MIN", "MAX", "MEDIAN", "QUANTILE", "PERCENTILE_CONT", "CDF"),
    *("HISTOGRAM", "CLAMP", "LEAST", "GREATEST", "FLOOR", "SQUARE", "LOOKUP", "LABEL"),
    *("EXTRACT", "YEAR", "QUARTER", "MONTH", "DAY", "ISODOW", "CLIPPED", "UNDECLARED"),
)

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

_DIALECT = Dialect()
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")  # and no tab, no line end
_PLAIN_WORD = re.compile(r"\w+")
_CLOSED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|(?!/\*)[^'"]""", re.DOTALL)
_SOURCE = "parser.py"


@dataclass(frozen=True, slots=True)
class Known:
    """The names that a question may use, in small letters, and the table whose columns make examples."""

    names: frozenset[str]
    table: Table


def syntax_tree(text: str, known: Known) -> exp.Expr:
    """The tree of a number or a condition."""
    return _tree(_words(text), text, exp.Condition, known)


def question_tree(text: str, known: Known) -> tuple[Options, exp.Expr]:
    """The tree of a question without its head, and what the head says."""
    options, words = taken_options(_words(text), text)
    return options, _tree(words, text, exp.Select, known)


def _words(text: str) -> list[Token]:
    _check_text(text)
    try:
        return _DIALECT.tokenize(text)
    except (SqlglotError, ValueError):
        start = _first_unclosed(text)
        where = place(text, start, text[start:])
        raise Refused(f"unterminated string, quoted name or comment {where}") from None


def _first_unclosed(text: str) -> int:
    start = 0
    while (piece := _CLOSED.match(text, start)) is not None:
        start = piece.end()
    return start


def _tree(words: list[Token], text: str, kind: type[exp.Expr], known: Known) -> exp.Expr:
    words = _checked(words, text, known)
    check_order(words, text, whole=kind is exp.Select)
    try:
        parser = PlainParser(dialect=_DIALECT, max_nodes=MOST_TREE_NODES, error_message_context=LONGEST_TEXT)
        trees = parser.parse_into(kind, words, text)
    except RecursionError:
        raise InvalidRequest(f"the text nests deeper than {DEEPEST_NESTING} levels") from None
    except SqlglotError as error:
        raise _syntax_error(error, text) from None
    except Exception:  # whatever it was, the text is what caused it
        raise InvalidRequest("this cannot be read as SQL") from None
    if len(trees) != 1 or trees[0] is None:
        raise InvalidRequest("the text asks nothing")
    return trees[0]


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise InvalidRequest(f"SQL is a string, not a {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise InvalidRequest(f"the text has {len(text)} characters; at most {LONGEST_TEXT} are read")
    if (found := _UNPRINTABLE.search(text)) is not None:
        raise InvalidRequest(
            f"the text holds the unprintable character {found.group()!a} at position {found.start() + 1}"
        )


def _checked(words: list[Token], text: str, known: Known) -> list[Token]:
    if words and words[-1].token_type is _T.SEMICOLON:
        words = words[:-1]
    if not words:
        raise InvalidRequest("the text asks nothing")
    end = Token(_T.UNKNOWN, "")
    neighbours = zip([end, *words[:-1]], words, [*words[1:], end], strict=True)
    return [_checked_word(before, word, after, text, known) for before, word, after in neighbours]


def _checked_word(before: Token, word: Token, after: Token, text: str, known: Known) -> Token:
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
    if _PLAIN_WORD.fullmatch(word.text) and _is_name(before, word, after, known.names):
        return Token(_T.IDENTIFIER, word.text.lower(), word.line, word.col, word.start, word.end)
    if before.token_type is _T.GROUP_BY and word.token_type is _T.ALL:
        refuse(word, text, f"GROUP BY ALL is not supported: {with_examples(EVERY_COLUMN, known.table)}")
    return _checked_keyword(word, after, text, known)


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


def _checked_keyword(word: Token, after: Token, text: str, known: Known) -> Token:
    said = word.text.upper()
    called = word.token_type is _T.VAR and after.token_type is _T.L_PAREN and said in FUNCTIONS
    if not called and (word.token_type not in _KEYWORDS or said == "!"):
        _refuse_word(word, after, text, known)
    return word


def _refuse_word(word: Token, after: Token, text: str, known: Known) -> NoReturn:
    said = shortened(word.text.upper())
    if word.token_type is _T.SEMICOLON:
        refuse(word, text, "one question at a time: ask several with --file, in Python with ask_many")
    reason = reason_against(said, known.table)
    if after.token_type is _T.L_PAREN and reason is None and _PLAIN_WORD.fullmatch(said):
        refuse(word, text, f"there is no function {said} here; functions: {', '.join(FUNCTIONS)}")
    hint = f'; if it is a name, write "{said.lower()}"' if _PLAIN_WORD.fullmatch(word.text) else ""
    refuse(word, text, f"{said} is not supported{': ' + reason if reason else hint}")


def _syntax_error(error: SqlglotError, text: str) -> Refused:
    details = getattr(error, "errors", None) or [{}]
    near = details[0].get("highlight") or shortened(text)
    start = len(details[0].get("start_context") or "")
    return Refused(f"this cannot be read as SQL {place(text, start, near)}")


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


class PlainParser(Parser):
    """Reads every call as a name with arguments.  What a function means is not for the parser to decide."""

    FUNCTIONS: ClassVar = {}
    FUNCTION_PARSERS: ClassVar = {"EXTRACT": Parser.FUNCTION_PARSERS["EXTRACT"]}
    NO_PAREN_FUNCTIONS: ClassVar = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
