"""What an asker expects of values, for the widths of a preview: numbers that they could have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import assert_never

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading, step_of
from adyton.kernel.exact import Number, rational
from adyton.kernel.terms.measures import (
    Cdf,
    Count,
    CountPersons,
    Extreme,
    Mean,
    Moments,
    Proportion,
    Quantile,
    Sum,
    SumOfPersons,
    Variance,
)
from adyton.planning.part import MeasurePlan
from adyton.planning.price import by_name
from adyton.population.subset_ends import span_of

Expected = Callable[[str], Fraction | None]


def expected_of(
    expect: Number | Mapping[str, Number] | None, parts: Iterable[MeasurePlan], units: int | None
) -> Expected:
    """What is expected of a value with this name; None if nothing.

    One number is for all values whose width depends on what they are.
    """
    if expect is None:
        return lambda name: None
    own = {part.name.casefold(): part for part in parts}
    named = by_name(expect, "expect")
    if not named:
        only = rational(expect, "expect")
        for part in own.values():
            _check(part, only, units)
        return lambda name: only
    unknown = next((name for name, _ in named if name.casefold() not in own), None)
    if unknown is not None:
        names = ", ".join(part.name for part in own.values())
        raise InvalidRequest(
            f"expect names {unknown[:100]!r}, which is not a value of the query; its values are: {names}"
        )
    known = {name.casefold(): rational(value, f"expect for {name!r}") for name, value in named}
    for name, value in known.items():
        _check(own[name], value, units)
    return lambda name: known.get(name.casefold())


def _check(part: MeasurePlan, value: Fraction, units: int | None) -> None:
    possible = _possible(part.only, units)
    if possible is not None and not possible[0] <= value <= possible[1]:
        low, high = (f"{float(end):.12g}" for end in possible)
        raise InvalidRequest(
            f"expect for {part.name!r} must be from {low} to {high}: no other value is possible"
        )


def _possible(noisy: NoisyReading, units: int | None) -> tuple[Fraction, Fraction] | None:
    """The least and the greatest that a value can be, from public facts; None if it has no such width."""
    reading = noisy.reading
    match reading.measure:
        case Proportion() | Cdf():
            return Fraction(0), Fraction(1)
        case Mean(value):
            lattice = value.lattice
            return lattice.low * lattice.step, lattice.high * lattice.step
        case Count() | CountPersons() | Sum() | SumOfPersons() if units is not None:
            low, high = span_of(noisy)
            return units * low * step_of(reading), units * high * step_of(reading)
        case Count() | CountPersons() | Sum() | SumOfPersons():
            return None
        case Variance() | Moments() | Quantile() | Extreme():
            return None
        case _:
            assert_never(reading.measure)
