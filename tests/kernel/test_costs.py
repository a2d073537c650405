"""What measurements cost, against the same worked out by hand, and what they refuse."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_neighbors import batch
from test_neighbors import study as small
from test_seam import TABLE, plan_of, split, study

from adyton.errors import InvalidRequest
from adyton.kernel import noisy
from adyton.kernel.accounting.noisy_reading import NoisyReading, stability_units
from adyton.kernel.accounting.rules import accounting_named
from adyton.kernel.exact import UNITS_PER_ONE, units_up
from adyton.kernel.exact.cells import Cells
from adyton.kernel.exact.outward import bits_of
from adyton.kernel.exact.shares import query_share
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.mechanisms.grid import Grid, NoiseOnAGrid
from adyton.kernel.noise import SystemBits
from adyton.kernel.noisy import (
    NoisyQueries,
    NoisyQuery,
    families_of,
    shares_of,
    transcript_units,
    whole_price,
)
from adyton.kernel.price import Label, price
from adyton.kernel.privacy import BoundedRangeCost, Guarantee, PrivacyUnit, PureCost, Reserve
from adyton.kernel.protection import Protection, unit_with
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.kernel.sensitivity import Coordinate, Persons, Reading, Sensitivity
from adyton.kernel.special import discovery
from adyton.kernel.special.choice import Choice, ChosenPlaces, of_one_value, of_scores
from adyton.kernel.special.discovery import GroupDiscovery, number_of_groups
from adyton.kernel.special.histogram import Histogram, unit_of_all
from adyton.kernel.special.marginals import SELECTING, Marginals, marginals_sensitivity, step_for
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.marginals.adaptive import AdaptiveMarginals
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.kernel.special.mechanisms.workloads.each_cell import EachCell
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured
from adyton.kernel.special.mechanisms.workloads.residuals import Residuals
from adyton.kernel.special.workload import Workload
from adyton.kernel.terms.leaves import EVERY_ROW, IsTrue, ValueOf
from adyton.kernel.terms.measures import Extreme
from adyton.kernel.terms.persons import PersonNumber, table_of_persons
from adyton.planning.price import price_of
from adyton.planning.readings import histogram_of_axes
from adyton.query.conditions.atoms import axes_of_columns
from adyton.study import PrivateTable, Study
from adyton.synthesis.plan import plan_synthesis

S = Fraction(3)


def due_of(measurement: Any, protection: Protection) -> Any:
    return price(measurement, protection, Label(("q",), "d")).due


def parts_of(known: Study, *texts: str) -> list[NoisyReading]:
    return [part for text in texts for part in plan_of(known, text).measurement.parts]


def count(condition: str, known: Study | None = None) -> NoisyReading:
    return parts_of(known or study(), f"SELECT COUNT(*) FROM people WHERE {condition}")[0]


# Families --------------------------------------------------------------------------------------------------


def test_only_the_youngest_families_are_tried() -> None:
    """What comes first is found again behind 63 others, and not behind 64.

    Mutants: ``families_of`` that tries one more or fewer, or the oldest.
    """
    unit = PrivacyUnit("add-remove")
    first, other, every = (count(text).reading for text in ("age = 1", "age = 2", "age >= 1"))
    for between, expected in ((noisy._MOST_TRIED - 1, 0), (noisy._MOST_TRIED, None)):
        readings = [first, *[every] * between, other]
        families = families_of(readings, unit)
        home = next(i for i, family in enumerate(families) if len(readings) - 1 in family)
        assert home == (between + 1 if expected is None else 0)
        assert sorted(itertools.chain(*families)) == list(range(len(readings)))
    assert noisy._MOST_TRIED == 64
    assert families_of([every, first, other], unit) == [[0], [1, 2]]
    assert families_of([first], unit) == [[0]]
    assert families_of([first, other], unit) == [[0, 1]]


def test_parts_that_add_up_persons_stay_alone() -> None:
    """A person of two rows may be in both.  Mutants: ``families_of`` with ``or``, or for one row too."""
    known = small("gdp", "add-remove", 2)
    texts = [
        "SELECT COUNT(DISTINCT pid) FROM people WHERE smoker",
        "SELECT COUNT(DISTINCT pid) FROM people WHERE NOT smoker",
    ]
    readings = [part.reading for part in batch(known, texts, "independent").measurement.parts]
    two, one = known.unit_of(known.table), replace(known.unit, rows=1)
    assert families_of(readings, two) == [[0], [1]]
    assert families_of(readings, one) == [[0, 1]]
    rows = [count("age < 5").reading, count("age > 5").reading]
    assert families_of(rows, two) == [[0, 1]]


def test_a_single_query_is_compared_with_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: one reading whose facts are worked out; a whole price where units are not split."""

    def asked(*_: Any) -> Any:
        raise AssertionError("there is nothing to compare it with")

    known = study()
    measurement = plan_of(known).measurement
    monkeypatch.setattr(noisy, "facts_of", asked)
    monkeypatch.setattr(noisy, "whole_price", asked)
    assert due_of(measurement, known.protection).amount == measurement.parts[0].amount(known.rule)
    (part,) = measurement.parts
    empty = replace(part, reading=replace(part.reading, kept=()))
    assert (empty.reading.cells, noisy._gaussian([empty], 5)) == (0, ((0, 5),))
    assert noisy._gaussian([part, empty, part], 5) == ((2, 5),)


def test_each_part_has_a_share_of_the_price() -> None:
    """Half of it where an exchanged unit leaves one part and enters another.

    Mutants: ``shares_of`` with other conditions.
    """
    third = Fraction(1, 3)
    families = [[0], [1, 2], [3]]
    coming, exchanged = PrivacyUnit("add-remove"), PrivacyUnit("replace-one")
    moving = PrivacyUnit("replace-one", "pid", parts=2)
    assert shares_of(families, coming) == dict.fromkeys(range(4), third)
    assert shares_of(families, exchanged) == {0: third, 1: third / 2, 2: third / 2, 3: third}
    assert shares_of(families, moving) == dict.fromkeys(range(4), third / 2)
    assert shares_of(families, replace(moving, adjacency="add-remove")) == dict.fromkeys(range(4), third)


