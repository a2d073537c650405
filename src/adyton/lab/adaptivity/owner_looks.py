"""A study file that was written by looking: short descriptions of queries are then no protection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.certify import Interval
from adyton.curator import open_study
from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BLUMER
from adyton.kernel.exact.cells import Array
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.query.description import DictionaryName
from adyton.study import Study, Validity

OWNER_LOOKS = Topic(
    "owner-looks",
    (BLUMER,),
    "An owner who looks: a list chosen by the rows, and a query too short to pay for it",
    story="No shop is better than another; an owner writes down those whose results sum to more than 0, and "
    "somebody asks for the mean result of all shops that are listed.",
)
ROWS, SHOPS = 24_000, 300
_RESULT = 10  # of a row: so much above 0 or below it, at random
_STUDIES = 5
_ALONG = (50, 100, 200, 400)
_SQL = "SELECT AVG(result) AS mean FROM sales WHERE shop IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Sales:
    """As many rows of each shop, none of which is better than another."""

    shop: Array
    result: Array
    shops: int

    @classmethod
    def made(cls, shops: int, rng: np.random.Generator) -> Sales:
        return cls(np.repeat(np.arange(shops), ROWS // shops), rng.choice([-_RESULT, _RESULT], ROWS), shops)

    @property
    def good(self) -> tuple[int, ...]:
        """The shops whose results sum to more than 0."""
        sums = np.bincount(self.shop, self.result, self.shops)
        return tuple(np.flatnonzero(sums > 0).tolist())


@dataclass(frozen=True, slots=True)
class OwnersMean:
    mean: float
    low: float
    high: float
    nats: float

    @property
    def misses(self) -> bool:
        """The truth is 0."""
        return not self.low <= 0 <= self.high

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def owner_looks(rng: np.random.Generator) -> LabReport:
    """How often the interval of one short query misses, by how the list came about and how it is spelled."""
    every_other = tuple(range(0, SHOPS, 2))
    asked: dict[str, list[OwnersMean]] = {"looked": [], "universal": [], "before": []}
    for _ in range(_STUDIES):
        sales = Sales.made(SHOPS, rng)
        asked["looked"].append(mean_of_listed(sales, sales.good, "schema"))
        asked["universal"].append(mean_of_listed(sales, sales.good, "universal"))
        asked["before"].append(mean_of_listed(sales, every_other, "schema"))
    missed = {name: float(np.mean([one.misses for one in all_])) for name, all_ in asked.items()}
    gap, sure = float(np.mean([one.mean for one in asked["looked"]])), 6 * _spread() / _STUDIES**0.5
    nats = {name: float(np.mean([one.nats for one in all_])) for name, all_ in asked.items()}
    findings = (
        LabFinding("mean result of the listed shops, whose truth is 0", gap, gain(SHOPS), sure),
        LabFinding("nats of the query, schema dictionary", nats["looked"]),
        LabFinding("studies that miss, schema, listed by looking", missed["looked"], 1, 0, share=True),
        LabFinding("nats of the query, universal dictionary", nats["universal"]),
        LabFinding("studies that miss, universal, listed by looking", missed["universal"], 0, 0, share=True),
        LabFinding("studies that miss, schema, listed without looking", missed["before"], 0, 0, share=True),
    )
    return LabReport(OWNER_LOOKS, findings, _NOTES, _chart(rng))


def mean_of_listed(sales: Sales, listed: tuple[int, ...], dictionary: DictionaryName) -> OwnersMean:
    """The answer of a curator, nearly without noise.

    A test was published before, so nothing but descriptions gives the answer an interval.
    """
    import pyarrow as pa

    columns = (CategoryColumn("shop", listed), IntegerColumn("result", -_RESULT, _RESULT))
    validity = Validity(Fraction(95, 100), dictionary=dictionary)
    budget = Guarantee(Fraction(500), Fraction(1, 10**9))
    study = Study(Table("sales", columns, rows=ROWS), PrivacyUnit("replace-one"), budget, validity=validity)
    data = pa.table({"shop": sales.shop, "result": sales.result})
    with open_study(study, data=data) as curator:
        curator.publish_test(Fraction(1, 2))
        answer = curator.ask(_SQL, epsilon=100)
    interval = answer.population_interval
    assert isinstance(interval, Interval)
    return OwnersMean(answer.value, interval.low, interval.high, answer.certificate.nats["mean"])


def gain(shops: int) -> float:
    """The mean of the rows of shops with a sum above 0, where each sum is of as many fair signs."""
    rows = ROWS // shops
    nothing = 0 if rows % 2 else math.comb(rows, rows // 2) / 2**rows
    distance: float = math.comb(rows - 1, (rows - 1) // 2) / 2 ** (rows - 1)  # of a sum, for each row
    return _RESULT * distance / (1 - nothing)


def _spread() -> float:
    """A standard deviation, at most, of the mean of the listed shops: that of all their rows."""
    return float(_RESULT / (ROWS / 2) ** 0.5)


def _chart(rng: np.random.Generator) -> Chart:
    """The fewer rows a shop has, the more is gained by looking."""
    all_sales = [Sales.made(shops, rng) for shops in _ALONG]
    by = {
        name: [mean_of_listed(sales, sales.good, name).half_width for sales in all_sales]
        for name in _DICTIONARIES
    }
    return Chart(
        f"shops, {ROWS:,} rows together",
        "distance of the mean from the truth, and half-widths",
        (
            ChartLine("gained by looking", _ALONG, tuple(map(gain, _ALONG)), strong=True),
            *(ChartLine(f"half-width, {name}", _ALONG, tuple(widths)) for name, widths in by.items()),
        ),
        ("x", "y"),
    )


_DICTIONARIES: tuple[DictionaryName, ...] = ("schema", "universal")
_NOTES = (
    'With dictionary = "schema" the owner asserts that the study file was written without looking.',
    "The universal dictionary spells out every listed value, so a list chosen by looking is paid for.",
)
