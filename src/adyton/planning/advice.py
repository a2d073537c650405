"""What a preview says beyond its own widths: what to ask first, and what later answers pay for this one."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np

from adyton.certify import Bound, Later
from adyton.certify.advice import Cheaper
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact.cells import Floats
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.terms.measures import Count, Mean, Sum, Variance
from adyton.noise_intervals.proportions import noise_for_cost
from adyton.planning.expecting import Expected
from adyton.planning.measures.additive import Additive
from adyton.planning.measures.mean_with_squares import MeanWithSquares
from adyton.planning.plan import QueryPlan
from adyton.planning.readings import readings_of
from adyton.population.base import PopulationContext, learned_key
from adyton.population.position import Position
from adyton.population.subset import SubsetPopulation
from adyton.query.conditions.possible_cells import number_of_cells
from adyton.query.nodes import Query
from adyton.study import Study

_SPREAD = Fraction(1, 8)  # of the range: what a standard deviation might turn out to be
_PAYS = 3 / 4
_FAR = 4  # times smaller than the luck of the draw: then noise is not worth its price
_TWO_SIDED = 1.96  # as wide as a noise interval is, in standard deviations


def spread_first(plan: QueryPlan, context: PopulationContext, expected: Expected) -> dict[str, Bound]:
    """By name, how wide means and sums would be if their spread was asked first, where that would pay."""
    population = context.population
    if not isinstance(population, SubsetPopulation) or context.missing() is not None:
        return {}
    if population.study.grid is not None:  # nothing is learned there
        return {}
    learned = {
        part.name: _with_spread_learned(plan, part, population, context, expected(part.name))
        for part in plan.parts
        if isinstance(part, Additive) and learned_key(part.reading) not in (None, *context.learned)
    }
    return {name: bound for name, bound in learned.items() if bound is not None}


def cheaper(plan: QueryPlan, context: PopulationContext, expected: Expected) -> dict[str, Cheaper]:
    """By name, values whose noise is far smaller than their sampling error: what would do nearly as well.

    The luck of the draw is that of half of the units having a property, and for a mean that of a standard
    deviation of an eighth of the range.
    """
    if context.missing() is not None or context.population.study.one_by_one:
        return {}
    found = {
        part.name: _cheaper(plan, part, context, expected(part.name))
        for part in plan.parts
        if isinstance(part, Additive | MeanWithSquares) and part.mechanism.gaussian and not plan.discovery
    }
    return {name: one for name, one in found.items() if one is not None}


def _cheaper(
    plan: QueryPlan, part: Additive | MeanWithSquares, context: PopulationContext, expect: Fraction | None
) -> Cheaper | None:
    noisy = part.only if isinstance(part, Additive) else part.mean
    luck, bound = _luck(noisy, plan.expected_rows, context.known_units), part.bound(plan.expected_rows)
    if not bound.half_width or luck is None:  # 0 where the noise hardly ever moves a whole number
        return None
    times = luck * _TWO_SIDED / bound.half_width
    if times < _FAR:
        return None
    factor = times / 2  # then the noise is half of the luck of the draw
    louder = NoisyReading(
        noisy.reading,
        GaussianNoise(tuple(Fraction(float(scale) * factor) for scale in noisy.mechanism.scales)),
        nats=noisy.nats,
    )
    then = Additive(louder).population_bound(context, plan.expected_rows, expect)
    if not isinstance(then, Bound) or then.half_width is None:
        return None
    return Cheaper(times, _two_digits(bound.half_width * factor), 1 / factor**2, then)


def _luck(noisy: NoisyReading, expected_rows: int | None, units: int) -> float | None:
    """A standard deviation of what the draw of the units adds, in the units of the answer."""
    reading = noisy.reading
    if isinstance(reading.measure, Mean):
        lattice = reading.measure.value.lattice
        spread = float((lattice.high - lattice.low) * lattice.step * _SPREAD)
        return spread / math.sqrt(expected_rows) if expected_rows else None
    if isinstance(reading.measure, Sum):
        return None
    whole = reading.public_rows or 1
    return math.sqrt(units / reading.cells / 4) * reading.sensitivity.rows / whole


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


def registering(plan: QueryPlan, context: PopulationContext, expected: Expected) -> dict[str, Bound]:
    """By name, how wide values would be if the study file had registered the query, where that would pay."""
    dictionary = context.population.study.dictionary
    if dictionary is None or context.missing() is not None or dictionary.name == "universal":
        return {}
    found = {}
    for part in plan.parts:
        noisy = part.only
        if noisy.nats is None or not isinstance(part, Additive):
            continue
        shorter = math.log(2 * len(dictionary.registered) + 2) + math.log(number_of_cells(plan.query))
        now = part.population_bound(context, plan.expected_rows, expected(part.name))
        own = Additive(replace(noisy, nats=min(shorter, noisy.nats)))
        then = own.population_bound(context, plan.expected_rows, expected(part.name))
        widths = [one.half_width for one in (now, then) if isinstance(one, Bound)]
        if len(widths) == 2 and widths[0] and widths[1] and widths[1] < _PAYS * widths[0]:
            assert isinstance(then, Bound)
            found[part.name] = then
    return found


def _with_spread_learned(
    plan: QueryPlan,
    part: Additive,
    population: SubsetPopulation,
    context: PopulationContext,
    expect: Fraction | None,
) -> Bound | None:
    """The population width of a mean or a sum after its spread was asked, as dearly as what is asked now, and
    found small; None if that is no gain.
    """
    measure = part.reading.measure
    if isinstance(measure, Sum):
        if population.study.parts > 1:  # nothing is learned about sums there
            return None
        rows, lattice = plan.expected_rows or context.known_units, measure.value.lattice
        expect = rows * (lattice.low + lattice.high) * lattice.step / 2 if expect is None else expect
        small = _small_squares(plan.query, part, population, context, expect / rows, rows)
    else:
        assert isinstance(measure, Mean)
        lattice = measure.value.lattice
        small = np.array([float((lattice.high - lattice.low) * lattice.step * _SPREAD) ** 2])
    learned = {**context.learned, learned_key(part.reading): small}
    now = part.population_bound(context, plan.expected_rows, expect)
    at = replace(context.at, query=context.at.query + 1, before=context.at.spent)
    then = part.population_bound(replace(context, learned=learned, at=at), plan.expected_rows, expect)
    if not (isinstance(now, Bound) and isinstance(then, Bound) and now.half_width and then.half_width):
        return None
    return then if then.half_width < _PAYS * now.half_width else None


def _small_squares(
    query: Query,
    part: Additive,
    population: SubsetPopulation,
    context: PopulationContext,
    mean: Fraction,
    rows: int,
) -> Floats:
    """What would be learned about the squares of as many values with this mean, if they are spread little and
    the noise of their variance, at the price of the sum, is 0 by chance.
    """
    measure = part.reading.measure
    assert isinstance(measure, Sum)
    lattice, spread = measure.value.lattice, Variance(measure.value, where=measure.where)
    asked = replace(query, measures=((part.name, spread),))
    (reading,) = readings_of(asked, population.study.unit_of(query.table))
    cost = part.mechanism.cost(part.reading.sensitivity).gdp
    assert cost is not None
    noise = noise_for_cost(GaussianNoise, reading.sensitivity, cost)
    low, high = lattice.low * lattice.step, lattice.high * lattice.step
    away = min(max(2 * (mean - low) / (high - low) - 1, Fraction(-1)), Fraction(1))
    square = min(away**2 + (2 * _SPREAD) ** 2, Fraction(1))
    (_, most), (_, largest), (counted, _) = reading.sensitivity.boxes
    sums = (rows * most * away, rows * largest * (2 * square - 1), rows * counted)
    at = replace(context.at, values=2 * number_of_cells(asked))
    columns = [np.array([float(total)]) for total in sums]
    return population.most_squares(NoisyReading(reading, noise), columns, replace(context, at=at))


def later_widths(study: Study, context: PopulationContext, after: Position) -> Later | None:
    """What answers after the next charge pay for it, in terms of a count; None if they have no interval.

    Both widths are those of the query after next: with this charge before it, and with one that tells
    nothing.  The count is half of all units, with noise as large as the luck of the draw.
    """
    without = replace(context.at, values=1, query=context.at.query + 1, elsewhere=False)
    plain = replace(context, at=without)
    if not isinstance(context.population, SubsetPopulation) or plain.missing() is not None:
        return None
    (reading,) = readings_of(Query(study.table, (("count", Count()),)), study.unit)
    luck = Fraction(isqrt(context.known_units) * study.unit.rows + 1, 2)
    count = NoisyReading(reading, GaussianNoise((luck,)))
    paid = replace(context, at=replace(without, before=after.spent, pure=after.pure, unproved=after.unproved))
    now, then = (
        one.population.half_width(count, one, None) if one.missing() is None else None
        for one in (plain, paid)
    )
    assert now is not None
    return Later(now.half, None if then is None else then.half)
