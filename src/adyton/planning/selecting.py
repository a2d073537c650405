"""From candidates and a price to a selection, its cost and its distance from the best: public facts alone.

Where candidates are the groups of one query, all of their values can be released instead: a unit is in few
groups, so that may come as near to the best at the same price, and then it says more.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from adyton.arithmetic.search import edge
from adyton.certify import Certificate
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import LEVEL, step_of
from adyton.kernel.measurement import Due
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise, QueryNoise
from adyton.kernel.privacy import PureCost
from adyton.kernel.sensitivity import Reading, Sensitivity
from adyton.kernel.special.choice import Choice, of_one_value, of_scores
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.noise_intervals.selections import largest_shortfall, noisy_order_chance, shortfall_of
from adyton.noise_intervals.widths import noise_within
from adyton.planning.known import assumptions_of
from adyton.planning.plan import PricedBatch, make_batch
from adyton.planning.price import Price, units_of
from adyton.planning.readings import readings_of
from adyton.query.selecting import Selection
from adyton.study import Study
from adyton.study.validity import refuse_where_rounded

_FOR_VALUES = Fraction(1, 2)  # of the price, where the values of those selected are asked for too
_LARGEST_EPSILON = 2.0**40  # of one round: more makes no difference to any score
_LEAST_EPSILON = 2.0**-40
_CLOSE = 1e-12
_MUCH_NEARER = Fraction(3, 4)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is read for a selection, and how far one unit moves it."""

    selection: Selection
    study: Study
    readings: tuple[Reading, ...]
    sensitivity: ScoreSensitivity
    one_value: Sensitivity  # of the value of any one candidate alone

    @classmethod
    def of(cls, study: Study, selection: Selection) -> Candidates:
        tables = {query.table for query in selection.queries}
        if len(tables) > 1:
            raise InvalidRequest("candidates are about one table, or one join of tables")
        if study.parts > 1:
            raise InvalidRequest("a selection reads all units: it does not go with a split of them")
        refuse_where_rounded(study, "a selection")
        unit = study.unit_of(selection.queries[0].table)
        readings = tuple(r for query in selection.queries for r in readings_of(query, unit))
        for reading in readings:
            if len(reading.coordinates) != 1:
                raise InvalidRequest(
                    f"{reading.name!r} is a share of rows whose number is private, so one unit can move it "
                    "far: compare counts"
                )
        apart = {reading.sensitivity for reading in readings}
        return cls(selection, study, readings, of_scores(apart), of_one_value(apart))

    @property
    def step(self) -> Fraction:
        """What one point of a score is in the units of the answer."""
        first = self.readings[0]
        return step_of(first) / (first.public_rows or 1)

    def machine(self, epsilon: Fraction) -> TopK[int]:
        """``epsilon`` is that of one round.  Permute-and-flip errs less at the same epsilon, but only the
        exponential mechanism has more epsilon at the same price where its range is what counts.
        """
        selection = self.selection
        flips = self.study.rule.choice is PureCost
        places = tuple(range(selection.candidates))
        return TopK(places, selection.most, selection.most * epsilon, self.sensitivity, flips)


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """A selection at its price; ``values`` is the noise of the values of those selected."""

    candidates: Candidates
    machine: TopK[int]
    values: QueryNoise | None
    price: Price
    due: Due = field(init=False)
    unproved = False

    @property
    def selection(self) -> Selection:
        return self.candidates.selection

    def __post_init__(self) -> None:
        object.__setattr__(self, "due", self.measurement.due(self.candidates.study.protection))

    @property
    def measurement(self) -> Choice:
        """What the kernel prices and releases."""
        return Choice(self.candidates.readings, self.machine, self.selection.largest, self.values)

    @property
    def text(self) -> str:
        return self.selection.text

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,)

    @property
    def amount(self) -> int:
        return self.due.amount

    @property
    def radius(self) -> int:
        return self.due.radius

    @property
    def pure(self) -> int:
        return self.due.pure

    @property
    def within(self) -> Fraction:
        """How far below the best the value of the selected is at most, at the level of noise intervals."""
        return shortfall_of(self.machine, LEVEL) * self.candidates.step

    @property
    def detail(self) -> str:
        """The mechanism as canonical JSON."""
        machine = self.machine
        name = "permute-and-flip" if machine.flips else "exponential mechanism"
        scales = [repr(float(scale)) for scale in self.values.scales] if self.values is not None else []
        return json.dumps([name, machine.k, str(machine.rate), machine.sensitivity.monotone, *scales])

    @property
    def certificate(self) -> Certificate:
        study, table = self.candidates.study, self.selection.queries[0].table
        theorems = [*self.machine.theorems, *study.rule.theorems, "POST-PROCESSING"]
        if self.values is not None:
            theorems += [*self.values.theorems, "NOISE-INTERVAL"]
        return Certificate(tuple(dict.fromkeys(theorems)), assumptions_of(study, table))


