"""From noisy integers back to values in the units of the answer, each with its noise interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.certify import Absent, Bound, Interval, Row, Value
from adyton.curator.plan import LEVEL, Plan, Planned, step_of
from adyton.curator.population import Population, Position
from adyton.exact import float_up, ratio_down, ratio_up
from adyton.mechanisms import largest_ratio, ratio_interval, worst_error
from adyton.noise.refine import Floats
from adyton.query.nodes import Mean
from adyton.sensitivity import Sensitivity

Noisy = list[list[list[int]]]  # for each measure, for each coordinate, one integer for each cell


@dataclass(frozen=True, slots=True)
class Standing:
    """What the population intervals of one answer depend on, besides its plan and its integers."""

    population: Population
    at: Position
    units: int | None


def rows_of(plan: Plan, noisy: Noisy, standing: Standing) -> tuple[Row, ...]:
    columns = {
        part.reading.name: _values(part, released, standing)
        for part, released in zip(plan.parts, noisy, strict=True)
    }
    return tuple(
        Row(keys, {name: values[cell] for name, values in columns.items()})
        for cell, keys in enumerate(plan.keys())
    )


def bound_of(part: Planned, matching: int | None) -> Bound:
    """How wide the noise interval will be, before anything is read."""
    steps = Fraction(worst_error(part.mechanism, part.reading.sensitivity, LEVEL)) * step_of(part.reading)
    if part.reading.public_rows is not None:
        return Bound(LEVEL, float_up(steps / part.reading.public_rows))
    if len(part.reading.coordinates) == 1:
        return Bound(LEVEL, float_up(steps))
    return Bound(LEVEL, float_up(steps / matching) if matching else None, matching)


def population_bound_of(part: Planned, standing: Standing, matching: int | None) -> Bound | Absent:
    """How wide the population interval would be, before anything is read."""
    absent = standing.population.missing(standing.at, standing.units)
    if absent is not None:
        return absent
    width = standing.population.half_width(part, standing.at, standing.units, matching)
    several = len(part.reading.coordinates) > 1
    return Bound(standing.population.level, width, matching if several else None)


def scales_of(part: Planned) -> tuple[float, ...]:
    """The noise in the units of the answer, and of the count of a mean in rows."""
    steps = (step_of(part.reading), *(Fraction(1, c.times) for c in part.reading.coordinates[1:]))
    return tuple(float(scale * step) for scale, step in zip(part.mechanism.scales, steps, strict=True))


def sensitivity_of(part: Planned) -> float:
    """How far one unit can move the (first) number that is read, in the units of the answer."""
    whole = part.reading.sensitivity
    first = Sensitivity(whole.boxes[:1], whole.cells, whole.neighbours, whole.rows)
    one = (Fraction(1),)
    moved = (
        float(first.l1_diameter(one))
        if part.mechanism.norm == 1
        else float(first.l2_diameter_squared(one)) ** 0.5
    )
    return moved * float(step_of(part.reading))


def _values(part: Planned, released: list[list[int]], standing: Standing) -> list[Value]:
    return _ratios(part, released, standing) if len(released) == 2 else _single(part, released[0], standing)


def _single(part: Planned, released: list[int], standing: Standing) -> list[Value]:
    top, bottom = (step_of(part.reading) / (part.reading.public_rows or 1)).as_integer_ratio()
    error = part.mechanism.error(LEVEL)
    population = standing.population.singles(part, released, standing.at, standing.units)
    return [
        Value(
            z * top / bottom,
            Interval(LEVEL, ratio_down((z - error) * top, bottom), ratio_up((z + error) * top, bottom)),
            interval,
        )
        for z, interval in zip(released, population, strict=True)
    ]


def _ratios(part: Planned, released: list[list[int]], standing: Standing) -> list[Value]:
    """A mean from its centred sum and its count, clipped to the bounds that it must have."""
    top, bottom = (np.array([float(z) for z in column]) for column in released)
    reach = largest_ratio(part.reading.sensitivity)
    low, high = ratio_interval(top, bottom, reach, lambda t: part.mechanism.ratio_error(t, LEVEL))
    guess = np.clip(top / np.maximum(bottom, 1.0), low, high)
    back = _uncentred(part)
    population = _population_of_ratios(part, top, bottom, standing, back)
    return [
        Value(back(g), Interval(LEVEL, back(a), back(b)), interval)
        for g, a, b, interval in zip(guess.tolist(), low.tolist(), high.tolist(), population, strict=True)
    ]


def _population_of_ratios(
    part: Planned, top: Floats, bottom: Floats, standing: Standing, back: Callable[[float], float]
) -> list[Interval | Absent]:
    found = standing.population.ratios(part, top, bottom, standing.at, standing.units)
    if isinstance(found, Absent):
        return [found] * len(top)
    level = standing.population.level
    return [
        Interval(level, back(a), back(b)) for a, b in zip(found[0].tolist(), found[1].tolist(), strict=True)
    ]


def _uncentred(part: Planned) -> Callable[[float], float]:
    measure = part.reading.measure
    if isinstance(measure, Mean):
        grain, low, high = measure.value.lattice.grain, measure.value.lattice.low, measure.value.lattice.high
    else:
        grain, low, high = Fraction(1), 0, 1  # the indicator of a proportion
    steps_per_row = part.reading.coordinates[1].times
    return lambda ratio: float((Fraction(ratio) * steps_per_row + low + high) * grain / 2)