def with_noise(part: NoisyReading, scale: int, times: int = 1) -> NoisyReading:
    return replace(part, mechanism=GaussianNoise((Fraction(scale),)), times=times)


def test_a_family_costs_its_dearest_and_an_exchange_the_two_dearest() -> None:
    """Mutants: ``_family_due`` with other places of the sorted amounts; ``due`` with the greatest family."""
    known = small("gdp", "replace-one", None)
    own = batch(known, ["SELECT COUNT(*) FROM people WHERE age = 0"]).measurement.parts[0]
    three = [with_noise(own, scale) for scale in (4, 2, 3)]
    rule = known.rule
    square = [UNITS_PER_ONE * Fraction(1, s**2) for s in (2, 3, 4)]
    exchanged = noisy.due(three, [[0, 1, 2]], PrivacyUnit("replace-one"), rule)
    assert exchanged.amount == units_up(square[0] / UNITS_PER_ONE) + units_up(square[1] / UNITS_PER_ONE)
    coming = [
        replace(
            p,
            reading=replace(p.reading, sensitivity=replace(p.reading.sensitivity, adjacency="add-remove")),
        )
        for p in three
    ]
    added = noisy.due(coming, [[0, 1, 2]], PrivacyUnit("add-remove"), rule)
    assert added.amount == units_up(Fraction(1, 4))
    assert added.radius == exchanged.radius == units_up(Fraction(1, 4))
    alone = noisy.due(coming, [[0], [1], [2]], PrivacyUnit("add-remove"), rule)
    assert alone.amount == sum(units_up(one / UNITS_PER_ONE) for one in square)
    assert alone.radius == sum(units_up(one / UNITS_PER_ONE / 4) for one in square)
    wide = with_noise(batch(known, ["SELECT SUM(age) FROM people WHERE age >= 1"]).measurement.parts[0], 2)
    both = noisy.due([wide, three[0]], [[0, 1]], PrivacyUnit("replace-one"), rule)
    assert both.amount == max(
        wide.amount(rule), wide.amount_of_one_more(rule) + three[0].amount_of_one_more(rule)
    )


# A split study, a rounded study ----------------------------------------------------------------------------


def test_a_person_that_is_exchanged_may_change_parts() -> None:
    """Then it is in two of them.  Mutants: ``whole_price`` with another factor, sum or greatest."""
    known = small("gdp", "replace-one", None)
    own = batch(known, ["SELECT COUNT(*) FROM people WHERE age = 0"]).measurement.parts[0]
    parts = [with_noise(own, scale) for scale in (2, 3, 4)]
    rule, families = known.rule, [[0, 1], [2]]
    quarter, ninth, sixteenth = (units_up(Fraction(1, s**2)) for s in (2, 3, 4))
    stays = PrivacyUnit("replace-one", parts=3)
    assert whole_price(7, parts, families, stays, rule) == 7
    moves = PrivacyUnit("replace-one", "pid", parts=3)
    assert whole_price(7, parts, families, moves, rule) == 2 * (quarter + sixteenth)
    assert whole_price(10**30, parts, families, moves, rule) == 10**30
    assert whole_price(7, parts, [[1], [2]], moves, rule) == 2 * (ninth + sixteenth)


def test_a_split_study_charges_the_whole_price() -> None:
    """Mutant: ``NoisyQueries.due`` that forgets it, or takes it of every study."""
    known = split(3)
    measurement = plan_of(known).measurement
    person = replace(known.table, person="pid")
    moving = replace(known.protection, table=person, unit=replace(known.protection.unit, person="pid"))
    part = measurement.parts[0]
    reading = replace(part.reading, table=person)
    here = NoisyQueries((NoisyQuery((replace(part, reading=reading),)),))
    amount = part.amount_of_one_more(known.rule)
    assert due_of(measurement, known.protection).amount == part.amount(known.rule)
    assert due_of(here, moving).amount == max(2 * amount, part.amount(known.rule))
    assert due_of(here, replace(moving, unit=replace(moving.unit, parts=1))).amount == part.amount(known.rule)


def test_tables_of_the_same_persons_are_asked_together() -> None:
    """Mutants: ``_checked`` that takes one table only, or any; ``due`` that takes two parts for one."""
    known = small("gdp", "replace-one", 2)
    rows, smokes = PersonNumber("rows"), PersonNumber("rows", None, IsTrue(BooleanColumn("smoker")))
    tables = [
        table_of_persons(known.table, EVERY_ROW, ((name, own),)) for name, own in (("n", rows), ("m", smokes))
    ]
    others = [table_of_persons(known.table, IsTrue(BooleanColumn("smoker")), (("n", rows),)), known.table]
    own = batch(known, ["SELECT COUNT(*) FROM people WHERE smoker"]).measurement.parts[0]
    single = Sensitivity(((1, 1),), 1, "replace-one")

    def of(table: Table) -> NoisyReading:
        return replace(own, reading=replace(own.reading, where=EVERY_ROW, table=table, sensitivity=single))

    def asked(*some: Table) -> NoisyQueries:
        return NoisyQueries(tuple(NoisyQuery((of(table),)) for table in some))

    alone = due_of(asked(tables[0]), known.protection)
    amount = alone.amount
    assert (alone.pure, alone.unproved) == (0, False)
    assert due_of(asked(*tables), known.protection).amount == 2 * amount
    for other in others:
        with pytest.raises(InvalidRequest, match="one table"):
            due_of(asked(tables[0], other), known.protection)
    two = replace(known.protection, unit=replace(known.protection.unit, parts=2))
    assert due_of(asked(tables[0]), two).amount == 2 * amount


