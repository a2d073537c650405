"""An analyst who overfits on purpose: the certified interval holds, and half of it would not.

Most studies leave the width far from what an analyst can do, and a test of their coverage would also pass with
intervals that are much too narrow.  This study is made so that the test has power.  Failure is allowed four
times in five, because the width is nearest to what is possible where little is promised, and an answer costs
almost nothing beside what the analyst has learned before.

The analyst asks how many rows are of each of 10,000 kinds, all equally frequent in the population, and then how
many are of the kinds that looked too frequent.  Whether a rate of failure is above the promised one is
decided with a false alarm rate of 1e-9; the simulated runs are seeded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import adyton
from adyton.certify import Interval
from adyton.exact import UNITS_PER_ONE
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.query.nodes import OneOf
from adyton.schema import CategoryColumn, Table
from adyton.study import Study, Validity
from adyton.validity.hinge import stability_width
from adyton.validity.planned import PlannedSchedule

ROWS, KINDS, QUESTIONS, RUNS = 20_000, 10_000, 100_000, 1_000
FAILURE = Fraction(4, 5)
PLAN = PlannedSchedule.plan(ROWS, QUESTIONS, FAILURE)
MU0 = math.sqrt(PLAN.cap)  # the cap of the study: all that may be learned
LAST_SHARE = 0.02  # of the cap, for the last question
KIND_SCALE = 1.0001 * math.sqrt((1 - 1 / KINDS) / (1 - LAST_SHARE)) / MU0  # in rows; the radius is almost 1
LAST_SCALE = 1.001 * 0.5 / math.sqrt(LAST_SHARE) / MU0  # the radius of one count is 1/2
KIND = CategoryColumn("kind", tuple(f"k{i}" for i in range(KINDS)))
Shares = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Asked:
    """What came out of the curator, as shares of all rows."""

    kind_width: float
    last_width: float
    last_error: float
    spent: float


def half_width(value: Any) -> float:
    interval = value.population_interval
    assert isinstance(interval, Interval)
    assert interval.level == pytest.approx(float(1 - FAILURE))
    return (interval.high - interval.low) / 2 / ROWS


@pytest.fixture(scope="module")
def asked() -> Asked:
    """The attack through the whole curator, once."""
    declared = Validity(1 - FAILURE, questions=QUESTIONS, tolerance=Fraction(1, 2))
    limit = Guarantee(Fraction(100), Fraction(1, 10**6))
    study = Study(Table("t", (KIND,), ROWS), PrivacyUnit("replace"), limit, validity=declared)
    rows = np.random.default_rng(2).integers(0, KINDS, ROWS)
    frame = pd.DataFrame({"kind": np.array(KIND.values)[rows]})
    with adyton.open(study, data=frame) as asker:
        kinds = asker.ask("SELECT kind, COUNT(*) AS n FROM t GROUP BY kind", scale=KIND_SCALE).rows
        often = tuple(str(row.keys["kind"]) for row in kinds if row.values["n"].value > ROWS / KINDS)
        ((last,),) = [
            row.values.values()
            for row in asker.ask(adyton.count(where=OneOf(KIND, often)), scale=LAST_SCALE).rows
        ]
        spent = asker.receipts()[-1].spent_radius / UNITS_PER_ONE
    error = last.value / ROWS - len(often) / KINDS
    return Asked(half_width(kinds[0].values["n"]), half_width(last), error, spent)


@pytest.fixture(scope="module")
def errors() -> tuple[Shares, Shares]:
    """The same attack, simulated with the same noise: the worst error of a kind, and the error of the last answer."""
    dice = np.random.default_rng(9)
    kinds, last = np.empty(RUNS), np.empty(RUNS)
    for run in range(RUNS):
        counts = np.bincount(dice.integers(0, KINDS, ROWS), minlength=KINDS)
        noisy = counts + np.rint(KIND_SCALE * dice.standard_normal(KINDS))
        often = noisy > ROWS / KINDS
        answer = counts[often].sum() + np.rint(LAST_SCALE * dice.standard_normal())
        kinds[run] = np.abs(noisy - ROWS / KINDS).max() / ROWS
        last[run] = answer / ROWS - often.mean()
    return kinds, np.abs(last)


def refuted(asked: Asked, errors: tuple[Shares, Shares], narrowed: float) -> bool:
    """Whether more runs than promised have an answer outside its interval, if intervals were that narrow."""
    kinds, last = errors
    outside = (kinds > asked.kind_width * narrowed) | (last > asked.last_width * narrowed)
    return bool(outside.sum() > binom.isf(1e-9, RUNS, float(FAILURE)))


def test_the_analyst_spends_all_that_the_study_allows(asked: Asked) -> None:
    assert 0.99 < asked.spent / MU0**2 <= 1


def test_the_simulated_attack_is_the_one_through_the_curator(
    asked: Asked, errors: tuple[Shares, Shares]
) -> None:
    """Within eight standard errors: the residual of 20,000 rows and the noise of the last answer."""
    _, last = errors
    assert asked.last_error == pytest.approx(last.mean(), abs=8 * last.std())


def test_certified_intervals_hold_although_the_analyst_overfits(
    asked: Asked, errors: tuple[Shares, Shares]
) -> None:
    assert abs(asked.last_error) <= asked.last_width
    assert not refuted(asked, errors, 1)


@pytest.mark.parametrize("narrowed", [0.5, 0.52])
def test_half_of_a_certified_interval_is_refuted(
    asked: Asked, errors: tuple[Shares, Shares], narrowed: float
) -> None:
    assert refuted(asked, errors, narrowed)


def test_an_interval_without_its_stability_part_is_refuted(
    asked: Asked, errors: tuple[Shares, Shares]
) -> None:
    noise = asked.last_width - stability_width(MU0, FAILURE)
    of_all = float(
        QUESTIONS * PLAN.excess / FAILURE
    )  # what the noise of all questions may exceed its part by
    assert (
        3 * LAST_SCALE / ROWS < noise - of_all < 7 * LAST_SCALE / ROWS
    )  # that covers the noise, and no more
    assert abs(asked.last_error) > 3 * noise
    assert refuted(asked, errors, noise / asked.last_width)
