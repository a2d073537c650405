"""Questions in the words of another database: read in its dialect, and written in the words of this project.

What cannot be written is refused, and so is what databases do not agree on where the translation is not known
to.  The result is read like any other text, so nothing gets past the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from adyton.errors import InvalidRequest
from adyton.schema import RealColumn, Table

if TYPE_CHECKING:  # the parser costs more than all other imports
    from sqlglot import Dialect, exp
    from sqlglot.tokenizer_core import Token

DIALECTS = ("bigquery", "duckdb", "mysql", "postgres", "redshift", "snowflake", "spark", "sqlite", "tsql")
_HEAD = re.compile(r"\s*SELECT\s+(WITH\s+(?:DIFFERENTIAL_PRIVACY\s+)?OPTIONS\s*\([^()]*\))", re.IGNORECASE)
_LONGEST_TEXT, _MOST_NODES = 10_000, 50_000
# Weeks begin on different days, and days of the week have different numbers.
_WEEKS = {"WEEK", "WEEKS", "WK", "WW", "DW", "DOW", "WEEKDAY", "DAYOFWEEK", "DAY_OF_WEEK", "WEEKOFYEAR"}
# Words of a clause that is written in other words: TOP 5, FETCH FIRST ROW ONLY, WITHIN GROUP, NULLS LAST.
_SAY_NOTHING = {"top", "rows", "row", "only", "first", "next", "within", "nulls", "last"}
_MONDAYS = ("duckdb", "postgres", "redshift")
# Known here by the same name, with the meaning of this page; the parser would give it other words.
_OWN = {
    *("TO_CHAR", "DATE_FORMAT", "TO_DATE", "TO_TIMESTAMP"),
    *("GREATEST", "LEAST", "PERCENTILE_CONT", "PERCENTILE_DISC"),
}
_REFUSED = {"redshift": {"ADD_MONTHS"}}  # what the parser would translate into something else
_AS_IT_IS = "as_it_is_"
_CUT = ("spark", "sqlite", "tsql")  # a CAST to whole numbers leaves out what stands behind the point
_WHOLE_SPANS = ("mysql", "spark")  # the months between two days are those that are over
_UNITS = {"MM": "MONTH", "MON": "MONTH", "YY": "YEAR", "YYYY": "YEAR"}


def known_dialect(name: object) -> str:
    """The dialect of this name, if there is one."""
    if not isinstance(name, str) or name.lower() not in DIALECTS:
        raise InvalidRequest(f"there is no dialect {str(name)[:40]!r}; known are {', '.join(DIALECTS)}")
    return name.lower()


def translated(text: str, dialect: str, *tables: Table) -> str:
    """``text`` about ``tables``, written in ``dialect``, in the words that are understood here."""
    dialect = known_dialect(dialect)
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        return text  # refused by whoever reads it
    head = _HEAD.match(text)
    plain = text if head is None else f"SELECT{text[head.end() :]}"
    columns = [column for table in tables for column in table.columns]
    whole = {column.name.casefold() for column in columns if not isinstance(column, RealColumn)}
    written = _written(plain, dialect, whole)
    if head is None:
        return written
    if not written.startswith("SELECT "):
        raise InvalidRequest(f"OPTIONS stand behind the first SELECT; the text is read as {dialect}")
    return f"SELECT {head[1]} {written.removeprefix('SELECT ')}"


def _written(text: str, dialect: str, whole: Collection[str]) -> str:
    from sqlglot import Dialect, exp
    from sqlglot.errors import ErrorLevel

    try:
        reader = Dialect.get_or_raise(dialect)
        words = reader.tokenize(text)
        own = _OWN | _REFUSED.get(dialect, set())
        trees = [tree for tree in _trees(reader, words, text, own) if tree is not None]
    except Exception:  # whatever it was, the text is what caused it
        raise InvalidRequest(f"this cannot be read as SQL of {dialect}") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise InvalidRequest(f"a question is one SELECT; this is not one in {dialect}")
    said = {word.text.upper() for word in words}
    if dialect not in _MONDAYS and said & _WEEKS:
        reason = "databases do not agree on weeks and their days: write ISOWEEK or ISODOW, without a dialect"
        raise InvalidRequest(f"{min(said & _WEEKS)} is not translated from {dialect}: {reason}")
    try:
        tree = trees[0]
        for node in reversed(list(tree.walk())):  # what is inside comes first
            node.replace(_plain(node, dialect, whole))
        if "NULLS" not in said:  # what is missing comes last here, whatever the other database does
            for ordered in tree.find_all(exp.Ordered):
                ordered.set("nulls_first", False)
        written = tree.sql(dialect="duckdb", comments=False, unsupported_level=ErrorLevel.RAISE)
    except InvalidRequest:
        raise
    except Exception:
        raise InvalidRequest(f"this cannot be said in other words than those of {dialect}") from None
    _check_nothing_is_lost(words, written, dialect)
    return written


def _trees(reader: Dialect, words: list[Token], text: str, own: Collection[str]) -> list[exp.Expr | None]:
    """What the words say; the functions ``own`` are calls without a meaning."""
    from sqlglot.tokenizer_core import Token, TokenType

    kept = [
        Token(TokenType.VAR, _AS_IT_IS + word.text, word.line, word.col, word.start, word.end)
        if word.text.upper() in own and after is not None and after.token_type is TokenType.L_PAREN
        else word
        for word, after in zip(words, [*words[1:], None], strict=True)
    ]
    return list(reader.parser(max_nodes=_MOST_NODES).parse(kept, text))


def _plain(node: exp.Expr, dialect: str, whole: Collection[str]) -> exp.Expr:
    """What a part of a text is called here, where the other words for it would be unknown, or mean more."""
    from sqlglot import exp

    match node:
        case exp.Anonymous() if str(node.this).startswith(_AS_IT_IS):
            node.set("this", str(node.this).removeprefix(_AS_IT_IS))
        case exp.WithinGroup():
            return _of_ordered(node)
        case exp.SafeDivide():
            return exp.Anonymous(this="SAFE_DIVIDE", expressions=[node.this, node.expression])
        case exp.Div():
            node.set("safe", False)  # a quotient by 0 is missing here, without further words
        case exp.Extract() if node.name.upper() == "DOW":
            return exp.Anonymous(this="DOW", expressions=[node.expression])
        case exp.DateTrunc() if node.args["unit"].name.upper() in _UNITS:
            node.set("unit", exp.Literal.string(_UNITS[node.args["unit"].name.upper()]))
        case exp.TsOrDsAdd() if node.text("unit").upper() in ("", "DAY"):
            return exp.paren(_days_later(node.this, node.expression))
        case exp.TimestampDiff() | exp.DateDiff() if dialect in _WHOLE_SPANS:
            _check_days(node, dialect)
        case exp.Cast() if dialect in _CUT and node.to.is_type(*exp.DataType.INTEGER_TYPES):
            node.set("this", _cut(node.this, whole))
        case exp.Convert() if dialect in _CUT and node.this.is_type(*exp.DataType.INTEGER_TYPES):
            node.set("expression", _cut(node.expression, whole))
    return node


def _days_later(day: exp.Expr, number: exp.Expr) -> exp.Expr:
    """The parser writes DATE_SUB(day, 3) as so many days later as 3 * -1."""
    from sqlglot import exp

    if isinstance(number, exp.Mul) and number.expression == exp.Neg(this=exp.Literal.number(1)):
        return exp.Sub(this=day, expression=exp.paren(number.this))
    return exp.Add(this=day, expression=exp.paren(number))


def _of_ordered(node: exp.Expr) -> exp.Expr:
    """PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x) as PERCENTILE_CONT(x, p)."""
    from sqlglot import exp

    order, call = node.expression.expressions, node.this
    if not isinstance(call, exp.Anonymous) or len(call.expressions) != 1 or len(order) != 1:
        return node
    if order[0].args.get("desc"):
        raise InvalidRequest(
            f"{call.this} in a falling order is not translated: write 1 - p and a rising one"
        )
    return exp.Anonymous(this=call.this, expressions=[order[0].this, call.expressions[0]])


def _check_days(node: exp.Expr, dialect: str) -> None:
    unit = node.text("unit").upper()
    if unit not in ("", "DAY"):
        raise InvalidRequest(
            f"{unit}S between two days are not translated from {dialect}, which counts those that are over: "
            f"DATE_DIFF('{unit.lower()}', a, b), without a dialect, is how many begin"
        )


def _cut(node: exp.Expr, whole: Collection[str]) -> exp.Expr:
    """Without what stands behind the point; what is surely a whole number, a truth or a string stays."""
    from sqlglot import exp

    for part in node.walk():
        of_column = isinstance(part, exp.Column) and part.name.casefold() in whole
        written = isinstance(part, exp.Literal) and (part.is_string or part.name.isdecimal())
        if not (of_column or written or isinstance(part, _kinds_without_fractions())):
            return exp.Anonymous(this="TRUNC", expressions=[node])
    return node


def _kinds_without_fractions() -> tuple[type, ...]:
    from sqlglot import exp

    signs = (exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.Predicate, exp.Connector, exp.Not)
    parts = (
        exp.Identifier,
        exp.Paren,
        exp.Boolean,
        exp.Null,
        exp.Case,
        exp.If,
        exp.Star,
        exp.Distinct,
        exp.Var,
    )
    aggregates = (exp.Count, exp.Sum, exp.Min, exp.Max, exp.Filter, exp.Where)
    texts = (exp.Substring, exp.Left, exp.Right, exp.Trim, exp.Extract, exp.Year, exp.Month, exp.Day)
    return (*signs, *parts, *aggregates, *texts)


def _check_nothing_is_lost(words: list[Token], written: str, dialect: str) -> None:
    """Every name, string and number of the text must be in what it became."""
    from sqlglot import Dialect
    from sqlglot.tokenizer_core import TokenType

    kinds = (TokenType.NUMBER, TokenType.STRING, TokenType.IDENTIFIER, TokenType.VAR)
    kept = {word.text.casefold() for word in Dialect.get_or_raise("duckdb").tokenize(written)}
    kept |= _SAY_NOTHING | ({"isoweek"} if "week" in kept else set())  # a week begins on Monday here
    kept |= {unit.casefold() for unit, meant in _UNITS.items() if meant.casefold() in kept}
    for before, word, after in zip([None, *words], words, [*words[1:], None], strict=False):
        calls = after is not None and after.token_type is TokenType.L_PAREN
        name = word.text.casefold()
        several = {name}
        if word.token_type is TokenType.IDENTIFIER:
            several = set(name.split("."))  # `schema.table`
        elif before is not None and before.token_type is TokenType.INTERVAL:
            several = set(name.split())  # '1 day' or '1' day
        if word.token_type in kinds and not calls and name not in kept and not several <= kept:
            raise InvalidRequest(
                f"{name[:40]!r} is lost when this is read as {dialect}: write it in other words"
            )
