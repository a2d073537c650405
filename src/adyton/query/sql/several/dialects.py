"""Queries in the words of another database: read in its dialect, and written in the words of this project.

What cannot be written is refused, and so is what databases do not agree on where the translation is not known
to.  The result is read like any other text, so nothing gets past the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from adyton.errors import InvalidRequest
from adyton.kernel.schema import Table
from adyton.query.sql.several.kinds import Kind, Kinds
from adyton.query.sql.several.lists import in_list

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
# What the parser would translate into something else.
_REFUSED = {"redshift": {"ADD_MONTHS"}, "postgres": {"DATEDIFF", "DATE_DIFF"}}
_AS_IT_IS = "as_it_is_"
_CUT = ("spark", "sqlite", "tsql")  # a CAST to whole numbers leaves out what stands behind the point
_WHOLE_SPANS = ("mysql", "spark")  # the months between two days are those that are over
_LISTS = ("duckdb", "postgres", "redshift")  # have ANY (list), and value::type
_EVEN = ("duckdb", "postgres")  # a CAST of a DOUBLE takes the even one of two whole numbers that are as near
_BASE_TEN = ("duckdb", "postgres", "redshift", "sqlite")  # is that of LOG(x)
_ALIKE = ("mysql", "sqlite", "tsql")  # LIKE does not tell capitals from small letters
_NO_DAYS = ("bigquery", "mysql", "spark", "sqlite", "tsql")  # is what they make of DATE - DATE
_WHOLE_QUOTIENT = (
    "In {0}, a quotient of two whole numbers is cut to a whole number: 7/5 is 1; write 7/5.0 for 1.4."
)
_REAL_QUOTIENT = (
    "In {0}, a quotient of two whole numbers such as counts is cut to a whole number. Counts with noise are "
    "of type DOUBLE PRECISION, and their quotient is not cut."
)
_UNITS = {"MM": "MONTH", "MON": "MONTH", "YY": "YEAR", "YYYY": "YEAR"}


def known_dialect(name: object) -> str:
    """The dialect of this name, if there is one."""
    if not isinstance(name, str) or name.lower() not in DIALECTS:
        raise InvalidRequest(f"there is no dialect {str(name)[:40]!r}; known are {', '.join(DIALECTS)}")
    return name.lower()


class Translation(NamedTuple):
    """A text in the words that are understood here, and what is to be said about its meaning there."""

    text: str
    remarks: tuple[str, ...] = ()


@dataclass(slots=True)
class _Meant:
    """What the parts of a text mean in its dialect, found out before any of them is replaced."""

    dialect: str
    kinds: Kinds
    inside: dict[int, Kind] = field(default_factory=dict)  # by what is inside it
    quotients: set[int] = field(default_factory=set)  # that are cut to whole numbers
    remarks: dict[str, None] = field(default_factory=dict)
    joined: set[str] = field(default_factory=set)  # strings that became one with others

    def look_at(self, node: exp.Expr) -> None:
        from sqlglot import exp

        match node:
            case exp.Div():
                self._look_at_quotient(node)
            case exp.EQ() | exp.NEQ():
                self.inside[id(node)] = self.kinds.of(node.this)
            case exp.Convert():
                self.inside[id(node)] = self.kinds.of(node.expression)
            case exp.Cast() | exp.Round() if not self.kinds.is_released(node.this):
                self.inside[id(node)] = self.kinds.of(node.this)
            case exp.Cast():
                self.inside[id(node)] = "whole" if self.kinds.of(node.this) == "whole" else "numeric"
            case exp.Mod() | exp.Sub():
                sides = self.kinds.of(node.this), self.kinds.of(node.expression)
                if isinstance(node, exp.Sub) and sides == ("date", "date") and self.dialect in _NO_DAYS:
                    reason = "write DATEDIFF for the days between them"
                    raise InvalidRequest(f"DATE - DATE is no number of days in {self.dialect}: {reason}")
                self.inside[id(node)] = "whole" if sides == ("whole", "whole") else "other"

    def _look_at_quotient(self, node: exp.Expr) -> None:
        from sqlglot import exp

        if not node.args.get("typed") or self.kinds.of(node) != "whole":
            return
        if self.kinds.is_released(node.this) or self.kinds.is_released(node.expression):
            self.remarks[_REAL_QUOTIENT.format(self.dialect)] = None
            return
        self.quotients.add(id(node))
        above = node.parent
        while isinstance(above, exp.Paren):
            above = above.parent
        if not isinstance(above, exp.Floor | exp.Trunc):  # which would cut it anyway
            self.remarks[_WHOLE_QUOTIENT.format(self.dialect)] = None

    def is_cut(self, node: exp.Expr) -> bool:
        """Whether it is a quotient that was written as DIV."""
        from sqlglot import exp

        inner = node.unnest()
        return bool(self.quotients) and isinstance(inner, exp.Anonymous) and inner.name == "DIV"

    def has_fraction(self, node: exp.Expr) -> bool:
        """Whether what is inside may have digits behind the point."""
        return self.inside.get(id(node)) not in ("whole", "truth", "text", "null")


def translated(text: str, dialect: str, *tables: Table) -> str:
    """``text`` about ``tables``, written in ``dialect``, in the words that are understood here."""
    return translation(text, dialect, *tables).text


def translation(text: str, dialect: str, *tables: Table) -> Translation:
    """The same with what is to be said about it."""
    dialect = known_dialect(dialect)
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        return Translation(text)  # refused by whoever reads it
    head = _HEAD.match(text)
    plain = text if head is None else f"SELECT{text[head.end() :]}"
    written, remarks = _written(plain, dialect, tables)
    if head is None:
        return Translation(written, remarks)
    if not written.startswith("SELECT "):
        raise InvalidRequest(
            f"OPTIONS stand behind the first SELECT; the text is read as {dialect}", reason="syntax"
        )
    return Translation(f"SELECT {head[1]} {written.removeprefix('SELECT ')}", remarks)


def is_written_in(text: str, dialect: str) -> bool:
    """Whether ``text`` can be read as SQL of this dialect, whatever it says."""
    head = _HEAD.match(text)
    try:
        _tree_of(text if head is None else f"SELECT{text[head.end() :]}", dialect)
    except InvalidRequest:
        return False
    return True


def _tree_of(text: str, dialect: str) -> tuple[exp.Expr, list[Token]]:
    from sqlglot import Dialect, exp

    try:
        reader = Dialect.get_or_raise(dialect)
        words = reader.tokenize(text)
        own = _OWN | _REFUSED.get(dialect, set())
        trees = [tree for tree in _trees(reader, words, text, own) if tree is not None]
    except Exception:  # whatever it was, the text is what caused it
        raise InvalidRequest(f"this cannot be read as SQL of {dialect}", reason="syntax") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise InvalidRequest(f"a query is one SELECT; this is not one in {dialect}")
    return trees[0], words


def _written(text: str, dialect: str, tables: Sequence[Table]) -> Translation:
    from sqlglot import exp
    from sqlglot.errors import ErrorLevel

    tree, words = _tree_of(text, dialect)
    said = {word.text.upper() for word in words}
    if dialect not in _MONDAYS and said & _WEEKS:
        reason = "databases do not agree on weeks and their days: write ISOWEEK or ISODOW, without a dialect"
        raise InvalidRequest(
            f"{min(said & _WEEKS)} is not translated from {dialect}: {reason}", reason="not_supported"
        )
    meant = _Meant(dialect, Kinds(dialect, tables))
    try:
        nodes = list(tree.walk())
        for node in nodes:
            meant.look_at(node)
        for node in reversed(nodes):  # what is inside comes first
            node.replace(_plain(node, meant))
        if "NULLS" not in said:  # what is missing comes last here, whatever the other database does
            for ordered in tree.find_all(exp.Ordered):
                ordered.set("nulls_first", False)
        written = tree.sql(dialect="duckdb", comments=False, unsupported_level=ErrorLevel.RAISE)
    except InvalidRequest:
        raise
    except Exception:
        raise InvalidRequest(f"this cannot be said in other words than those of {dialect}") from None
    _check_nothing_is_lost(words, written, meant)
    return Translation(written, tuple(meant.remarks))


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


def _plain(node: exp.Expr, meant: _Meant) -> exp.Expr:
    """What a part of a text is called here, where the other words for it would be unknown, or mean more."""
    from sqlglot import exp

    dialect = meant.dialect
    match node:
        case exp.Anonymous() if str(node.this).startswith(_AS_IT_IS):
            node.set("this", str(node.this).removeprefix(_AS_IT_IS))
        case exp.WithinGroup():
            return _of_ordered(node, meant.joined)
        case exp.SafeDivide():
            return exp.Anonymous(this="SAFE_DIVIDE", expressions=[node.this, node.expression])
        case exp.Div():
            node.set("safe", False)  # a quotient by 0 is missing here, without further words
            if id(node) in meant.quotients:
                return exp.Anonymous(this="DIV", expressions=[node.this.unnest(), node.expression.unnest()])
        case exp.Extract() if node.name.upper() == "DOW":
            return exp.Anonymous(this="DOW", expressions=[node.expression])
        case exp.DateTrunc() if node.args["unit"].name.upper() in _UNITS:
            node.set("unit", exp.Literal.string(_UNITS[node.args["unit"].name.upper()]))
        case exp.TsOrDsAdd() if node.text("unit").upper() in ("", "DAY"):
            return exp.paren(_days_later(node.this, node.expression))
        case exp.TimestampDiff() | exp.DateDiff() if dialect in _WHOLE_SPANS:
            _check_days(node, dialect)
        case exp.Cast() | exp.Convert() | exp.Round():
            return _of_kind(node, meant)
        case exp.Floor() | exp.Trunc() if meant.is_cut(node.this):
            cut: exp.Expr = node.this
            return cut  # is whole already
        case exp.Mod() if dialect == "sqlite" and meant.has_fraction(node):
            for side in ("this", "expression"):
                node.set(side, exp.Anonymous(this="TRUNC", expressions=[node.args[side]]))
        case exp.Log() if dialect in _BASE_TEN and node.args.get("expression") is None:
            return exp.Anonymous(this="LOG10", expressions=[node.this])
        case exp.Like() if dialect in _ALIKE:
            return exp.ILike(**node.args)
        case exp.DPipe() | exp.EQ() | exp.NEQ() if dialect in _LISTS:
            if isinstance(node, exp.DPipe):
                return _joined(node, meant)
            return in_list(node, meant.joined, of_truths=meant.inside[id(node)] == "truth")
    return node


def _of_kind(node: exp.Expr, meant: _Meant) -> exp.Expr:
    """CAST and ROUND, which databases do not do alike with halves."""
    from sqlglot import exp

    rounds_even = meant.inside.get(id(node)) == "double"
    if isinstance(node, exp.Round):
        if meant.dialect == "postgres" and rounds_even and node.args.get("decimals") is None:
            return exp.Anonymous(this="ROUND_EVEN", expressions=[node.this])
        return node
    kind, part = (node.this, "expression") if isinstance(node, exp.Convert) else (node.args["to"], "this")
    if kind.is_type(*exp.DataType.INTEGER_TYPES):
        if meant.dialect in _CUT and meant.has_fraction(node):
            node.set(part, exp.Anonymous(this="TRUNC", expressions=[node.args[part]]))
        elif meant.dialect in _EVEN and rounds_even:
            node.set(part, exp.Anonymous(this="ROUND_EVEN", expressions=[node.args[part]]))
    if meant.dialect in _LISTS and isinstance(node.this, exp.Literal) and not kind.expressions:
        return _literal_of(node.this, kind) or node
    return node


def _literal_of(literal: exp.Expr, kind: exp.Expr) -> exp.Expr | None:
    """A literal without its cast, where that changes nothing."""
    from sqlglot import exp

    is_whole = literal.name.isdecimal() and kind.is_type(*exp.DataType.INTEGER_TYPES)
    if literal.is_string:
        if kind.is_type(exp.DType.TEXT, exp.DType.VARCHAR):
            return literal
        return exp.Literal.number(literal.name) if is_whole else None
    reals = kind.is_type(exp.DType.DOUBLE, exp.DType.DECIMAL)
    return literal if is_whole or reals else None


def _joined(node: exp.Expr, meant: _Meant) -> exp.Expr:
    """'a' || 'b' as 'ab'."""
    from sqlglot import exp

    sides = node.this, node.expression
    if not all(isinstance(one, exp.Literal) and one.is_string for one in sides):
        return node
    meant.joined |= {one.name.casefold() for one in sides}
    return exp.Literal.string("".join(one.name for one in sides))


def _days_later(day: exp.Expr, number: exp.Expr) -> exp.Expr:
    """The parser writes DATE_SUB(day, 3) as so many days later as 3 * -1."""
    from sqlglot import exp

    if isinstance(number, exp.Mul) and number.expression == exp.Neg(this=exp.Literal.number(1)):
        return exp.Sub(this=day, expression=exp.paren(number.this))
    return exp.Add(this=day, expression=exp.paren(number))


def _of_ordered(node: exp.Expr, joined: set[str]) -> exp.Expr:
    """PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x) as PERCENTILE_CONT(x, p), and MODE() as MODE(x)."""
    from sqlglot import exp

    order, call = node.expression.expressions, node.this
    if len(order) != 1:
        return node
    if isinstance(call, exp.Mode) and call.this is None:
        return exp.Anonymous(this="MODE", expressions=[order[0].this])
    if not isinstance(call, exp.Anonymous) or len(call.expressions) != 1:
        return node
    share = call.expressions[0]
    if order[0].args.get("desc"):
        if call.name.upper() != "PERCENTILE_CONT" or not isinstance(share, exp.Literal) or share.is_string:
            raise InvalidRequest(
                f"{call.this} in a falling order is not translated: write 1 - p and a rising one",
                reason="not_supported",
            )
        joined.add(share.name)
        share = exp.Literal.number(str(1 - Decimal(share.name)))
    return exp.Anonymous(this=call.this, expressions=[order[0].this, share])


def _check_days(node: exp.Expr, dialect: str) -> None:
    unit = node.text("unit").upper()
    if unit not in ("", "DAY"):
        raise InvalidRequest(
            f"{unit}S between two days are not translated from {dialect}, which counts those that are over: "
            f"DATE_DIFF('{unit.lower()}', a, b), without a dialect, is how many begin"
        )


def _check_nothing_is_lost(words: list[Token], written: str, meant: _Meant) -> None:
    """Every name, string and number of the text must be in what it became."""
    from sqlglot import Dialect
    from sqlglot.tokenizer_core import TokenType

    kinds = (TokenType.NUMBER, TokenType.STRING, TokenType.IDENTIFIER, TokenType.VAR)
    kept = {word.text.casefold() for word in Dialect.get_or_raise("duckdb").tokenize(written)}
    kept |= _SAY_NOTHING | ({"isoweek"} if "week" in kept else set())  # a week begins on Monday here
    kept |= {short.casefold() for short, unit in _UNITS.items() if unit.casefold() in kept} | meant.joined
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
                f"{name[:40]!r} is lost when this is read as {meant.dialect}: write it in other words"
            )
