"""MONITOR-IS-ONE-RELEASE: the proof's two machines, built for a real sparse vector, and monitors that interleave."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from sparse_law import Said, Table, chance, hardest, table_of

from adyton.kernel.accounting import GdpAccounting, PureAccounting, ZcdpAccounting, accounting_named
from adyton.kernel.accounting.gaussian import delta_up
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import PureCost
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.monitor import of_validity
from adyton.noise_intervals.laws import geometric_log_pmf
from adyton.noise_intervals.sparse import sparse_for_cost
from adyton.textbook.above_threshold import AboveThreshold

EPSILON = 1.0
GAPS = range(-8, 6)
Strategy = Callable[[Said, Said], tuple[int, int]]


def tables(c: int, *, refresh: bool = False) -> Table:
    return table_of(sparse_for_cost(Fraction(1), c, refresh=refresh), GAPS, reach=300)


def prefixes(length: int, c: int) -> list[Said]:
    """Sequences of answers after which another query may be put, and those that end."""
    every = itertools.chain.from_iterable(
        itertools.product((False, True), repeat=n) for n in range(length + 1)
    )
    return [said for said in every if sum(said[:-1]) < c and sum(said) <= c]


@pytest.mark.parametrize("c", [1, 2])
@pytest.mark.parametrize(
    "gaps", [((0, 1, -2), (1, 0, -1)), ((-1, -1, -1), (0, 0, 0)), ((2, 2, -3), (3, 1, -3))]
)
def test_theorem_MONITOR_IS_ONE_RELEASE_the_two_machines_exist(
    c: int, gaps: tuple[Sequence[int], Sequence[int]]
) -> None:
    """A and B of the proof are never negative, are machines (answers sum to 1), and mix to the two monitors."""
    table, e = tables(c), math.exp(EPSILON)

    def pair(said: Said) -> tuple[float, float]:
        here, there = (chance(table, said, g[: len(said)]) for g in gaps)
        return (e * here - there) / (e - 1), (e * there - here) / (e - 1)

    for said in prefixes(3, c):
        a, b = pair(said)
        assert min(a, b) >= -1e-12
        here, there = (chance(table, said, g[: len(said)]) for g in gaps)
        assert (e * a + b) / (1 + e) == pytest.approx(here, abs=1e-12)
        assert (e * b + a) / (1 + e) == pytest.approx(there, abs=1e-12)
        if len(said) < 3 and sum(said) < c:
            following = [pair((*said, answer)) for answer in (False, True)]
            assert sum(f[0] for f in following) == pytest.approx(a, abs=1e-12)
            assert sum(f[1] for f in following) == pytest.approx(b, abs=1e-12)


def interleaved(
    strategy: Strategy, steps: int, table: Table, c: int, moved: bool
) -> dict[tuple[Said, Said], float]:
    """The law of two monitors that are fed in turn; each query is chosen by all answers of both."""
    reached: dict[tuple[Said, Said], tuple[tuple[int, ...], tuple[int, ...]]] = {((), ()): ((), ())}
    for step in range(steps):
        turn, following = step % 2, {}
        for said, asked in reached.items():
            if sum(said[turn]) == c:
                following[said] = asked
                continue
            gap, move = strategy(*said)
            for answer in (False, True):
                more = [*said], [*asked]
                more[0][turn] += (answer,)
                more[1][turn] += (gap + move if moved else gap,)
                following[tuple(more[0])] = tuple(more[1])
        reached = following
    return {
        said: chance(table, said[0], asked[0]) * chance(table, said[1], asked[1])
        for said, asked in reached.items()
    }


def cunning(mine: Said, other: Said) -> tuple[int, int]:
    """High and said to be below, then low: the direction of the neighbor follows what was said."""
    worried = sum(mine) + sum(other)
    return (-3, -1) if len(mine) + len(other) >= 4 or worried else (3, 1)


def alternating(mine: Said, other: Said) -> tuple[int, int]:
    return (2 - len(mine) - 2 * len(other), 1 if (len(mine) + sum(other)) % 2 else -1)


@pytest.mark.parametrize("strategy", [cunning, alternating])
@pytest.mark.parametrize(("c", "refresh"), [(1, False), (2, False), (2, True)])
def test_theorem_MONITOR_IS_ONE_RELEASE_two_monitors_fed_in_turn(
    strategy: Strategy, c: int, refresh: bool
) -> None:
    """Pure, zCDP and GDP totals against the exact law of both transcripts together: of one release each, or,
    where the threshold is drawn anew, of one release for each run.
    """
    table, cost = tables(c, refresh=refresh), sparse_for_cost(Fraction(1), c, refresh=refresh).cost()
    here, there = (interleaved(strategy, 6, table, c, moved) for moved in (False, True))
    assert sum(here.values()) == pytest.approx(1, abs=1e-9)
    assert sum(there.values()) == pytest.approx(1, abs=1e-9)
    losses = {said: math.log(here[said] / there[said]) for said in here}
    assert max(map(abs, losses.values())) <= 2 * EPSILON + 1e-9

    gdp, rho = GdpAccounting(), ZcdpAccounting()
    mu = math.sqrt(2 * gdp.amount(cost) / UNITS_PER_ONE)
    for k in range(8):
        true = sum(max(0.0, here[s] - math.exp(k / 5) * there[s]) for s in here)
        assert true <= delta_up(mu, k / 5)
    total = 2 * rho.amount(cost) / UNITS_PER_ONE
    for alpha in (1.01, 1.5, 2, 5, 20):
        renyi = math.log(sum(there[s] * math.exp(alpha * losses[s]) for s in here)) / (alpha - 1)
        assert renyi <= alpha * total + 1e-9


@pytest.mark.parametrize("c", [1, 2, 10])
@pytest.mark.parametrize("monotone", [False, True])
def test_theorem_MONITOR_IS_ONE_RELEASE_a_new_threshold_is_a_new_release(c: int, monotone: bool) -> None:
    """Under every filter c times what ABOVE-THRESHOLD costs with the same noise, and no more."""
    one = sparse_for_cost(Fraction(3), c, monotone=monotone, refresh=True)
    run = AboveThreshold(one.threshold_scale, one.query_scale, monotone=monotone).cost()
    assert (one.cost().pure, one.cost().zcdp, one.cost().gdp) == (c * run.pure, c * run.zcdp, c * run.gdp)
    assert one.cost().pure == pytest.approx(3, rel=1e-12)
    assert one.cost().gdp <= PureCost(Fraction(3)).gdp * Fraction(10**9 + 1, 10**9)


def test_theorem_MONITOR_IS_ONE_RELEASE_one_price_whatever_is_fed() -> None:
    """Longer monitors approach the price and never pass it, so charging once, in advance, is exact."""
    one = sparse_for_cost(Fraction(1), 2)
    losses = [hardest(one, 2, below=k) for k in (1, 2, 4, 30)]
    assert losses == sorted(losses)
    assert losses[-1] == pytest.approx(1, abs=1e-3)
    assert losses[-1] <= 1 + 1e-9
    assert PureAccounting().amount(one.cost()) <= UNITS_PER_ONE


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("reaches", [1, 2])
@pytest.mark.parametrize("accounting", ["gdp", "zcdp"])
def test_theorem_MONITOR_IS_ONE_RELEASE_validity_pays_for_values_too(
    c: int, reaches: int, accounting: str
) -> None:
    """Each of c values is moved by the reach; the law of its noise says what that is worth.  Mutant: one value for all."""
    machine = NumericSparse(sparse_for_cost(Fraction(1), c), Fraction(5))
    radius, pure = of_validity(accounting_named(accounting), machine, reaches)
    law = [geometric_log_pmf(5.0, value) for value in range(-30, 31)]
    worst = max(abs(before - after) for before, after in zip(law, law[reaches:], strict=False))
    comparisons = of_validity(accounting_named(accounting), machine.sparse, reaches)[1]
    assert radius == 0
    assert pure >= comparisons + c * worst * UNITS_PER_ONE * (1 - 1e-9)
    assert pure <= comparisons + c * worst * UNITS_PER_ONE * (1 + 1e-9)
