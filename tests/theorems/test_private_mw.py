"""Private multiplicative weights: what reaches the data, the true law of short runs, and the guaranteed error."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from adyton.errors import InvalidRequest
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import SparseState
from adyton.monitors.pmw.guess import CellDistribution, most_updates
from adyton.monitors.pmw.run import PrivateMwAnswer, PrivateMwPlan
from adyton.noise_intervals.laws import geometric_pmf, geometric_tail
from adyton.noise_intervals.sparse import comparison_error, numeric_sparse_for_cost
from adyton.planning.coordinated.linear_query import (
    BoxQuery,
    LinearQuery,
    MarginalQuery,
    WeightedQuery,
)
from support.randomness import Seeded

TOTAL, DENOMINATOR = 3, 2
QUERIES: list[LinearQuery] = [WeightedQuery([2, 1], 2), WeightedQuery([0, 2], 2), WeightedQuery([1, 0])]


class Scripted:
    """A monitor whose answers were decided beforehand, and that remembers what it was fed."""

    def __init__(self, real: NumericSparse, script: list[int | None]) -> None:
        self.sparse = SimpleNamespace(sensitivity=real.sparse.sensitivity, monotone=False)
        self.script, self.fed = iter(script), list[tuple[int, int, int | None]]()
        self._left = real.sparse.positives

    def start(self, bits: object) -> SparseState:
        return SparseState(self._left, 0)

    def step(
        self, watch: SparseState, exact: int, threshold: int, bits: object
    ) -> tuple[int | None, SparseState]:
        answer = next(self.script)
        self.fed.append((exact, threshold, answer))
        return answer, SparseState(watch.left - (answer is not None), 0)


def _run(
    real: NumericSparse, histogram: np.ndarray, script: list[int | None]
) -> tuple[list[PrivateMwAnswer], list[tuple[int, int, int | None]], np.ndarray]:
    machine = Scripted(real, script)
    plan = PrivateMwPlan(2, TOTAL, machine, threshold=2, gap=0.25)  # type: ignore[arg-type]
    run, answers = plan.start(Seeded(0)), []
    for query in QUERIES:
        if run.halted:
            break
        try:
            answers.append(run.ask(query, int(query.numerator(histogram)), Seeded(0)))
        except StopIteration:
            break
    return answers, machine.fed, run.guess.weights


def _log_chance(real: NumericSparse, fed: list[tuple[int, int, int | None]]) -> float:
    """Of these answers, by the definition of the sparse vector: the threshold's noise is summed over."""
    sparse, total = real.sparse, 0.0
    t, q, v = (float(s) for s in (sparse.threshold_scale, sparse.query_scale, real.value_scale))
    for offset in range(-60, 61):
        chance = geometric_pmf(t, offset)
        for exact, threshold, answer in fed:
            above = geometric_tail(q, threshold + offset - exact)
            chance *= 1 - above if answer is None else above * geometric_pmf(v, answer - exact)
        total += chance
    return math.log(total)


TABLES = [np.array(h) for h in itertools.product(range(4), repeat=2) if sum(h) <= TOTAL]
SCRIPTS: list[list[int | None]] = [[*[None] * lead, value] for lead in range(6) for value in (-1, 2, 6)] + [
    [None] * 6
]


def _adjacency(x: np.ndarray, y: np.ndarray, relation: str) -> bool:
    move = x - y
    return bool(np.abs(move).sum() == 1 or (relation == "replace-one" and sorted(move) == [-1, 1]))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_theorem_PMW_PRIVACY_the_law_of_short_runs_on_all_adjacency(relation: str) -> None:
    """Every place of the one positive, and several measured values; the guess changes between queries."""
    real = numeric_sparse_for_cost(Fraction(3), 1, sensitivity=DENOMINATOR)
    epsilon = float(real.cost().pure)
    law = np.array([[_log_chance(real, _run(real, x, s)[1]) for s in SCRIPTS] for x in TABLES])
    gaps = [
        float(np.abs(law[i] - law[j]).max())
        for (i, x), (j, y) in itertools.combinations(enumerate(TABLES), 2)
        if _adjacency(x, y, relation)
    ]
    assert max(gaps) <= epsilon * (1 + 1e-9)
    assert max(gaps) > 0.5 * epsilon