def test_validity_pays_the_bits_of_a_rounded_answer() -> None:
    """Mutants: ``transcript_units`` and ``_units`` with another number of cells or of grids."""
    known = study()
    (one,) = parts_of(known, "SELECT region, COUNT(*) FROM people GROUP BY region")
    (mean,) = parts_of(known, "SELECT AVG(age) FROM people")
    grids = (Grid.over(0, 9, 1), Grid.over(0, 6, 1))
    rounded = [
        replace(one, mechanism=NoiseOnAGrid(GaussianNoise((S,)), grids[:1])),
        replace(mean, mechanism=NoiseOnAGrid(GaussianNoise((S, S)), grids)),
    ]
    bits = 2 * bits_of(10), bits_of(10) + bits_of(7)
    assert transcript_units(rounded) == sum(map(units_up, bits))
    measurement = NoisyQueries((NoisyQuery(tuple(rounded)),))
    due = due_of(measurement, replace(known.protection, rounded=True))
    assert due.radius == sum(map(units_up, bits))
    assert due.amount == sum(part.amount(known.rule) for part in rounded)
    with pytest.raises(InvalidRequest, match="rounded in a study that says so"):
        due_of(measurement, known.protection)
    with pytest.raises(InvalidRequest, match="rounded in a study that says so"):
        due_of(NoisyQueries((NoisyQuery((one,)),)), replace(known.protection, rounded=True))


def test_the_queries_of_a_batch_are_about_one_table() -> None:
    """Mutants: ``_checked`` without each of its looks at tables."""
    visits = Table("visits", (IntegerColumn("days", 0, 9),), person="pid")
    persons = replace(TABLE, person="pid")
    known = study(persons, unit=PrivacyUnit("add-remove", "pid", 2), further=(PrivateTable(visits, 3),))
    (one,) = parts_of(known, "SELECT COUNT(*) FROM people")
    other = replace(one.reading, table=visits, sensitivity=replace(one.reading.sensitivity, rows=3))
    two = replace(one, reading=other)
    assert due_of(NoisyQueries((NoisyQuery((two,)),)), known.protection)
    nowhere = replace(one, reading=replace(one.reading, table=None))
    for parts in ((one, two), (one, nowhere), (nowhere,), ()):
        with pytest.raises(InvalidRequest, match="about one table"):
            due_of(NoisyQueries((NoisyQuery(parts),)), known.protection)


# Noise -----------------------------------------------------------------------------------------------------


def test_noise_has_a_scale_for_each_coordinate_and_is_drawn_at_least_once() -> None:
    """Mutants: ``check_noisy`` without each of its parts."""
    known = study()
    (mean,) = parts_of(known, "SELECT AVG(age) FROM people")
    for scales in ((S,), (S, S, S)):
        with pytest.raises(InvalidRequest, match="not of a kind whose cost is proved"):
            due_of(
                NoisyQueries((NoisyQuery((replace(mean, mechanism=GaussianNoise(scales)),)),)),
                known.protection,
            )
    for text in (
        "SELECT AVG(age) FROM people",
        "SELECT MEDIAN(age) FROM people",
        "SELECT MIN(age) FROM people",
    ):
        (part,) = parts_of(known, text)
        with pytest.raises(InvalidRequest, match="as often as it compares"):
            due_of(NoisyQueries((NoisyQuery((replace(part, times=part.times - 1),)),)), known.protection)
        more = replace(part, times=part.times + 1)
        assert due_of(NoisyQueries((NoisyQuery((more,)),)), known.protection).amount > part.amount(known.rule)


def test_a_search_reads_one_count_in_each_bin() -> None:
    """Mutants: ``_check_search`` without each of its parts."""
    known = study()
    (part,) = parts_of(known, "SELECT MEDIAN(age) FROM people")
    own = part.reading
    for lie in (
        {"coordinates": (replace(own.coordinates[0], times=2),)},
        {"groups": 1},
        {"by": ()},
        {"by": own.by * 2},
    ):
        with pytest.raises(InvalidRequest, match="how many rows are in each bin"):
            due_of(
                NoisyQueries((NoisyQuery((replace(part, reading=replace(own, **lie)),)),)), known.protection
            )


def test_a_curve_is_read_where_the_squares_are() -> None:
    """It makes the cost less.  Mutants: ``_curved`` that believes any three coordinates, or other numbers."""
    known = study()
    for text, curved in (
        ("SELECT VAR_POP(age) FROM people", 1),
        ("SELECT COVAR_POP(age, 2 * age) FROM people", 2),
        ("SELECT AVG(age) FROM people", 0),
    ):
        (part,) = parts_of(known, text)
        own = part.reading
        assert own.sensitivity.curved == curved
        lie = replace(own, sensitivity=replace(own.sensitivity, curved=curved + 1 if curved < 2 else 1))
        with pytest.raises(InvalidRequest, match="moved farther"):
            due_of(NoisyQueries((NoisyQuery((replace(part, reading=lie),)),)), known.protection)
        if curved:
            first, *rest = own.coordinates
            doubled = (replace(first, times=2 * first.times, minus=2 * first.minus), *rest)
            boxes = tuple(coordinate.box for coordinate in doubled)
            lie = replace(own, coordinates=doubled, sensitivity=replace(own.sensitivity, boxes=boxes))
            with pytest.raises(InvalidRequest, match="moved farther"):
                due_of(NoisyQueries((NoisyQuery((replace(part, reading=lie),)),)), known.protection)


# Discovered groups -----------------------------------------------------------------------------------------


def found(**more: Any) -> tuple[Study, NoisyQuery]:
    known = study(discovery_delta=Fraction(1, 10**10), **more)
    (query,) = plan_of(known, "SELECT town, COUNT(*) FROM people GROUP BY town").measurement.queries
    return known, query


