"""Questions in the words of another database: read in its dialect, and written in the words of this project.

What cannot be written is refused, and so is what databases do not agree on where the translation is not known
to.  The result is read like any other text, so nothing gets past the grammar.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adyton.errors import InvalidRequest

if TYPE_CHECKING:  # the parser costs more than all other imports
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

DIALECTS = ("bigquery", "duckdb", "mysql", "postgres", "redshift", "snowflake", "spark", "sqlite", "tsql")
_HEAD = re.compile(r"\s*SELECT\s+(WITH\s+(?:DIFFERENTIAL_PRIVACY\s+)?OPTIONS\s*\([^()]*\))", re.IGNORECASE)
_LONGEST_TEXT, _MOST_NODES = 10_000, 50_000
# Weeks begin on different days, and days of the week have different numbers.
_WEEKS = {"WEEK", "WEEKS", "WK", "WW", "DW", "DOW", "WEEKDAY", "DAYOFWEEK", "DAY_OF_WEEK", "WEEKOFYEAR"}
# Words of a clause that is written in other words: TOP 5, FETCH FIRST ROW ONLY, WITHIN GROUP.
_SAY_NOTHING = {"top", "rows", "row", "only", "first", "next", "within"}
_MONDAYS = ("duckdb", "postgres", "redshift")


def known_dialect(name: object) -> str:
    """The dialect of this name, if there is one."""
    if not isinstance(name, str) or name.lower() not in DIALECTS:
        raise InvalidRequest(f"there is no dialect {str(name)[:40]!r}; known are {', '.join(DIALECTS)}")
    return name.lower()


def translated(text: str, dialect: str) -> str:
    """``text``, written in ``dialect``, in the words that are understood here."""
    dialect = known_dialect(dialect)
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        return text  # refused by whoever reads it
    head = _HEAD.match(text)
    plain = text if head is None else f"SELECT{text[head.end() :]}"
    written = _written(plain, dialect)
    if head is None:
        return written
    if not written.startswith("SELECT "):
        raise InvalidRequest(f"OPTIONS stand behind the first SELECT; the text is read as {dialect}")
    return f"SELECT {head[1]} {written.removeprefix('SELECT ')}"


def _written(text: str, dialect: str) -> str:
    from sqlglot import Dialect, exp, parse
    from sqlglot.errors import ErrorLevel

    try:
        words = Dialect.get_or_raise(dialect).tokenize(text)
        trees = [tree for tree in parse(text, read=dialect, max_nodes=_MOST_NODES) if tree is not None]
    except Exception:  # whatever it was, the text is what caused it
        raise InvalidRequest(f"this cannot be read as SQL of {dialect}") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise InvalidRequest(f"a question is one SELECT; this is not one in {dialect}")
    said = {word.text.upper() for word in words}
    if dialect not in _MONDAYS and said & _WEEKS:
        reason = "databases do not agree on weeks and their days: write ISOWEEK or ISODOW, without a dialect"
        raise InvalidRequest(f"{min(said & _WEEKS)} is not translated from {dialect}: {reason}")
    try:
        tree = trees[0].transform(_plain)
        if "NULLS" not in said:  # what is missing comes last here, whatever the other database does
            for ordered in tree.find_all(exp.Ordered):
                ordered.set("nulls_first", False)
        written = tree.sql(dialect="duckdb", comments=False, unsupported_level=ErrorLevel.RAISE)
    except Exception:
        raise InvalidRequest(f"this cannot be said in other words than those of {dialect}") from None
    _check_nothing_is_lost(words, written, dialect)
    return written


def _plain(node: exp.Expr) -> exp.Expr:
    """Functions that are known here by the name that they have elsewhere."""
    from sqlglot import exp

    if isinstance(node, exp.SafeDivide):
        return exp.Anonymous(this="SAFE_DIVIDE", expressions=[node.this, node.expression])
    return node


def _check_nothing_is_lost(words: list[Token], written: str, dialect: str) -> None:
    """Every name, string and number of the text must be in what it became."""
    from sqlglot import Dialect
    from sqlglot.tokenizer_core import TokenType

    kinds = (TokenType.NUMBER, TokenType.STRING, TokenType.IDENTIFIER, TokenType.VAR)
    kept = {word.text.casefold() for word in Dialect.get_or_raise("duckdb").tokenize(written)}
    for word, after in zip(words, [*words[1:], None], strict=True):
        calls = after is not None and after.token_type is TokenType.L_PAREN
        name = word.text.casefold()
        if word.token_type in kinds and not calls and name not in kept | _SAY_NOTHING:
            raise InvalidRequest(
                f"{name[:40]!r} is lost when this is read as {dialect}: write it in other words"
            )
