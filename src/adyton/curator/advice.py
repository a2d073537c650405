"""What a preview says beyond its own widths: what to ask first, and what later answers pay for this one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isqrt

import numpy as np

from adyton.certify import Bound, Later
from adyton.curator.additive import Additive
from adyton.curator.expecting import Expected
from adyton.curator.noised import Noised
from adyton.curator.part import Part
from adyton.curator.plan import Plan
from adyton.curator.population import Position, Standing, spread_key
from adyton.curator.subset_population import SubsetPopulation
from adyton.mechanisms import GaussianNoise
from adyton.query.nodes import Count, Mean, Question
from adyton.sensitivity import readings_of
from adyton.study import Study

_SPREAD = Fraction(1, 8)  # of the range: what a standard deviation might turn out to be
_PAYS = 3 / 4


def spread_first(plan: Plan, standing: Standing, expected: Expected) -> dict[str, Bound]:
    """By name, how wide means would be if their spread was asked first, where that would pay."""
    learned = {
        part.name: _with_spread_learned(part, standing, plan.matching, expected(part.name))
        for part in plan.parts
    }
    return {name: bound for name, bound in learned.items() if bound is not None}


def _with_spread_learned(
    part: Part, standing: Standing, matching: int | None, expect: Fraction | None
) -> Bound | None:
    """The population width of a mean after its spread was asked, as dearly as what is asked now, and found
    small; None if that is no gain.
    """
    if not isinstance(part, Additive) or not isinstance(standing.population, SubsetPopulation):
        return None
    measure = part.reading.measure
    if not isinstance(measure, Mean) or spread_key(part.reading) in standing.learned:
        return None
    lattice = measure.value.lattice
    small = float((lattice.high - lattice.low) * lattice.grain * _SPREAD) ** 2
    learned = {**standing.learned, spread_key(part.reading): np.array([small])}
    now = part.population_bound(standing, matching, expect)
    at = replace(standing.at, question=standing.at.question + 1, before=standing.at.spent)
    then = part.population_bound(replace(standing, learned=learned, at=at), matching, expect)
    if not (isinstance(now, Bound) and isinstance(then, Bound) and now.half_width and then.half_width):
        return None
    return then if then.half_width < _PAYS * now.half_width else None


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
