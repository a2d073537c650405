"""What a statement means, by plain DuckDB on cleaned tables, beside what the curator says with no noise at all.

The statement itself is run, after the rewrites of ``MEANINGS``: they are all that docs/reference/sql.md says differently
from DuckDB, but for groups.  A row whose group is missing is in none, so each key must not be NULL; a declared group
without rows is shown, so a row that only the curator has must be empty.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from adyton.curator.curator import Curator
from adyton.curator.opening import engine_of
from adyton.errors import InvalidRequest
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.ledger.links import Header
from adyton.query.canonical import canonical_text
from adyton.query.request import Combined, Free, Request, asked_of
from adyton.study import Study
from sql_corpus.cases import Statement
from sql_corpus.studies import Rows, plain_tables, random_rows, study_of
from support.hostile_sql import quotes_the_text

PLENTY = 10**44  # of the ledger's units: a ten-thousandth of it leaves no noise above 1e-9, rounded to 0
SHARE = "0.0001"
MEANINGS = [
    # nothing is interpolated
    (r"\bMEDIAN\(", "lower_median("),
    (r"\b(QUANTILE|QUANTILE_CONT|APPROX_QUANTILE|APPROX_PERCENTILE)\(", "quantile_disc("),
    (r"\bPERCENTILE_CONT\((?=[\d.]+\))", "PERCENTILE_DISC("),
    (r"\bPERCENTILE_CONT\(", "quantile_disc("),
    # n, never n - 1
    (r"\b(VARIANCE|VAR_SAMP)\(", "var_pop("),
    (r"\b(STDDEV|STDDEV_SAMP)\(", "stddev_pop("),
    (r"\bCOVAR_SAMP\(", "covar_pop("),
    # missing where the first is missing; DuckDB's own take the other one then
    (r"\b(LEAST|GREATEST)\(", r"strict_\1("),
    (r"==", "="),
]
MACROS = """
CREATE MACRO lower_median(x) AS quantile_disc(x, 0.5);
CREATE MACRO strict_least(x, y) AS CASE WHEN x <= y THEN x WHEN x > y THEN y END;
CREATE MACRO strict_greatest(x, y) AS CASE WHEN x >= y THEN x WHEN x < y THEN y END;
CREATE MACRO clamp(x, low, high) AS CASE WHEN x < low THEN low WHEN x > high THEN high ELSE x END;
CREATE MACRO square(x) AS x * x;
CREATE MACRO iif(c, x, y) AS CASE WHEN c THEN x ELSE y END;
CREATE MACRO proportion(c) AS avg(CASE WHEN c THEN 1.0 ELSE 0.0 END);
CREATE MACRO safe_divide(x, y) AS x / nullif(y, 0);
"""


@dataclass
class Court:
    """A study with random rows: a curator whose answers have no noise, and the cleaned tables."""

    name: str
    study: Study = field(repr=False)
    rows: Rows = field(repr=False)
    curator: Curator
    plain: duckdb.DuckDBPyConnection
    ledger: MemoryLedger
    read: list[tuple[Any, Any]] = field(
        default_factory=list, repr=False
    )  # readings, and the integers that they came to

    def ask(self, sql: str, dialect: str | None = None, share: Any = SHARE) -> Any:
        """The answer, or the refusal; any other error escapes."""
        told: Any = {"share": share} if dialect is None else {"share": share, "dialect": dialect}
        try:
            return self.curator.ask(sql, **told)
        except InvalidRequest as refused:
            return refused


def canonical(study: Study, sql: str) -> list[str]:
    """The texts of the queries that are asked, whatever the answer's rows are called and how they are shown."""
    match asked_of(sql, *study.tables):
        case Request(query):
            return [canonical_text(query)]
        case Combined(parts):
            return [canonical_text(part.request.query) for part in parts]
        case Free():
            return []


WITHOUT_PLACE = ("no declared group can match", "the text asks nothing", "unknown option 'dialect'")


