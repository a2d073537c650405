"""The mean of a pure study: a ratio of two answers, of which the stability part is paid once."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from small_tables import Small

from adyton.kernel.exact import float_up
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.noise_intervals.widths import largest_ratio
from adyton.planning.plan import make_plan
from adyton.planning.price import price_of
from adyton.population.hinge import HingePopulation
from adyton.query.sql.read import parse
from adyton.study import Study, Validity
from support.curators import standing_of

TABLE = Table("t", (IntegerColumn("age", 0, 100),), 5000)


def test_theorem_RATIO_OF_MEANS_contains_every_ratio_that_is_possible() -> None:
    """theta is the truth, and the answers as far off as their widths allow: on either side it is not lost."""
    validity = Validity(Fraction(9, 10), stability=Fraction(1, 1000))
    study = Study(
        TABLE, PrivacyUnit("replace-one"), Guarantee(Fraction(1), Fraction(0)), "pure", validity=validity
    )
    plan = make_plan(
        study, parse("SELECT AVG(age) FROM t WHERE age < 90", TABLE), price_of(epsilon="0.4"), study.allowed
    )
    part = replace(plan.parts[0].only, nats=None)  # this theorem alone
    context = standing_of(study, 5000)
    population = context.population
    assert isinstance(population, HingePopulation)
    noise, drift = population._hidden(part, context), population._drift(part, context)
    reach, informative = largest_ratio(part.reading.sensitivity), 0
    for theta in np.linspace(-reach, reach, 21):
        for bottom in (400, 3000, 5000):
            width = float_up(noise[0] + drift) + abs(theta) * float_up(noise[1])
            for top in (math.ceil(theta * bottom - width), math.floor(theta * bottom + width)):
                (low,), (high,), _ = population.means(part, [np.array([top]), np.array([bottom])], context)
                assert low - 1e-9 <= theta <= high + 1e-9
                informative += high - low < 1.9 * reach
    assert informative > 20


def test_theorem_RATIO_OF_MEANS_range_of_the_difference() -> None:
    """f - theta g lies in [-theta, 1 - theta], and both ends are reached."""
    steps = [i / 10 for i in range(11)]
    for theta in steps:
        values = [f - theta * g for g in steps for f in steps if f <= g]
        assert min(values) == pytest.approx(-theta)
        assert max(values) == pytest.approx(1 - theta)


def test_theorem_RATIO_OF_MEANS_at_every_transcript_of_a_small_table() -> None:
    """g is 0, 1 or 1, f is 0, 0 or 1, of three kinds of rows; both are asked.  X_T once is enough, half is not."""
    small = Small([0.2, 0.5, 0.3], [[0, 1, 1], [0, 0, 1], [0, 0, 1]], 2, 1.2)
    hidden, distance = np.abs(small.noise / small.density), small.distance()
    theta = 0.3 / 0.8
    error = np.abs(small.second - theta * small.first)
    noise = hidden[1] + theta * hidden[0]
    assert np.all(error <= noise + distance + 1e-9)
    assert np.any(error > noise + 0.5 * distance)
