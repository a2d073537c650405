"""Words of other databases, and what to write in their place, or why there is nothing.

Examples are made of the columns of the table that is asked about, as far as it has some of that kind.
"""

from __future__ import annotations

from adyton.query.text import name_text, value_text
from adyton.query.windows import ENDS, RANKS, SHIFTS
from adyton.schema import CategoryColumn, DateColumn, IntegerColumn, RealColumn, Table

_CASE = "write CASE WHEN condition THEN number ELSE number END"
_CHANGES = "questions change nothing"
_LISTED = "list the values that are meant: {listed}"
_NO_BOUNDS = "its bounds are not known, or a row could make it fail"
_ONE = "ask one SELECT at a time"
_PARTS = (
    "write YEAR({day}), QUARTER({day}), MONTH({day}), DAY({day}) or ISODOW({day}), "
    "alone or as groups side by side"
)
_QUANTILE = "write QUANTILE(number, fraction), such as QUANTILE({number}, 0.5)"
_ROUNDED = (
    "write FLOOR({number}), or FLOOR({number} + 0.5) to round; what is released can be rounded afterwards"
)
_SINGLE_ROWS = "single rows are never answered; ask for aggregates"
_TODAY = "write the day: DATE '2020-01-31'"
_TOGETHER = "ask for one set of groups at a time"
_WINDOW = "windows look at the rows of the answer; they stand in SELECT, QUALIFY and ORDER BY"
_BEGINS = "a question begins with SELECT"
_CONVERTED = "columns have declared kinds and are never converted"
_QUOTED = 'a name is quoted as "name"'
_REMAINDER = "write CLAMP({number} - FLOOR({number} / 10) * 10, 0, 9)"
_IF_MISSING = "write CASE WHEN {number} IS NULL THEN 0 ELSE {number} END"
_SQUARED = "write {number} * {number}, or SQUARE({number})"
_VALUE = "write the value itself into the question"
LIMIT = "write LIMIT and a number at the end of the question"
EVERY_COLUMN = "list what to group by: GROUP BY {both}"

_REASONS: dict[str, str] = {
    "!": "write NOT",
    "#": "a comment begins with --",
    "%": _REMAINDER,
    "&&": "write AND",
    ":": _VALUE,
    "::": _CONVERTED,
    "?": _VALUE,
    "@": _VALUE,
    "[": _QUOTED,
    "^": _SQUARED,
    "`": _QUOTED,
    "{": _VALUE,
    "||": "strings are not joined; to group by both columns, list both: GROUP BY {both} (a logical or is OR)",
    "~": _LISTED,
    "ABS": ("write CLAMP(CASE WHEN {number} < 0 THEN -{number} ELSE {number} END, 0, the maximum)"),
    "ALL": "leave it out, or write out what is meant",
    "ANY": "write out what is meant",
    "ANY_VALUE": _SINGLE_ROWS,
    "APPROX_COUNT_DISTINCT": "write COUNT(DISTINCT person), where the unit is a person",
    "APPROX_QUANTILES": _QUANTILE,
    "ARRAY_AGG": _SINGLE_ROWS,
    "CAST": _CONVERTED,
    "CEIL": "write -FLOOR(-{number})",
    "CEILING": "write -FLOOR(-{number})",
    "COALESCE": _IF_MISSING,
    "CROSS": "tables are joined by JOIN and ON, on the person or on a declared key",
    "CUBE": _TOGETHER,
    "CURRENT_DATE": _TODAY,
    "DATE": "write DATE '2020-01-31'",
    "DATE_PART": _PARTS,
    "DATE_TRUNC": _PARTS,
    "DATEPART": _PARTS,
    "EXCEPT": _ONE,
    "EXISTS": _ONE,
    "EXP": _NO_BOUNDS,
    "FETCH": LIMIT,
    "FIRST": _SINGLE_ROWS,
    "GROUP": _QUANTILE,  # PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)
    "GROUPING SETS": _TOGETHER,
    "IF": _CASE,
    "IFNULL": _IF_MISSING,
    "IIF": _CASE,
    "ILIKE": _LISTED,
    "INTERSECT": _ONE,
    "INTO": _CHANGES,
    "LIKE": _LISTED,
    "LN": _NO_BOUNDS,
    "LOG": "it means base 10 in some databases and base e in others; write LN or LOG10 of what is released",
    "LOG10": _NO_BOUNDS,
    "LOG2": _NO_BOUNDS,
    "LOWER": _LISTED,
    "MEAN": "write AVG(number)",
    "MOD": _REMAINDER,
    "NATURAL": "say on which columns: JOIN table ON a.key = b.key, or USING (key)",
    "NOW": _TODAY,
    "NULLIF": _CASE,
    "NVL": _IF_MISSING,
    "PERCENTILE_DISC": _QUANTILE,
    "POW": _SQUARED,
    "POWER": _SQUARED,
    "QUANTILE_CONT": _QUANTILE,
    "QUANTILE_DISC": _QUANTILE,
    "REGEXP_LIKE": _LISTED,
    "ROLLUP": _TOGETHER,
    "ROUND": _ROUNDED,
    "SAFE_DIVIDE": "a row is divided by a literal only",
    "SIGN": _CASE,
    "SQRT": _NO_BOUNDS,
    "STRFTIME": _PARTS,
    "STRING_AGG": _SINGLE_ROWS,
    "TO_CHAR": _PARTS,
    "TOP": LIMIT,
    "TRUNC": _ROUNDED,
    "TRY_CAST": _CONVERTED,
    "UNION": _ONE,
    "UPPER": _LISTED,
    "WIDTH_BUCKET": "write FLOOR({number} / 10)",
    "WITH": "ask one SELECT over the table itself",
    **dict.fromkeys(("ALTER", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "MERGE", "UPDATE"), _CHANGES),
    **dict.fromkeys((*RANKS, *SHIFTS, *ENDS), _WINDOW),
    **dict.fromkeys(("CALL", "DESCRIBE", "EXPLAIN", "PRAGMA", "SHOW", "VALUES"), _BEGINS),
}


def reason_against(word: str, table: Table) -> str | None:
    """Why ``word`` is not supported or what to write, with an example of the table's own; None if unknown."""
    reason = _REASONS.get(word)
    return None if reason is None else with_examples(reason, table)


def with_examples(reason: str, table: Table) -> str:
    """``reason`` with names of the table in its gaps."""
    categories = [column for column in table.columns if isinstance(column, CategoryColumn)]
    numbers = [name_text(c.name) for c in table.columns if isinstance(c, IntegerColumn | RealColumn)]
    days = [name_text(column.name) for column in table.columns if isinstance(column, DateColumn)]
    listed = "column IN ('a', 'b')"
    if categories:
        values = ", ".join(map(value_text, categories[0].values[:2]))
        listed = f"{name_text(categories[0].name)} IN ({values})"
    grouped = [name_text(column.name) for column in categories] + numbers
    return reason.format(
        listed=listed,
        number=numbers[0] if numbers else "x",
        day=days[0] if days else "day",
        both=", ".join(grouped[:2]) if len(grouped) > 1 else "a, b",
    )
