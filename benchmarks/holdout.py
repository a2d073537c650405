"""Scores of a million items, durable, beside numpy's mean; and ten thousand scores in one holdout."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adyton.holdout import Holdout

ITEMS = 1_000_000
SCORES = 10_000
FEW = 10_000
GROWING = 300
TURNS = 100


def run() -> list[dict[str, object]]:
    rng = np.random.default_rng(1)
    losses = rng.random(ITEMS)
    return [
        _million("losses", losses),
        _million("losses in single precision", losses.astype(np.float32)),
        _million("zeros and ones", rng.integers(0, 2, ITEMS)),
        _million("truth values", losses < 0.5),
        _ten_thousand(),
    ]


def _million(what: str, values: Any) -> dict[str, object]:
    """Allowed: three times numpy's mean and 2 ms.

    Score, mean and flush take turns, so that each of them meets the same machine: the same caches, neighbors
    and disk.  The first scores are reported apart: flushing is slower while the ledger's log still grows.
    """
    ours, means, flushes = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "holdout.toml"
        with Holdout.create(path, items=ITEMS, metric="scores", tolerance="0.02") as holdout:
            for i in range(GROWING + TURNS):
                values[i] = 1 - values[i]  # another submission
                ours.append(_time(lambda: holdout.score(values)))
                flushes.append(_time(lambda: _flush(Path(folder) / "probe")))
                means.append(_time(values.mean))
    first, later = ours[1:GROWING], ours[GROWING:]
    allowed = 3 * statistics.median(means[GROWING:]) + 2e-3
    tenths = statistics.quantiles(later, n=10)
    return {
        "name": f"one durable score of {ITEMS:,} {what}",
        "ours": statistics.median(later) * 1e3,
        "from": tenths[0] * 1e3,
        "to": tenths[-1] * 1e3,
        "while the log grows": statistics.median(first) * 1e3,
        "reference": allowed * 1e3,
        "ratio": statistics.median(later) / allowed,
        "one flush to this disk": statistics.median(flushes) * 1e3,
        "unit": "ms/score",
        "against": "3 x numpy mean + 2 ms",
    }


def _ten_thousand() -> dict[str, object]:
    """The last hundred scores beside the first hundred."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "holdout.toml"
        with Holdout.create(path, items=FEW, metric="scores", scores=SCORES) as holdout:
            inputs = (np.full(FEW, i / SCORES) for i in range(SCORES))
            times = [_time(partial(holdout.score, given)) for given in inputs]
    first, last = statistics.median(times[:100]), statistics.median(times[-100:])
    return {
        "name": f"the last of {SCORES:,} scores",
        "ours": last * 1e3,
        "reference": first * 1e3,
        "ratio": last / first,
        "unit": "ms/score",
        "against": "the first hundred",
    }


def _flush(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    for row in run():
        print(row)
