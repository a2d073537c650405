"""The queries of engines.py as a user of OpenDP asks them: a frame in memory, public margins, epsilon = 1.

Run by engines_opendp.py, in an environment of its own: OpenDP works with one version of polars only.
Usage: opendp_queries.py FILE ROWS ("rows" or "persons").  Prints seconds, or queries a second, as JSON.
With "in turns" behind it: a filtered count for each line that it is given, and the seconds that it took.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import opendp.prelude as dp
import polars as pl

REGIONS = [f"region {i}" for i in range(50)]
AGES = list(range(18, 91))
BOUNDS = (0.0, 200_000.0)
CANDIDATES = [200.0 * i for i in range(1001)]  # ours chooses among 200,001
MOST_QUERIES = 50  # a context splits its epsilon among so many
PATIENCE = 3.0  # seconds


def main() -> None:
    path, rows, unit = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    dp.enable_features("contrib")
    warnings.simplefilter("ignore")
    frame = pl.read_parquet(path)
    context = _rows(frame, rows) if unit == "rows" else _persons(frame, rows)
    query = context.query if unit == "rows" else lambda: context.query().truncate_per_group(10)
    asked = _queries(query, unit == "persons")
    if sys.argv[4:] == ["in turns"]:
        _in_turns(partial(_release_at, context, asked["count"]().summarize()["scale"][0]), query)
        return
    times = {what: _best(_release, ask) for what, ask in asked.items()}
    times["filtered counts"] = _rate(_release, query, 5 if unit == "rows" else 3)
    if unit == "rows":
        times |= _calibrated(context, asked, query)
    print(json.dumps(times))


def _rows(frame: pl.DataFrame, rows: int) -> Any:
    """Which groups there are is public, so that none has to be looked for."""
    regions, cells = len(REGIONS), len(REGIONS) * len(AGES)
    margins = [
        dp.polars.Margin(max_length=rows),
        dp.polars.Margin(by=["region"], invariant="keys", max_length=rows, max_groups=regions),
        dp.polars.Margin(by=["region", "age"], invariant="keys", max_length=rows, max_groups=cells),
    ]
    return _context(frame, dp.unit_of(contributions=1), margins)


def _persons(frame: pl.DataFrame, rows: int) -> Any:
    """Rows are truncated on every query: a frame that was truncated before is not known as such."""
    unit = dp.unit_of(contributions=1, identifier="user_id")
    return _context(frame, unit, [dp.polars.Margin(max_length=rows)])


def _context(frame: pl.DataFrame, unit: Any, margins: list[Any]) -> Any:
    return dp.Context.compositor(
        data=frame.lazy(),
        privacy_unit=unit,
        privacy_loss=dp.loss_of(epsilon=float(MOST_QUERIES)),
        split_evenly_over=MOST_QUERIES,
        margins=margins,
    )


def _queries(query: Callable[[], Any], keyed: bool) -> dict[str, Callable[[], Any]]:
    """``keyed``: groups are joined with their public keys, which persons need because of the truncation."""
    income = pl.col("income").fill_nan(0.0)
    regions = pl.DataFrame({"region": REGIONS})
    cells = regions.join(pl.DataFrame({"age": AGES}), how="cross")
    known = (lambda asked, keys: asked.with_keys(keys)) if keyed else (lambda asked, _: asked)
    return {
        "count": lambda: query().select(dp.len()),
        "mean": lambda: query().select(income.dp.mean(BOUNDS)),
        "50 groups": lambda: known(query().group_by("region").agg(dp.len()), regions),
        "3650-group sum": lambda: known(query().group_by("region", "age").agg(income.dp.sum(BOUNDS)), cells),
        "median": lambda: query().select(income.dp.median(CANDIDATES)),
    }


def _calibrated(
    context: Any, asked: dict[str, Callable[[], Any]], query: Callable[[], Any]
) -> dict[str, float]:
    """By hand, without the search for the scale of noise, which takes most of the time of a small query.

    The scales are found before the clock starts; that of a count is known to be the same for every
    accounting.
    """
    times = {}
    for what in ("count", "3650-group sum"):
        scale = asked[what]().summarize()["scale"][0]
        times[f"{what}, scale given"] = _best(partial(_release_at, context, scale), asked[what])
    at_scale = partial(_release_at, context, asked["count"]().summarize()["scale"][0])
    return {**times, "filtered counts, scale given": _rate(at_scale, query, 5)}


def _release(asked: Any) -> Any:
    return asked.release()


def _release_at(context: Any, scale: float, asked: Any) -> Any:
    measurement = dp.m.make_private_lazyframe(
        input_domain=context.accountant.input_domain,
        input_metric=context.accountant.input_metric,
        output_measure=context.accountant.output_measure,
        lazyframe=asked.polars_plan,
        global_scale=scale,
    )
    return context(measurement)


def _best(release: Callable[[Any], Any], ask: Callable[[], Any]) -> float:
    """Of two, because the first one may be slow; of one that takes so long that it does not matter."""
    first = _seconds(release, ask)
    return first if first > PATIENCE else min(first, _seconds(release, ask))


def _seconds(release: Callable[[Any], Any], ask: Callable[[], Any]) -> float:
    start = time.perf_counter()
    found = release(ask()).collect()
    taken = time.perf_counter() - start
    assert found.height >= 1
    return taken


def _rate(release: Callable[[Any], Any], query: Callable[[], Any], times: int) -> float:
    """Filtered counts a second, after the queries above."""
    return times / sum(_seconds(release, partial(_filtered_count, query, i)) for i in range(times))


def _filtered_count(query: Callable[[], Any], i: int) -> Any:
    return query().filter(pl.col("age") > 20.5 + i).select(dp.len())


def _in_turns(release: Callable[[Any], Any], query: Callable[[], Any]) -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        print(_seconds(release, partial(_filtered_count, query, int(line))), flush=True)


if __name__ == "__main__":
    main()
