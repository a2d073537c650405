"""Scores of a million items, durable, beside numpy's mean; and ten thousand scores in one holdout."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from adyton.holdout import Holdout

ITEMS = 1_000_000
SCORES = 10_000


def run() -> list[dict[str, object]]:
    return [_million(), _ten_thousand()]


def _million() -> dict[str, object]:
    """Allowed: three times numpy's mean and 2 ms.  What two flushes to this disk cost alone is beside it."""
    values = np.random.default_rng(1).random(ITEMS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "holdout.toml"
        with Holdout.create(path, items=ITEMS, metric="scores", tolerance="0.02") as holdout:

            def score(i: int) -> None:
                values[i] = 0.5
                holdout.score(values)

            score(0)
            ours = _times(score, 60)
        flush = statistics.median(_times(lambda i: _flush(Path(folder) / "probe", i), 60))
    mean = statistics.median(_times(lambda i: values.mean(), 60))
    return {
        "name": f"one durable score of {ITEMS:,} per-item losses",
        "ours": statistics.median(ours) * 1e3,
        "best": min(ours) * 1e3,
        "reference": (3 * mean + 2e-3) * 1e3,
        "ratio": statistics.median(ours) / (3 * mean + 2e-3),
        "one flush to this disk": flush * 1e3,
        "unit": "ms/score",
        "against": "3 x numpy mean + 2 ms",
    }


def _ten_thousand() -> dict[str, object]:
    """The last hundred scores beside the first hundred."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "holdout.toml"
        with Holdout.create(path, items=1000, metric="scores", scores=SCORES) as holdout:
            times = _times(lambda i: holdout.score(np.full(1000, i / SCORES)), SCORES)
    first, last = statistics.median(times[:100]), statistics.median(times[-100:])
    return {
        "name": f"the last of {SCORES:,} scores",
        "ours": last * 1e3,
        "reference": first * 1e3,
        "ratio": last / first,
        "unit": "ms/score",
        "against": "the first hundred",
    }


def _flush(path: Path, i: int) -> None:
    with path.open("ab") as file:
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())


def _times(work: Callable[[int], object], count: int) -> list[float]:
    times = []
    for i in range(count):
        start = time.perf_counter()
        work(i)
        times.append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    for row in run():
        print(row)
