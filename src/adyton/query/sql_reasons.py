"""Words of other databases, and what to write in their place, or why there is nothing."""

from __future__ import annotations

_CASE = "write CASE WHEN condition THEN number ELSE number END"
_CHANGES = "questions change nothing"
_LISTED = "list the values that are meant: region IN ('north', 'south')"
_NO_BOUNDS = "its bounds are not known, or a row could make it fail"
_ONE = "ask one SELECT at a time"
_PARTS = "write YEAR(day), QUARTER(day), MONTH(day), DAY(day) or ISODOW(day), alone or as groups side by side"
_QUANTILE = "write QUANTILE(number, fraction), such as QUANTILE(income, 0.5)"
_ROUNDED = "write FLOOR(number), or FLOOR(number + 0.5) to round; what is released can be rounded afterwards"
_SINGLE_ROWS = "single rows are never answered; ask for aggregates"
_TODAY = "write the day: DATE '2020-01-31'"
_TOGETHER = "ask for one set of groups at a time"
_WINDOW = "windows look at single rows; only aggregates are answered"
_BEGINS = "a question begins with SELECT"
_CONVERTED = "columns have declared kinds and are never converted"
_QUOTED = 'a name is quoted as "name"'
_REMAINDER = "write CLAMP(x - FLOOR(x / 10) * 10, 0, 9)"
_VALUE = "write the value itself into the question"

REASONS: dict[str, str] = {
    "!": "write NOT",
    "#": "a comment begins with --",
    "%": _REMAINDER,
    "&&": "write AND",
    ":": _VALUE,
    "::": _CONVERTED,
    "?": _VALUE,
    "@": _VALUE,
    "[": _QUOTED,
    "^": "write x * x, or SQUARE(x)",
    "`": _QUOTED,
    "{": _VALUE,
    "||": "write OR",
    "~": _LISTED,
    "ABS": "write CLAMP(CASE WHEN x < 0 THEN -x ELSE x END, 0, the greatest)",
    "ALL": "leave it out, or write out what is meant",
    "ANY": "write out what is meant",
    "ANY_VALUE": _SINGLE_ROWS,
    "APPROX_COUNT_DISTINCT": "write COUNT(DISTINCT person), where the unit is a person",
    "APPROX_QUANTILES": _QUANTILE,
    "ARRAY_AGG": _SINGLE_ROWS,
    "CAST": _CONVERTED,
    "CEIL": "write -FLOOR(-x)",
    "CEILING": "write -FLOOR(-x)",
    "COALESCE": "write CASE WHEN x IS NULL THEN 0 ELSE x END",
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
    "FETCH": "write LIMIT and a number",
    "FIRST": _SINGLE_ROWS,
    "GROUP": _QUANTILE,  # PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)
    "GROUPING SETS": _TOGETHER,
    "IF": _CASE,
    "IFNULL": "write CASE WHEN x IS NULL THEN 0 ELSE x END",
    "IIF": _CASE,
    "ILIKE": _LISTED,
    "INTERSECT": _ONE,
    "INTO": _CHANGES,
    "LAG": _WINDOW,
    "LEAD": _WINDOW,
    "LIKE": _LISTED,
    "LN": _NO_BOUNDS,
    "LOG": _NO_BOUNDS,
    "LOWER": _LISTED,
    "MEAN": "write AVG(number)",
    "MOD": _REMAINDER,
    "NATURAL": "say on which columns: JOIN table ON a.key = b.key, or USING (key)",
    "NOW": _TODAY,
    "NULLIF": _CASE,
    "OVER": _WINDOW,
    "PERCENTILE_DISC": _QUANTILE,
    "POWER": "write x * x, or SQUARE(x)",
    "QUALIFY": _WINDOW,
    "QUANTILE_CONT": _QUANTILE,
    "QUANTILE_DISC": _QUANTILE,
    "RANK": _WINDOW,
    "REGEXP_LIKE": _LISTED,
    "ROLLUP": _TOGETHER,
    "ROUND": _ROUNDED,
    "ROW_NUMBER": _WINDOW,
    "SQRT": _NO_BOUNDS,
    "STRFTIME": _PARTS,
    "STRING_AGG": _SINGLE_ROWS,
    "TO_CHAR": _PARTS,
    "TRUNC": _ROUNDED,
    "TRY_CAST": _CONVERTED,
    "UNION": _ONE,
    "UPPER": _LISTED,
    "WIDTH_BUCKET": "write FLOOR(number / width)",
    "WITH": "ask one SELECT over the table itself",
    **dict.fromkeys(("ALTER", "COPY", "CREATE", "DELETE", "DROP", "INSERT", "MERGE", "UPDATE"), _CHANGES),
    **dict.fromkeys(("CALL", "DESCRIBE", "EXPLAIN", "PRAGMA", "SHOW", "VALUES"), _BEGINS),
}
