"""From a question and a price to mechanisms and their cost, by public facts alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from adyton.accounting import Filter
from adyton.certify import Certificate, Key
from adyton.curator.price import Price
from adyton.errors import InvalidRequest
from adyton.exact import UNITS_PER_ONE, units_up
from adyton.ledger import Order
from adyton.mechanisms import GaussianNoise, GeometricNoise, Mechanism
from adyton.privacy import Cost, Guarantee
from adyton.query.nodes import Question, group_values
from adyton.query.text import question_text
from adyton.sensitivity import Reading, readings_of
from adyton.study import Study

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Planned:
    """One measure: what is read, the noise, and what privacy and validity pay."""

    reading: Reading
    mechanism: Mechanism
    amount: int
    radius: int


@dataclass(frozen=True, slots=True)
class Plan:
    question: Question
    text: str
    parts: tuple[Planned, ...]
    certificate: Certificate
    matching: int | None

    @property
    def amount(self) -> int:
        return sum(part.amount for part in self.parts)

    @property
    def detail(self) -> str:
        """The mechanisms as canonical JSON: with the text it says exactly what was asked at which price."""
        return json.dumps(
            [
                [part.reading.name, part.mechanism.name, *(repr(float(s)) for s in part.mechanism.scales)]
                for part in self.parts
            ]
        )

    @property
    def radius(self) -> int:
        return sum(part.radius for part in self.parts)

    def order(self, request: str | None) -> Order:
        return Order(self.text, self.detail, self.amount, self.radius, request)

    def keys(self) -> list[dict[str, Key]]:
        """The groups, in the order of the cells."""
        names = [column.name for column in self.question.by]
        declared: list[tuple[Key, ...]] = [group_values(column) for column in self.question.by]
        return [dict(zip(names, values, strict=True)) for values in product(*declared)]


def make_plan(study: Study, question: Question, price: Price, left: int) -> Plan:
    """The plan for ``question``; refuses what cannot be planned.  Reads nothing, charges nothing."""
    readings = readings_of(question, study.unit)
    matching = _matching(price, question, study)
    calibrate = _calibrator(study, price, left, len(readings), matching)
    parts = tuple(_planned(reading, calibrate(reading), study.filter) for reading in readings)
    return Plan(question, question_text(question), parts, _certificate(study, parts), matching)


def _matching(price: Price, question: Question, study: Study) -> int | None:
    """How many rows are expected to contribute to one mean: what the asker says, or an equal share of all."""
    rows = study.table.rows
    return price.matching or (max(1, rows // question.cells) if rows is not None else None)


def stability_units(radius: Cost) -> int:
    """What validity pays, in units of mu**2 whatever the study's currency; rounded up."""
    if radius.gdp is None:
        raise InvalidRequest("no radius is proved for this mechanism")
    return max(1, units_up(radius.gdp))


def _planned(reading: Reading, mechanism: Mechanism, rule: Filter) -> Planned:
    amount = rule.amount(mechanism.cost(reading.sensitivity))
    radius = stability_units(mechanism.radius(reading.sensitivity))
    return Planned(reading, mechanism, amount, radius)


def _calibrator(
    study: Study, price: Price, left: int, parts: int, matching: int | None
) -> Callable[[Reading], Mechanism]:
    """How the noise of a measure follows from the price; the measures of a question share it equally."""
    noise: type[GaussianNoise] | type[GeometricNoise]
    noise = GeometricNoise if study.filter_name == "pure" else GaussianNoise
    match price.by:
        case "epsilon" | "share":
            total = _units(study, price, left)
            cost = _cost_of_units(study.filter_name, total // parts)
            return lambda reading: noise.for_cost(reading.sensitivity, cost)
        case "within":
            return lambda reading: noise.for_error(
                reading.sensitivity, float(_in_steps(price, reading, matching)), LEVEL
            )
        case "scale":
            return lambda reading: noise.for_scale(
                reading.sensitivity, float(_in_steps(price, reading, matching))
            )


def _units(study: Study, price: Price, left: int) -> int:
    if price.by == "share":
        units = int(price.amount * left)
    else:
        units = study.filter.allowed(Guarantee(price.amount, study.limit.delta))
    if units < 1:
        raise InvalidRequest("this price is below the smallest unit that can be charged")
    return units


def _cost_of_units(filter_name: str, units: int) -> Fraction:
    """mu**2 for Gaussian noise, epsilon for geometric noise."""
    if units < 1:
        raise InvalidRequest("this price is below the smallest unit that can be charged")
    amount = Fraction(units, UNITS_PER_ONE)
    return 2 * amount if filter_name == "zcdp" else amount


def _in_steps(price: Price, reading: Reading, matching: int | None) -> Fraction:
    """The price, given in the units of the answer, in steps of the integers that are read."""
    step = step_of(reading)
    if reading.public_rows is not None:
        return price.amount * reading.public_rows / step
    if len(reading.coordinates) == 1:
        return price.amount / step
    if matching is None:
        raise InvalidRequest(
            f"how wide the interval of {reading.name!r} is depends on how many rows match, which is private: "
            "say how many you expect (matching), declare table.rows, or name the price as epsilon or share"
        )
    return price.amount * matching / step


def step_of(reading: Reading) -> Fraction:
    """What one step of the first integer means in the units of the answer."""
    first = reading.coordinates[0]
    return Fraction(1) if first.value is None else first.value.lattice.grain / first.times


def _certificate(study: Study, parts: tuple[Planned, ...]) -> Certificate:
    theorems = [name for part in parts for name in part.mechanism.theorems]
    theorems += [*study.filter.theorems, "POST-PROCESSING", "NOISE-INTERVAL"]
    if any(len(part.reading.coordinates) > 1 for part in parts):
        theorems.append("RATIO-INTERVAL")
    return Certificate(tuple(dict.fromkeys(theorems)), _assumptions(study))


def _assumptions(study: Study) -> tuple[str, ...]:
    unit, table = study.unit, study.table
    who = "one row"
    if unit.person is not None:
        who = f"one person ({unit.person}), of whose rows at most {unit.rows} are used"
    replaced = "exchanged for another; the number of units is public"
    how = replaced if unit.neighbours == "replace" else "added or removed"
    return (
        f"protected is {who}",
        f"neighbouring tables differ by one unit {how}",
        f"a value of {table.name} is the clipped value on its grain; rows without one do not count",
        "the noise comes from the operating system's generator",
    )
