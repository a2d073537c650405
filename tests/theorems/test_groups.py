"""Groups of people and disjoint groups, on chains and tables small enough to list."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

import pytest
from composition_oracle import Law, hockey_stick
from hypothesis import given
from hypothesis import strategies as st

from adyton.accounting.textbook.groups import group_guarantee, group_mu_squared, group_rho, parallel
from adyton.errors import InvalidRequest
from adyton.kernel.exact.special import special
from adyton.kernel.privacy import Guarantee

ZERO = Fraction(0)


def chain(seed: int, steps: int, outputs: int = 3) -> list[Law]:
    """The laws of a mechanism on a chain of tables, each a neighbor of the next."""
    rng = Random(seed)
    laws = []
    for _ in range(steps + 1):
        weights = [rng.randint(1, 6) for _ in range(outputs)]
        laws.append({(i,): Fraction(w, sum(weights)) for i, w in enumerate(weights)})
    return laws


def drifting(steps: int, leak: Fraction, odds: Fraction) -> list[Law]:
    """Counts 0..steps told with geometric weights, or outright with probability ``leak``: a chain that is nearly the worst."""
    laws = []
    for value in range(steps + 1):
        weights = [odds ** -abs(value - o) for o in range(steps + 1)]
        laws.append(
            {(0, o): (1 - leak) * w / sum(weights) for o, w in enumerate(weights)} | {(1, value): leak}
        )
    return laws


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
@pytest.mark.parametrize("factor", [Fraction(11, 10), Fraction(3, 2), Fraction(2)])
def test_theorem_GROUP_PRIVACY_covers_chains(steps: int, factor: Fraction) -> None:
    chains = [chain(seed, steps) for seed in range(30)] + [drifting(steps, Fraction(1, 50), factor)]
    for laws in chains:
        delta = max(hockey_stick(a, b, factor) for a, b in itertools.pairwise(laws))
        one = Guarantee(Fraction(math.log(factor)) * (1 + Fraction(1, 10**14)), delta)
        if delta * sum(factor**i for i in range(steps)) >= Fraction(999, 1000):
            continue
        together = group_guarantee(one, steps)
        assert together.epsilon == steps * one.epsilon
        assert hockey_stick(laws[0], laws[-1], factor**steps) <= together.delta


def test_theorem_GROUP_PRIVACY_is_the_sum_of_powers() -> None:
    found = group_guarantee(Guarantee(Fraction(1, 2), Fraction(1, 10**6)), 4)
    assert found.epsilon == 2
    assert float(found.delta) == pytest.approx(1e-6 * sum(math.exp(i / 2) for i in range(4)), rel=1e-13)
    assert group_guarantee(Guarantee(Fraction(1, 2), ZERO), 10**6) == Guarantee(Fraction(5 * 10**5), ZERO)
    with pytest.raises(InvalidRequest, match="says nothing"):
        group_guarantee(Guarantee(Fraction(1), Fraction(1, 10**6)), 30)


def renyi(p: Law, q: Law, alpha: float) -> float:
    return math.log(sum(float(p[k]) * float(p[k] / q[k]) ** (alpha - 1) for k in p)) / (alpha - 1)


@pytest.mark.parametrize("digits", [1, 10, 30, 50, 60, 70, 100, 400])
def test_theorem_GROUP_PRIVACY_never_forgets_delta_if_epsilon_is_small(digits: int) -> None:
    """e**epsilon - 1 is lost among 200 bits from some digits on: then it is refused, never guaranteed."""
    one = Guarantee(Fraction(1, 10**digits), Fraction(1, 10**9))
    try:
        three = group_guarantee(one, 3)
    except InvalidRequest:
        assert digits > 50
    else:
        assert three.delta >= 3 * one.delta
        assert three.delta <= 3 * one.delta * (1 + 3 * one.epsilon) * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_theorem_GROUP_PRIVACY_ZCDP_covers_chains(steps: int) -> None:
    """rho of the steps is the largest D_alpha / alpha over a fine grid that contains every order the proof uses."""
    alphas = [1 + 10 ** (i / 20) for i in range(-80, 40)]
    for seed in range(12):
        laws = chain(seed, steps)
        pairs = [pair for a, b in itertools.pairwise(laws) for pair in ((a, b), (b, a))]
        for alpha in (1.05, 1.5, 4.0, 20.0):
            used = [
                *alphas,
                *(k * alpha for k in range(2, steps + 1)),
                *((k * alpha - 1) / (k - 1) for k in range(2, steps + 1)),
            ]
            rho = max(renyi(a, b, x) / x for a, b in pairs for x in used)
            assert renyi(laws[0], laws[-1], alpha) <= alpha * float(group_rho(Fraction(rho), steps)) * (
                1 + 1e-9
            )


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_theorem_GROUP_PRIVACY_ZCDP_is_attained_by_gaussian_noise(steps: int) -> None:
    """Shifts add up: mu becomes k mu, and rho = mu**2 / 2."""
    assert group_rho(Fraction(1, 50), steps) == Fraction(steps**2, 50)


@pytest.mark.parametrize("steps", [2, 3, 5])
def test_theorem_GROUP_PRIVACY_GDP_covers_chains(steps: int) -> None:
    """mu of a pair on finitely many outputs is the largest gain in quantiles over all tests by likelihood ratio."""

    def mu(p: Law, q: Law) -> float:
        gains, a, b = [], 0.0, 0.0
        for k in sorted(p, key=lambda k: q[k] / p[k])[:-1]:
            a, b = a + float(p[k]), b + float(q[k])
            gains.append(float(special().ndtri(a) - special().ndtri(b)))
        return max(gains)

    for seed in range(40):
        laws = chain(seed, steps, outputs=4)
        one = max(
            mu(a, b)
            for first, second in itertools.pairwise(laws)
            for a, b in ((first, second), (second, first))
        )
        assert mu(laws[0], laws[-1]) ** 2 <= float(group_mu_squared(Fraction(one) ** 2, steps)) * (1 + 1e-9)


# Disjoint groups -------------------------------------------------------------------------------------------


def noisy_size(size: int, odds: Fraction, most: int) -> list[Fraction]:
    weights = [odds ** -abs(size - o) for o in range(most + 1)]
    return [w / sum(weights) for w in weights]


def table_law(table: tuple[int, ...], odds: tuple[Fraction, Fraction]) -> Law:
    """Each row says its cell, 0 or 1; the noisy sizes of both cells are published."""
    laws = [noisy_size(table.count(cell), odds[cell], 3) for cell in (0, 1)]
    return {(i, j): a * b for i, a in enumerate(laws[0]) for j, b in enumerate(laws[1])}


def true_epsilon(odds: Fraction) -> Fraction:
    """Of one noisy size, for add-remove, by listing all neighbors."""
    laws = [noisy_size(size, odds, 3) for size in range(4)]
    ratio = max(max(x / y, y / x) for a, b in itertools.pairwise(laws) for x, y in zip(a, b, strict=True))
    return Fraction(math.log(ratio) * (1 + 1e-14))


ODDS = [(Fraction(2), Fraction(3)), (Fraction(5, 2), Fraction(5, 2)), (Fraction(3, 2), Fraction(4))]
TABLES = [t for n in range(4) for t in itertools.product((0, 1), repeat=n)]


@pytest.mark.parametrize("odds", ODDS)
def test_theorem_PARALLEL_COMPOSITION_for_add_remove(odds: tuple[Fraction, Fraction]) -> None:
    together = parallel([Guarantee(true_epsilon(o), ZERO) for o in odds], "add-remove")
    assert together.epsilon == max(map(true_epsilon, odds))
    for table in TABLES:
        for gone in range(len(table)):
            shorter = table[:gone] + table[gone + 1 :]
            assert hockey_stick(
                table_law(table, odds), table_law(shorter, odds), Fraction(math.exp(together.epsilon))
            ) <= Fraction(1, 10**12)


@pytest.mark.parametrize("odds", ODDS)
def test_theorem_PARALLEL_COMPOSITION_for_replace(odds: tuple[Fraction, Fraction]) -> None:
    """A row that changes its cell moves both sizes; the largest epsilon alone would not cover it."""
    parts = [Guarantee(true_epsilon(o), ZERO) for o in odds]
    together, too_little = parallel(parts, "replace-one"), parallel(parts, "add-remove")
    worst = ZERO
    for table in TABLES:
        for i in range(len(table)):
            other = (*table[:i], 1 - table[i], *table[i + 1 :])
            p, q = table_law(table, odds), table_law(other, odds)
            assert hockey_stick(p, q, Fraction(math.exp(together.epsilon))) <= Fraction(1, 10**12)
            worst = max(worst, hockey_stick(p, q, Fraction(math.exp(too_little.epsilon))))
    assert worst > Fraction(1, 100)


@given(
    st.lists(
        st.tuples(st.fractions(Fraction(1, 100), 2), st.fractions(0, Fraction(1, 50))), min_size=1, max_size=5
    )
)
def test_theorem_PARALLEL_COMPOSITION_with_deltas(parts: list[tuple[Fraction, Fraction]]) -> None:
    """Two cells that change: basic composition of any two parts; one that changes: a group of two."""
    guarantees = [Guarantee(*part) for part in parts]
    together = parallel(guarantees, "replace-one")
    for a, b in itertools.combinations(guarantees, 2):
        assert together.epsilon >= a.epsilon + b.epsilon
        assert together.delta >= a.delta + b.delta
    assert all(together.delta >= group_guarantee(one, 2).delta for one in guarantees)


@pytest.mark.parametrize(
    "call",
    [
        lambda: group_guarantee(Guarantee(Fraction(1), ZERO), 0),
        lambda: group_guarantee(Guarantee(Fraction(1), ZERO), True),
        lambda: group_guarantee(Guarantee(Fraction(1), ZERO), 10**6 + 1),
        lambda: group_rho(Fraction(1), -1),
        lambda: group_mu_squared(Fraction(1), 0),
        lambda: parallel([], "replace-one"),
        lambda: parallel([Guarantee(Fraction(1), ZERO)], "sideways"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(InvalidRequest):
        call()
