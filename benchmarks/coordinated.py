"""Many linear queries together, beside independent noise at the same price in the same run.

Errors are of one table; both sides are measured on it.  A ratio below 1 says how much smaller ours is.
"""

from __future__ import annotations

import json
import time
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd

import adyton
from adyton.kernel.accounting import gaussian
from adyton.kernel.noise import SystemBits, rounded_gaussian, two_sided_geometric
from adyton.kernel.privacy import Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.kernel.special.mechanisms.workloads.residuals import ResidualAttribute
from adyton.kernel.special.mechanisms.workloads.strategy import Strategy
from adyton.kernel.terms.expressions import And, Compare
from adyton.kernel.terms.leaves import Constant, ValueOf
from adyton.kernel.terms.measures import Count
from adyton.monitors.pmw.run import PrivateMwPlan
from adyton.noise_intervals.sparse import numeric_sparse_for_cost
from adyton.planning.coordinated.linear_query import BoxQuery
from adyton.planning.coordinated.range_workload import IdentityQueries, Ranges
from adyton.planning.coordinated.strategies import components, identity
from adyton.planning.coordinated.strategy_choice import optimal_strategy, with_free_total
from adyton.planning.plan import PricedBatch, make_batch
from adyton.planning.price import Price
from adyton.query.nodes import Query
from adyton.query.request import Request
from adyton.study import Study
from adyton.textbook.matrix import GaussianMatrix

CELLS, RELEASES, ASKED_CELLS = 1024, 400, 128
MU_SQUARED = Fraction(1, 20)
SHAPE, UNITS, QUERIES, UPDATES, EPSILON = (10,) * 6, 10_000, 10_000, 80, 1
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
    """The mean squared error over all queries, a quadratic form in the errors of the cells."""
    nothing, form = np.zeros(workload.cells, dtype=np.int64), workload.gram() / workload.queries
    releases = (mechanism.release(nothing, BITS) for _ in range(RELEASES))
    cells = (mechanism.answers(IdentityQueries(workload.cells), released) for released in releases)
    return float(np.mean([e @ form @ e for e in cells]))


def ranges() -> list[dict[str, object]]:
    workload = Ranges(CELLS)
    start = time.perf_counter()
    best = optimal_strategy(workload)
    rows = [
        row(f"{best.name} strategy, {CELLS:,} cells, found in", time.perf_counter() - start, None, "s", "")
    ]
    rows += errors(workload, best, "add-remove")
    return rows + errors(workload, with_free_total(best), "replace-one")


def errors(workload: Ranges, best: Strategy, adjacency: Adjacency) -> list[dict[str, object]]:
    title = f"all ranges of {CELLS:,} cells, {adjacency}"
    ours = GaussianMatrix.for_cost(best, adjacency, MU_SQUARED)
    cells = GaussianMatrix.for_cost(identity(CELLS), adjacency, MU_SQUARED)
    expected, plain = ours.predicted_error(workload), cells.predicted_error(workload)
    seen, plainly_seen = measured(ours, workload), measured(cells, workload)
    return [
        row(f"{title}: predicted error", expected, plain, "mse", "noise on every cell"),
        row(f"{title}: measured error", seen, plainly_seen, "mse", "noise on every cell"),
        row(f"{title}: measured error", seen, one_by_one(workload, adjacency), "mse", "noise on every range"),
    ]


def one_by_one(workload: Ranges, adjacency: Adjacency) -> float:
    """The mean squared error if every range gets noise of its own, at the same price for all together."""
    form = workload.gram()
    own = np.diag(form)
    moved = own.max()
    if adjacency == "replace-one":
        moved = max(moved, (own[:, None] + own - 2 * form).max())
    sigma = float(moved / float(MU_SQUARED)) ** 0.5
    return float(np.mean(rounded_gaussian.draw(sigma, workload.queries, BITS).astype(float) ** 2))


# Through the planner of a study ----------------------------------------------------------------------------


def a_study(*columns: CategoryColumn | IntegerColumn) -> Study:
    budget = Guarantee(Fraction(1), Fraction(1, 10**9))
    return Study(Table("t", columns, 10**6), PrivacyUnit("add-remove"), budget, "gdp")


def planned(study: Study, queries: list[Query], strategy: str | None = None) -> PricedBatch:
    price, requests = Price("epsilon", Fraction(1)), [Request(query) for query in queries]
    return make_batch(study, requests, price, study.allowed, strategy=strategy)