@dataclass(frozen=True, slots=True)
class AllValues:
    """All values of the groups, of which the best are shown."""

    batch: PricedBatch
    within: Fraction

    @property
    def text(self) -> str:
        return self.batch.text

    @property
    def texts(self) -> tuple[str, ...]:
        return self.batch.texts

    @property
    def detail(self) -> str:
        return self.batch.detail

    @property
    def amount(self) -> int:
        return self.batch.amount


def plan_selection(study: Study, selection: Selection, price: Price, left: int) -> SelectionPlan:
    """The selection whose cost is not above the price, or whose distance is not above the width.  Pure."""
    candidates = Candidates.of(study, selection)
    if price.by == "scale":
        raise InvalidRequest("the price of a selection is named as within, epsilon or share")
    if price.by == "within":
        return _near(candidates, price)
    units = units_of(study, price, left)
    kept = units - int(units * _FOR_VALUES) if selection.with_value else units
    values = None
    if selection.with_value:
        cost = study.rule.noise_cost((units - kept) // selection.most)
        values = study.rule.noise.for_cost(candidates.one_value, cost)
    return SelectionPlan(candidates, _bought(candidates, kept), values, price)


def plan_all_values(study: Study, selection: Selection, price: Price, left: int) -> AllValues | None:
    """The same by releasing all values; None where candidates are no groups of one query, or for noise of
    which nobody proved how often it puts values out of order.
    """
    ordered = study.rule.noise in (GaussianNoise, GeometricNoise)
    if selection.whole is None or study.one_by_one or not ordered:
        return None
    planned = partial(make_batch, study, [selection.whole], left=left)
    if price.by != "within":
        return _all_values(planned(price), selection)
    width = price.of(selection.queries[0].measures[0][0])

    def near(scale: float) -> bool:
        return _all_values(planned(Price("scale", Fraction(scale))), selection).within <= width

    scale = _largest(near, float(width))
    return None if scale is None else _all_values(planned(Price("scale", scale)), selection)


def better(selected: SelectionPlan, released: AllValues | None) -> SelectionPlan | AllValues:
    """What comes nearer to the best at the same price, or as near for less; all values say more, so they are
    taken where they are no worse, and where they would be shown where they are not much worse.
    """
    if released is None:
        return selected
    if selected.price.by == "within":
        return released if released.batch.amount <= selected.amount else selected
    if selected.selection.shows_values:  # by a quarter, and by more than one step
        enough = selected.within / _MUCH_NEARER + selected.candidates.step
        return released if released.within <= enough else selected
    return released if released.within <= selected.within else selected


def _all_values(batch: PricedBatch, selection: Selection) -> AllValues:
    ((noisy,),) = [plan.noisy for plan in batch.plans]
    noise = noisy.mechanism
    assert isinstance(noise, GaussianNoise | GeometricNoise)

    def missed(shortfall: int) -> Fraction:
        return noisy_order_chance(noise, shortfall, selection.candidates, selection.most)

    steps = largest_shortfall(missed, LEVEL)
    return AllValues(batch, steps * step_of(noisy.reading) / (noisy.reading.public_rows or 1))


def _bought(candidates: Candidates, units: int) -> TopK[int]:
    """The largest epsilon, the same in every round, that costs at most ``units``."""
    rule, rounds = candidates.study.rule, candidates.selection.most
    if units < rounds:
        raise InvalidRequest(f"this price is too small to select {rounds}")
    epsilon = rule.largest_epsilon(units // rounds, rule.choice)
    for _ in range(64):
        machine = candidates.machine(epsilon)
        if rule.amount(machine.cost()) <= units:
            return machine
        epsilon *= 1 - Fraction(1, 2**40)  # a rounding of the last digits was against us
    raise InvalidRequest("no selection can be represented for this price")


def _near(candidates: Candidates, price: Price) -> SelectionPlan:
    """The cheapest that is within the width that was named."""
    selection = candidates.selection
    width = price.of(selection.queries[0].measures[0][0])

    def near(scale: float) -> bool:
        return shortfall_of(candidates.machine(Fraction(1 / scale)), LEVEL) * candidates.step <= width

    scale = _largest(near, float(width / candidates.step))
    if scale is None:
        raise InvalidRequest("no selection comes that near")
    values: QueryNoise | None = None
    if selection.with_value:
        kind = candidates.study.rule.noise
        values = noise_within(kind, candidates.one_value, float(width / candidates.step), LEVEL)
    return SelectionPlan(candidates, candidates.machine(Fraction(1 / float(scale))), values, price)


def _largest(fits: Callable[[float], bool], start: float) -> Fraction | None:
    """The largest scale that fits, to twelve digits; None if none does."""
    low = high = min(max(start, 1 / _LARGEST_EPSILON), 1 / _LEAST_EPSILON)
    while not _tried(fits, low):
        low, high = low / 2, low
        if low < 1 / _LARGEST_EPSILON:
            return None
    while high < 1 / _LEAST_EPSILON and _tried(fits, high):
        low, high = high, high * 2
    return Fraction(edge(partial(_tried, fits), low, high, close=_CLOSE))


def _tried(fits: Callable[[float], bool], scale: float) -> bool:
    try:
        return fits(scale)
    except InvalidRequest:  # no noise of such a scale can be drawn
        return False
