"""Tables in memory, made ready for DuckDB: no single value may make it refuse all others.

DuckDB stops at a text that is no valid Unicode, at a timestamp, a duration or a time of day beyond its own
range, and at a Python object that fails to say what it is.  Each of them is a missing value here.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest

# In microseconds; DuckDB counts them in 64 bits, and needs a little room.
_FARTHEST = 9_150_000 * 10**12
_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_BATCH = 8192  # rows of a Parquet file that are in memory at once


@dataclass(frozen=True, slots=True)
class Readable:
    """A table for DuckDB.  Texts of ``coded`` columns are bytes; ``untyped`` ones hold any Python objects."""

    table: Any
    coded: frozenset[str] = frozenset()
    untyped: frozenset[str] = frozenset()


def readable(source: Any) -> Readable:
    if isinstance(source, np.ndarray):
        raise TypeError("an array names no columns, and DuckDB would take its rows for them")
    package = type(source).__module__.partition(".")[0]
    dtypes: Any = getattr(source, "dtypes", None) if package != "polars" else None
    if hasattr(dtypes, "items"):
        return _of_pandas(source, dict(dtypes.items()))
    if package == "polars":  # its texts are always valid
        with contextlib.suppress(ImportError):  # then DuckDB says what is missing
            whole = source.collect() if hasattr(source, "collect") else source
            return _of_arrow(whole.to_arrow(), coded=False)
        return Readable(source)
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(source, arrow.Table | arrow.RecordBatch | arrow.RecordBatchReader):
        return _of_arrow(source, coded=True)
    return Readable(source)


def parquet_columns(path: Path, names: list[str]) -> Readable | None:
    """Some columns of a Parquet file, by way of Arrow, where it is installed: in memory that no single value
    decides, and with texts that need not be valid.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return None
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    wanted = file.schema_arrow.empty_table().select(names).schema
    batches = file.iter_batches(batch_size=_BATCH, columns=names)
    return _of_arrow(pa.RecordBatchReader.from_batches(wanted, batches), coded=True)


# Arrow ------------------------------------------------------------------------------------------------------


def _of_arrow(source: Any, *, coded: bool) -> Readable:
    import pyarrow as pa

    schema = source.schema
    texts = {field.name for field in schema if coded and _is_text(field.type)}
    careful = pa.schema([(f.name, _bytes_type(f.type) if f.name in texts else f.type) for f in schema])
    named = frozenset(texts)
    if isinstance(source, pa.RecordBatchReader):
        return Readable(pa.RecordBatchReader.from_batches(careful, _batches(source, careful)), named)
    whole = pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source
    return Readable(pa.table(_columns(whole, careful), schema=careful), named)


def _batches(source: Any, schema: Any) -> Iterator[Any]:
    import pyarrow as pa

    for batch in source:
        yield pa.record_batch(_columns(batch, schema), schema=schema)


def _columns(source: Any, schema: Any) -> list[Any]:
    return [_column(source.column(i), field.type) for i, field in enumerate(schema)]


def _column(values: Any, wanted: Any) -> Any:
    import pyarrow.compute as pc
    from pyarrow import types

    if values.type != wanted:
        plain = values.cast(values.type.value_type) if types.is_dictionary(values.type) else values
        return plain.cast(wanted)
    if types.is_timestamp(wanted) or types.is_duration(wanted):
        far = _FARTHEST * _IN_A_SECOND[wanted.unit] // 10**6
        return _between(values, -far, far) if far < 2**63 else values
    if types.is_time(wanted):
        return _between(values, 0, 86_400 * _IN_A_SECOND[wanted.unit] - 1)
    return values if not types.is_null(wanted) else pc.cast(values, "string")


def _between(values: Any, low: int, high: int) -> Any:
    """Others are missing, and 0 in the memory behind it: DuckDB converts that too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    small = pa.types.is_time32(values.type)
    numbers = values.cast(pa.int32() if small else pa.int64())
    inside = pc.fill_null(pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high)), False)
    tame = pc.if_else(inside, numbers, pa.scalar(0, numbers.type)).cast(values.type)
    return pc.if_else(inside, tame, None)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner))


def _bytes_type(kind: Any) -> Any:
    import pyarrow as pa

    return pa.binary() if pa.types.is_string(kind) else pa.large_binary()


# pandas -----------------------------------------------------------------------------------------------------


def _of_pandas(source: Any, dtypes: dict[Any, Any]) -> Readable:
    """Columns of objects, and categories other than texts, are read as the text of each value: DuckDB would
    write all of them anew where one is missing, 1 as 1.0.
    """
    if len(dtypes) < len(source.columns):
        raise InvalidRequest("two columns of the given table have the same name")
    frame, untyped = source.copy(deep=False), set()
    for name, dtype in dtypes.items():
        categories = getattr(dtype, "categories", None)
        if str(dtype) == "object" or (categories is not None and str(categories.dtype) != "str"):
            untyped.add(str(name))
            frame[name] = _texts(source[name].astype(object))
        elif str(dtype) == "str" and _is_valid_text(source[name]):
            continue  # pandas would make the same column of its texts, one by one
        elif getattr(dtype, "type", None) is str or not _valid(categories):
            frame[name] = _texts(_objects(source[name]))
        elif hasattr(dtype, "pyarrow_dtype"):
            frame[name] = _arrow_values(source[name])
        elif str(dtype).startswith(("datetime64[s", "datetime64[ms")):
            frame[name] = _near(source[name], dtype.unit if hasattr(dtype, "unit") else str(dtype)[11:-1])
    return Readable(frame, untyped=frozenset(untyped))


def _texts(values: Any) -> Any:
    """What each value says of itself; nothing where it is missing, or cannot say."""
    import pandas as pd

    missing = (None, pd.NaT, pd.NA)
    found = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        none = value != value if isinstance(value, float) else any(value is one for one in missing)
        if not none:
            found[i] = _text(value)
    return found


def _text(value: Any) -> str | None:
    try:
        text = value if type(value) is str else str.__str__(str(value))
        if not text.isascii():
            text.encode()  # half a surrogate pair has no bytes
    except Exception:
        return None
    return text


def _objects(series: Any) -> Any:
    """The texts of a column; what is no valid Unicode is missing."""
    try:
        return list(series)
    except UnicodeDecodeError:
        pass
    import pyarrow as pa

    coded = pa.array(series.array).cast(pa.large_binary()).to_pylist()
    return [None if one is None else one.decode(errors="surrogateescape") for one in coded]


def _is_valid_text(series: Any) -> bool:
    """Whether Arrow holds the texts of a column, all of them valid Unicode."""
    if getattr(series.dtype, "storage", None) != "pyarrow":
        return False
    import pyarrow as pa

    try:
        pa.array(series.array).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _valid(categories: Any) -> bool:
    return categories is None or all(_text(text) is not None for text in categories)


def _arrow_values(series: Any) -> Any:
    import pyarrow as pa

    values = pa.array(series.array)
    return type(series.array)(pa.chunked_array(_column(values, values.type)))


def _near(series: Any, unit: str) -> Any:
    """Timestamps that DuckDB can count; others are missing."""
    far = _FARTHEST * _IN_A_SECOND[unit] // 10**6
    numbers = series.to_numpy(dtype=f"datetime64[{unit}]").view("int64")
    return series.where((numbers >= -far) & (numbers <= far)).array
