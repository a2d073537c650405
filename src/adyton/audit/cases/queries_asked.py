"""Queries of every kind, each with two neighboring units that move its integers as far as can be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path

from adyton.audit.cases.trial import AuditTarget
from adyton.kernel.privacy import Adjacency, Guarantee, PrivacyUnit
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    RealColumn,
    Table,
    TextColumn,
)
from adyton.study import Study

COLUMNS = (
    IntegerColumn("age", 0, 100),
    RealColumn("income", Fraction(-50), Fraction(100), Fraction(1, 2)),
    CategoryColumn("region", ("north", "south", "east")),
    BooleanColumn("smoker"),
    DateColumn("born", date(1960, 1, 1), date(1999, 12, 31)),
    TextColumn("city"),
)
_HEADER = "pid,age,income,region,smoker,born,city"
_OTHERS = [
    "30,20.5,north,true,1990-05-01,Ur",
    "61,0,south,false,1961-01-31,Ur",
    "18,99.5,east,false,1999-12-31,Ur",
    "77,-50,north,true,1975-08-15,Kish",
] * 3
OLD = "u,100,100,east,true,1960-01-01,Eridu"  # at one end of everything, in a city of its own
YOUNG = "u,0,-50,north,false,1999-12-31,Nippur"  # at the other
MIDDLE = "u,50,25,north,false,1999-12-31,Nippur"  # where a square is least
_NOBODY = "u,,,,,,"  # contributes to nothing
_WILD = "u,1e300,-inf,nowhere,maybe,2024-13-99,\U0001f3db"  # clipped or missing, never an error
_RANGING = ("u,100,100,east,true,1960-01-01,Eridu", "u,100,100,south,true,1961-02-01,Uruk")  # two rows
_STAYING = ("u,0,-50,north,false,1999-12-31,Ur", "u,0,-50,north,false,1999-12-31,Ur")
_AGAIN = (OLD, OLD)
_ELSEWHERE = ("u,100,100,north,true,1960-01-01,Kish", "u,100,100,north,true,1961-02-01,Larsa")
_ELDER = "u,75,100,south,true,1960-01-01,Eridu"
_EASTERN = "u,0,-50,east,false,1999-12-31,Nippur"
_OUTSIDE = "u,130,100,nowhere,true,1960-01-01,Eridu"  # beyond a bound, and in no list
_ROWS_OF_A_PERSON = 2
_BUDGET = 50  # times the price


@dataclass(frozen=True, slots=True)
class QueryCase:
    """What is asked (several texts are a batch), and the rows of the one unit that differs."""

    asked: tuple[str, ...]
    here: tuple[str, ...] = (OLD,)
    there: tuple[str, ...] = (YOUNG,)
    persons: bool = False
    discovers_groups: bool = False
    times: int = 1  # that the other rows are in the table

    @property
    def others(self) -> list[str]:
        """Where groups are discovered, enough that one more unit may bring a key over the threshold."""
        times = 3 if self.discovers_groups else self.times
        return [f"p{i},{row}" for i, row in enumerate(_OTHERS * times)]


def _one(sql: str, there: str = YOUNG) -> QueryCase:
    return QueryCase((sql,), there=(there,))


def _persons(sql: str) -> QueryCase:
    return QueryCase((sql,), _RANGING, _STAYING, persons=True)


QUERIES: dict[str, QueryCase] = {
    "count": _one("SELECT COUNT(*) FROM people WHERE age > 50"),
    "sum": _one("SELECT SUM(income) FROM people"),
    "mean": _one("SELECT AVG(age) FROM people"),
    "mean, value missing": _one("SELECT AVG(age) FROM people", _NOBODY),
    "proportion": _one("SELECT PROPORTION(smoker) FROM people"),
    "proportion, filtered": _one("SELECT PROPORTION(smoker) FROM people WHERE age > 50"),
    "count by region": _one("SELECT region, COUNT(*) FROM people GROUP BY region"),
    "mean by region": _one("SELECT region, AVG(income) FROM people GROUP BY region"),
    "two measures": _one("SELECT COUNT(*), SUM(age) FROM people WHERE smoker"),
    "hostile values": _one("SELECT region, SUM(income) FROM people GROUP BY region", _WILD),
    "variance": _one("SELECT VARIANCE(age) FROM people"),
    "variance, from the middle": _one("SELECT VARIANCE(age) FROM people", MIDDLE),
    "deviation by region": _one("SELECT region, STDDEV(income) FROM people GROUP BY region"),
    "correlation": _one("SELECT CORR(age, income) FROM people"),
    "correlation, from the middle": _one("SELECT CORR(age, income) FROM people", MIDDLE),
    "slope by region": _one("SELECT region, REGR_SLOPE(income, age) FROM people GROUP BY region"),
    "median": _one("SELECT MEDIAN(age) FROM people"),
    "quantile by region": _one(
        "SELECT region, QUANTILE(age, 0.9) FROM people GROUP BY region", there=_ELSEWHERE[0]
    ),
    "least": QueryCase(("SELECT MIN(age) FROM people",), (YOUNG,), (OLD,)),
    "greatest": _one("SELECT MAX(age) FROM people"),
    "distribution": _one("SELECT CDF(age, 20, 50, 80) FROM people"),
    "count by bins": _one("SELECT FLOOR(age / 25) AS bin, COUNT(*) FROM people GROUP BY bin"),
    "count by month": _one("SELECT EXTRACT(MONTH FROM born) AS month, COUNT(*) FROM people GROUP BY month"),
    "disjoint filters": _one(
        "SELECT COUNT(*) FILTER (WHERE region = 'north') AS n, SUM(age) FILTER (WHERE region = 'east') AS e "
        "FROM people"
    ),
    "a batch": QueryCase(
        (
            "SELECT COUNT(*) FROM people WHERE age > 50",
            "SELECT AVG(income) FROM people WHERE age <= 50",
            "SELECT MEDIAN(age) FROM people",
        )
    ),
    "counts measured together": QueryCase(
        tuple(f"SELECT COUNT(*) FROM people WHERE age < {age}" for age in (20, 40, 60, 80, 100))
    ),
    "tables measured together": QueryCase(
        (
            "SELECT region, smoker, COUNT(*) FROM people GROUP BY region, smoker",
            "SELECT region, COUNT(*) FROM people GROUP BY region",
            "SELECT smoker, COUNT(*) FROM people GROUP BY smoker",
        )
    ),
    # Only the last two bins can match, and one of them holds nobody but the unit that differs.
    "bins that can match": _one(
        "SELECT FLOOR(age / 25) AS bin, COUNT(*) FROM people WHERE age >= 75 GROUP BY bin", _ELDER
    ),
    "the one group that can match": _one(
        "SELECT region, SUM(income) FROM people WHERE region = 'east' GROUP BY region", _EASTERN
    ),
    "clipped": QueryCase(("SELECT PROPORTION(CLIPPED(age)) FROM people",), (_OUTSIDE,)),
    "clipped, value missing": QueryCase(
        ("SELECT PROPORTION(CLIPPED(age)) FROM people",), (_OUTSIDE,), (_NOBODY,)
    ),
    "undeclared": QueryCase(("SELECT PROPORTION(UNDECLARED(region)) FROM people",), (_OUTSIDE,)),
    "persons": _persons("SELECT COUNT(DISTINCT pid) FROM people WHERE age > 50"),
    "persons by region": _persons("SELECT region, COUNT(DISTINCT pid) FROM people GROUP BY region"),
    "sum of persons": _persons("SELECT SUM(age, contribution_bounds_per_group => (0, 150)) FROM people"),
    "rows of persons": QueryCase(
        ("SELECT region, AVG(age) FROM people GROUP BY region",), _AGAIN, _STAYING, persons=True
    ),
    "persons of the one group that can match": QueryCase(
        ("SELECT region, COUNT(DISTINCT pid) FROM people WHERE region = 'east' GROUP BY region",),
        _AGAIN,
        _STAYING,
        persons=True,
    ),
    # Two rows of a person against one: a number of each person moves from one end of its bounds to the other.
    "a number of each person": QueryCase(
        ("SELECT AVG(visits) FROM (SELECT pid, COUNT(*) AS visits FROM people GROUP BY pid)",),
        _AGAIN,
        (OLD,),
        persons=True,
    ),
    "a sum of each person, by how often": QueryCase(
        (
            "SELECT n, SUM(total) FROM (SELECT pid, COUNT(*) AS n, SUM(income) AS total FROM people "
            "WHERE age > -1 GROUP BY pid HAVING MAX(age) >= 0) GROUP BY n",
        ),
        _AGAIN,
        _STAYING,
        persons=True,
    ),
    "the median of a number of each person": QueryCase(
        ("SELECT MEDIAN(total) FROM (SELECT pid, SUM(age) AS total FROM people GROUP BY pid)",),
        _AGAIN,
        _STAYING,
        persons=True,
    ),
    "clipped rows of persons": QueryCase(
        ("SELECT PROPORTION(CLIPPED(age)) FROM people",), (_OUTSIDE, _OUTSIDE), _STAYING, persons=True
    ),
    "undeclared rows of persons": QueryCase(
        ("SELECT PROPORTION(UNDECLARED(region)) FROM people",), (_OUTSIDE, _OUTSIDE), _STAYING, persons=True
    ),
    "counts of rows of persons, together": QueryCase(
        tuple(f"SELECT COUNT(*) FROM people WHERE age < {age}" for age in (20, 40, 60, 80, 100)),
        _AGAIN,
        _STAYING,
        persons=True,
    ),
    "groups discovered": QueryCase(
        ("SELECT city, COUNT(*) FROM people GROUP BY city",), (_STAYING[0],), (OLD,), discovers_groups=True
    ),
    "a key of one unit": QueryCase(
        ("SELECT city, COUNT(*) FROM people GROUP BY city",), discovers_groups=True
    ),
    "keys of persons": QueryCase(
        ("SELECT city, SUM(age) FROM people GROUP BY city",),
        _RANGING,
        _ELSEWHERE,
        persons=True,
        discovers_groups=True,
    ),
}


def study_of(case: QueryCase, adjacency: Adjacency, accounting: str, target: AuditTarget) -> Study:
    unit = PrivacyUnit(adjacency)
    if case.persons:
        unit = PrivacyUnit(adjacency, "pid", _ROWS_OF_A_PERSON)
    table = Table("people", COLUMNS, rows=len(case.others) + 1, person=unit.person)
    discovery_delta = (
        target.delta / (1 if accounting == "pure" else 2) if case.discovers_groups else Fraction(0)
    )
    delta = discovery_delta if accounting == "pure" else target.delta
    return Study(
        table, unit, Guarantee(_BUDGET * target.epsilon, delta), accounting, discovery_delta=discovery_delta
    )


def tables_of(case: QueryCase, adjacency: Adjacency, folder: Path) -> tuple[Path, Path]:
    """Two neighboring files.  Where a unit is removed, the second has nobody in its place."""
    there = case.there if adjacency == "replace-one" else ()
    return (
        _write(folder / "first.csv", [*case.others, *case.here]),
        _write(folder / "second.csv", [*case.others, *there]),
    )


def _write(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join([_HEADER, *rows]) + "\n", encoding="utf-8")
    return path