def test_discovery_costs_its_two_counts() -> None:
    """Mutants: ``NoisyQueries.due`` that leaves one out, or multiplies; ``unproved`` of other noise.

    Noise of another accounting is refused: no theorem on populations would count it.
    """
    known, query = found()
    assert query.discovery is not None
    every = [*query.parts, query.discovery.counted, query.discovery.number]
    due = due_of(NoisyQueries((query,)), known.protection)
    assert due.amount == sum(part.amount(known.rule) for part in every)
    assert due.radius == sum(part.radius() for part in every)
    assert due.unproved
    plain = due_of(plan_of(known).measurement, known.protection)
    assert (plain.unproved, plain.pure) == (False, 0)
    geometric = [replace(part, mechanism=GeometricNoise((S,))) for part in every]
    quiet = NoisyQuery(
        tuple(geometric[:1]), replace(query.discovery, counted=geometric[1], number=geometric[2])
    )
    pure = replace(known.protection, rule=accounting_named("pure"))
    assert not due_of(NoisyQueries((quiet,)), pure).unproved
    with pytest.raises(InvalidRequest, match="the noise of the study's accounting"):
        due_of(NoisyQueries((quiet,)), known.protection)


def test_the_number_of_groups_moves_by_as_many_as_one_unit_is_in() -> None:
    """Mutants: ``number_of_groups`` with another box or number of cells; ``selection`` of another place."""
    _, query = found()
    assert query.discovery is not None
    counted = query.discovery.counted
    three = replace(counted.reading, sensitivity=replace(counted.reading.sensitivity, touched=3))
    own = number_of_groups(three)
    assert own.sensitivity == Sensitivity(((0, 3),), 1, "add-remove")
    assert own.cells == 1
    selection = query.discovery.selection(5)
    assert (selection.noise, selection.touched) == (counted.mechanism, 1)
    assert selection.probability == query.discovery.failure * query_share(5)
    assert discovery._MOST_RECEIPTS == 10**9
    with pytest.raises(InvalidRequest, match="too small"):
        replace(query.discovery, failure=Fraction(1, 10**250))


def test_groups_that_nobody_is_in_are_not_shown_nor_counted() -> None:
    """Mutants: ``GroupDiscovery.release`` that counts empty groups, or takes other places."""
    _, query = found()
    assert query.discovery is not None
    quiet = [replace(part, mechanism=GaussianNoise((Fraction(1, 100),))) for part in query.discovery.noisy]
    own = replace(query.discovery, counted=quiet[0], number=quiet[1])
    keys = [("a",), ("b",), ("c",), ("d",), ("e",)]
    kept = own.release(keys, [Cells([0, 9, 1, -3, 8])], 1, SystemBits())
    assert kept.keys == [["b"], ["e"]]
    assert kept.places.tolist() == [1, 4]
    assert kept.noisy_number == 3


def test_groups_of_persons_are_discovered_by_their_persons() -> None:
    """Mutant: ``check`` that wants units of one row."""
    known = small("gdp", "add-remove", 2)
    measurement = batch(known, ["SELECT town, COUNT(DISTINCT pid) FROM people GROUP BY town"]).measurement
    assert due_of(measurement, known.protection).unproved


def test_discovery_is_refused_where_its_guarantee_does_not_hold() -> None:
    """Mutants: ``check`` without each of its parts."""
    known, query = found()
    own = query.discovery
    assert own is not None
    failure, unit = known.protection.discovery_failure, known.unit
    own.check(unit, failure)
    own.check(unit, 2 * failure)
    two = PrivacyUnit("add-remove", "pid", 2)
    of_two = replace(own.counted.reading, sensitivity=replace(own.counted.reading.sensitivity, rows=2))
    declared = replace(own.counted.reading, by=())
    lies: list[tuple[GroupDiscovery, PrivacyUnit, Fraction]] = [
        (replace(own, counted=replace(own.counted, reading=of_two)), two, failure),
        (own, unit, failure / 2),
        (replace(own, counted=replace(own.counted, times=2)), unit, failure),
        (replace(own, number=replace(own.number, times=2)), unit, failure),
        (own, replace(unit, parts=2), failure),
        (
            replace(
                own,
                number=replace(
                    own.number, mechanism=NoiseOnAGrid(GaussianNoise((S,)), (Grid.over(0, 1, 1),))
                ),
            ),
            unit,
            failure,
        ),
    ]
    for one, whose, most in lies:
        with pytest.raises(InvalidRequest):
            one.check(whose, most)
    for name, wrong in (
        ("counted", replace(own.counted.reading.sensitivity, cells=1)),
        ("number", replace(own.number.reading.sensitivity, adjacency="replace-one")),
    ):
        part = getattr(own, name)
        lie = replace(own, **{name: replace(part, reading=replace(part.reading, sensitivity=wrong))})
        with pytest.raises(InvalidRequest, match="moved farther by one unit than it says"):
            lie.check(unit, failure)
    box = replace(own.counted.reading.sensitivity, boxes=((2, 2),))
    twice = replace(own.counted.reading, coordinates=(Coordinate(times=2),), sensitivity=box)
    number = replace(own.number, reading=number_of_groups(twice))
    with pytest.raises(InvalidRequest, match="by how many units are in them"):
        replace(own, counted=replace(own.counted, reading=twice), number=number).check(unit, failure)
    without = replace(declared, sensitivity=replace(declared.sensitivity, cells=1))
    number = replace(own.number, reading=number_of_groups(without))
    with pytest.raises(InvalidRequest, match="only groups of text"):
        replace(own, counted=replace(own.counted, reading=without), number=number).check(unit, failure)


def test_groups_are_not_discovered_where_answers_are_rounded() -> None:
    """Mutant: ``NoisyQueries._checked`` that asks of a batch alone."""
    known, query = found()
    parts = [
        replace(part, mechanism=NoiseOnAGrid(part.mechanism, (Grid.over(-99, 99, 1),)))  # type: ignore[arg-type]
        for part in query.parts
    ]
    on_grids, rounded = replace(query, parts=tuple(parts)), replace(known.protection, rounded=True)
    with pytest.raises(InvalidRequest, match="asked alone"):
        due_of(NoisyQueries((on_grids,)), rounded)


# A choice --------------------------------------------------------------------------------------------------


def sensitivity(low: int, high: int, rows: int = 1, adjacency: Any = "add-remove") -> Sensitivity:
    return Sensitivity(((low, high),), 1, adjacency, rows)


