"""The vote attack at the very number of questions that a plan certifies, through the real curator.

All questions but one ask about random halves of many kinds of rows, at the price of the plan; the last one asks
about the kinds that the answers say are too many here.  The study may fail with probability 1e-7, and what is
asked follows a seed, so that a miss is an alarm.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.privacy import Guarantee, PrivacyUnit
from adyton.schema import IntegerColumn, Table
from adyton.study import Study, Validity
from populations import seeded

ROWS, KINDS, TOLERANCE = 4000, 120, Fraction(3, 20)
FAILURE = Fraction(1, 10**7)


def study_of(questions: int, noise: str) -> Study:
    plan = Validity(1 - FAILURE, questions=questions, tolerance=TOLERANCE, noise=noise)  # type: ignore[arg-type]
    limit = Guarantee(Fraction(500), Fraction(1, 10**6))
    table = Table("t", (IntegerColumn("kind", 0, KINDS - 1),), ROWS)
    return Study(table, PrivacyUnit("replace"), limit, validity=plan)


def accepted(questions: int, noise: str) -> bool:
    try:
        study_of(questions, noise)
    except InvalidRequest:
        return False
    return True


def share_of(asker: Curator, kinds: Any) -> tuple[float, Any]:
    listed = ", ".join(map(str, np.flatnonzero(kinds).tolist()))
    answer = asker.ask(f"SELECT PROPORTION(kind IN ({listed})) AS p FROM t")
    return answer.rows.values["p"].value[0], answer.rows[0].values["p"].population_interval


@pytest.mark.parametrize(("noise", "questions"), [("constant", 155), ("decreasing", 296)])
def test_theorem_PLANNED_NOISE_the_vote_attack_at_the_certified_number(noise: str, questions: int) -> None:
    assert not accepted(questions + questions // 20, noise)  # the study accepts as many, and hardly more
    dice = np.random.default_rng(5)
    rows = pd.DataFrame({"kind": dice.integers(0, KINDS, ROWS)})
    asker = seeded(study_of(questions, noise), rows, 6)
    votes, worst = np.zeros(KINDS), 0.0
    for number in range(1, questions + 1):
        half = np.zeros(KINDS, bool)
        half[dice.permutation(KINDS)[: KINDS // 2]] = True
        asked = half if number < questions else votes > np.median(votes)
        value, interval = share_of(asker, asked)
        truth = float(asked.sum()) / KINDS
        assert interval.low <= truth <= interval.high, number
        assert (interval.high - interval.low) / 2 <= float(TOLERANCE) * (1 + 1e-3), number
        votes += (value - truth) * (2 * half - 1)
        worst = max(worst, abs(value - truth) / ((interval.high - interval.low) / 2))
    assert abs(value - truth) > 0.02  # the attack does overfit: a question fixed in advance is off by .008
    assert worst < 1
