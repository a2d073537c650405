"""Every unit that there can be, in small tables: no plan is charged less than what its integers move by.

Random batches of random queries go through planning and ``price``.  What one unit can do to the exact integers is
found by trying every unit, against none or against every other, and its cost is worked out by hand from the noise.
That must never be above what the kernel charges.  The exact integers come from plain loops over rows, which are
what engines are compared with elsewhere.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adyton.kernel import noisy
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noisy import NoisyQueries
from adyton.kernel.price import Label, Priced, price
from adyton.kernel.privacy import BoundedRangeCost, Cost, GaussianCost, Guarantee, PrivacyUnit, PureCost
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.kernel.sensitivity import Reading
from adyton.kernel.sensitivity.reading import search_weights
from adyton.kernel.special.choice import Choice, of_one_value, of_scores
from adyton.kernel.special.discovery import NUMBER_OF_KEYS
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured
from adyton.kernel.terms.measures import Extreme, Quantile
from adyton.planning.plan import make_batch
from adyton.planning.price import price_of
from adyton.query.request import request_of
from adyton.study import Study
from adyton.testing.engines.meaning import OUTSIDE, Row
from adyton.testing.engines.reference import _sums, exact_of
from support.tries import often

Rows = list[tuple[Any, Row]]
Moved = list[np.ndarray[Any, Any]]  # of each reading: coordinates times cells

COLUMNS = (
    IntegerColumn("age", -1, 2),
    IntegerColumn("pay", 1, 3),
    CategoryColumn("region", ("a", "b")),
    BooleanColumn("smoker"),
    TextColumn("town"),
)
KINDS: list[Row] = [
    {"age": age, "pay": pay, "region": region, "smoker": smoker, "town": town, OUTSIDE: ()}
    for age, pay, region, smoker, town in itertools.product(
        (-1, 0, 1, 2, None), (1, 3), (0, 1, None), (False, True), ("x", "y")
    )
]
MEASURES = (
    "COUNT(*)",
    "SUM(age)",
    "SUM(2 * age - pay)",
    "AVG(age)",
    "AVG(pay)",
    "VAR_POP(age)",
    "COVAR_POP(age, pay)",
    "MEDIAN(age)",
    "PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY age)",
    "MIN(pay)",
    "MAX(age)",
    "AVG(CASE WHEN smoker THEN 1 ELSE 0 END)",
)
OF_PERSONS = ("COUNT(DISTINCT pid)",)
ACCOUNTING_NAMES = (
    "age > 0",
    "age <= 0",
    "smoker",
    "NOT smoker",
    "region = 'a'",
    "region = 'b'",
    "age IS NULL",
    "pay < 3",
)
GROUPS = ("", " GROUP BY region", " GROUP BY smoker", " GROUP BY region, smoker", " GROUP BY town")
RULES = ("gdp", "zcdp", "pure")
BOTH = ("add-remove", "replace-one")


def study(rule: str, adjacency: str, rows: int | None, size: int | None = None) -> Study:
    """``rows``: the most of one person; None: a unit is a row."""
    person = None if rows is None else "pid"
    table = Table("people", COLUMNS, rows=3 if size is None else size, person=person)
    unit = PrivacyUnit(adjacency, person, rows or 1)  # type: ignore[arg-type]
    delta = Fraction(0) if rule == "pure" else Fraction(1, 10**6)
    keys = Fraction(1, 10**7) if delta else Fraction(0)
    return Study(table, unit, Guarantee(Fraction(2), delta), rule, discovery_delta=keys)


def batch(known: Study, texts: Sequence[str], strategy: str | None = None) -> Any:
    requests = [request_of(text, known.table) for text in texts]
    return make_batch(known, requests, price_of(epsilon=1), known.allowed, strategy=strategy)


def priced(known: Study, measurement: Any) -> Priced:
    return price(measurement, known.protection, Label(("q",), "d"))


# What one unit can do --------------------------------------------------------------------------------------


def units(rng: random.Random, rows: int | None, most: int = 60) -> Iterator[list[Row]]:
    """Some of all there can be: every kind of a row is in one of them."""
    if rows is None:
        yield from ([kind] for kind in rng.sample(KINDS, min(most, len(KINDS))))
        return
    for kind in rng.sample(KINDS, most // 2):
        yield [kind] * rows
    for _ in range(most // 2):
        yield [rng.choice(KINDS) for _ in range(rng.randint(1, rows))]


def integers(readings: Sequence[Reading], rows: Rows) -> Moved:
    """Of groups that nobody declared the towns x and y; of their number as many as have a unit."""
    found: Moved = []
    for reading in readings:
        if reading.name == NUMBER_OF_KEYS:
            found.append(np.array([[np.count_nonzero(found[-1])]], object))
            continue
        if not any(isinstance(group, TextColumn) for group in reading.by):
            found.append(np.array(exact_of(rows, False, "salt", [reading])[0], object))
            continue
        sums = _sums(reading, rows, "salt", False)
        nothing = [0] * len(reading.coordinates)
        found.append(np.array([sums.get((town,), nothing) for town in ("x", "y")], object).T)
    return found


def all_moves(known: Study, readings: Sequence[Reading], rng: random.Random) -> list[Moved]:
    """The differences of the integers of all neighbors of one random table."""
    rows = None if known.table.person is None else known.unit.rows
    others: Rows = [(("other", i), rng.choice(KINDS)) for i in range(rng.randint(0, 3))]
    reach = apart(
        [integers(readings, [*others, *(("unit", row) for row in unit)]) for unit in units(rng, rows)]
    )
    against = reach if known.unit.adjacency == "replace-one" else [integers(readings, others)]
    return apart([[a - b for a, b in zip(one, two, strict=True)] for one in reach for two in against])


def apart(some: list[Moved]) -> list[Moved]:
    """Each of them once."""
    return list({str([own.tolist() for own in one]): one for one in some}.values())


def searched(reading: Reading, moved: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """By how much a comparison moves at most, in each cell, at the worst place of the search."""
    times, minus = search_weights(reading.measure)  # type: ignore[arg-type]
    cells = reading.sensitivity.cells
    bins = moved[0].reshape(cells, -1)
    compared = times * np.cumsum(bins, axis=1) - minus * bins.sum(axis=1, keepdims=True)
    return np.abs(compared).max(axis=1)[None, :]


def lost(part: NoisyReading, moved: np.ndarray[Any, Any]) -> Fraction:
    """mu**2 or epsilon of noise on integers that moved by so much."""
    if isinstance(part.reading.measure, Quantile | Extreme):
        moved = searched(part.reading, moved)
    scaled = [
        abs(Fraction(int(value)) / scale)
        for row, scale in zip(moved, part.mechanism.scales, strict=True)
        for value in row
        if value
    ]
    gaussian = isinstance(part.mechanism, GaussianNoise)
    return part.times * sum((one**2 if gaussian else one for one in scaled), Fraction(0))


def spent(known: Study, total: Fraction) -> Fraction:
    """In the currency of the study, as units."""
    return UNITS_PER_ONE * (total / 2 if known.accounting == "zcdp" else total)


def worst(known: Study, measurement: NoisyQueries, rng: random.Random) -> Fraction:
    """The largest cost of any two neighbors, by hand."""
    found = [query.discovery for query in measurement.queries if query.discovery is not None]
    every = [*measurement.parts, *(part for one in found for part in one.noisy)]
    readings = [part.reading for part in every]
    losses = [
        sum((lost(part, own) for part, own in zip(every, moved, strict=True)), Fraction(0))
        for moved in all_moves(known, readings, rng)
    ]
    return spent(known, max(losses))


# No plan is charged too little ------------------------------------------------------------------------------


def random_texts(rng: random.Random, rows: int | None, rule: str) -> list[str]:
    measures = MEASURES if rows is None else MEASURES + 2 * OF_PERSONS
    if rng.random() < 0.2 and rule != "pure" and rows is None:
        return [f"SELECT town, {rng.choice(MEASURES[:5])} FROM people GROUP BY town"]
    texts = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        measure = rng.choice(measures)
        by = "" if "PERCENTILE" in measure else rng.choice(GROUPS[:4])
        where = f" WHERE {rng.choice(ACCOUNTING_NAMES)}" if rng.random() < 0.7 else ""
        keys = f"{by.removeprefix(' GROUP BY ')}, " if by else ""
        texts.append(f"SELECT {keys}{measure} FROM people{where}{by}")
    return texts


def random_plans(seed: int, number: int) -> Iterator[tuple[Study, Any, random.Random, list[str]]]:
    rng = random.Random(seed)
    while number:
        rows = rng.choice((None, None, 1, 2))
        rule = rng.choice(RULES)
        known = study(rule, rng.choice(BOTH), rows)
        texts = random_texts(rng, rows, rule)
        measurement = batch(known, texts).measurement
        if isinstance(measurement, NoisyQueries):
            number -= 1
            yield known, measurement, rng, texts


@pytest.mark.parametrize("seed", range(often(12, 200)))
def test_no_unit_moves_the_integers_of_a_batch_farther_than_is_charged(seed: int) -> None:
    """Mutants: ``sensitivity_of`` with a box, a number of rows or of cells that is too small; ``families_of``
    that puts parts together which one row meets; ``due`` with a smaller amount; ``rounds_of`` one less.
    """
    for known, measurement, rng, texts in random_plans(seed, 4):
        amount = priced(known, measurement).due.amount
        assert worst(known, measurement, rng) <= amount, (texts, known.unit, known.accounting)


TIGHT = [
    ["SELECT COUNT(*) FROM people WHERE smoker"],
    ["SELECT SUM(age) FROM people"],
    ["SELECT region, SUM(pay) FROM people GROUP BY region"],
    ["SELECT COUNT(*) FROM people WHERE age > 0", "SELECT COUNT(*) FROM people WHERE age <= 0"],
    ["SELECT COUNT(*) FROM people WHERE age > 0", "SELECT COUNT(*) FROM people WHERE smoker"],
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("case", range(len(TIGHT)))
def test_a_charge_is_what_the_worst_unit_costs(case: int, adjacency: str, rule: str) -> None:
    """Nor is anything charged for what no unit can do: the worst unit costs all of it, but for roundings.

    Mutants: ``due`` or ``_family_due`` that adds up what excludes each other; ``cells`` too many.
    """
    known, texts = study(rule, adjacency, None), TIGHT[case]
    measurement = batch(known, texts, "independent").measurement
    amount, rng = priced(known, measurement).due.amount, random.Random(case)
    assert amount - len(texts) <= worst(known, measurement, rng) <= amount


# Lies that it finds ----------------------------------------------------------------------------------------


def narrowed(measurement: NoisyQueries) -> NoisyQueries:
    """Every reading says that its integers move half as far."""

    def half(part: NoisyReading) -> NoisyReading:
        own = part.reading.sensitivity
        boxes = tuple((low // 2, -(-high // 2) if low < 0 else max(1, high // 2)) for low, high in own.boxes)
        return replace(part, reading=replace(part.reading, sensitivity=replace(own, boxes=boxes)))

    queries = (replace(query, parts=tuple(map(half, query.parts))) for query in measurement.queries)
    return NoisyQueries(tuple(queries))


def of_one_row(measurement: NoisyQueries) -> NoisyQueries:
    def one(part: NoisyReading) -> NoisyReading:
        own = replace(part.reading.sensitivity, rows=1)
        return replace(part, reading=replace(part.reading, sensitivity=own))

    queries = (replace(query, parts=tuple(map(one, query.parts))) for query in measurement.queries)
    return NoisyQueries(tuple(queries))


def one_family(readings: Sequence[Reading], unit: PrivacyUnit) -> list[list[int]]:
    return [list(range(len(readings)))]


def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noisy, "check_noisy", lambda part, unit: None)


def all_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noisy, "families_of", one_family)


@pytest.mark.parametrize(
    ("kernel", "plan"),
    [
        (unchecked, narrowed),
        (unchecked, of_one_row),
        (all_exclude_each_other, lambda measurement: measurement),
    ],
)
def test_a_lie_is_found(
    kernel: Callable[[pytest.MonkeyPatch], None],
    plan: Callable[[NoisyQueries], NoisyQueries],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the first test would say of a kernel that believed its plans, or all that they say of disjoint filters."""
    kernel(monkeypatch)
    caught = 0
    for known, measurement, rng, _ in random_plans(1, 12):
        amount = priced(known, plan(measurement)).due.amount
        caught += worst(known, measurement, rng) > amount
    assert caught > 0