def test_scores_move_between_the_farthest_ends_of_all() -> None:
    """Mutants: ``of_scores`` and ``of_one_value`` with the least, or another end."""
    down, up = sensitivity(-3, 1), sensitivity(0, 5, rows=2)
    assert of_scores({down, up}) == ScoreSensitivity(Fraction(13), monotone=True)
    assert of_scores({sensitivity(-3, -1)}) == ScoreSensitivity(Fraction(3), monotone=True)
    assert of_scores({sensitivity(2, 5)}) == ScoreSensitivity(Fraction(5), monotone=True)
    assert of_scores({sensitivity(-3, 5, adjacency="replace-one")}) == ScoreSensitivity(Fraction(8))
    assert of_one_value({down, up}) == Sensitivity(((-3, 5),), 1, "add-remove", 2)
    assert of_one_value({sensitivity(2, 5, adjacency="replace-one")}) == sensitivity(
        2, 5, adjacency="replace-one"
    )


def choice(rule: str, k: int = 2, values: Any = None, adjacency: str = "add-remove") -> tuple[Study, Choice]:
    known = small(rule, adjacency, None)
    part = batch(
        known, ["SELECT region, smoker, COUNT(*) FROM people GROUP BY region, smoker"]
    ).measurement.parts[0]
    moved = of_scores({part.reading.sensitivity})
    machine = TopK(tuple(range(4)), k, Fraction(k, 3), moved, flips=rule == "pure")
    return known, Choice((part.reading,), machine, True, values)


@pytest.mark.parametrize("k", [1, 3])
def test_a_choice_costs_its_rounds_and_its_values(k: int) -> None:
    """Validity pays the rounds against an exchange, which moves every score either way, and the values' radii.

    Mutants: each part of ``Choice.due`` and of ``exchanged``; Gaussian numbers where there are none.
    """
    third = Fraction(1, 3)
    known, plain = choice("gdp", k)
    due = due_of(plain, known.protection)
    assert due.amount == known.rule.amount(ComposedCost(((BoundedRangeCost(third), k),)))
    assert (due.radius, due.pure, due.gaussian) == (0, units_up(k * 2 * third), ())
    known, valued = choice("gdp", k, GaussianNoise((S,)))
    due = due_of(valued, known.protection)
    assert due.amount == units_up(k * BoundedRangeCost(third).gdp + k * Fraction(1, 9))
    assert (due.radius, due.pure) == (units_up(k * Fraction(1, 36)), units_up(k * 2 * third))
    assert due.gaussian == ((k, due.radius),)
    known, pure = choice("pure", k)
    due = due_of(pure, known.protection)
    assert (due.amount, due.pure) == (units_up(k * third), 0)
    assert due.radius == stability_units(PureCost(k * 2 * third))
    known, pure = choice("pure", k, GeometricNoise((S,)))
    due = due_of(pure, known.protection)
    assert (due.amount, due.pure, due.gaussian) == (units_up(k * third + k * Fraction(1, 3)), 0, ())
    assert due.radius == stability_units(
        ComposedCost(((PureCost(k * 2 * third), 1), (PureCost(Fraction(1, 6)), k)))
    )
    known, exchanged = choice("gdp", k, adjacency="replace-one")
    assert due_of(exchanged, known.protection).pure == units_up(k * third)


def test_a_choice_is_made_for_what_it_chooses_from() -> None:
    """Mutants: ``Choice._checked`` without each of its parts."""
    known, own = choice("gdp")
    (reading,) = own.readings
    protection = known.protection
    for hidden in (replace(protection, rounded=True), replace(protection, unit=replace(known.unit, parts=2))):
        with pytest.raises(InvalidRequest, match="a selection goes neither"):
            due_of(own, hidden)
    median = batch(known, ["SELECT MEDIAN(age) FROM people"]).measurement.parts[0].reading
    most = batch(known, ["SELECT MAX(age) FROM people"]).measurement.parts[0].reading
    for other in (replace(reading, table=None), median, most):
        with pytest.raises(InvalidRequest, match="numbers that are read of a table"):
            due_of(replace(own, readings=(other,)), protection)
    mean = batch(known, ["SELECT AVG(age) FROM people"]).measurement.parts[0].reading
    for readings in ((), (mean,), (reading, mean), (mean, reading)):
        with pytest.raises(InvalidRequest, match="one number each, of one table"):
            due_of(replace(own, readings=readings), protection)
    visits = Table("visits", (IntegerColumn("days", 0, 9),), person="pid")
    persons = replace(known.table, person="pid")
    unit = PrivacyUnit("add-remove", "pid", 1)
    both = replace(known, table=persons, unit=unit, further=(PrivateTable(visits, 1),))
    here = replace(reading, table=persons)
    there = parts_of(both, "SELECT COUNT(*) FROM people")[0].reading
    two = (here, replace(there, table=visits))
    machine = replace(own.machine, candidates=tuple(range(5)))
    assert due_of(replace(own, readings=(here, there), machine=machine), both.protection)
    with pytest.raises(InvalidRequest, match="one number each, of one table"):
        due_of(replace(own, readings=two, machine=machine), both.protection)
    less = replace(own.machine, sensitivity=ScoreSensitivity(Fraction(1, 2), monotone=True))
    with pytest.raises(InvalidRequest, match="farther than the selection allows for"):
        due_of(replace(own, machine=less), protection)
    for candidates in ((0, 1, 2), (0, 1, 2, 3, 4), (1, 0, 2, 3), (0, 1, 2, 2)):
        with pytest.raises(InvalidRequest, match="among all cells that are read"):
            due_of(replace(own, machine=replace(own.machine, candidates=candidates)), protection)


class OwnTopK(TopK[int]):
    """Costs as much, and may choose otherwise."""


class Silent(GaussianNoise):
    """Costs as much, and may add nothing."""


