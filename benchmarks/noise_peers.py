"""A million exact draws beside OpenDP's exact noise and numpy's inexact noise, all in one run.

OpenDP needs several microseconds a draw, so it is measured on fewer draws and its time is scaled up; the row
says so.  The goal: at most 1/50 of OpenDP's time, and at most 8 times that of numpy.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from adyton.kernel.noise import SystemBits, rounded_gaussian, two_sided_geometric

DRAWS = 10**6
PEER_DRAWS = 10**5
SCALE = 17.5


def seconds(action: Callable[[], object], repetitions: int) -> float:
    """Of the fastest of several repetitions: the others were disturbed by something else."""
    best = float("inf")
    for _ in range(repetitions):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def opendp_noise() -> dict[str, Callable[[], object]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    integers = dp.vector_domain(dp.atom_domain(T=int))
    zeros = [0] * PEER_DRAWS
    gaussian: Any = dp.m.make_gaussian(integers, dp.l2_distance(T=float), scale=SCALE)
    laplace: Any = dp.m.make_laplace(integers, dp.l1_distance(T=int), scale=SCALE)
    return {"gaussian": lambda: gaussian(zeros), "geometric": lambda: laplace(zeros)}


def row(name: str, ours: float, reference: float, against: str) -> dict[str, object]:
    ratio = float(f"{ours / reference:.3g}")
    return {
        "name": name,
        "ours": round(ours, 4),
        "reference": round(reference, 4),
        "ratio": ratio,
        "unit": "s",
        "against": against,
    }


def run() -> list[dict[str, object]]:
    bits, unsafe, peers = SystemBits(), np.random.default_rng(), opendp_noise()
    ours: dict[str, Callable[[], object]] = {
        "gaussian": lambda: rounded_gaussian.draw(SCALE, DRAWS, bits),
        "geometric": lambda: two_sided_geometric.draw(SCALE, DRAWS, bits),
    }
    floats: dict[str, Callable[[], object]] = {
        "gaussian": lambda: unsafe.normal(0, SCALE, DRAWS),
        "geometric": lambda: unsafe.laplace(0, SCALE, DRAWS),
    }
    titles = {"gaussian": "rounded Gaussian", "geometric": "two-sided geometric"}
    rows = []
    for kind, title in titles.items():
        exact, inexact = seconds(ours[kind], 9), seconds(floats[kind], 9)
        peer = seconds(peers[kind], 3) * DRAWS / PEER_DRAWS
        rows.append(row(f"{title}, {DRAWS:,} draws", exact, peer, f"OpenDP, {PEER_DRAWS:,} draws scaled up"))
        rows.append(row(f"{title}, {DRAWS:,} draws", exact, inexact, "numpy's float noise"))
    return rows


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