# Other measurements ----------------------------------------------------------------------------------------


def chosen(known: Study, texts: Sequence[str], k: int, with_values: bool) -> Choice:
    """A selection among all cells of some queries, and perhaps values of those selected."""
    parts = batch(known, texts, strategy="independent").measurement.parts
    readings = tuple(part.reading for part in parts)
    moves = {reading.sensitivity for reading in readings}
    places = tuple(range(sum(reading.cells for reading in readings)))
    pure = known.accounting == "pure"
    machine = TopK(places, k, Fraction(k, 2), of_scores(moves), flips=pure)
    kind = GeometricNoise if pure else GaussianNoise
    values = kind.for_cost(of_one_value(moves), Fraction(1, 4)) if with_values else None
    return Choice(readings, machine, True, values)


def cost_of_choice(choice: Choice, moved: Moved, rule: str) -> list[tuple[Cost, int]]:
    """Of k rounds, from how far any two scores part, and of k values, from how far any score moves."""
    cells = [int(value) for own in moved for value in own[0]]
    machine, parts = choice.machine, list[tuple[Cost, int]]()
    span = max(cells) - min(cells)
    if span:
        epsilon = machine.rate * span
        parts.append((PureCost(epsilon) if machine.flips else BoundedRangeCost(epsilon), machine.k))
    farthest = max(map(abs, cells))
    if choice.values is not None and farthest:
        scaled = farthest / choice.values.scales[0]
        parts.append((PureCost(scaled) if rule == "pure" else GaussianCost(scaled**2), machine.k))
    return parts


