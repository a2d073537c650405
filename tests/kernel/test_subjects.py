"""What the kernel writes into a receipt, beside its text: what it is for, and what validity has to know."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import adyton
from adyton.errors import InvalidRequest
from adyton.kernel.exact.outward import nats_up
from adyton.kernel.ledger.subjects import KINDS, ReceiptSubject, subject_from
from adyton.kernel.ledger.texts import many_from_text
from adyton.kernel.ledger.validity import NOTHING_KNOWN, ValidityRecord, validity_from
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.study import Validity

ROWS = 400
REGIONS = ("north", "south", "east")
COLUMNS = (IntegerColumn("age", 0, 99), CategoryColumn("region", REGIONS), TextColumn("city"))
TABLE = Table("people", COLUMNS, ROWS)
DATA = pd.DataFrame(
    {"age": [k % 90 for k in range(ROWS)], "region": (REGIONS * ROWS)[:ROWS], "city": ["Rome"] * ROWS}
)
COUNT, AVERAGE = "SELECT COUNT(*) AS n FROM people", "SELECT AVG(age) AS a FROM people WHERE age > 9"


def opened(accounting: str, adjacency: Any = "replace-one", **more: Any) -> Any:
    limit = adyton.Guarantee(20, 0 if accounting == "pure" else Fraction(1, 10**6))
    known = {"discovery_delta": Fraction(1, 10**7)} if accounting == "gdp" and not more else {}
    study = adyton.Study(TABLE, adyton.PrivacyUnit(adjacency), limit, accounting, **known, **more)
    return adyton.open(study, data=DATA)


def released(curator: Any, number: int) -> int:
    answers = many_from_text(curator.ledger.recall(number))
    return sum(len(column) for answer in answers for part in answer.released for column in part)


ASKED: dict[str, tuple[str, ReceiptSubject]] = {
    "all units": (COUNT, ReceiptSubject("query", (), "people", ("Count",), counts_all=True)),
    "some": ("SELECT COUNT(*) AS n FROM people WHERE age > 9", ReceiptSubject("query", (), "people", ("Count",))),
    "a value": ("SELECT COUNT(city) AS n FROM people", ReceiptSubject("query", (), "people", ("Count",))),
    "groups": (
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region",
        ReceiptSubject("query", (), "people", ("Count",)),
    ),
    "two": (
        "SELECT COUNT(*) AS n, STDDEV(age) AS s FROM people",
        ReceiptSubject("query", (), "people", ("Count", "Variance")),
    ),
    "a mean": (AVERAGE, ReceiptSubject("query", (), "people", ("Mean",))),
    "a median": ("SELECT MEDIAN(age) AS m FROM people", ReceiptSubject("query", (), "people", ("Quantile",))),
}  # fmt: skip


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
@pytest.mark.parametrize("name", ASKED)
def test_a_query_is_known_by_what_it_reads(accounting: str, name: str) -> None:
    """Mutants: ``counts_all`` for a query with a filter, or with groups; ``cells`` for one coordinate alone; Gaussian
    numbers in a pure study.
    """
    sql, subject = ASKED[name]
    with opened(accounting) as curator:
        curator.ask(sql, epsilon=1)
        (receipt,) = curator.receipts()
        order, record = receipt.order, receipt.order.validity
        assert (order.subject, order.texts) == (subject, (order.query,))
        assert (record.units, record.law, record.coded_nats, record.blocks) == (ROWS, 1, 0, None)
        if accounting == "pure":
            assert record.gaussian == ()
        else:
            assert order.linear_radius == 0
            assert sum(numbers for numbers, _ in record.gaussian) >= released(curator, 1)
            if name != "a median":  # which may end before all its comparisons are made
                assert sum(numbers for numbers, _ in record.gaussian) == released(curator, 1)


def test_a_batch_names_its_texts_and_a_family_is_one_release() -> None:
    with opened("gdp") as curator:
        texts = [f"SELECT COUNT(*) AS n FROM people WHERE age = {age}" for age in (1, 2)]
        curator.ask_many([*texts, "SELECT AVG(age) AS a FROM people"], epsilon=1, strategy="independent")
        (receipt,) = curator.receipts()
        order = receipt.order
        assert (order.kind, order.subject.measures, len(order.texts)) == ("batch", ("Count", "Mean"), 3)
        assert "; ".join(order.texts) == order.query
        assert sorted(numbers for numbers, _ in order.validity.gaussian) == [
            2,
            2,
        ]  # the counts exclude each other
        assert order.linear_radius == 0


def test_discovered_groups_are_linear() -> None:
    """Nobody knows in advance how many there are.  Mutant: ``most_numbers`` without the question for text."""
    with opened("gdp") as curator:
        curator.ask("SELECT city, COUNT(*) AS n FROM people GROUP BY city", epsilon=1)
        (receipt,) = curator.receipts()
    assert receipt.order.validity.gaussian == ()
    assert receipt.order.linear_radius == receipt.order.radius > 0


@pytest.mark.parametrize(("accounting", "numeric"), [("gdp", True), ("gdp", False), ("pure", True)])
def test_a_monitor_has_as_many_gaussian_numbers_as_positives(accounting: str, numeric: bool) -> None:
    with opened(accounting) as curator:
        curator.open_monitor(positives=3, epsilon=1, numeric=numeric)
        (receipt,) = curator.receipts()
    assert receipt.order.subject == ReceiptSubject("monitor")
    expected = ((3, receipt.order.radius),) if numeric and accounting == "gdp" else ()
    assert receipt.order.validity.gaussian == expected


def test_units_are_told_only_where_they_are_public() -> None:
    with opened("gdp", "add-remove") as curator:
        curator.ask(COUNT, scale=20)
        (receipt,) = curator.receipts()
    assert (receipt.order.validity.units, receipt.order.subject.counts_all) == (None, True)


OF_PERSONS = "SELECT COUNT(*) FROM (SELECT pid FROM visits WHERE age > 9 GROUP BY pid)"


@pytest.mark.parametrize(
    ("rows", "sql", "all_units"),
    [
        (1, "SELECT COUNT(*) FROM visits", True),
        (1, OF_PERSONS, False),
        (3, "SELECT COUNT(DISTINCT pid) FROM visits", True),
        (3, "SELECT COUNT(DISTINCT pid) FROM visits WHERE age > 9", False),
        (3, "SELECT COUNT(*) FROM visits", False),
        (3, OF_PERSONS, False),
    ],
)
def test_theorem_CENTRED_HINGE_PLAN_only_a_count_of_persons_is_of_units(
    rows: int, sql: str, all_units: bool
) -> None:
    """A table of some persons has the name of the table that it is made of, and fewer of them.

    Mutants: ``_counts_all`` compares names of tables, or takes rows for persons.
    """
    visits = Table("visits", (IntegerColumn("age", 0, 99),), ROWS // rows, person="pid", most_rows=rows)
    unit = adyton.PrivacyUnit("add-remove", "pid", rows)
    study = adyton.Study(visits, unit, adyton.Guarantee(20, Fraction(1, 10**6)), "gdp")
    data = pd.DataFrame({"pid": [k // rows for k in range(ROWS)], "age": [k % 90 for k in range(ROWS)]})
    with adyton.open(study, data=data) as curator:
        curator.ask(sql, scale=20)
        (receipt,) = curator.receipts()
    assert (receipt.order.subject.table, receipt.order.subject.counts_all) == ("visits", all_units)


def test_a_study_that_rounds_pays_in_nats_of_its_code() -> None:
    validity = Validity(Fraction(95, 100), method="rounding", queries=20)
    with opened("gdp", validity=validity) as curator:
        curator.ask(COUNT, within=40)
        (receipt,) = curator.receipts()
    order = receipt.order
    assert order.validity.gaussian == ()
    assert order.validity.coded_nats == nats_up(order.radius) > 0.69 * order.radius


@pytest.mark.parametrize("kind", sorted(KINDS - {"carried", "restored"}))
def test_a_subject_is_read_back_as_it_was_written(kind: Any) -> None:
    subject = ReceiptSubject(kind)
    assert subject_from(subject.text) == subject
    for wrong in ({"receipts": 1, "head": "a"}, {"began": "a"}, {"counts_all": True}):
        with pytest.raises(InvalidRequest):
            ReceiptSubject(kind, **wrong)


def test_what_is_no_subject_and_no_record_is_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"kind": "stream"},
        {"kind": "note", "texts": ("a",)},
        {"kind": "carried"},
        {"kind": "restored", "receipts": 0, "head": "a"},
        {"kind": "restored", "receipts": 2, "head": "a", "began": "b"},
        {"kind": "batch", "table": "a", "counts_all": True},
    ]
    for facts in wrong:
        with pytest.raises(InvalidRequest):
            ReceiptSubject(**facts)
    for text in ('{"kind": "note"}', '{"kind":"note","texts":[]}', "[]", '{"kind":"note","more":1}'):
        with pytest.raises((ValueError, TypeError, AttributeError)):
            subject_from(text)
    assert validity_from(NOTHING_KNOWN.text) == NOTHING_KNOWN
    with pytest.raises(ValueError, match="written down"):
        validity_from(NOTHING_KNOWN.text + " ")
    for record in ({"law": 0}, {"units": -1}, {"blocks": (3, 2)}, {"coded_nats": -1}):
        with pytest.raises(InvalidRequest):
            ValidityRecord(**record)
