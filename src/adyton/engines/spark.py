"""Spark: a frame, classic or Connect, is turned into a cached frame of clipped integers.

Frames are known by what they can do, so pyspark is never imported here, and both kinds of them are served.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adyton.engines.loaded import LoadedEngine, Loading
from adyton.engines.loading.clipped import Origin
from adyton.engines.spelling.kinds import SourceType
from adyton.engines.spelling.rows import Dialect
from adyton.engines.stopping import SECONDS, SECONDS_TO_LOAD
from adyton.errors import sealed
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import Table
from adyton.kernel.sensitivity import Reading

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


class SparkEngine(LoadedEngine):
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
        own = secrets.token_hex(8)
        super().__init__(loads(table, unit, frame, salt), f"adyton_units_{own}", SparkDialect({}), timeout)
        self._frames = [member.source for member in self._loading.members]
        self._views = [f"adyton_given_{own}_{i}" for i in range(len(self._frames))]  # all of one session
        self._cached: Any = None

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        with self._lock:
            if self._cached is None:
                self._cached = self._load()

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
        origins = [_origin(frame, view) for frame, view in zip(self._frames, self._views, strict=True)]
        with self._within(SECONDS_TO_LOAD):
            return self._make_units(origins)

    def _make_units(self, origins: Sequence[Origin]) -> Any:
        loading = self._loading
        self._units = replace(self._units, told=loading.told(origins))
        cached = self._sql(loading.sql(origins)).persist()
        try:
            cached.count()  # fills the cache
            cached.createOrReplaceTempView(self._units.table)
            self._check_size(origins, lambda sql: self._sql(sql).collect())
        except BaseException:
            cached.unpersist()
            raise
        return cached

    def _sql(self, text: str) -> Any:
        return self._frames[0].sparkSession.sql(text)

    def _drop(self) -> None:
        """Not earlier: a Connect frame is a text that is read anew each time, with the names in it."""
        for view in (self._units.table, *self._views):
            self._frames[0].sparkSession.catalog.dropTempView(view)


def _unreadable(error: Exception) -> str:
    """Spark's own words may quote a value."""
    return f"the given frame cannot be read: Spark says {type(error).__name__}"


def _origin(frame: Any, view: str) -> Origin:
    types = dict(frame.dtypes)
    names = {name: f"s{i}" for i, (name, _) in enumerate(frame.dtypes)}
    frame.toDF(*(f"s{i}" for i in range(len(frame.dtypes)))).createOrReplaceTempView(view)
    kinds = {name: kind_of(kind) for name, kind in types.items()}
    return Origin(view, types, kinds, SparkDialect(names))


# How Spark spells what all engines must mean ---------------------------------------------------------------


def kind_of(type_name: str) -> SourceType:
    return next((kind for pattern, kind in _KINDS if re.match(pattern, type_name)), "other")


class SparkDialect(Dialect):
    """The columns of the frame are called s0, s1, ... before anything is emitted: no name needs quoting."""

    text_type = "STRING"
    division = "DIV"

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def name(self, name: str) -> str:
        return self._names[name]

    def text(self, value: str) -> str:
        """As bytes: whether a backslash escapes depends on a setting of the session."""
        return f"CAST(X'{value.encode().hex()}' AS STRING)"

    def matches(self, text: str, pattern: str) -> str:
        # Java's $ also matches before a line end that comes last.
        whole = pattern.removesuffix("$") + r"\z" if pattern.endswith("$") else pattern
        return f"({text} RLIKE {self.text(whole)})"

    def day(self, source: str, kind: SourceType) -> str:
        if kind != "instant":
            return super().day(source, kind)
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

    def key(self, text: str) -> str:
        """Spark keeps any bytes in a text, and shows all that are not valid alike."""
        return f"CASE WHEN is_valid_utf8({text}) THEN {text} END"

    def exact_sum(self, value: str, largest: int) -> str:
        """Spark's sum of bigints is a bigint; 38 decimal digits hold the sum of 2**64 values below 2**61."""
        return f"sum({value})" if largest <= _SMALL else f"sum(CAST({value} AS DECIMAL(38, 0)))"

    def lookup(self, index: str, numbers: Sequence[int | None]) -> str:
        listed = ", ".join("NULL" if number is None else str(number) for number in numbers)
        return f"element_at(CAST(array({listed}) AS ARRAY<BIGINT>), CAST({index} + 1 AS INT))"

    def date(self, day: str) -> str:
        return f"date_from_unix_date(CAST({day} AS INT))"