COUNTS = ["SELECT region, COUNT(*) FROM people GROUP BY region"]
CHOICES = [
    COUNTS,
    ["SELECT region, smoker, SUM(age - 2) FROM people GROUP BY region, smoker"],
    [
        "SELECT SUM(age) FROM people",
        "SELECT SUM(pay) FROM people",
        "SELECT SUM(-pay) FROM people WHERE smoker",
    ],
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("rows", [None, 2])
@pytest.mark.parametrize("place", range(len(CHOICES)))
def test_no_unit_moves_the_scores_of_a_choice_farther_than_is_charged(
    place: int, rows: int | None, adjacency: str, rule: str
) -> None:
    """And some unit moves counts as far.  Mutants: ``of_scores`` and ``of_one_value`` with another bound."""
    known, rng = study(rule, adjacency, rows), random.Random(7)
    for k, with_values in itertools.product((1, 2), (False, True)):
        choice = chosen(known, CHOICES[place], k, with_values)
        amount = priced(known, choice).due.amount
        costs = [
            known.rule.amount(ComposedCost(tuple(cost_of_choice(choice, moved, rule))))
            for moved in all_moves(known, choice.readings, rng)
        ]
        assert max(costs) <= amount
        assert max(costs) == amount or CHOICES[place] is not COUNTS, (k, with_values, max(costs) / amount)


TOGETHER = [
    [
        "SELECT region, COUNT(*) FROM people GROUP BY region",
        "SELECT smoker, COUNT(*) FROM people GROUP BY smoker",
    ],
    [f"SELECT COUNT(*) FROM people WHERE age {sign} {age}" for sign in "<>=" for age in (0, 1)],
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("strategy", ["atoms", "tree", "optimised", "product", "marginals"])
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("rows", [None, 2])
@pytest.mark.parametrize("place", range(len(TOGETHER)))
def test_no_unit_moves_what_a_strategy_measures_farther_than_is_charged(
    place: int, rows: int | None, adjacency: str, strategy: str, rule: str
) -> None:
    """Mutants: ``Workload`` that prices another unit, or counts a cell twice."""
    known, rng = study(rule, adjacency, rows), random.Random(3)
    workload = batch(known, TOGETHER[place], strategy).measurement
    amount, noise, losses = priced(known, workload).due.amount, workload.noise, [Fraction(0)]
    for moved in all_moves(known, workload.readings, rng):
        measured = [int(one) for one in noise.strategy.measure(workload.histogram(moved))]
        if isinstance(noise, GaussianMeasured):
            losses.append(sum((noise.steps * Fraction(one) / noise.sigma) ** 2 for one in measured))
        else:
            losses.append(sum(map(abs, measured)) / noise.scale)
    assert spent(known, max(losses)) <= amount <= 2 * spent(known, max(losses)) + 1
