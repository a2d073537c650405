"""Words of other databases, and what to write in their place, or why there is nothing.

Examples are made of the columns of the table that is asked about, as far as it has some of that kind.
"""

from __future__ import annotations

from adyton.kernel.schema import CategoryColumn, DateColumn, IntegerColumn, RealColumn, Table
from adyton.query.released.windows import ENDS, RANKS, SHIFTS
from adyton.query.text import from_text, name_text, value_text

_CHANGES = "queries change nothing"
_LISTED = "list the values that are meant: {listed}"
_NOT_COMPARED = "rows of answers are never compared with one another; UNION ALL puts them together"
_ONE = "ask one SELECT at a time"
_QUANTILE = "write QUANTILE(number, fraction), such as QUANTILE({number}, 0.5)"
_SINGLE_ROWS = "single rows are never answered; ask for aggregates"
_FROM_GROUPS = (
    "write SELECT {category}, COUNT(*) FROM {table} GROUP BY {category}, and compute it from the answer"
)
_HIGHER_MOMENT = "write AVG, VARIANCE and QUANTILE of {number}; higher moments would be mostly noise"
_PRODUCT = "a product of many rows has no useful bounds"
_ROW_OF_EXTREME = (
    "that is a value of a single row; write MAX({number}), or AVG with WHERE; of groups, "
    "ARG_MAX(key, value) FROM (SELECT key, COUNT(*) AS value ... GROUP BY key)"
)
_BITS = "one row can change every bit of it"
_TODAY = "an answer must not depend on the day it is asked; write the day: DATE '2020-01-31'"
_WINDOW = "windows look at the rows of the answer; they stand in SELECT, QUALIFY and ORDER BY"
_BEGINS = "a query begins with SELECT"
_CHANCE = "an answer must not depend on chance but for its noise"
_MONTHS = (
    "write DATE_DIFF('month', {day}, DATE '2020-01-31'), which counts the months that begin between them"
)
_WEEKDAY = (
    "its first day differs among databases; write ISODOW({day}), Monday is 1, or DOW({day}), Sunday is 0"
)
_QUOTED = 'a name is quoted as "name"'
_POWER = "write POWER({number}, 2)"
_VALUE = "write the value itself into the query"
_LIMIT = "write LIMIT and a number at the end of the query"

NO_ON = "say on which columns: JOIN table ON a.key = b.key, or USING (key)"

_REASONS: dict[str, str] = {
    "!": "write NOT",
    "#": "a comment begins with --",
    "&&": "write AND",
    "**": _POWER,
    ":": _VALUE,
    "?": _VALUE,
    "@": _VALUE,
    "ADD_MONTHS": "databases differ on the last days of months; write {day} + INTERVAL 1 MONTH",
    "AGE": _MONTHS,
    "ANY": "write out what is meant",
    "APPROX_QUANTILES": _QUANTILE,
    "CURRENT_DATE": _TODAY,
    "CURRENT_TIMESTAMP": _TODAY,
    "DAYOFWEEK": _WEEKDAY,
    "EXCEPT": _NOT_COMPARED,
    "EXISTS": "public tables are looked up in SQL, not in a condition that stands alone",
    "FETCH": _LIMIT,
    "GETDATE": _TODAY,
    "INTERSECT": _NOT_COMPARED,
    "INTO": _CHANGES,
    "LOCALTIMESTAMP": _TODAY,
    "LOG": "its base differs among databases; write LN({number} + 1) or LOG10({number} + 1)",
    "LOG2": "write LN({number} + 1) or LOG10({number} + 1); LOG2 is for what is released",
    "MAKE_DATE": "write the day: DATE '2020-01-31'; or DATE_TRUNC('month', {day})",
    "MONTHS_BETWEEN": _MONTHS,
    "NATURAL": NO_ON,
    "NOW": _TODAY,
    "POSITION": "write STRPOS({category}, 'part')",
    "RAND": _CHANCE,
    "RANDOM": _CHANCE,
    "REGEXP_CONTAINS": _LISTED,
    "REGEXP_LIKE": _LISTED,
    "REGEXP_MATCHES": _LISTED,
    "REGEXP_REPLACE": _LISTED,
    "RLIKE": _LISTED,
    "SAFE_DIVIDE": "say between which bounds it lies: CLAMP(SAFE_DIVIDE(a, b), low, high)",
    "SIMILAR": _LISTED,
    "SYSDATE": _TODAY,
    "TIMESTAMPDIFF": _MONTHS,
    "TODAY": _TODAY,
    "TOP": _LIMIT,
    "WEEKDAY": _WEEKDAY,
    "XOR": "write (a) <> (b)",
    "[": _QUOTED,
    "^": _POWER,
    "`": _QUOTED,
    "{": _VALUE,
    "~": _LISTED,
    **dict.fromkeys(("ANY_VALUE", "FIRST", "LAST", "LIST", "ARRAY_AGG", "COLLECT_LIST"), _SINGLE_ROWS),
    **dict.fromkeys(("COLLECT_SET", "GROUP_CONCAT", "LISTAGG", "STRING_AGG", "XMLAGG"), _SINGLE_ROWS),
    **dict.fromkeys(("JSON_AGG", "JSONB_AGG", "JSON_OBJECT_AGG", "MAP_AGG", "OBJECT_AGG"), _SINGLE_ROWS),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN", "ARGMAX", "ARGMIN", "MAX_BY", "MIN_BY"), _ROW_OF_EXTREME),
    **dict.fromkeys(("KURTOSIS", "KURTOSIS_POP", "SKEWNESS", "SKEW"), _HIGHER_MOMENT),
    **dict.fromkeys(("REGR_SXX", "REGR_SXY", "REGR_SYY"), "write REGR_COUNT, and VARIANCE or COVAR_POP"),
    **dict.fromkeys(("GEOMEAN", "GEOMETRIC_MEAN", "PRODUCT"), _PRODUCT),
    **dict.fromkeys(("BIT_AND", "BIT_OR", "BIT_XOR", "CHECKSUM", "HASH_AGG"), _BITS),
    "ENTROPY": _FROM_GROUPS,
    "MAD": _QUANTILE,
    **dict.fromkeys(("ALTER", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "MERGE", "UPDATE"), _CHANGES),
    **dict.fromkeys((*RANKS, *SHIFTS, *ENDS), _WINDOW),
    **dict.fromkeys(("CALL", "DESCRIBE", "EXPLAIN", "PRAGMA", "SHOW", "VALUES"), _BEGINS),
}


def reason_against(word: str, table: Table) -> str | None:
    """Why ``word`` is not supported or what to write, with an example of the table's own; None if unknown."""
    if (reason := _REASONS.get(word)) is None:
        return None
    categories = [column for column in table.columns if isinstance(column, CategoryColumn)]
    numbers = [name_text(c.name) for c in table.columns if isinstance(c, IntegerColumn | RealColumn)]
    days = [name_text(column.name) for column in table.columns if isinstance(column, DateColumn)]
    listed = "column IN ('a', 'b')"
    if categories:
        values = ", ".join(map(value_text, categories[0].values[:2]))
        listed = f"{name_text(categories[0].name)} IN ({values})"
    return reason.format(
        listed=listed,
        number=numbers[0] if numbers else "x",
        day=days[0] if days else "day",
        category=name_text(categories[0].name) if categories else "category",
        table=from_text(table),
    )
