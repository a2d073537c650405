"""Tests of true null hypotheses that the answers chose: they reject at most as often as they say.

Fair coins, one batch of noisy shares, and then the very test that those answers suggest, on the rows themselves.
The null is true.  Whether it is rejected too often is decided with a false alarm rate of 1e-6; all is seeded.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from adyton.privacy import Guarantee, PrivacyUnit
from adyton.schema import BooleanColumn, Table
from adyton.study import Study, Validity
from how_often import often
from populations import seeded

ROWS, COINS, ALPHA = 400, 24, Fraction(1, 10)


def study_of(neighbours: str) -> Study:
    columns = tuple(BooleanColumn(f"f{i}") for i in range(COINS))
    limit = Guarantee(Fraction(500), Fraction(1, 10**6))
    unit = PrivacyUnit(neighbours)  # type: ignore[arg-type]
    return Study(Table("t", columns, ROWS), unit, limit, validity=Validity(Fraction(19, 20)))


def looked(study: Study, seed: int, scale: float) -> tuple[float, float, float]:
    """The p-value of the test that the answers chose, the threshold for it, and what it is worth.

    How many coins lean as their answers said, in all rows: binomial, with one half, for a test fixed in advance.
    """
    flips = np.random.default_rng(seed).random((ROWS, COINS)) < 0.5
    with seeded(study, pd.DataFrame(flips, columns=[f"f{i}" for i in range(COINS)]), seed) as asker:
        if study.unit.neighbours == "add-or-remove":
            asker.ask("SELECT COUNT(*) FROM t", scale=10)
        asked = [f"SELECT COUNT(*) FROM t WHERE f{i}" for i in range(COINS)]
        values = [
            answer.rows.values["count"].value[0] for answer in asker.ask_many(asked, scale=scale * ROWS)
        ]
        leaning = np.array(values) > ROWS / 2
        heads = int(np.count_nonzero(flips == leaning))
        p_value = float(binom.sf(heads - 1, ROWS * COINS, 0.5))
        told = asker.last_look(ALPHA, max(p_value, 1e-300))
    assert told.corrected is not None
    return p_value, told.threshold, told.corrected


@pytest.mark.parametrize("neighbours", ["replace", "add-or-remove"])
@pytest.mark.parametrize("scale", [0.03, 0.06])
def test_theorem_SUBSET_P_VALUES_nulls_that_the_answers_chose_are_rejected_at_most_so_often(
    neighbours: str, scale: float
) -> None:
    """With its own p-value the chosen test would be rejected far more often; the threshold is not 0 either."""
    runs, study = often(40, 400), study_of(neighbours)
    found = [looked(study, seed, scale) for seed in range(runs)]
    rejected = sum(p <= threshold for p, threshold, _ in found)
    assert rejected <= binom.isf(1e-6, runs, float(ALPHA))
    assert all((p <= threshold) == (worth <= ALPHA) for p, threshold, worth in found if p != threshold)
    naive = sum(p <= ALPHA for p, *_ in found)
    assert naive > binom.isf(1e-6, runs, float(ALPHA))