def test_theorem_PMW_PRIVACY_neighbors_feed_integers_within_sensitivity() -> None:
    """Three positives: with the same answers so far, all else about the two runs is identical."""
    real = numeric_sparse_for_cost(Fraction(3), 3, sensitivity=DENOMINATOR)
    script: list[int | None]
    for script in ([3, None, 4, 2], [None, 3, None, None, 5], [None] * 6, [2, 2, 2]):
        for x, y in itertools.combinations(TABLES, 2):
            if not _adjacency(x, y, "replace-one"):
                continue
            (said, fed, guess), (said_y, fed_y, guess_y) = (_run(real, h, list(script)) for h in (x, y))
            assert said == said_y
            assert np.array_equal(guess, guess_y)
            assert all(type(a) is int for a, _, _ in fed)
            assert max(abs(a - b) for (a, _, _), (b, _, _) in zip(fed, fed_y, strict=True)) <= DENOMINATOR
            assert [f[1:] for f in fed] == [f[1:] for f in fed_y]


def test_theorem_PMW_PRIVACY_costs_and_halts_as_its_machine() -> None:
    """Costs what its machine costs, and halts when it does."""
    machine = numeric_sparse_for_cost(Fraction(1), 3)
    plan = PrivateMwPlan(4, 1000, machine, threshold=1, gap=0.1)
    assert plan.cost() == machine.cost()
    assert plan.cost().pure <= 1
    run, bits = plan.start(Seeded(1)), Seeded(2)
    query = BoxQuery((4,), {0: [0]})
    for _ in range(200):
        if run.halted:
            break
        run.ask(query, 10**6 if run.updates % 2 else -(10**6), bits)
    assert run.halted
    assert run.updates == 3
    with pytest.raises(InvalidRequest, match="updates are spent"):
        run.ask(query, 0, bits)


# How good the answers are ---------------------------------------------------------------------------------


def _queries(shape: tuple[int, ...], count: int, random: np.random.Generator) -> list[BoxQuery]:
    made = []
    for _ in range(count):
        axes = random.choice(len(shape), 2, replace=False)
        made.append(
            BoxQuery(
                shape, {int(a): np.flatnonzero(random.random(shape[a]) < 0.5).tolist() or [0] for a in axes}
            )
        )
    return made


@pytest.mark.parametrize(("total", "epsilon"), [(200_000, 4), (1_000_000, 1)])
def test_theorem_PMW_ERROR_all_answers_are_within_the_bound(total: int, epsilon: int) -> None:
    """20 runs of 150 queries over 256 cells; at a true 90 % fewer than the 1e-7 quantile would be an alarm.

    The histogram has one heavy cell and queries are asked adaptively: after a measured answer the same
    query is asked again, which must now be answered well.
    """
    shape, queries, runs = (4, 4, 4, 4), 150, 20
    random, bits = np.random.Generator(np.random.Philox(5)), Seeded(7)
    plan = PrivateMwPlan.for_cost(Fraction(epsilon), 256, total, queries, confidence=0.9)
    bound = plan.error(0.9, queries)
    assert plan.cost().pure <= epsilon
    assert bound < 0.45
    good = 0
    for _ in range(runs):
        histogram = random.multinomial(total, random.dirichlet(np.full(256, 0.02)))
        run, worst, again = plan.start(bits), 0.0, list[BoxQuery]()
        for query in _queries(shape, queries, random):
            asked = again.pop() if again else query
            exact = int(asked.numerator(histogram))
            answer = run.ask(asked, exact, bits)
            worst = max(worst, abs(answer.mean - exact / total))
            if answer.measured:
                again.append(asked)
        assert run.updates <= plan.machine.sparse.positives
        good += worst <= bound and not run.halted
    assert good >= binom.ppf(1e-7, runs, 0.9)


def test_theorem_PMW_ERROR_every_update_is_worth_its_price() -> None:
    """An adversary who always asks the worst query: the updates stay within ln(cells) / (2 gap**2)."""
    cells, total = 64, 10**7
    plan = PrivateMwPlan.for_cost(Fraction(1), cells, total, 1000, confidence=0.999)
    histogram = np.zeros(cells, dtype=np.int64)
    histogram[5] = total
    run, bits = plan.start(Seeded(8)), Seeded(9)
    for _ in range(500):
        query = WeightedQuery((histogram / total > run.guess.weights).astype(np.int64))
        before = run.updates
        old = -math.log(run.guess.weights[5])  # the relative entropy of the guess from the truth
        answer = run.ask(query, int(query.numerator(histogram)), bits)
        assert abs(answer.mean - 1) <= plan.error(0.999, 1000)
        if run.updates > before:
            assert old + math.log(run.guess.weights[5]) >= 2 * plan.gap**2
    assert 1 <= run.updates <= most_updates(cells, plan.gap) < plan.machine.sparse.positives


