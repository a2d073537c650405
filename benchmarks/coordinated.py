"""Many linear questions together, beside independent noise at the same price in the same run.

Errors are of one table; both sides are measured on it.  A ratio below 1 says how much smaller ours is.
"""

from __future__ import annotations

import json
import time
from fractions import Fraction

import numpy as np

from adyton.accounting import gaussian
from adyton.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.mechanisms.workloads.linear_question import Box
from adyton.mechanisms.workloads.matrix import GaussianMatrix
from adyton.mechanisms.workloads.private_mw import PmwPlan
from adyton.mechanisms.workloads.strategy import Strategy, identity
from adyton.mechanisms.workloads.strategy_choice import best_strategy, with_free_total
from adyton.mechanisms.workloads.workload import Cells, Ranges
from adyton.noise import SystemBits, rounded_gaussian, two_sided_geometric
from adyton.privacy import Neighbours

CELLS, RELEASES = 1024, 400
MU_SQUARED = Fraction(1, 20)
SHAPE, UNITS, QUESTIONS, UPDATES, EPSILON = (10,) * 6, 10_000, 10_000, 80, 1
BITS = SystemBits()


def row(name: str, ours: float, reference: float | None, unit: str, against: str) -> dict[str, object]:
    ratio = None if reference is None else round(ours / reference, 5)
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "ratio": ratio,
        "unit": unit,
        "against": against,
    }


def measured(mechanism: GaussianMatrix, workload: Ranges) -> float:
    """The mean squared error over all questions, a quadratic form in the errors of the cells."""
    nothing, form = np.zeros(workload.cells, dtype=np.int64), workload.gram() / workload.questions
    releases = (mechanism.release(nothing, BITS) for _ in range(RELEASES))
    cells = (mechanism.answers(Cells(workload.cells), released) for released in releases)
    return float(np.mean([e @ form @ e for e in cells]))


def ranges() -> list[dict[str, object]]:
    workload = Ranges(CELLS)
    start = time.perf_counter()
    best = best_strategy(workload, "add-or-remove")
    rows = [
        row(f"{best.name} strategy, {CELLS:,} cells, found in", time.perf_counter() - start, None, "s", "")
    ]
    rows += errors(workload, best, "add-or-remove")
    return rows + errors(workload, with_free_total(best), "replace")


def errors(workload: Ranges, best: Strategy, neighbours: Neighbours) -> list[dict[str, object]]:
    title = f"all ranges of {CELLS:,} cells, {neighbours}"
    ours = GaussianMatrix.for_cost(best, neighbours, MU_SQUARED)
    cells = GaussianMatrix.for_cost(identity(CELLS), neighbours, MU_SQUARED)
    expected, plain = ours.predicted_error(workload), cells.predicted_error(workload)
    seen, plainly_seen = measured(ours, workload), measured(cells, workload)
    return [
        row(f"{title}: predicted error", expected, plain, "mse", "noise on every cell"),
        row(f"{title}: measured error", seen, plainly_seen, "mse", "noise on every cell"),
        row(
            f"{title}: measured error", seen, one_by_one(workload, neighbours), "mse", "noise on every range"
        ),
    ]


def one_by_one(workload: Ranges, neighbours: Neighbours) -> float:
    """The mean squared error if every range gets noise of its own, at the same price for all together."""
    form = workload.gram()
    own = np.diag(form)
    moved = own.max()
    if neighbours == "replace":
        moved = max(moved, (own[:, None] + own - 2 * form).max())
    sigma = float(moved / float(MU_SQUARED)) ** 0.5
    return float(np.mean(rounded_gaussian.draw(sigma, workload.questions, BITS).astype(float) ** 2))


def people(random: np.random.Generator) -> np.ndarray:
    """Three kinds of units, each with its own habits in six attributes."""
    kind = random.integers(0, 3, UNITS)
    columns = []
    for size in SHAPE:
        habits = random.dirichlet(np.full(size, 0.5), 3).cumsum(axis=1)[kind]
        columns.append((random.random(UNITS)[:, None] > habits).sum(axis=1).clip(0, size - 1))
    return np.bincount(np.ravel_multi_index(columns, SHAPE), minlength=10 ** len(SHAPE))


def conjunctions(random: np.random.Generator) -> list[Box]:
    """One to three attributes, half of the categories of each."""
    return [
        Box(
            SHAPE,
            {
                int(a): random.choice(SHAPE[a], 5, replace=False).tolist()
                for a in random.choice(6, random.integers(1, 4), replace=False)
            },
        )
        for _ in range(QUESTIONS)
    ]


def private_mw() -> list[dict[str, object]]:
    random = np.random.default_rng()
    histogram, questions = people(random), conjunctions(random)
    exact = np.array([int(q.numerator(histogram)) for q in questions])
    stream = NumericSparse.for_cost(Fraction(EPSILON), UPDATES)
    spread = float(stream.sparse.threshold_scale) + float(stream.sparse.question_scale)
    plan = PmwPlan(histogram.size, UNITS, stream, threshold=round(5 * spread), gap=2 * spread / UNITS)
    start = time.perf_counter()
    run, answers = plan.start(BITS), []
    for question, value in zip(questions, exact.tolist(), strict=True):
        # when all updates are spent the public guess still answers, free of charge
        answers.append(run.guess.answer(question) if run.halted else run.ask(question, value, BITS).mean)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    pure = two_sided_geometric.draw(QUESTIONS / EPSILON, QUESTIONS, BITS) / UNITS
    independent = time.perf_counter() - start
    mu = gaussian.mu_down(EPSILON, 1e-6)
    loud = rounded_gaussian.draw(QUESTIONS**0.5 / mu, QUESTIONS, BITS) / UNITS
    title = f"PMW, {QUESTIONS:,} questions, {histogram.size:,} cells, {UNITS:,} units, epsilon {EPSILON}"
    truth = exact / UNITS

    def off(answer: np.ndarray) -> float:
        """Everybody may cut off what cannot be."""
        return float(np.sqrt(np.mean((np.clip(answer, 0, 1) - truth) ** 2)))

    uniform = [np.prod([len(c) / 10 for c in q.chosen.values()]) for q in questions]
    return [
        row(title, seconds, independent, "s", "independent geometric noise"),
        row(f"{title}: error", off(np.array(answers)), off(truth + pure), "rmse", "the same noise"),
        row(f"{title}: error", off(np.array(answers)), off(truth + loud), "rmse", "Gaussian, delta 1e-6"),
        row(f"{title}: error", off(np.array(answers)), off(np.array(uniform)), "rmse", "no data"),
        row(f"{title}: measured", run.updates, UPDATES, "questions", "paid for"),
    ]


def run() -> list[dict[str, object]]:
    return ranges() + private_mw()


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