def between(column: IntegerColumn, low: int, high: int) -> tuple[Compare, Compare]:
    """As SQL's BETWEEN."""
    ends = Constant(Fraction(low)), Constant(Fraction(high))
    return Compare(ValueOf(column), ">=", ends[0]), Compare(ValueOf(column), "<=", ends[1])


def counts(study: Study, *conditions: tuple[Compare, ...]) -> list[Query]:
    return [Query(study.table, (("n", Count()),), And(condition)) for condition in conditions]


def asked() -> list[dict[str, object]]:
    """What ``ask_many`` would plan: gains are of total squared widths, at the same price."""
    rows = []
    column = IntegerColumn("x", 0, ASKED_CELLS - 1)
    line = a_study(column)
    pairs = [between(column, i, j) for i in range(ASKED_CELLS) for j in range(i, ASKED_CELLS)]
    ranges = planned(line, counts(line, *pairs))
    title = f"all {len(pairs):,} ranges of {ASKED_CELLS} cells by ask_many"
    rows.append(row(f"{title}: total squared error", 1.0, ranges.gain, "of it", "each range for itself"))
    atoms = planned(line, counts(line, *pairs), "atoms")
    rows.append(
        row(f"{title}: total squared error", 1.0, ranges.gain / atoms.gain, "of it", "noise on the cells")
    )
    columns = [CategoryColumn(f"c{i}", tuple(range(10))) for i in range(8)]
    wide = a_study(*columns)
    two = [Query(wide.table, (("n", Count()),), by=both) for both in combinations(columns, 2)]
    start = time.perf_counter()
    tables = planned(wide, two)
    seconds = time.perf_counter() - start
    attributes, energies = [ResidualAttribute(10)] * 8, dict[tuple[int, ...], float]()
    for both in combinations(range(8), 2):
        for kept, own in components(attributes, both, np.eye(100)):
            energies[kept] = energies.get(kept, 0.0) + float((own**2).sum())
    bound = sum((e * np.prod([90.0] * len(kept))) ** 0.5 for kept, e in energies.items()) ** 2
    title = "all 2-way tables of 8 columns of 10 values by ask_many"
    independent = 28 * 2800 / bound  # how far the bound is below each for itself
    rows += [
        row(f"{title}: planned in", seconds, None, "s", ""),
        row(f"{title}: total squared error", 1.0, tables.gain, "of it", "each count for itself"),
        row(f"{title}: total squared error", independent / tables.gain, 1.0, "of it", "singular value bound"),
    ]
    return rows + planning_time()


def planning_time() -> list[dict[str, object]]:
    x, y = IntegerColumn("x", 0, 99), IntegerColumn("y", 0, 99)
    study, random = a_study(x, y), np.random.default_rng(1)
    ends = np.sort(random.integers(0, 100, (1000, 2, 2)), axis=2).tolist()
    boxes = counts(study, *(between(x, *a) + between(y, *b) for a, b in ends))
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        batch = planned(study, boxes)
        seconds.append(time.perf_counter() - start)
    title = f"planning 1,000 boxes of {batch.problem.cells:,} atoms ({batch.noise.measuring.kind})"
    return [
        row(f"{title}, cold", seconds[0], 3.0, "s", "3 s"),
        row(f"{title}, warm", seconds[1], 0.3, "s", "0.3 s"),
        row("the same boxes: total squared error", 1.0, batch.gain, "of it", "each box for itself"),
    ]


def people(random: np.random.Generator) -> np.ndarray:
    """Three kinds of units, each with its own habits in six attributes."""
    kind = random.integers(0, 3, UNITS)
    columns = []
    for size in SHAPE:
        habits = random.dirichlet(np.full(size, 0.5), 3).cumsum(axis=1)[kind]
        columns.append((random.random(UNITS)[:, None] > habits).sum(axis=1).clip(0, size - 1))
    return np.bincount(np.ravel_multi_index(columns, SHAPE), minlength=10 ** len(SHAPE))


def conjunctions(random: np.random.Generator) -> list[BoxQuery]:
    """One to three attributes, half of the categories of each."""
    return [
        BoxQuery(
            SHAPE,
            {
                int(a): random.choice(SHAPE[a], 5, replace=False).tolist()
                for a in random.choice(6, random.integers(1, 4), replace=False)
            },
        )
        for _ in range(QUERIES)
    ]


