"""Tests of true null hypotheses that the answers chose: they reject at most as often as they say.

Fair coins, some noisy counts or a monitor, and then the very test that those answers suggest, on the rows themselves.
The null is true.  Whether it is rejected too often is decided with a false alarm rate of 1e-6; all is seeded.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from adyton.curator.curator import Curator
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, Table
from adyton.study import Study, Validity
from support.curators import seeded
from support.tries import crossed, often

ROWS, ALPHA = 400, Fraction(1, 10)
Analyst = Callable[[Curator, int], "np.ndarray"]
"""Asks about so many coins, and says which of them lean to heads."""


def study_of(adjacency: str, coins: int, accounting: str = "gdp") -> Study:
    columns = tuple(BooleanColumn(f"f{i}") for i in range(coins))
    delta, stability = (Fraction(0), Fraction(1, 2)) if accounting == "pure" else (Fraction(1, 10**6), None)
    validity = Validity(Fraction(19, 20), stability=stability, beyond_plan="answer")
    unit = PrivacyUnit(adjacency)  # type: ignore[arg-type]
    return Study(
        Table("t", columns, ROWS), unit, Guarantee(Fraction(500), delta), accounting, validity=validity
    )


def by_counts(scale: float, epsilon: str | None = None) -> Analyst:
    """All counts in one batch."""

    def lean(asker: Curator, coins: int) -> np.ndarray:
        asked = [f"SELECT COUNT(*) FROM t WHERE f{i}" for i in range(coins)]
        price = {"scale": scale * ROWS} if epsilon is None else {"epsilon": epsilon}
        answers = asker.ask_many(asked, strategy="independent", **price)  # type: ignore[arg-type]
        return np.array([answer.rows.values["count"].value[0] for answer in answers]) > ROWS / 2

    return lean


def step_by_step(asker: Curator, coins: int) -> np.ndarray:
    """Each price follows the answers: what looks like nothing is asked again, more exactly."""
    leaning = []
    for i in range(coins):
        where = f"SELECT COUNT(*) FROM t WHERE f{i}"
        value = asker.ask(where, scale=5).rows.values["count"].value[0] - ROWS / 2
        if abs(value) < 6:
            value = asker.ask(where, scale=2).rows.values["count"].value[0] - ROWS / 2
        leaning.append(value > 0)
    return np.array(leaning)


def by_monitor(asker: Curator, coins: int) -> np.ndarray:
    """A quiet monitor is asked which coins are above a half, until it halts; the rest are taken to be below."""
    monitor, leaning = asker.open_monitor(positives=coins - 1, epsilon=8 * coins), np.zeros(coins, bool)
    for i in range(coins):
        if monitor.budget().halted:
            break
        leaning[i] = monitor.feed(f"SELECT COUNT(*) FROM t WHERE f{i}", above=ROWS // 2).above
    return leaning


def looked(study: Study, seed: int, coins: int, lean: Analyst) -> tuple[float, float, float, str]:
    """The p-value of the test that the answers chose, the threshold for it, what it is worth, and by which route.

    How many coins lean as their answers said, in all rows: binomial, with one half, for a test fixed in advance.
    """
    flips = np.random.default_rng(seed).random((ROWS, coins)) < 0.5
    with seeded(study, pd.DataFrame(flips, columns=[f"f{i}" for i in range(coins)]), seed) as asker:
        if study.unit.adjacency == "add-remove":
            asker.ask("SELECT COUNT(*) FROM t", scale=10)
        heads = int(np.count_nonzero(flips == lean(asker, coins)))
        p_value = float(binom.sf(heads - 1, ROWS * coins, 0.5))
        told = asker.last_look(ALPHA, max(p_value, 1e-300))
    assert told.corrected is not None
    return p_value, told.threshold, told.corrected, told.best.route


def rejects_at_most_alpha(study: Study, coins: int, lean: Analyst, runs: int) -> set[str]:
    """With its own p-value the chosen test would be rejected far more often.  Returns the routes that won."""
    found = [looked(study, seed, coins, lean) for seed in range(runs)]
    most = binom.isf(1e-6, runs, float(ALPHA))
    assert sum(p <= threshold for p, threshold, *_ in found) <= most
    assert sum(worth <= ALPHA for _, _, worth, _ in found) <= most
    assert all((p <= threshold) == (worth <= ALPHA) for p, threshold, worth, _ in found if p != threshold)
    assert sum(p <= ALPHA for p, *_ in found) > most
    assert min(threshold for _, threshold, *_ in found) > 0
    return {route for *_, route in found}


@pytest.mark.parametrize(("adjacency", "scale"), crossed(["replace-one", "add-remove"], [0.03, 0.06]))
def test_theorem_SUBSET_P_VALUES_nulls_that_the_answers_chose(adjacency: str, scale: float) -> None:
    """With little noise 18 of 20 chosen tests are rejected by their own p-value, with much 19 of 40."""
    runs = often(20 if scale < 0.05 else 40, 400)
    routes = rejects_at_most_alpha(study_of(adjacency, 24), 24, by_counts(scale), runs)
    assert routes == {"subset"}


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_TRANSCRIPT_LEAKAGE_nulls_that_the_answers_chose(
    adjacency: str,
) -> None:
    """Exact answers in a pure study: their epsilon would leave nothing."""
    study = study_of(adjacency, 6, "pure")
    routes = rejects_at_most_alpha(study, 6, by_counts(0.005), often(16, 400))
    assert routes == {"bits of the transcript"}


def test_theorem_POSTERIOR_P_VALUES_nulls_that_the_answers_chose() -> None:
    """Little was said, so little can be chosen by it: what is tested is that the threshold is not too generous."""
    study, coins = study_of("replace-one", 2, "pure"), 2
    found = [looked(study, seed, coins, by_counts(0, "1/20")) for seed in range(often(16, 400))]
    assert {route for *_, route in found} == {"moments"}
    assert min(threshold for _, threshold, *_ in found) > float(ALPHA) / 4
    most = binom.isf(1e-6, len(found), float(ALPHA))
    assert sum(p <= threshold for p, threshold, *_ in found) <= most


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_LAST_LOOK_ROUTES_prices_that_follow_the_answers(accounting: str) -> None:
    rejects_at_most_alpha(study_of("replace-one", 6, accounting), 6, step_by_step, often(16, 250))


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_LAST_LOOK_ROUTES_a_monitor_that_says_which_coins_lean(accounting: str) -> None:
    study = study_of("replace-one", 6, accounting)
    routes = rejects_at_most_alpha(study, 6, by_monitor, often(16, 250))
    assert routes == {"bits of the transcript"}