def says_where(refused: InvalidRequest, sql: str, dialect: str | None = None) -> bool:
    """Whether a refusal names its place, where it has one, and quotes what stands there."""
    _, _, translated = refused.message.partition("this was read as: ")  # the place is one of that text
    if not quotes_the_text(refused.message, translated if dialect else sql):
        return False
    found = re.search(r"\(line \d+, column \d+", refused.message)
    return found is not None or any(said in refused.message for said in WITHOUT_PLACE)


class Recording:
    """An engine that remembers what it was asked and what it said."""

    def __init__(self, engine: Any, read: list[tuple[Any, Any]]) -> None:
        self._engine, self._read = engine, read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def exact(self, readings: Sequence[Any]) -> Any:
        exact = self._engine.exact(readings)
        self._read += zip(readings, exact, strict=True)
        return exact


@contextmanager
def court(name: str, seed: int, folder: Path, **kind_of_rows: int) -> Iterator[Court]:
    study, rows = study_of(name, folder), random_rows(name, seed, **kind_of_rows)
    plain = plain_tables(name, rows)
    plain.execute(MACROS)
    engine = engine_of(study, {table: rows.arrow(table) for table in rows.tables}, {"threads": 1})
    ledger = MemoryLedger(Header.fresh(study.fingerprint, study.accounting, PLENTY))
    read: list[tuple[Any, Any]] = []
    with Curator(study, Recording(engine, read), ledger) as curator:  # type: ignore[arg-type]
        yield Court(name, study, rows, curator, plain, ledger, read)
    plain.close()


# What is right -----------------------------------------------------------------------------------------------


@cache
def judged_text(statement: Statement) -> str:
    """The statement in DuckDB's words, with its documented meaning."""
    if statement.judge is not None:
        return statement.judge
    text = statement.sql
    for said, meant in MEANINGS:
        text = re.sub(said, meant, text, flags=re.IGNORECASE)
    tree = sqlglot.parse_one(text, read=statement.dialect or "duckdb")
    for select in list(tree.find_all(exp.Select)):
        if select.args.get("group") is not None:
            _present_keys_only(select)
    return tree.sql(dialect="duckdb")


def _present_keys_only(select: exp.Select) -> None:
    group = select.args["group"]
    kinds = (exp.Rollup, exp.Cube, exp.GroupingSets)
    held = [
        *group.expressions,
        *(one for word in ("rollup", "cube", "grouping_sets") for one in group.args.get(word) or []),
    ]
    sets = [one for one in held if isinstance(one, kinds)]
    if group.args.get("all"):
        keys = [item.unalias() for item in select.expressions if not _aggregates(item)]
        group.set("all", None)  # written out: DuckDB would also group by what HAVING names
        group.set("expressions", [key.copy() for key in keys])
    else:
        keys = [_written_out(key, select) for key in group.expressions if not isinstance(key, kinds)]
    present = [exp.Not(this=exp.Is(this=exp.paren(key.copy()), expression=exp.Null())) for key in keys]
    for several in sets:
        found = {column.sql() for column in several.find_all(exp.Column)}
        present += [
            sqlglot.parse_one(f"(GROUPING({name}) = 1 OR {name} IS NOT NULL)") for name in sorted(found)
        ]
    for condition in present:
        select.having(condition, copy=False)


def _aggregates(item: exp.Expression) -> bool:
    own = any(call.name.upper() in ("PROPORTION", "LOWER_MEDIAN") for call in item.find_all(exp.Anonymous))
    return own or item.find(exp.AggFunc) is not None


def _written_out(key: exp.Expression, select: exp.Select) -> exp.Expression:
    if isinstance(key, exp.Literal) and not key.is_string:
        return select.expressions[int(key.this) - 1].unalias()
    return key


# Comparing ---------------------------------------------------------------------------------------------------

_ENDS = re.compile(r"(.*)_(noise|population)_(low|high)")