def private_mw() -> list[dict[str, object]]:
    random = np.random.default_rng()
    histogram, queries = people(random), conjunctions(random)
    exact = np.array([int(q.numerator(histogram)) for q in queries])
    machine = numeric_sparse_for_cost(Fraction(EPSILON), UPDATES)
    spread = float(machine.sparse.threshold_scale) + float(machine.sparse.query_scale)
    plan = PrivateMwPlan(histogram.size, UNITS, machine, threshold=round(5 * spread), gap=2 * spread / UNITS)
    start = time.perf_counter()
    run, answers = plan.start(BITS), []
    for query, value in zip(queries, exact.tolist(), strict=True):
        # when all updates are spent the public guess still answers, free of charge
        answers.append(run.guess.answer(query) if run.halted else run.ask(query, value, BITS).mean)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    pure = two_sided_geometric.draw(QUERIES / EPSILON, QUERIES, BITS) / UNITS
    independent = time.perf_counter() - start
    mu = gaussian.mu_down(EPSILON, 1e-6)
    loud = rounded_gaussian.draw(QUERIES**0.5 / mu, QUERIES, BITS) / UNITS
    title = f"PMW, {QUERIES:,} queries, {histogram.size:,} cells, {UNITS:,} units, epsilon {EPSILON}"
    truth = exact / UNITS

    def off(answer: np.ndarray) -> float:
        """Everybody may cut off what cannot be."""
        return float(np.sqrt(np.mean((np.clip(answer, 0, 1) - truth) ** 2)))

    uniform = [np.prod([len(c) / 10 for c in q.chosen.values()]) for q in queries]
    return [
        row(title, seconds, independent, "s", "independent geometric noise"),
        row(f"{title}: error", off(np.array(answers)), off(truth + pure), "rmse", "the same noise"),
        row(f"{title}: error", off(np.array(answers)), off(truth + loud), "rmse", "Gaussian, delta 1e-6"),
        row(f"{title}: error", off(np.array(answers)), off(np.array(uniform)), "rmse", "no data"),
        row(f"{title}: measured", run.updates, UPDATES, "queries", "paid for"),
    ]


def pmw() -> list[dict[str, object]]:
    """The same through a curator: opened, charged, fed one query after the other, kept in its ledger."""
    random = np.random.default_rng()
    values = tuple("123456789")  # and none: ten classes of each of six columns
    kind, columns = random.integers(0, 3, UNITS), {}
    for name in "abcdef":
        habits = random.dirichlet(np.full(len(values), 0.5), 3).cumsum(axis=1)[kind]
        columns[name] = np.array(values)[(random.random(UNITS)[:, None] > habits).sum(axis=1).clip(0, 8)]
    people = pd.DataFrame(columns)
    table = adyton.Table("people", tuple(CategoryColumn(name, values) for name in columns), rows=UNITS)
    budget = adyton.Guarantee(Fraction(EPSILON), Fraction(1, 10**6))
    truth, answers = np.empty(QUERIES), np.empty(QUERIES)
    with adyton.open(adyton.Study(table, adyton.PrivacyUnit("replace-one"), budget), data=people) as curator:
        preview = curator.preview_pmw(list(columns), queries=QUERIES, share=1)
        opened = curator.open_pmw(list(columns), queries=QUERIES, share=1)
        start = time.perf_counter()
        for place in range(QUERIES):
            chosen = {
                str(name): random.choice(values, 5, replace=False).tolist()
                for name in random.choice(list(columns), random.integers(1, 4), replace=False)
            }
            words = [f"{name} IN ({', '.join(map(repr, own))})" for name, own in chosen.items()]
            answers[place] = opened.feed(f"SELECT COUNT(*) FROM people WHERE {' AND '.join(words)}").share
            rows = np.logical_and.reduce([people[name].isin(own) for name, own in chosen.items()])
            truth[place] = rows.mean()
        seconds, used = time.perf_counter() - start, opened.budget()
    loud = truth + rounded_gaussian.draw(preview.independent * UNITS, QUERIES, BITS) / UNITS

    def off(answer: np.ndarray) -> float:
        return float(np.sqrt(np.mean((np.clip(answer, 0, 1) - truth) ** 2)))

    title = f"pmw, {QUERIES:,} queries, {preview.cells:,} cells, {UNITS:,} units, (1, 1e-6)"
    return [
        row(f"{title}: error", off(answers), off(loud), "rmse", "independent Gaussian noise"),
        row(f"{title}: error as planned", preview.error, preview.independent, "rmse", "independent, planned"),
        row(f"{title}: measured", used.updates - used.updates_left, used.updates, "queries", "paid for"),
        row(f"{title}: a query", seconds / QUERIES, None, "s", ""),
    ]


def run() -> list[dict[str, object]]:
    return asked() + ranges() + private_mw() + pmw()


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
