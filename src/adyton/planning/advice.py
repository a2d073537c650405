"""What a preview says beyond its own widths: what to ask first, and what later answers pay for this one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np

from adyton.accounting.noisy_reading import Noised
from adyton.certify import Bound, Later
from adyton.mechanisms import GaussianNoise
from adyton.noise.refine import Floats
from adyton.planning.expecting import Expected
from adyton.planning.measures.additive import Additive
from adyton.planning.plan import Plan
from adyton.population.base import Position, Standing, learned_key
from adyton.population.subset import SubsetPopulation
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.measures import Count, Mean, Sum, Variance
from adyton.query.nodes import Question
from adyton.sensitivity import readings_of
from adyton.study import Study

_SPREAD = Fraction(1, 8)  # of the range: what a standard deviation might turn out to be
_PAYS = 3 / 4


def spread_first(plan: Plan, standing: Standing, expected: Expected) -> dict[str, Bound]:
    """By name, how wide means and sums would be if their spread was asked first, where that would pay."""
    population = standing.population
    if not isinstance(population, SubsetPopulation) or standing.missing is not None:
        return {}
    learned = {
        part.name: _with_spread_learned(plan, part, population, standing, expected(part.name))
        for part in plan.parts
        if isinstance(part, Additive) and learned_key(part.reading) not in (None, *standing.learned)
    }
    return {name: bound for name, bound in learned.items() if bound is not None}


def _with_spread_learned(
    plan: Plan, part: Additive, population: SubsetPopulation, standing: Standing, expect: Fraction | None
) -> Bound | None:
    """The population width of a mean or a sum after its spread was asked, as dearly as what is asked now, and
    found small; None if that is no gain.
    """
    measure = part.reading.measure
    if isinstance(measure, Sum):
        if population.study.parts > 1:  # nothing is learned about sums there
            return None
        rows, lattice = plan.matching or standing.known_units, measure.value.lattice
        expect = rows * (lattice.low + lattice.high) * lattice.grain / 2 if expect is None else expect
        small = _small_squares(plan.question, part, population, standing, expect / rows, rows)
    else:
        assert isinstance(measure, Mean)
        lattice = measure.value.lattice
        small = np.array([float((lattice.high - lattice.low) * lattice.grain * _SPREAD) ** 2])
    learned = {**standing.learned, learned_key(part.reading): small}
    now = part.population_bound(standing, plan.matching, expect)
    at = replace(standing.at, question=standing.at.question + 1, before=standing.at.spent)
    then = part.population_bound(replace(standing, learned=learned, at=at), plan.matching, expect)
    if not (isinstance(now, Bound) and isinstance(then, Bound) and now.half_width and then.half_width):
        return None
    return then if then.half_width < _PAYS * now.half_width else None


def _small_squares(
    question: Question,
    part: Additive,
    population: SubsetPopulation,
    standing: Standing,
    mean: Fraction,
    rows: int,
) -> Floats:
    """What would be learned about the squares of as many values with this mean, if they are spread little and
    the noise of their variance, at the price of the sum, is 0 by chance.
    """
    measure = part.reading.measure
    assert isinstance(measure, Sum)
    lattice, spread = measure.value.lattice, Variance(measure.value, where=measure.where)
    asked = replace(question, measures=((part.name, spread),))
    (reading,) = readings_of(asked, population.study.unit_of(question.table))
    cost = part.mechanism.cost(part.reading.sensitivity).gdp
    assert cost is not None
    noise = GaussianNoise.for_cost(reading.sensitivity, cost)
    low, high = lattice.low * lattice.grain, lattice.high * lattice.grain
    away = min(max(2 * (mean - low) / (high - low) - 1, Fraction(-1)), Fraction(1))
    square = min(away**2 + (2 * _SPREAD) ** 2, Fraction(1))
    (_, most), (_, largest), (counted, _) = reading.sensitivity.boxes
    sums = (rows * most * away, rows * largest * (2 * square - 1), rows * counted)
    at = replace(standing.at, values=2 * number_of_cells(asked))
    columns = [np.array([float(total)]) for total in sums]
    return population.most_squares(Noised(reading, noise), columns, replace(standing, at=at))


def later_widths(study: Study, standing: Standing, after: Position) -> Later | None:
    """What answers after the next charge pay for it, in terms of a count; None if they have no interval.

    Both widths are those of the question after next: with this charge before it, and with one that tells
    nothing.  The count is half of all units, with noise as large as the luck of the draw.
    """
    without = replace(standing.at, values=1, question=standing.at.question + 1, elsewhere=False)
    plain = replace(standing, at=without)
    if not isinstance(standing.population, SubsetPopulation) or plain.missing is not None:
        return None
    (reading,) = readings_of(Question(study.table, (("count", Count()),)), study.unit)
    luck = Fraction(isqrt(standing.known_units) * study.unit.rows + 1, 2)
    count = Noised(reading, GaussianNoise((luck,)))
    paid = replace(
        standing, at=replace(without, before=after.spent, pure=after.pure, unproved=after.unproved)
    )
    now, then = (
        one.population.half_width(count, one, None) if one.missing is None else None for one in (plain, paid)
    )
    assert now is not None
    return Later(now, then)
