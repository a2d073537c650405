"""What accounting costs: after every query, for a plan, and beside dp-accounting in the same run."""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
from dp_accounting.pld import privacy_loss_distribution as peer
from noise import best
from noise import row as rounded_row

from adyton.accounting.pld import pld
from adyton.accounting.pld.pairs import GaussianPair, LaplacePair, RandomizedResponsePair
from adyton.kernel.accounting import GdpAccounting
from adyton.kernel.privacy import GaussianCost

DELTA = 1e-6
MECHANISMS = 10_000
PEER_STEPS = 300
PEER_INTERVAL = 1e-4  # the default of dp-accounting


def row(name: str, ours: float, reference: float, unit: str, against: str) -> dict[str, object]:
    """With three digits of the ratio, because some are far below a hundredth."""
    return rounded_row(name, ours, reference, unit, against) | {"ratio": float(f"{ours / reference:.3g}")}


def stream(n: int) -> tuple[list[float], list[int]]:
    """Log-uniform epsilons from 1e-4 to 1e-1, of three kinds."""
    numbers = np.random.default_rng(7)
    epsilons = np.exp(numbers.uniform(math.log(1e-4), math.log(1e-1), MECHANISMS))
    kinds = numbers.integers(0, 3, MECHANISMS)
    return epsilons[:n].tolist(), kinds[:n].tolist()


def charges() -> dict[int, float]:
    """Microseconds for one charge and the epsilon after it, near k = 100 and near k = 10,000."""
    filter_, delta = GdpAccounting(), Fraction(1, 10**6)
    costs = [GaussianCost(Fraction(epsilon) ** 2) for epsilon in stream(MECHANISMS)[0]]
    spent, seconds = 0, []
    filter_.epsilon(1, delta)
    for cost in costs:
        start = time.perf_counter()
        spent += filter_.amount(cost)
        filter_.epsilon(spent, delta)
        seconds.append(time.perf_counter() - start)
    return {k: 1e6 * float(np.median(seconds[k - 100 : k])) for k in (100, MECHANISMS)}


def peer_law(epsilon: float, kind: int) -> Any:
    if kind == 0:
        return peer.from_laplace_mechanism(1 / epsilon, value_discretization_interval=PEER_INTERVAL)
    if kind == 1:
        return peer.from_gaussian_mechanism(1 / epsilon, value_discretization_interval=PEER_INTERVAL)
    lies = 2 / (1 + math.exp(epsilon))
    return peer.from_randomized_response(lies, 2, value_discretization_interval=PEER_INTERVAL)


def peer_step() -> float:
    """Microseconds of dp-accounting for composing one more and asking for epsilon."""
    total, seconds = peer.identity(value_discretization_interval=PEER_INTERVAL), []
    for epsilon, kind in zip(*stream(PEER_STEPS), strict=True):
        start = time.perf_counter()
        total = total.compose(peer_law(epsilon, kind))
        total.get_epsilon_for_delta(DELTA)
        seconds.append(time.perf_counter() - start)
    return 1e6 * float(np.median(seconds[-100:]))


def thousand_laplaces(times: int, interval: float) -> tuple[float, float]:
    """Seconds of ours and theirs.  Their interval is the one at which they are as tight as we are."""
    plan = [(LaplacePair("0.01"), times)]

    def theirs() -> float:
        law = peer.from_laplace_mechanism(100, value_discretization_interval=interval)
        return float(law.self_compose(times).get_epsilon_for_delta(DELTA))

    assert abs(theirs() - pld.epsilon_up(plan, DELTA)) < 1e-5
    return best(lambda: pld.epsilon_up(plan, DELTA), 5), best(theirs, 5)


def plan_of(n: int) -> tuple[float, float]:
    """Seconds and epsilon of a plan of n different slots."""
    make: list[Any] = [LaplacePair, GaussianPair, RandomizedResponsePair]
    slots = [(make[kind](epsilon), 1) for epsilon, kind in zip(*stream(n), strict=True)]
    return best(lambda: pld.epsilon_up(slots, DELTA), 3), pld.epsilon_up(slots, DELTA)


def run() -> list[dict[str, object]]:
    ours, step = charges(), peer_step()
    against = f"dp-accounting PLD, step {PEER_STEPS}"
    rows = [
        row(f"charge and epsilon now, mechanism {k:,}", us, step, "us", against) for k, us in ours.items()
    ]
    for times in (1000, 100_000):
        a, b = thousand_laplaces(times, 1e-3)
        rows.append(row(f"PLD of {times:,} Laplace(0.01)", a, b, "s", "dp-accounting, equally tight"))
    for n, known in ((1000, 3.8907), (MECHANISMS, 15.8954)):
        seconds, epsilon = plan_of(n)
        rows.append(row(f"plan of {n:,} different slots", seconds, 5.0, "s", "the 5 s that are allowed"))
        rows.append(row(f"plan of {n:,} different slots, epsilon", epsilon, known, "", "the best known"))
    return rows


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
