"""How DuckDB spells the loading of a source; see ``loading``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adyton.duckdb_files import quoted, text_literal
from adyton.engines.spelling.dialect import FAR_SECONDS, SourceType

_KINDS: tuple[tuple[str, SourceType], ...] = (
    (r"U?(TINY|SMALL|BIG|HUGE)INT$|U?INTEGER$", "integer"),
    (r"FLOAT$|DOUBLE$", "float"),
    (r"DECIMAL", "decimal"),
    (r"BOOLEAN$", "boolean"),
    (r"DATE$", "date"),
    (r"TIMESTAMP WITH TIME ZONE$|TIMESTAMPTZ", "instant"),
    (r"TIMESTAMP", "timestamp"),
)
_NESTED = re.compile(r"\]$|^(STRUCT|MAP|UNION|BLOB|BIT|VARIANT|GEOMETRY)")


def kind_of(type_name: str) -> SourceType:
    """Anything that has a text and is nothing else (an enum, a UUID, a time of day) is read as its text."""
    if _NESTED.search(type_name):
        return "other"
    return next((kind for pattern, kind in _KINDS if re.match(pattern, type_name)), "text")


class DuckDBDialect:
    """``coded`` are columns whose texts came as bytes: DuckDB would refuse all of a source where one is no
    valid Unicode.
    """

    text_type = "VARCHAR"
    in_order = True
    fence = ""

    def __init__(self, coded: frozenset[str] = frozenset()) -> None:
        self._coded = coded

    def name(self, name: str) -> str:
        return quoted(name)

    def text_of(self, name: str, longest: int) -> str:
        if name in self._coded:
            return f"CASE WHEN octet_length({quoted(name)}) <= {longest} THEN TRY(decode({quoted(name)})) END"
        text = f"CAST({quoted(name)} AS VARCHAR)"
        return f"CASE WHEN strlen({text}) <= {longest} THEN {text} END"

    def text(self, value: str) -> str:
        return text_literal(value)

    def double(self, value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE)"  # from text: a decimal literal would be rounded twice

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_matches({text}, {text_literal(pattern)})"

    def number(self, source: str, kind: SourceType) -> str:
        # Not every version rounds a wide decimal only once; its text is.
        return f"TRY_CAST({f'CAST({source} AS VARCHAR)' if kind == 'decimal' else source} AS DOUBLE)"

    def not_a_number(self, double: str) -> str:
        return f"isnan({double})"

    def whole(self, value: str) -> str:
        return f"TRY_CAST({value} AS BIGINT)"

    def day(self, source: str, kind: SourceType) -> str:
        return f"TRY_CAST({source} AS DATE)"

    def seconds(self, source: str, kind: SourceType) -> str:
        moment = f"TRY_CAST({source} AS {'TIMESTAMPTZ' if kind == 'instant' else 'TIMESTAMP'})"
        micro = f"epoch_us(CASE WHEN isfinite({moment}) THEN {moment} END)"
        up, down = (
            f"{moment} > TIMESTAMP '1970-01-01'",
            f"({micro} - (({micro} % 1000000 + 1000000) % 1000000))",
        )
        infinite = f"CASE WHEN {up} THEN {FAR_SECONDS} ELSE -{FAR_SECONDS} END"
        return f"(CASE WHEN {moment} IS NOT NULL THEN coalesce({down} // 1000000, {infinite}) END)"

    def days(self, date: str) -> str:
        return f"date_diff('day', DATE '1970-01-01', {date})"

    def position(self, text: str, values: tuple[str, ...]) -> str:
        listed = ", ".join(map(text_literal, values))
        return f"enum_code(TRY_CAST({text} AS ENUM ({listed})))"

    def byte_order(self, text: str) -> str:
        return text

    def key(self, text: str) -> str:
        return text

    def exact_sum(self, value: str, largest: int) -> str:
        return f"sum({value})"  # of bigints it has 128 bits

    def code(self, number: str, size: int) -> str:
        """Groups of a small type are found by their place in an array, not by a hash."""
        small = "UTINYINT" if size <= 2**8 else "USMALLINT" if size <= 2**16 else "INTEGER"
        return f"CAST({number} AS {small})"

    def quotient(self, dividend: str, divisor: int) -> str:
        if divisor & (divisor - 1) == 0:  # a shift is several times faster
            return f"({dividend} >> {divisor.bit_length() - 1})"
        return f"({dividend} // CAST({divisor} AS BIGINT))"

    def lookup(self, index: str, numbers: Sequence[int | None]) -> str:
        listed = ", ".join("NULL" if number is None else str(number) for number in numbers)
        # Written as one text: a long list of expressions takes longer to plan than to look up.
        return f"list_extract(CAST('[{listed}]' AS BIGINT[]), CAST({index} AS BIGINT) + 1)"

    def date(self, day: str) -> str:
        return f"(DATE '1970-01-01' + CAST({day} AS INTEGER))"
