"""How Spark spells the loading of a source, and exact sums; see ``loading``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from adyton.engines.spelling.dialect import SourceType

_KINDS: tuple[tuple[str, SourceType], ...] = (
    (r"(tinyint|smallint|int|bigint)$", "integer"),
    (r"(float|double)$", "float"),
    (r"decimal", "decimal"),
    (r"boolean$", "boolean"),
    (r"string|(var)?char|void$", "text"),
    (r"date$", "date"),
    (r"timestamp_ntz$", "timestamp"),
    (r"timestamp(_ltz)?$", "instant"),
)
# No table has 2**40 rows: below this, a bigint holds the sum of all of them.
_SMALL = 2**22


def kind_of(type_name: str) -> SourceType:
    return next((kind for pattern, kind in _KINDS if re.match(pattern, type_name)), "other")


class SparkDialect:
    """The columns of the frame are called s0, s1, ... before anything is emitted: no name needs quoting."""

    text_type = "STRING"
    in_order = False
    fence = ""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def name(self, name: str) -> str:
        return self._names[name]

    def text_of(self, name: str, longest: int) -> str:
        text = f"CAST({self.name(name)} AS STRING)"
        return f"CASE WHEN octet_length({text}) <= {longest} THEN {text} END"

    def text(self, value: str) -> str:
        """As bytes: whether a backslash escapes depends on a setting of the session."""
        return f"CAST(X'{value.encode().hex()}' AS STRING)"

    def double(self, value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE)"

    def matches(self, text: str, pattern: str) -> str:
        # Java's $ also matches before a line end that comes last.
        whole = pattern.removesuffix("$") + r"\z" if pattern.endswith("$") else pattern
        return f"({text} RLIKE {self.text(whole)})"

    def number(self, source: str, kind: SourceType) -> str:
        return f"TRY_CAST({source} AS DOUBLE)"

    def not_a_number(self, double: str) -> str:
        return f"isnan({double})"

    def whole(self, value: str) -> str:
        return f"TRY_CAST({value} AS BIGINT)"

    def day(self, source: str, kind: SourceType) -> str:
        if kind != "instant":
            return f"TRY_CAST({source} AS DATE)"
        seconds = f"unix_seconds({source})"  # the day in UTC, whatever the time zone of the session
        return f"date_from_unix_date(CAST(({seconds} - pmod({seconds}, 86400)) DIV 86400 AS INT))"

    def seconds(self, source: str, kind: SourceType) -> str:
        if kind == "instant":
            return f"unix_seconds({source})"
        day = f"CAST(unix_date(TRY_CAST({source} AS DATE)) AS BIGINT)"
        return f"({day} * 86400 + hour({source}) * 3600 + minute({source}) * 60 + second({source}))"

    def days(self, date: str) -> str:
        return f"CAST(unix_date({date}) AS BIGINT)"

    def position(self, text: str, values: tuple[str, ...]) -> str:
        listed = ", ".join(map(self.text, values))
        return f"CAST(nullif(array_position(array({listed}), {text}), 0) - 1 AS INT)"

    def byte_order(self, text: str) -> str:
        return text

    def key(self, text: str) -> str:
        """Spark keeps any bytes in a text, and shows all that are not valid alike."""
        return f"CASE WHEN is_valid_utf8({text}) THEN {text} END"

    def exact_sum(self, value: str, largest: int) -> str:
        """Spark's sum of bigints is a bigint; 38 decimal digits hold the sum of 2**64 values below 2**61."""
        return f"sum({value})" if largest <= _SMALL else f"sum(CAST({value} AS DECIMAL(38, 0)))"

    def code(self, number: str, size: int) -> str:
        return number

    def quotient(self, dividend: str, divisor: int) -> str:
        return f"({dividend} DIV CAST({divisor} AS BIGINT))"

    def lookup(self, index: str, numbers: Sequence[int | None]) -> str:
        listed = ", ".join("NULL" if number is None else str(number) for number in numbers)
        return f"element_at(CAST(array({listed}) AS ARRAY<BIGINT>), {index} + 1)"

    def date(self, day: str) -> str:
        return f"date_from_unix_date(CAST({day} AS INT))"
