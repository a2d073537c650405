"""How Postgres spells the loading of a source; see ``loading``.

Postgres has no cast that gives NULL instead of an error, so a function that lives as long as the session
catches the error where a text is no day.  Everything else here cannot fail.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from adyton.duckdb_files import quoted, text_literal
from adyton.engines.spelling.dialect import FAR_SECONDS, SourceType

KINDS: dict[str, SourceType] = {
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": "float",
    "float8": "float",
    "numeric": "decimal",
    "bool": "boolean",
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "name": "text",
    "citext": "text",
    "uuid": "text",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "instant",
}

# No grain is finer than 1e-40, so what is nearer to zero than this is zero on every lattice.
_NEAREST_TO_ZERO = "1e-300"

DAY_FUNCTION = """
CREATE FUNCTION pg_temp.adyton_day(given text) RETURNS date
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  RETURN CAST(given AS date);
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$
"""


class PostgresDialect:
    text_type = "TEXT"
    in_order = False
    fence = " OFFSET 0"

    def name(self, name: str) -> str:
        return quoted(name)

    def text_of(self, name: str, longest: int) -> str:
        """The length of a long value is known without reading it."""
        text = f"CAST({quoted(name)} AS TEXT)"
        return f"CASE WHEN octet_length({text}) <= {longest} THEN {text} END"

    def text(self, value: str) -> str:
        return text_literal(value.replace("\0", "\ufffd"))  # no text in Postgres holds a zero

    def double(self, value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE PRECISION)"

    def matches(self, text: str, pattern: str) -> str:
        return f'({text} COLLATE "C" ~ {text_literal(pattern)})'

    def number(self, source: str, kind: SourceType) -> str:
        assert kind != "text", "a text in Postgres is never a number: its type says so"
        if kind == "decimal":
            return _decimal(source)
        return f"CAST({source} AS DOUBLE PRECISION)"

    def not_a_number(self, double: str) -> str:
        return f"({double} = {self.double(float('nan'))})"

    def whole(self, value: str) -> str:
        return f"CAST({value} AS BIGINT)"

    def day(self, source: str, kind: SourceType) -> str:
        return f"pg_temp.adyton_day({source})" if kind == "text" else f"CAST({source} AS DATE)"

    def seconds(self, source: str, kind: SourceType) -> str:
        infinite = f"CASE WHEN {source} = 'infinity' THEN {FAR_SECONDS} ELSE -{FAR_SECONDS} END"
        finite = f"CAST(floor(EXTRACT(EPOCH FROM {source})) AS BIGINT)"
        return f"(CASE WHEN isfinite({source}) THEN {finite} WHEN {source} IS NOT NULL THEN {infinite} END)"

    def days(self, date: str) -> str:
        return f"CAST({date} - DATE '1970-01-01' AS BIGINT)"

    def position(self, text: str, values: tuple[str, ...]) -> str:
        """By a search tree: the list may be long."""
        listed = {value: i for i, value in enumerate(values) if "\0" not in value}
        tree = text_literal(json.dumps(listed, ensure_ascii=False))
        return f"CAST(CAST({tree} AS JSONB) ->> {text} AS INTEGER)"

    def byte_order(self, text: str) -> str:
        return f'{text} COLLATE "C"'

    def key(self, text: str) -> str:
        return f'({text} COLLATE "C")'

    def exact_sum(self, value: str, largest: int) -> str:
        return f"sum({value})"  # of bigints it is a numeric

    def code(self, number: str, size: int) -> str:
        return number

    def quotient(self, dividend: str, divisor: int) -> str:
        return f"({dividend} / CAST({divisor} AS BIGINT))"

    def lookup(self, index: str, numbers: Sequence[int | None]) -> str:
        listed = ",".join("NULL" if number is None else str(number) for number in numbers)
        return f"(CAST('{{{listed}}}' AS BIGINT[]))[{index} + 1]"

    def date(self, day: str) -> str:
        return f"(DATE '1970-01-01' + CAST({day} AS INTEGER))"


def _decimal(source: str) -> str:
    """A numeric can be larger, or nearer to zero, than any double: 2**1000 is beyond every bound."""
    far = f"CAST({2**1000} AS NUMERIC)"
    return (
        f"(CASE WHEN {source} IS NULL THEN NULL WHEN {source} = 'NaN' THEN CAST('NaN' AS DOUBLE PRECISION) "
        f"WHEN abs({source}) < {_NEAREST_TO_ZERO} THEN CAST(0 AS DOUBLE PRECISION) "
        f"ELSE CAST(least(greatest({source}, -{far}), {far}) AS DOUBLE PRECISION) END)"
    )