def test_a_choice_is_made_by_a_machine_that_is_proved() -> None:
    """Mutants: ``Choice._checked`` with any machine, or any noise."""
    known, own = choice("gdp")
    machine = OwnTopK(own.machine.candidates, 2, own.machine.epsilon, own.machine.sensitivity, flips=False)
    for lie in (replace(own, machine=machine), replace(own, values=Silent((S,)))):
        with pytest.raises(InvalidRequest, match="not of a kind whose cost is proved"):
            due_of(lie, known.protection)


class Given:
    """A source of integers that a test chose."""

    place = 1

    def __init__(self, *exact: Sequence[Sequence[int]]) -> None:
        self._exact = exact

    def exact(self) -> Any:
        return iter(self._exact)

    def found(self) -> Any:
        raise AssertionError("nothing is discovered")

    def again(self, reading: Reading) -> Any:
        raise AssertionError("nothing is read again")


@pytest.mark.parametrize("huge", [0, 2**70])
def test_the_largest_or_the_least_are_chosen_with_their_values(huge: int) -> None:
    """With next to no noise.  Mutants: ``Choice.release`` of other scores, or other values; ``_as_scores``."""
    _, own = choice("pure", 2, GeometricNoise((Fraction(1, 100),)))
    loud = replace(own.machine, candidates=tuple(range(5)), epsilon=Fraction(4000))
    source = Given([[3 + huge, -9, 700 + huge]], [[40, -800]])
    for largest, chosen, values in (
        (True, (2, 0) if huge else (2, 3), (700 + huge, 3 + huge) if huge else (700, 40)),
        (False, (4, 1), (-800, -9)),
    ):
        asked = replace(own, machine=loud, largest=largest)
        assert asked.release(source, SystemBits()) == ChosenPlaces(chosen, values)
        assert replace(asked, values=None).release(source, SystemBits()) == ChosenPlaces(chosen)


# A workload ------------------------------------------------------------------------------------------------


def workload(strategy: str = "atoms", rows: int | None = None, rule: str = "gdp") -> tuple[Study, Workload]:
    known = small(rule, "add-remove", rows)
    texts = [
        "SELECT region, COUNT(*) FROM people GROUP BY region",
        "SELECT age, COUNT(*) FROM people GROUP BY age",
    ]
    return known, batch(known, texts, strategy).measurement


class OwnCells(EachCell):
    """Says what it likes of itself."""


class OwnMeasured(GaussianMeasured):
    """The same."""


def test_a_workload_costs_what_its_strategy_moves() -> None:
    """Mutants: ``Workload.due`` that takes the least, or another radius, or numbers of the other noise."""
    known, own = workload()
    amount = known.rule.amount(own.noise.cost("add-remove"))
    due = due_of(replace(own, at_least=1), known.protection)
    assert (due.amount, due.radius, due.pure) == (amount, stability_units(own.noise.radius()), 0)
    assert due.gaussian == ((own.noise.strategy.rows, due.radius),)
    assert due_of(replace(own, at_least=amount + 5), known.protection).amount == amount + 5
    known, pure = workload(rule="pure")
    assert due_of(pure, known.protection).gaussian == ()
    assert Workload(own.tables, own.noise).at_least == 1


@pytest.mark.parametrize("strategy", ["atoms", "product", "marginals", "optimised"])
def test_a_strategy_measures_the_cells_of_its_tables(strategy: str) -> None:
    """Mutants: ``Workload._checked`` and ``_fits`` without each of their parts."""
    known, own = workload(strategy)
    for hidden in (
        replace(known.protection, rounded=True),
        replace(known.protection, unit=replace(known.unit, parts=2)),
    ):
        with pytest.raises(InvalidRequest, match="a batch that is measured together goes neither"):
            due_of(own, hidden)
    assert due_of(own, known.protection)
    for lying in lies_about(own):
        with pytest.raises(
            InvalidRequest, match=r"cells of a histogram|one cell of a histogram|of one table"
        ):
            due_of(lying, known.protection)
    for lie in (
        OwnMeasured(own.noise.strategy, own.noise.sigma, own.noise.steps),  # type: ignore[union-attr]
        replace(own.noise, rows_each=2),
    ):
        with pytest.raises(InvalidRequest, match="not made for the rows that a unit can have"):
            due_of(replace(own, noise=lie), known.protection)
    others = {name: workload(name)[1].noise.strategy for name in ("atoms", "product", "marginals")}
    wrong = [EachCell(7, True), EachCell(3, False)]
    if strategy == "marginals":
        wrong += [others["atoms"], others["product"]]
    else:
        wrong.append(others["marginals"])
    for other in wrong:
        with pytest.raises(InvalidRequest, match="does not measure the cells that are counted"):
            due_of(replace(own, noise=replace(own.noise, strategy=other)), known.protection)
    if strategy == "marginals":
        return
    ((name, counted),) = own.tables
    fewer = Histogram(counted.reading, counted.places % 5, (5,))
    for tables in (((name, fewer),), (*own.tables, ((7,), counted))):
        with pytest.raises(InvalidRequest, match="does not measure the cells that are counted"):
            due_of(replace(own, tables=tables), known.protection)


def lies_about(own: Any) -> list[Any]:
    """Tables that are counted otherwise than a histogram is."""
    ((name, counted), *more) = own.tables
    reading = counted.reading
    wrong = [
        replace(counted, places=counted.places[1:]),
        replace(counted, places=np.append(counted.places, 0)),
        replace(counted, reading=replace(reading, coordinates=(Coordinate(times=2),))),
        replace(counted, reading=replace(reading, coordinates=(Coordinate(), Coordinate()))),
        replace(counted, reading=replace(reading, persons=Persons(1, 1, 1))),
        replace(counted, reading=replace(reading, table=None)),
        replace(
            counted, reading=replace(reading, measure=Extreme(ValueOf(IntegerColumn("age", 0, 4)), "least"))
        ),
    ]
    return [replace(own, tables=((name, one), *more)) for one in wrong] + [replace(own, tables=())]


