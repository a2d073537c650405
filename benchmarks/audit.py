"""How long an audit takes beside drawing the samples that it looks at."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from adyton.audit import audit
from adyton.audit.cases.catalogue import entry_named, target_of

SAMPLES = 10**6


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def row(name: str, ours: float, reference: float) -> dict[str, object]:
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "ratio": round(ours / reference, 2),
        "unit": "s",
        "against": "drawing the samples",
    }


def run() -> list[dict[str, object]]:
    ours = next(entry_named("geometric").trials(target_of(Fraction(1))))
    rng = np.random.default_rng()

    def floats(value: float, n: int) -> object:
        return value + rng.laplace(0, 1, n)

    rows = []
    for name, release, pair in (
        ("two-sided geometric", ours.release, ours.pair),
        ("numpy float Laplace", floats, (0.0, 1.0)),
    ):
        drawing = seconds(lambda r=release, p=pair: [r(value, SAMPLES) for value in p])
        auditing = seconds(lambda r=release, p=pair: audit(r, p, 1.0, samples=SAMPLES))
        rows.append(row(f"audit of {name}, {SAMPLES:,} samples", auditing, drawing))
    return rows


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
