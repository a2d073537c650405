"""How long exact noise takes, beside the inexact noise of numpy in the same run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np

from adyton.kernel.noise import SystemBits, rounded_gaussian, two_sided_geometric

DRAWS = 10**6
SINGLE = 1000


def best(action: Callable[[], object], repetitions: int = 9) -> float:
    """Seconds of the fastest of several repetitions: the others were disturbed by something else."""

    def once() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return min(once() for _ in range(repetitions))


def many_times(action: Callable[[], object]) -> Callable[[], None]:
    def loop() -> None:
        for _ in range(SINGLE):
            action()

    return loop


def row(name: str, ours: float, reference: float, unit: str, against: str) -> dict[str, object]:
    ratio = round(ours / reference, 2)
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "ratio": ratio,
        "unit": unit,
        "against": against,
    }


def run() -> list[dict[str, object]]:
    bits, numpy = SystemBits(), np.random.default_rng()
    pairs: list[tuple[str, Callable[[int], object], str, Callable[[int], object]]] = [
        (
            "rounded Gaussian",
            lambda n: rounded_gaussian.draw(17.5, n, bits),
            "normal",
            lambda n: numpy.normal(0, 17.5, n),
        ),
        (
            "two-sided geometric",
            lambda n: two_sided_geometric.draw(17.5, n, bits),
            "laplace",
            lambda n: numpy.laplace(0, 17.5, n),
        ),
    ]
    rows = []
    for name, ours, peer, theirs in pairs:
        a, b = best(lambda f=ours: f(DRAWS)), best(lambda f=theirs: f(DRAWS))
        rows.append(row(f"{name}, {DRAWS:,} draws", a, b, "s", f"numpy {peer}"))
        a, b = best(many_times(lambda f=ours: f(1))), best(many_times(lambda f=theirs: f(1)))
        rows.append(row(f"{name}, 1 draw", a / SINGLE * 1e6, b / SINGLE * 1e6, "us", f"numpy {peer}"))
    return rows


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