def test_residuals_are_of_the_tables_that_are_counted() -> None:
    """Mutants: ``_fits`` with other classes, or with some of the tables."""
    known, own = workload("marginals")
    strategy = own.noise.strategy
    assert isinstance(strategy, Residuals)
    assert len(own.tables) > 1
    assert due_of(own, known.protection)
    swapped = tuple((name, other) for (name, _), (_, other) in zip(own.tables, own.tables[::-1], strict=True))
    for tables in (own.tables[1:], swapped):
        with pytest.raises(InvalidRequest, match="does not measure the cells that are counted"):
            due_of(replace(own, tables=tables), known.protection)


def test_histograms_are_of_one_table_and_as_they_say() -> None:
    """Mutants: ``unit_of_all`` that takes any table; ``Histogram.unit`` without ``check_reading``."""
    known, own = workload("marginals")
    first, second = (histogram for _, histogram in own.tables)
    table, unit = unit_of_all([first, second], known.protection)
    assert (table, unit) == (known.table, known.unit)
    narrow = replace(first.reading, sensitivity=replace(first.reading.sensitivity, rows=7))
    with pytest.raises(InvalidRequest, match="moved farther"):
        replace(first, reading=narrow).unit(known.protection)
    further = Table("further", known.table.columns)
    both = replace(known.protection, further=((further, 1),))
    elsewhere = replace(second, reading=replace(second.reading, table=further))
    for some in ([], [first, elsewhere], [elsewhere, first]):
        with pytest.raises(InvalidRequest, match="of one table"):
            unit_of_all(some, both)


def test_a_histogram_has_a_table_for_each_reading() -> None:
    """Mutants: ``histogram`` of other columns, or of one table for all; without the look at how many there are."""
    _, own = workload("atoms")
    size = own.readings[0].cells
    counted = own.histogram([[list(range(size))]])
    assert sorted(counted.tolist()) == sorted(own.tables[0][1].counts(range(size)).tolist())
    assert counted.sum() == sum(range(size))
    with pytest.raises(ValueError, match="shorter"):
        own.histogram([])
    _, tables = workload("marginals")
    counts = [[[place + 1] * reading.cells] for place, reading in enumerate(tables.readings)]
    histogram = tables.histogram(counts)
    assert list(histogram) == [name for name, _ in tables.tables]
    assert [set(one.tolist()) - {0} for one in histogram.values()] == [{1}, {2}]


# Marginals -------------------------------------------------------------------------------------------------


def marginals(
    rule: str = "gdp", adjacency: str = "add-remove", rows: int | None = None
) -> tuple[Study, Marginals]:
    known = small(rule, adjacency, rows)
    plan = plan_synthesis(known, ["age", "region", "smoker"], price_of(epsilon=1), known.allowed)
    return known, plan.measurement


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("rule", ["gdp", "zcdp", "pure"])
def test_marginals_cost_all_units_of_their_machine(rule: str, adjacency: str) -> None:
    """Validity pays the radius of what is measured and the epsilon of an exchange.

    Mutants: each part of ``Marginals.due``.
    """
    known, own = marginals(rule, adjacency)
    machine, due = own.machine, due_of(own, known.protection)
    twice = 1 if adjacency == "replace-one" else 2
    assert due.amount == machine.units
    if rule == "pure":
        assert due.radius == stability_units(PureCost(twice * Fraction(machine.units, UNITS_PER_ONE)))
        assert due.pure == 0
        return
    squared = Fraction(machine.units, UNITS_PER_ONE) * (2 if rule == "zcdp" else 1)
    one = (Fraction(1),)
    part = machine.sensitivity.l2_radius_squared(one) / machine.sensitivity.l2_diameter_squared(one)
    assert due.radius == units_up(part * squared)
    assert due.pure == units_up(twice * machine.most_epsilon)


