"""Spark: a frame, classic or Connect, is turned into a cached frame of clipped integers.

Frames are known by what they can do, so pyspark is never imported here, and both kinds of them are served.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adyton.engines.base import Exact, FoundKey
from adyton.engines.loading.clipped import Origin, check_size
from adyton.engines.loading.joining import Loading, Opened
from adyton.engines.scans.reading import exact_from, found_from
from adyton.engines.scans.scan import Units
from adyton.engines.spelling.dialect import SourceType
from adyton.engines.stopping import SECONDS, SECONDS_TO_LOAD, TimeLimit
from adyton.errors import sealed
from adyton.privacy import PrivacyUnit
from adyton.schema import Table
from adyton.sensitivity import Reading

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


def is_spark_frame(source: object) -> bool:
    return all(hasattr(source, word) for word in ("sparkSession", "createOrReplaceTempView", "toDF"))


class SparkEngine:
    """Answers from a Spark frame.  Views of its session, with random names, are ours until ``close``.

    ``timeout`` is in seconds for one scan.
    """

    def __init__(
        self,
        table: Table,
        unit: PrivacyUnit,
        frame: Any,
        salt: str = "",
        *,
        timeout: float = SECONDS,
        loads: Callable[..., Loading] = Loading,
    ) -> None:
        self._time = TimeLimit(timeout)
        places = {column.name: f"c{i}" for i, column in enumerate(table.columns)}
        self._loading = loads(table, unit, frame, places, salt)
        self._frames = [member.source for member in self._loading.members]
        own = secrets.token_hex(8)
        self._given, self._kept = f"adyton_given_{own}", f"adyton_units_{own}"
        self._units = Units(
            self._kept, places, SparkDialect({}), unit.rows, salt, parts=unit.parts, marks=self._loading.marks
        )
        self._cached: Any = None
        self._lock = threading.Lock()

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        with self._lock:
            if self._cached is None:
                self._cached = self._load()

    def exact(self, readings: Sequence[Reading]) -> Exact:
        return exact_from(self._units, self._run, readings)

    def found(self, readings: Sequence[Reading]) -> tuple[list[FoundKey], Exact]:
        return found_from(self._units, self._run, readings)

    def close(self) -> None:
        self._time.close()
        with self._lock:
            if self._cached is not None:
                self._cached.unpersist()
                self._cached = None
                self._drop()

    def _run(self, sql: str) -> list[Any]:
        with self._within(None):
            rows: list[Any] = self._sql(sql).collect()
        return rows

    @contextlib.contextmanager
    def _within(self, seconds: float | None) -> Iterator[None]:
        """Jobs that this thread starts carry a tag, by which they are cancelled when their time is up."""
        tag, session = f"adyton_{secrets.token_hex(8)}", self._frames[0].sparkSession
        if hasattr(session, "sparkContext"):  # classic: the session's own tags are known to one thread only
            context = session.sparkContext
            add, remove, cancel = context.addJobTag, context.removeJobTag, context.cancelJobsWithTag
        else:
            add, remove, cancel = session.addTag, session.removeTag, session.interruptTag
        add(tag)
        try:
            with self._time.on(lambda: cancel(tag), seconds):
                yield
        finally:
            remove(tag)

    def _load(self) -> Any:
        try:
            return sealed(self._read, _unreadable)
        except BaseException:
            self._drop()
            raise

    def _read(self) -> Any:
        opened = [_opened(frame, view) for frame, view in zip(self._frames, self._views, strict=True)]
        with self._within(SECONDS_TO_LOAD):
            return self._make_units(opened)

    def _make_units(self, opened: Sequence[Opened]) -> Any:
        loading = self._loading
        self._units = replace(self._units, told=loading.told(opened))
        cached = self._sql(loading.sql(opened)).persist()
        try:
            cached.count()  # fills the cache
            cached.createOrReplaceTempView(self._kept)
            counted = loading.counted(self._kept, opened)
            if counted is not None:
                ((found,),) = self._sql(counted).collect()
                check_size(found, loading.table, loading.unit)
        except BaseException:
            cached.unpersist()
            raise
        return cached

    def _sql(self, text: str) -> Any:
        return self._frames[0].sparkSession.sql(text)

    @property
    def _views(self) -> list[str]:
        """The frames under their names; all of them are of one session."""
        return [f"{self._given}_{i}" for i in range(len(self._frames))]

    def _drop(self) -> None:
        """Not earlier: a Connect frame is a text that is read anew each time, with the names in it."""
        for view in (self._kept, *self._views):
            self._frames[0].sparkSession.catalog.dropTempView(view)


def _unreadable(error: Exception) -> str:
    """Spark's own words may quote a value."""
    return f"the given frame cannot be read: Spark says {type(error).__name__}"


def _opened(frame: Any, view: str) -> Opened:
    types = dict(frame.dtypes)
    names = {name: f"s{i}" for i, (name, _) in enumerate(frame.dtypes)}
    frame.toDF(*(f"s{i}" for i in range(len(frame.dtypes)))).createOrReplaceTempView(view)
    kinds = {name: kind_of(kind) for name, kind in types.items()}
    return Opened(Origin(view, types, kinds), SparkDialect(names))


# How Spark spells what all engines must mean ---------------------------------------------------------------


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

    def ratio(self, dividend: str, divisor: str) -> str:
        return f"({dividend} DIV {divisor})"

    def lookup(self, index: str, numbers: Sequence[int | None]) -> str:
        listed = ", ".join("NULL" if number is None else str(number) for number in numbers)
        return f"element_at(CAST(array({listed}) AS ARRAY<BIGINT>), CAST({index} + 1 AS INT))"

    def date(self, day: str) -> str:
        return f"date_from_unix_date(CAST({day} AS INT))"
