"""How long exact selections take over 100,000 candidates, easy and hard ones, and OpenDP in the same run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd

import adyton
from adyton.kernel.noise import SystemBits
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.study import Study
from adyton.textbook.noisy_max import NoisyMax
from adyton.textbook.quantile import PrivateQuantile

NUMBER = 10**5
ROWS, PREDICATES = 10**6, 10**4
CANDIDATES = tuple(range(NUMBER))
COUNTS = ScoreSensitivity.of_counts("replace-one")
SCORES = {
    "all equal": [7] * NUMBER,
    "one dominant": [10**9] + [0] * (NUMBER - 1),
    "all distinct": list(range(NUMBER)),
}
EPSILONS = {"epsilon 1": Fraction(1), "tiny epsilon": Fraction(1, 10**12), "huge epsilon": Fraction(10**6)}


def best(action: Callable[[], object], repetitions: int = 7) -> float:
    """Seconds of the fastest of several repetitions: the others were disturbed by something else."""

    def once() -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    return min(once() for _ in range(repetitions))


def row(name: str, ours: float, reference: float | None, against: str) -> dict[str, object]:
    ratio = None if reference is None else round(ours / reference, 3)
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "ratio": ratio,
        "unit": "s",
        "against": against,
    }


def float_gumbel(scores: list[int]) -> int:
    """The same choice as many write it, in floats: fast, and not private in its last digits."""
    noise = np.random.default_rng().gumbel(size=len(scores))
    return int(np.argmax(np.array(scores) / 2 + noise))


def choices() -> list[dict[str, object]]:
    bits, rows = SystemBits(), []
    for mechanism in (ExponentialMechanism, PermuteAndFlip):
        for price, epsilon in EPSILONS.items():
            for kind, scores in SCORES.items():
                chosen = mechanism(CANDIDATES, epsilon, COUNTS)
                ours = best(lambda m=chosen, s=scores: m.release(s, bits))
                unsafe = best(lambda s=scores: float_gumbel(s))
                name = f"{chosen.name}, 10^5 candidates, {kind}, {price}"
                rows.append(row(name, ours, unsafe, "numpy gumbel argmax (unsafe)"))
    return rows


def noisy_max_beside_opendp() -> list[dict[str, object]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    bits, rows = SystemBits(), []
    for kind, scores in SCORES.items():
        pairs = (
            (NoisyMax(CANDIDATES, Fraction(1), COUNTS), dp.max_divergence()),
            (PermuteAndFlip(CANDIDATES, Fraction(1), COUNTS), dp.max_divergence()),
            (ExponentialMechanism(CANDIDATES, Fraction(1), COUNTS), dp.zero_concentrated_divergence()),
        )
        for ours, measure in pairs:
            theirs = dp.m.make_noisy_max(*space, measure, scale=2.0)
            a = best(lambda m=ours, s=scores: m.release(s, bits))
            b = best(lambda m=theirs, s=scores: m(s), 1)
            rows.append(row(f"{ours.name}, 10^5 candidates, {kind}", a, b, "OpenDP make_noisy_max"))
    return rows


def others() -> list[dict[str, object]]:
    bits = SystemBits()
    ages = np.random.default_rng(1).integers(0, 10**6, 10**6)
    median = PrivateQuantile(Fraction(1, 2), -(2**53), 2**53, Fraction(1), "replace-one")
    ten = TopK(CANDIDATES, 10, Fraction(1), COUNTS)
    return [
        row("median of 10^6 rows, 2^54 candidates", best(lambda: median.release(ages, bits), 3), None, ""),
        row(
            "top 10 of 10^5 candidates", best(lambda: ten.release(SCORES["all distinct"], bits), 3), None, ""
        ),
    ]


def best_of_predicates() -> list[dict[str, object]]:
    """From texts to the winner, beside counting the same predicates one after another, each in one pass over
    two columns in memory.  DuckDB with a COUNT FILTER for each takes far longer than both.
    """
    rng = np.random.default_rng(1)
    ages, incomes = rng.integers(0, 100, ROWS), rng.integers(0, 200, ROWS)
    columns = (IntegerColumn("age", 0, 99), IntegerColumn("income", 0, 199))
    budget = Guarantee(Fraction(1), Fraction(1, 10**9))
    study = Study(Table("people", columns, ROWS), PrivacyUnit("add-remove"), budget)
    ends = [(place % 100, 2 * (place // 100) + 1) for place in range(PREDICATES)]

    def plain() -> int:
        counts = [np.count_nonzero((ages >= low) & (incomes < high)) for low, high in ends]
        return int(np.argmax(counts))

    with adyton.open(study, data=pd.DataFrame({"age": ages, "income": incomes})) as curator:
        curator.ask("SELECT COUNT(*) FROM people", share="0.01")  # the table is loaded once

        def ours() -> adyton.Answer:
            asked = [adyton.count(f"age >= {low} AND income < {high}") for low, high in ends]
            return curator.ask(adyton.best_of(asked), share="0.1")

        name = "best_of, 10^4 predicates over 10^6 rows"
        return [row(name, best(ours, 1), best(plain, 1), "one plain scan that counts them all, numpy")]


def run() -> list[dict[str, object]]:
    return choices() + noisy_max_beside_opendp() + others() + best_of_predicates()


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
