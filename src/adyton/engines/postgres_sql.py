"""How Postgres spells the loading of a source; see ``loading``.

Postgres has no cast that gives NULL instead of an error, so two functions that live as long as the session
catch the error.  Everything else here cannot fail.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from adyton.engines.duckdb_sql import quoted, text_literal
from adyton.engines.loading import Kind

KINDS: dict[str, Kind] = {
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

# The text matches loading.NUMBER.  Where it leaves the range of a double, the place of its first digit that
# is not 0 says on which side.
NUMBER_FUNCTION = """
CREATE FUNCTION pg_temp.adyton_number(given text) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE parts text[]; digits text; place numeric;
BEGIN
  RETURN CAST(given AS double precision);
EXCEPTION WHEN OTHERS THEN
  BEGIN
    parts := regexp_match(btrim(given, E' \\t\\r\\n'), '^([+-]?)([0-9]*)[.]?([0-9]*)(?:[eE]([+-]?[0-9]+))?');
    digits := ltrim(parts[2], '0');
    place := CASE WHEN digits <> '' THEN length(digits)
                  ELSE length(ltrim(parts[3], '0')) - length(parts[3]) END;
    IF digits = '' AND ltrim(parts[3], '0') = '' THEN RETURN 0; END IF;
    IF place + coalesce(CAST(parts[4] AS numeric), 0) <= 0 THEN RETURN 0; END IF;
    RETURN CASE WHEN parts[1] = '-' THEN '-infinity' ELSE 'infinity' END;
  EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
  END;
END $$
"""

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

    def name(self, name: str) -> str:
        return quoted(name)

    def text(self, value: str) -> str:
        return text_literal(value.replace("\0", "\ufffd"))  # no text in Postgres holds a zero

    def double(self, value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE PRECISION)"

    def matches(self, text: str, pattern: str) -> str:
        return f'({text} COLLATE "C" ~ {text_literal(pattern)})'

    def number(self, source: str, kind: Kind) -> str:
        if kind == "text":
            return f"pg_temp.adyton_number({source})"
        if kind == "decimal":
            return _decimal(source)
        return f"CAST({source} AS DOUBLE PRECISION)"

    def not_a_number(self, double: str) -> str:
        return f"({double} = {self.double(float('nan'))})"

    def whole(self, value: str) -> str:
        return f"CAST({value} AS BIGINT)"

    def day(self, source: str, kind: Kind) -> str:
        return f"pg_temp.adyton_day({source})" if kind == "text" else f"CAST({source} AS DATE)"

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