@pytest.mark.parametrize("rule", ["gdp", "zcdp", "pure"])
def test_a_step_is_what_its_units_pay_for(rule: str) -> None:
    """Mutants: ``step_for`` with another kind of noise, or another part for selecting."""
    known, own = marginals(rule)
    accounting, moved, units = accounting_named(rule), own.machine.sensitivity, own.machine.each
    step = step_for(accounting, moved, units)
    cost = PureCost if rule == "pure" else BoundedRangeCost
    assert type(step.noise) is (GeometricNoise if rule == "pure" else GaussianNoise)
    assert step.selecting == accounting.amount(cost(step.epsilon))
    assert step.measuring == accounting.amount(step.noise.cost(moved))
    assert 0.999 * (units // SELECTING) <= step.selecting <= units // SELECTING
    assert 0.999 * (units - units // SELECTING) <= step.measuring <= units - units // SELECTING
    assert known.accounting == rule
    assert SELECTING == 10
    assert accounting.noise_cost(units) > 0


def test_a_step_may_use_all_of_its_units() -> None:
    """Mutant: one that must leave some."""
    nine_rows = Sensitivity(((1, 1),), 2, "add-remove", 9)
    step = step_for(accounting_named("pure"), nine_rows, 10**19)
    assert (step.selecting, step.measuring, step.noise.scales) == (10**18, 9 * 10**18, (Fraction(1),))


class OwnMarginals(AdaptiveMarginals):
    """Costs as much, and may measure more."""


def test_marginals_are_those_that_are_counted() -> None:
    """Mutants: ``Marginals._check`` without each of its parts."""
    known, own = marginals()
    protection, machine = known.protection, own.machine
    for hidden in (replace(protection, rounded=True), replace(protection, unit=replace(known.unit, parts=2))):
        with pytest.raises(InvalidRequest, match="a synthetic table goes neither"):
            due_of(own, hidden)
    for lying in lies_about(own):
        with pytest.raises(
            InvalidRequest, match=r"cells of a histogram|one cell of a histogram|of one table"
        ):
            due_of(lying, protection)
    facts = {name: getattr(machine, name) for name in machine.__dataclass_fields__ if name != "theorems"}
    for lie in (OwnMarginals(**facts), replace(machine, shape=(*machine.shape[:-1], 9))):
        with pytest.raises(InvalidRequest, match="not those of the axes"):
            due_of(replace(own, machine=lie), protection)
    axes = axes_of_columns(known.table, ["age", "region", "smoker"], {"age": 4})
    of_pairs = tuple((by, histogram_of_axes(axes, by, known.unit)) for by in ((0, 1), (1, 2)))
    fits = replace(machine, shape=(5, 3, 3), candidates=((0, 1), (1, 2)), first=())
    for shape in ((9, 3, 3), (5, 3, 9)):  # one of two tables fits
        wrong = replace(own, tables=of_pairs, machine=replace(fits, shape=shape))
        with pytest.raises(InvalidRequest, match="not those of the axes"):
            due_of(wrong, protection)
    less = replace(machine, sensitivity=replace(machine.sensitivity, cells=1))
    with pytest.raises(InvalidRequest, match="farther than the machine allows for"):
        due_of(replace(own, machine=less), protection)
    with pytest.raises(InvalidRequest, match="not priced by the study's accounting"):
        due_of(replace(own, rule=accounting_named("zcdp")), protection)


def test_the_largest_marginal_decides_how_far_a_unit_moves_them() -> None:
    """Mutants: ``marginals_sensitivity`` of the least; with fewer than two cells."""
    known, own = marginals(rows=2)
    unit, shape = known.unit_of(known.table), own.machine.shape
    assert shape == (5, 3, 3)
    every = marginals_sensitivity(shape, [(0,), (0, 1), (1, 2)], [(1,)], unit)
    assert every == Sensitivity(((1, 1),), 15, "add-remove", 2)
    assert marginals_sensitivity(shape, [(1,)], [(0, 2)], unit).cells == 15
    assert marginals_sensitivity((3,), [(0,)], [], unit).cells == 3
    assert marginals_sensitivity((3,), [()], [], unit).cells == 2


def test_each_marginal_is_summed_from_what_was_counted() -> None:
    """Mutants: ``_tables`` with other places, or of tables that were not counted."""
    known, own = marginals()
    plain = np.arange(45).tolist()
    ((read, counted),) = own.tables
    assert sorted(read) == [0, 1, 2]
    everything = counted.counts(plain).reshape(counted.shape)
    (reading,) = own.readings
    assert reading.cells == 45
    tables = own._tables(Given([plain]))
    for places, table in tables.items():
        others = tuple({0, 1, 2} - set(places))
        assert np.array_equal(np.asarray(table).ravel(), everything.sum(axis=others).ravel()), places
    assert set(tables) == {*own.machine.candidates, *own.machine.first}
    with pytest.raises(ValueError, match="longer"):
        own._tables(Given([plain], [[1]]))
    pairs_read, unit = ((0, 1), (1, 2), (0, 2)), known.unit_of(known.table)
    axes = axes_of_columns(known.table, ["age", "region", "smoker"], {"age": 4})
    of_pairs = tuple((by, histogram_of_axes(axes, by, unit)) for by in pairs_read)
    fed = replace(own.machine, candidates=pairs_read, first=((0,), (2,)))
    pairs = replace(own, tables=of_pairs, machine=fed)
    columns = [list(range(10, 10 + one.reading.cells)) for _, one in of_pairs]
    sums = {
        by: one.counts(column).reshape(one.shape) for (by, one), column in zip(of_pairs, columns, strict=True)
    }
    tables = pairs._tables(Given(*([one] for one in columns)))
    for by in pairs_read:
        assert np.array_equal(tables[by], sums[by])
    assert np.array_equal(tables[0,], sums[0, 1].sum(axis=1))
    assert np.array_equal(tables[2,], sums[1, 2].sum(axis=0))


# Who is protected ------------------------------------------------------------------------------------------


def test_who_is_protected_in_which_table() -> None:
    """Mutants: ``Protection.unit_of`` with other rows; ``unit_with`` that keeps what changed."""
    persons = replace(TABLE, person="pid")
    visits = Table("visits", (IntegerColumn("days", 0, 9),), person="who")
    unit = PrivacyUnit("add-remove", "pid", 2)
    known = study(persons, unit=unit, further=(PrivateTable(visits, 3),))
    protection = known.protection
    assert protection.unit_of(known.table) == unit
    assert protection.unit_of(visits) == replace(unit, person="who", rows=3)
    own = Table("people", (IntegerColumn("age", 0, 9), CategoryColumn("c", ("a",)), TextColumn("t")))
    plain = Study(own, PrivacyUnit("add-remove"), Guarantee(Fraction(1), Fraction(1, 10**9)))
    assert plain.protection.unit_of(own).person is None
    assert unit_with(unit, 1, None) is unit
    assert unit_with(unit, 3, None) == replace(unit, parts=3)
    reserve = Reserve(Fraction(1, 4))
    assert unit_with(unit, 1, reserve) == replace(unit, reserve=reserve)


def test_a_person_is_one_row_of_a_table_of_persons() -> None:
    """Made of as many rows as count.  Mutants: ``unit_of`` with other rows; without the look at the bounds."""
    persons = replace(TABLE, person="pid", most_rows=2)
    known = study(persons, unit=PrivacyUnit("add-remove", "pid", 2))
    (own,) = (table for table in known.tables)
    visits = table_of_persons(own, EVERY_ROW, (("visits", PersonNumber("rows")),))
    assert known.protection.unit_of(visits) == PrivacyUnit("add-remove", "pid", 1)
    more = replace(own, most_rows=3)
    lie = table_of_persons(more, EVERY_ROW, (("visits", PersonNumber("rows")),))
    with pytest.raises(InvalidRequest, match="do not fit the rows of a person that count"):
        known.protection.unit_of(lie)


def test_nothing_is_discovered_and_nothing_rounded_unless_a_study_says_so() -> None:
    protection = Protection(TABLE, PrivacyUnit("add-remove"), accounting_named("gdp"))
    assert protection.discovery_failure == 0
    assert not protection.rounded