def wrong(
    statement: Statement, answer: Any, plain: duckdb.DuckDBPyConnection, may_say_nothing: bool = False
) -> str | None:
    """Why the answer is not what the statement means, or None.

    Where a statement counts ``n_rows``, groups without any are not compared.
    """
    said = plain.execute(judged_text(statement))
    names = [column[0] for column in said.description]
    truth = [dict(zip(names, row, strict=True)) for row in said.fetchall()]
    found = answer.records()
    shown = list(found[0] if found else answer.to_pandas().columns)
    missing = [name for name in names if name not in shown]
    if missing:
        return f"no column {missing[0]!r} among {shown}"
    truth, found = ([r for r in rows if r.get("n_rows", 1) not in (0, None)] for rows in (truth, found))
    if statement.ordered:
        pairs = list(zip(truth, found, strict=False))
        if len(truth) != len(found):
            return f"{len(found)} rows, not {len(truth)}: {found} is not {truth}"
    else:
        keys = [name for name in names if _is_key(name, found)]
        pairs, unexpected = _paired(truth, found, keys)
        if unexpected:
            return unexpected
    for right, given in pairs:
        for name in names:
            if may_say_nothing and given[name] is None:
                continue
            reason = _differs(given, name, right[name], statement.tolerance)
            if reason:
                return f"{name}: {reason} in {given}, not {right}"
    return None


def _is_key(name: str, found: list[dict[str, Any]]) -> bool:
    """A value has a noise interval; all else tells rows apart."""
    return not found or f"{name}_noise_low" not in found[0]


def _paired(
    truth: list[dict[str, Any]], found: list[dict[str, Any]], keys: list[str]
) -> tuple[list[tuple[dict[str, Any], dict[str, Any]]], str | None]:
    """Rows with the same keys, in the order in which each side has them; what only the curator has must be empty."""
    left: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in found:
        left.setdefault(tuple(_plain(row[key]) for key in keys), []).append(row)
    pairs = []
    for row in truth:
        key = tuple(_plain(row[name]) for name in keys)
        if not left.get(key):
            return [], f"no row {key}: there are {list(left)}"
        pairs.append((row, left[key].pop(0)))
    for rows in left.values():
        for row in rows:
            values = [v for n, v in row.items() if f"{n}_noise_low" in row]
            if any(v not in (None, 0) for v in values):
                return [], f"a row that should not be there: {row}"
    return pairs, None


def _differs(row: dict[str, Any], name: str, right: Any, tolerance: float) -> str | None:
    given, right = _plain(row[name]), _plain(right)
    if right is None:  # of no rows: a sum is 0 here, a mean says nothing
        return None if given in (None, 0) or f"{name}_noise_low" in row else f"{given!r} is not NULL"
    if tolerance and _is_day(given) and _is_day(right):
        apart = abs((datetime.date.fromisoformat(given) - datetime.date.fromisoformat(right)).days)
        return None if apart <= tolerance else f"{given} is {apart} days from {right}"
    if isinstance(right, str) or isinstance(given, str):
        return None if given == right else f"{given!r} is not {right!r}"
    if given is None:
        return f"nothing, not {right!r}"
    room = 1e-7 * max(1.0, abs(right))
    if abs(given - right) > tolerance + room:
        return f"{given!r} is not {right!r}"
    low, high = (row.get(f"{name}_noise_{end}") for end in ("low", "high"))
    low, high = (-math.inf if low is None else _plain(low)), (math.inf if high is None else _plain(high))
    if not low - room <= right <= high + room:
        return f"{right!r} is not between {low} and {high}"
    return None


def _is_day(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value) is not None


def _plain(value: Any) -> Any:
    """Numbers as floats, true and false as numbers, days as texts."""
    match value:
        case bool() | int() | float() | Decimal():
            return None if isinstance(value, float) and math.isnan(value) else float(value)
        case "true" | "false":
            return float(value == "true")
        case datetime.datetime():
            return value.isoformat(sep=" ") if value.time() != datetime.time() else value.date().isoformat()
        case datetime.date():
            return value.isoformat()
    return value
