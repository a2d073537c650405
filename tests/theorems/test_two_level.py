"""TWO-LEVEL: a person is one row of a table of persons, within bounds that follow from the rows that count.

Everything that one person can be, on a table small enough to try all of it: up to three rows, of which two
count, of every kind there is.  Whatever is asked moves by no more than is claimed from any such person to any
other, and by as much for some of them; and no number lies beyond its bounds, where it would be in no group.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from adyton.certify import Interval
from adyton.engines.duckdb import DuckDBEngine
from adyton.kernel.privacy import ADJACENCIES, Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table
from adyton.kernel.sensitivity import Reading, Sensitivity
from adyton.kernel.sensitivity.reading import search_weights
from adyton.kernel.terms.buckets import Bucket
from adyton.kernel.terms.leaves import ValueOf
from adyton.kernel.terms.measures import Count, Extreme, Quantile
from adyton.kernel.terms.persons import TableOfPersons
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.query.sql.read import parse
from adyton.study import Study, Validity
from support.curators import seeded
from support.tries import LONG, crossed, often

MOST = 2
BUDGET = Guarantee(Fraction(1), Fraction(1, 10**9))
X, KIND = IntegerColumn("x", -1, 2), CategoryColumn("kind", ("a", "b"))
TABLE = Table("t", (X, KIND), rows=3, person="pid", most_rows=MOST)
ROWS = [(-1, "a"), (2, "a"), (2, "b"), (None, "b")]  # both ends, and nothing
# Of those with more rows than count, usually every other: with each kind of row, and with each cut away.
PERSONS = [
    some
    for size in range(MOST + 2)
    for some in list(combinations_with_replacement(ROWS, size))[:: often(2, 1) if size > MOST else 1]
]
OTHERS = [(1, 0, "a"), (1, 2, "b"), (2, None, "a")]
NUMBERS = {
    "COUNT(*)": (1, MOST),
    "COUNT(x)": (0, MOST),
    "SUM(x)": (-MOST, 2 * MOST),
    "SUM(x) FILTER (WHERE kind = 'a')": (-MOST, 2 * MOST),
    "SUM(CASE WHEN x > 0 THEN 3 ELSE 2 END)": (2, 3 * MOST),
    "SUM(-1 - CASE WHEN x > 0 THEN 3 ELSE 2 END)": (-4 * MOST, -3),
    "MIN(x)": (-1, 2),
    "MAX(x)": (-1, 2),
    "COUNT(DISTINCT kind)": (0, 2),
}
ASKED = [
    "SELECT COUNT(*) FROM ({})",
    "SELECT SUM(v) FROM ({})",
    "SELECT AVG(v) FROM ({})",
    "SELECT VARIANCE(v) FROM ({})",
    "SELECT v, COUNT(*) FROM ({}) GROUP BY v",
    "SELECT v > 1 AS large, SUM(v) FROM ({}) GROUP BY large",
    "SELECT PROPORTION(v > 1) FROM ({})",
]
WHERES = ["", " WHERE kind = 'a'"]
NOBODYS = Sensitivity((), 0, "replace-one")

# Two numbers of a person, among them some that are missing, averaged, clipped, chosen or kept by others.
PAIRS = [
    "SELECT pid, AVG(x) AS v, COUNT(x) AS w FROM t GROUP BY pid",
    "SELECT pid, AVG(x) FILTER (WHERE kind = 'a') AS v, MAX(x) AS w FROM t WHERE x IS NOT NULL OR kind = 'b' "
    "GROUP BY pid HAVING MIN(x) < 2",
    "SELECT pid, SUM(x, contribution_bounds_per_group => (0, 2)) AS v, COUNT(*) FILTER (WHERE x > 0) AS w FROM t "
    "GROUP BY pid",
    "SELECT pid, MAX(x) - MIN(x) AS v, COUNT(DISTINCT kind) FILTER (WHERE x > 0) AS w FROM t GROUP BY pid "
    "HAVING NOT (COUNT(*) < 2)",
    "SELECT pid, COALESCE(MIN(x), 1) AS v, CASE WHEN COUNT(*) > 1 THEN 2 ELSE -1 END AS w FROM t WHERE kind = 'b' "
    "GROUP BY pid",
    "SELECT pid, SUM(x) AS v, SUM(x * x) AS w FROM t GROUP BY pid HAVING SUM(x) IS NOT NULL",
]
ASKED_OF_PAIRS = [
    "SELECT COUNT(v), SUM(v), SUM(w), AVG(v - w), COUNT(DISTINCT pid) FROM ({})",
    "SELECT CORR(v, w), VARIANCE(v) FROM ({})",
    "SELECT MEDIAN(v), QUANTILE(w, 0.9), MIN(v), MAX(w) FROM ({})",
    "SELECT w, SUM(v), COUNT(*), AVG(v) FROM ({}) GROUP BY w",
    "SELECT v > w AS k, SUM(v * w), COUNT(*, contribution_bounds_per_group => (0, 1)) FROM ({}) GROUP BY k",
    "SELECT PROPORTION(v > w), SUM(w) FROM ({}) WHERE v NOT IN (0, 1) OR w <> 2",
]


def unit(adjacency: Adjacency, rows: int = MOST) -> PrivacyUnit:
    return PrivacyUnit(adjacency, "pid", rows)


@cache
def engines() -> list[DuckDBEngine]:
    """One for each person that there can be, beside two others."""
    schema = pa.schema([("pid", pa.int64()), ("x", pa.int64()), ("kind", pa.string())])
    made = []
    for person in PERSONS:
        rows = [*OTHERS, *((0, *row) for row in person)]
        source = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        engine = DuckDBEngine(TABLE, unit("add-remove"), source, "salt", threads=1)
        engine.prepare()
        made.append(engine)
    return made


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    for engine in engines():
        engine.close()
    engines.cache_clear()
    integers.cache_clear()
    found_of_pairs.cache_clear()


@cache
def queries() -> list[Query]:
    inner = [
        f"SELECT pid, {number} AS v FROM t{where} GROUP BY pid"
        for number, where in crossed([*NUMBERS], WHERES)
    ]
    inner += [
        f"SELECT pid, {number} AS v FROM t GROUP BY pid HAVING COUNT(*) > 1" for number in list(NUMBERS)[:3]
    ]
    return [parse(asked.format(one), TABLE) for asked in ASKED for one in inner]


def vector(found: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(int(cell) for column in found for cell in column)


@cache
def asked_about(adjacency: Adjacency) -> list[Reading]:
    study = Study(TABLE, unit(adjacency), BUDGET)
    return [reading for q in queries() for reading in readings_of(q, study.unit_of(q.table))]


def only_read(reading: Reading) -> Reading:
    """What an engine looks at; neighbors decide about the rest alone."""
    return replace(reading, sensitivity=NOBODYS, public_rows=None)


@cache
def integers() -> dict[Reading, list[tuple[int, ...]]]:
    """Of each reading, what every engine finds."""
    wanted = list(
        dict.fromkeys(only_read(one) for adjacency in ADJACENCIES for one in asked_about(adjacency))
    )
    exact = [engine.exact(wanted) for engine in engines()]
    return {one: [vector(found[place]) for found in exact] for place, one in enumerate(wanted)}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_theorem_TWO_LEVEL_one_person_moves_one_row(adjacency: Adjacency) -> None:
    """Mutants: a sum bounded as one row is; rows cut to one fewer in the bounds; a unit without its box."""
    attained = 0
    for reading in (readings := asked_about(adjacency)):
        ones = (Fraction(1),) * len(reading.coordinates)
        most = reading.sensitivity.l2_diameter_squared(ones), reading.sensitivity.l1_diameter(ones)
        nobody, *everybody = integers()[only_read(reading)]
        there = set(everybody)
        others = {nobody} if adjacency == "add-remove" else there
        changes = np.array([*there])[:, None] - np.array([*others])[None]
        l2, l1 = (int(part.sum(-1).max()) for part in (changes**2, np.abs(changes)))
        assert l2 <= most[0]
        assert l1 <= most[1]
        attained += l2 == most[0]
    assert attained > len(readings) / 3


def compared(reading: Reading, found: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """What gets noise: the integers, or of a search each comparison that it could make, from counts of bins."""
    if not isinstance(reading.measure, Quantile | Extreme):
        return vector(found)
    times, minus = search_weights(reading.measure)
    (bins,) = found
    return tuple(times * int(sum(bins[: last + 1])) - minus * int(sum(bins)) for last in range(len(bins)))


@cache
def queries_about_pairs() -> list[Query]:
    """Usually half of them, each text with half of the pairs and each pair with half of the texts."""
    asked = product(enumerate(ASKED_OF_PAIRS), enumerate(PAIRS))
    return [parse(text.format(one), TABLE) for (i, text), (j, one) in asked if LONG or (i + j) % 2 == 0]


@cache
def asked_of_pairs(adjacency: Adjacency) -> list[Reading]:
    study = Study(TABLE, unit(adjacency), BUDGET)
    return [reading for q in queries_about_pairs() for reading in readings_of(q, study.unit_of(q.table))]


@cache
def found_of_pairs() -> list[Any]:
    """What every engine finds, which is the same for all neighbors."""
    readings, others = asked_of_pairs("add-remove"), asked_of_pairs("replace-one")
    assert [only_read(one) for one in readings] == [only_read(one) for one in others]
    return [engine.exact(readings) for engine in engines()]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_theorem_TWO_LEVEL_whatever_is_asked_of_two_numbers(adjacency: Adjacency) -> None:
    """Each comparison of a search has noise of its own, so that there the largest change counts.

    Mutants: a sum bounded as one row is; a search whose ``minus`` is one too few.
    """
    readings, exact = asked_of_pairs(adjacency), found_of_pairs()
    attained = 0
    for place, reading in enumerate(readings):
        ones = (Fraction(1),) * len(reading.coordinates)
        most = reading.sensitivity.l2_diameter_squared(ones), reading.sensitivity.l1_diameter(ones)
        nobody, *everybody = (compared(reading, found[place]) for found in exact)
        persons = set(everybody)  # of whom many look alike
        others = {nobody} if adjacency == "add-remove" else persons
        changes = [[abs(a - b) for a, b in zip(*pair, strict=True)] for pair in product(persons, others)]
        if isinstance(reading.measure, Quantile | Extreme):
            changes = [[max(one)] for one in changes]
        l2 = max(sum(step**2 for step in one) for one in changes)
        assert l2 <= most[0], (reading.measure, reading.where)
        assert max(map(sum, changes)) <= most[1]
        attained += l2 == most[0]
    assert attained > len(readings) / 3


@pytest.mark.parametrize("where", WHERES)
@pytest.mark.parametrize("number", NUMBERS)
def test_theorem_TWO_LEVEL_bounds(number: str, where: str) -> None:
    """Every number that is there is in one of the groups that the bounds allow, and both ends occur."""
    query = parse(
        f"SELECT COUNT(*), SUM(v) FROM (SELECT pid, {number} AS v FROM t{where} GROUP BY pid)", TABLE
    )
    assert isinstance(query.table, TableOfPersons)
    (column,) = query.table.columns
    assert isinstance(column, IntegerColumn)
    assert (column.low, column.high) == NUMBERS[number]
    one = replace(query, measures=(("n", Count(parse_there(query.table))),))
    by_value = replace(one, by=(Bucket("v", ValueOf(column)),))
    readings = [r for q in (one, by_value) for r in readings_of(q, unit("add-remove", 1))]
    seen = [0] * (column.high - column.low + 1)
    for engine in engines():
        ((all_of_them,),), (groups,) = engine.exact(readings)
        assert sum(groups) == all_of_them
        seen = [before + now for before, now in zip(seen, groups, strict=True)]
    assert where or (seen[0] and seen[-1]) or number == "COUNT(DISTINCT kind)"


def parse_there(table: TableOfPersons) -> Any:
    return parse("SELECT COUNT(v) FROM t", replace(TABLE, columns=table.columns)).measures[0][1].where


def test_theorem_TWO_LEVEL_public_number_of_persons() -> None:
    """Under replace-one the persons are a public number only where everybody is in the table.

    Mutant: a condition on persons is forgotten where everybody is counted.
    """
    study = Study(TABLE, unit("replace-one"), BUDGET)
    shown = []
    for where in WHERES:
        text = f"SELECT PROPORTION(v > 1) FROM (SELECT pid, COUNT(*) AS v FROM t{where} GROUP BY pid)"
        query = parse(text, TABLE)
        counted = replace(query, measures=(("n", Count()),))
        unit_of = study.unit_of(query.table)
        (public,), (count,) = readings_of(query, unit_of), readings_of(counted, unit_of)
        sizes = {int(engine.exact([count])[0][0][0]) for engine in engines()[1:]}
        shown.append(public.public_rows is not None)
        assert len(sizes) == 1 or public.public_rows is None
    assert shown == [True, False]


def test_theorem_TWO_LEVEL_only_that_person_decides() -> None:
    """What a person adds does not depend on who else is there.  Mutant: rows cut among all persons."""
    query = parse(
        "SELECT v, COUNT(*), SUM(s) FROM (SELECT pid, COUNT(*) AS v, SUM(x) AS s FROM t GROUP BY pid) GROUP BY v",
        TABLE,
    )
    readings = readings_of(query, unit("add-remove", 1))
    schema = pa.schema([("pid", pa.int64()), ("x", pa.int64()), ("kind", pa.string())])

    def alone(rows: list[tuple[Any, ...]]) -> list[int]:
        source = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        with closing(DuckDBEngine(TABLE, unit("add-remove"), source, "salt", threads=1)) as engine:
            engine.prepare()
            return [int(c) for own in engine.exact(readings) for column in own for c in column]

    others = alone(OTHERS)
    for person in PERSONS[::4]:
        own = [(0, *row) for row in person]
        together = alone([*OTHERS, *own])
        assert together == [a + b for a, b in zip(others, alone(own), strict=True)]


def test_theorem_TWO_LEVEL_split_studies_read_their_part() -> None:
    """The parts of a study together are all persons."""
    rows = [
        (person, (person * 7) % 4 - 1, "ab"[person % 2])
        for person in range(40)
        for _ in range(1 + person % 3)
    ]
    schema = pa.schema([("pid", pa.int64()), ("x", pa.int64()), ("kind", pa.string())])
    source = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    query = parse("SELECT COUNT(*), SUM(v) FROM (SELECT pid, COUNT(*) AS v FROM t GROUP BY pid)", TABLE)
    split = replace(unit("add-remove"), parts=3)
    readings = readings_of(query, replace(split, rows=1))
    with closing(DuckDBEngine(TABLE, split, source, "salt", threads=1)) as engine:
        engine.prepare()
        parts = [
            [int(own[0][0]) for own in engine.exact([replace(one, part=part) for one in readings])]
            for part in (1, 2, 3)
        ]
    assert [sum(side) for side in zip(*parts, strict=True)] == [40, 66]
    assert all(people for people, _ in parts)


def drawn(seed: int) -> pa.Table:
    """Persons with one to four rows, of which three in ten are urgent: some have none."""
    rng = random.Random(seed)
    rows = [(p, rng.random() < 0.3) for p in range(DRAWN) for _ in range(rng.randint(1, 4))]
    return pa.table({"pid": [p for p, _ in rows], "urgent": [urgent for _, urgent in rows]})


def law_of_urgent() -> list[float]:
    """How likely a person has 0, 1, ... 4 urgent rows."""
    return [
        sum(math.comb(rows, k) * 0.3**k * 0.7 ** (rows - k) / 4 for rows in range(max(k, 1), 5))
        for k in range(5)
    ]


DRAWN = 2_000


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_theorem_TWO_LEVEL_the_units_are_all_persons(adjacency: Adjacency) -> None:
    """Also those who are not in the table of persons: each interval holds the truth of all of them.

    Noise and rows are seeded, so this never fails by chance.  Mutant: a mean over all persons as the truth.
    """
    law = law_of_urgent()
    there = 1 - law[0]
    mean = sum(k * p for k, p in enumerate(law)) / there
    truths = {"n": DRAWN * there, "m": mean, "s": DRAWN * mean * there, "p": sum(law[2:]) / there}
    table = Table("t", (BooleanColumn("urgent"),), rows=DRAWN, person="pid")
    budget = Guarantee(Fraction(20), Fraction(1, 10**9))
    study = Study(table, unit(adjacency, 4), budget, validity=Validity(Fraction(95, 100)))
    asked = "SELECT COUNT(*) AS n, AVG(v) AS m, SUM(v) AS s, PROPORTION(v > 1) AS p FROM ({})".format(
        "SELECT pid, COUNT(*) AS v FROM t WHERE urgent GROUP BY pid"
    )
    for seed in range(3):
        curator = seeded(study, drawn(seed), seed)
        curator.ask("SELECT COUNT(DISTINCT pid) FROM t", epsilon=1)
        values = curator.ask(asked, epsilon=5).rows[0].values
        for name, truth in truths.items():
            found = values[name].population_interval
            assert isinstance(found, Interval)
            assert found.low <= truth <= found.high
        found = values["m"].population_interval
        assert isinstance(found, Interval)
        assert found.low > there * mean  # which is the mean of all persons
