"""Plans that describe a reading as it is not: the kernel refuses them before anything is charged.

An engine reads the declared column of a name, multiplies and clips as a reading says, and knows nothing of its
price.  So a reading whose description and sensitivity are both wrong, in the same way, would be charged too little.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from test_seam import TABLE, plan_of, study

from adyton.errors import InvalidRequest
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.mechanisms.grid import Grid, NoiseOnAGrid
from adyton.kernel.noisy import NoisyQueries, NoisyQuery
from adyton.kernel.price import Label, Priced, price
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.kernel.sensitivity import Coordinate, Sensitivity
from adyton.kernel.sensitivity.reading import Persons
from adyton.kernel.terms.buckets import Bucket
from adyton.kernel.terms.expressions import Compare
from adyton.kernel.terms.leaves import Constant, ValueOf
from adyton.kernel.terms.measures import Sum
from adyton.study import PrivateTable, Study

NARROW = IntegerColumn("age", 0, 1)  # the study declares 0 to 100
ONE_NUMBER = Sensitivity(((1, 1),), 1, "add-remove")


def priced(known: Study, text: str, reading: dict[str, Any], **more: Any) -> Priced:
    """What a plan for ``text`` costs after some facts of its first reading were changed."""
    (query,) = plan_of(known, text).measurement.queries
    first, *rest = query.parts
    changed = replace(first, reading=replace(first.reading, **reading), **more)
    lie = NoisyQueries((replace(query, parts=(changed, *rest)),))
    return price(lie, known.protection, Label(("q",), "d"))


def sum_of(column: IntegerColumn) -> dict[str, Any]:
    box = (column.low, column.high)
    return {
        "measure": Sum(ValueOf(column)),
        "coordinates": (Coordinate(ValueOf(column)),),
        "sensitivity": replace(ONE_NUMBER, boxes=(box,)),
    }


def test_a_column_has_the_bounds_of_the_study() -> None:
    """A sum of ages up to 100 was charged as one of ages up to 1: a ten thousandth.

    Mutants: ``_check_columns`` without each of what it looks at, or left out.
    """
    known, text = study(), "SELECT SUM(age) FROM people"
    honest = priced(known, text, sum_of(TABLE.column("age")))  # type: ignore[arg-type]
    assert honest.due == priced(known, text, {}).due
    lies: list[dict[str, Any]] = [
        sum_of(NARROW),
        {"measure": Sum(ValueOf(NARROW))},
        {"where": Compare(ValueOf(NARROW), ">", Constant(Fraction(0)))},
        {
            "by": (Bucket("age", ValueOf(NARROW)),),
            "sensitivity": Sensitivity(((0, 100),), 2, "add-remove"),
        },
    ]
    for lie in lies:
        with pytest.raises(InvalidRequest, match="only columns of a table as it is declared"):
            priced(known, text, lie)


def test_only_tables_of_the_study_are_read() -> None:
    """A table of the same name with narrower bounds.  Mutant: ``unit_of`` that goes by the name alone."""
    known = study()
    lying = replace(TABLE, columns=(NARROW, *TABLE.columns[1:]))
    with pytest.raises(InvalidRequest, match="only tables that the study declares"):
        priced(known, "SELECT SUM(age) FROM people", {**sum_of(NARROW), "table": lying})
    further = Table("visits", (IntegerColumn("days", 0, 9),), person="pid")
    unit = replace(known.unit, person="pid", rows=2)
    both = study(replace(TABLE, person="pid"), unit=unit, further=(PrivateTable(further, 3),)).protection
    assert both.unit_of(further).rows == 3
    with pytest.raises(InvalidRequest, match="only tables that the study declares"):
        both.unit_of(replace(further, columns=(IntegerColumn("days", 0, 1),)))


def test_of_a_person_one_number_is_read() -> None:
    """A count times 1000, and a search with weights up to 877, were charged as a count of persons.

    Mutants: ``_check_persons`` without each of its parts, or left out.
    """
    known, count = study(), "SELECT COUNT(*) FROM people"
    of_persons = {"persons": Persons(1, 1, 1), "sensitivity": ONE_NUMBER}
    honest = priced(known, count, of_persons)
    assert honest.due == priced(known, count, {}).due
    value = ValueOf(TABLE.column("age"))  # type: ignore[arg-type]
    two = Sensitivity(((0, 2),), 1, "add-remove")
    lies: list[dict[str, Any]] = [
        {"coordinates": (Coordinate(times=1000),)},
        {"coordinates": (Coordinate(value, minus=1000),), "persons": Persons(0, 2, 1), "sensitivity": two},
        {"coordinates": (Coordinate(), Coordinate())},
        {"coordinates": (Coordinate(),), "persons": Persons(0, 2, 1), "sensitivity": two},
        {
            "coordinates": (Coordinate(value),),
            "persons": Persons(2, 0, 1),
            "sensitivity": replace(two, boxes=((2, 0),)),
        },
    ]
    for lie in lies:
        with pytest.raises(InvalidRequest, match="of each person one number"):
            priced(known, count, of_persons | lie)
    for search in ("PERCENTILE_CONT(0.123) WITHIN GROUP (ORDER BY age)", "MAX(age)"):
        with pytest.raises(InvalidRequest, match="of each person one number"):
            priced(known, f"SELECT {search} FROM people", of_persons)
    summed = {"coordinates": (Coordinate(value),), "persons": Persons(2, 2, 1)}
    assert priced(known, count, of_persons | summed | {"sensitivity": replace(two, boxes=((2, 2),))})


def test_two_tables_exclude_nothing() -> None:
    """A person is in both, whatever the filters on columns of one name say: half was charged.

    Mutant: ``NoisyQueries._checked`` that looks at the units of the tables alone.
    """
    people = replace(TABLE, person="pid")
    visits = Table("visits", (*TABLE.columns[:2],), person="pid")
    known = study(people, unit=PrivacyUnit("add-remove", "pid", 1), further=(PrivateTable(visits, 1),))
    first, second = (
        plan_of(known, f"SELECT COUNT(*) FROM people WHERE age {sign} 50").measurement.parts[0]
        for sign in ("<", ">=")
    )
    elsewhere = replace(second, reading=replace(second.reading, table=visits))
    assert price(NoisyQueries((NoisyQuery((first, second)),)), known.protection, Label(("q",), "d"))
    with pytest.raises(InvalidRequest, match="about one table"):
        price(NoisyQueries((NoisyQuery((first, elsewhere)),)), known.protection, Label(("q",), "d"))


def finds_groups(rounded: bool = False, **counted: Any) -> Priced:
    known = study(discovery_delta=Fraction(1, 10**10))
    (query,) = plan_of(known, "SELECT town, COUNT(*) FROM people GROUP BY town").measurement.queries
    discovery = replace(query.discovery, counted=replace(query.discovery.counted, **counted))
    parts = tuple(replace(part, mechanism=on_a_grid(part.mechanism)) for part in query.parts)
    lie = NoisyQuery(parts if rounded else query.parts, discovery)
    return price(NoisyQueries((lie,)), replace(known.protection, rounded=rounded), Label(("q",), "d"))


def on_a_grid(noise: GaussianNoise) -> NoiseOnAGrid:
    return NoiseOnAGrid(noise, (Grid.over(0, 10, 1),))


def test_groups_are_discovered_by_their_units() -> None:
    """The threshold is made for groups that one unit makes 1: counted in fives, such groups were shown.

    Mutants: ``GroupDiscovery.check`` without the box, or with any noise; ``_checked`` without ``rounded``.
    """
    own, discovery = finds_groups().readings[0], finds_groups().measurement.queries[0].discovery
    fives = replace(own.sensitivity, boxes=((5, 5),))
    with pytest.raises(InvalidRequest, match="by how many units are in them"):
        finds_groups(reading=replace(own, coordinates=(Coordinate(times=5),), sensitivity=fives))
    with pytest.raises(InvalidRequest, match="moved farther"):
        finds_groups(mechanism=on_a_grid(discovery.counted.mechanism))
    with pytest.raises(InvalidRequest, match="asked alone"):
        finds_groups(rounded=True)


def test_noise_under_a_grid_is_of_a_proved_kind() -> None:
    """Mutant: ``check_noisy`` that does not look under the grid."""

    class Silent(GaussianNoise):
        def release(self, exact: Any, bits: Any) -> Any:
            return exact

    known, text = study(), "SELECT COUNT(*) FROM people"
    for noise in (Silent((Fraction(2),)), GaussianNoise((Fraction(2),))):
        with pytest.raises(InvalidRequest) as refused:
            priced(known, text, {}, mechanism=on_a_grid(noise))
        assert ("not of a kind whose cost is proved" in str(refused.value)) == (type(noise) is Silent)