@pytest.mark.parametrize("gap", [1e-6, 0.2])
def test_theorem_PMW_ERROR_guesses_are_as_accurate_as_their_comparisons(gap: float) -> None:
    """60 runs of 40 queries with a low threshold and a wrong total, at 90 %: fewer than the 1e-7 quantile of
    good runs would be an alarm.  Mutant: the error of half as many comparisons at half the confidence.
    """
    random, bits, runs, good = np.random.Generator(np.random.Philox(6)), Seeded(8), 60, 0
    machine = numeric_sparse_for_cost(Fraction(1), 5)
    plan = PrivateMwPlan(16, 900, machine, threshold=20, gap=gap)
    bound = plan.guess_error(0.9, 40)
    assert bound == 20 + comparison_error(machine, 0.9, 80)
    for _ in range(runs):
        histogram = random.multinomial(1000, random.dirichlet(np.full(16, 0.1)))
        run, worst = plan.start(bits), 0.0
        for query in _queries((4, 4), 40, random):
            exact, guess = int(query.numerator(histogram)), round(900 * run.guess.answer(query))
            if run.halted:
                break
            if not run.ask(query, exact, bits).measured:
                worst = max(worst, abs(exact - guess))
        good += worst <= bound
    assert good >= binom.ppf(1e-7, runs, 0.9)


def test_a_marginal_counts_as_plain_weights_and_a_fit_answers_as_told() -> None:
    random = np.random.Generator(np.random.Philox(9))
    histogram = random.integers(0, 50, 60)
    for axes in ((), (1,), (0, 2), (0, 1, 2)):
        sizes = [(3, 4, 5)[axis] for axis in axes]
        inside = random.random(sizes) < 0.5
        kept = [size if axis in axes else 1 for axis, size in enumerate((3, 4, 5))]
        plain = WeightedQuery(np.broadcast_to(inside.reshape(kept), (3, 4, 5)).ravel().astype(np.int64))
        marginal = MarginalQuery((3, 4, 5), axes, inside)
        assert int(marginal.numerator(histogram)) == int(plain.numerator(histogram))
        spread = [np.zeros(60), np.zeros(60)]
        marginal.spread(0.3, spread[0])
        plain.spread(0.3, spread[1])
        assert np.allclose(*spread)
        if 0 < plain.weights.sum() < 60:
            guess = CellDistribution(60)
            for mean in (0.9, 0.001, 0.5):
                guess.fit(marginal, mean)
                assert guess.answer(plain) == pytest.approx(mean)
                assert guess.weights.sum() == pytest.approx(1)
    with pytest.raises(InvalidRequest, match="in its order"):
        MarginalQuery((3, 4), (1, 0), np.ones((4, 3), bool))


def test_rational_values_share_the_sensitivity_of_the_plan() -> None:
    """A query in halves inside a plan in sixths: the threshold means the same share for both."""
    machine = numeric_sparse_for_cost(Fraction(10**6), 5, sensitivity=6)
    plan = PrivateMwPlan(3, 100, machine, threshold=120, gap=0.2)
    run, bits = plan.start(Seeded(1)), Seeded(2)
    answer = run.ask(WeightedQuery([1, 0, 2], 2), 150, bits)  # mean 0.75 against a guess of 0.5
    assert answer.measured
    assert answer.mean == pytest.approx(0.75, abs=0.01)
    quiet = run.ask(WeightedQuery([1, 1, 1]), 100, bits)
    assert not quiet.measured
    assert quiet.mean == pytest.approx(1)
    with pytest.raises(InvalidRequest, match="divide"):
        run.ask(WeightedQuery([4, 0, 0], 4), 10, bits)


@pytest.mark.parametrize(
    "make",
    [
        lambda s: PrivateMwPlan(4, 0, s, 1, 0.1),
        lambda s: PrivateMwPlan(4, 2**46, s, 1, 0.1),
        lambda s: PrivateMwPlan(4, 10, s, 0, 0.1),
        lambda s: PrivateMwPlan(4, 10, s, 1, 0.0),
        lambda s: PrivateMwPlan(4, 10, numeric_sparse_for_cost(Fraction(1), 3, monotone=True), 1, 0.1),
        lambda s: PrivateMwPlan.for_cost(Fraction(1, 100), 10**6, 100, 1000),
        lambda s: PrivateMwPlan(4, 10, s, 1, 0.1).start(Seeded(1)).ask(WeightedQuery([1, 1]), 1, Seeded(1)),
    ],
)
def test_nonsense_is_refused(make) -> None:
    with pytest.raises(InvalidRequest):
        make(numeric_sparse_for_cost(Fraction(1), 3))
