"""What is planned once for all filters is what each of them would be planned like."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table
from adyton.planning.plan import Shapes, make_batch
from adyton.planning.price import PriceWords, agreed_price
from adyton.query.request import Request, Requests
from adyton.study import Study, Validity

COLUMNS = (IntegerColumn("age", 0, 100), CategoryColumn("region", ("n", "s")), BooleanColumn("smoker"))
ROWS = Table("people", COLUMNS, 1000)
BUDGET = Guarantee(Fraction(10), Fraction(1, 10**6))
OF_PERSONS = Table("people", COLUMNS, 1000, person="id", lines=2500)
PER_PERSON = PrivacyUnit("add-remove", "id", 3)
SPLIT = Validity(Fraction(1, 20), queries=10, method="split")
STUDIES = {
    "replace-one": Study(ROWS, PrivacyUnit("replace-one"), BUDGET),
    "zcdp": Study(ROWS, PrivacyUnit("add-remove"), BUDGET, "zcdp"),
    "pure": Study(ROWS, PrivacyUnit("replace-one"), Guarantee(Fraction(10), Fraction(0)), "pure"),
    "persons": Study(OF_PERSONS, PER_PERSON, BUDGET),
    "split": Study(ROWS, PrivacyUnit("replace-one"), BUDGET, validity=SPLIT),
}
VALUES = ("COUNT(*)", "SUM(age)", "AVG(age)", "SUM(age) FILTER (WHERE smoker)", "COUNT(DISTINCT id)")
MORE = (
    "COUNT(*), SUM(age)",
    "AVG(CASE WHEN smoker THEN age END)",
    "PROPORTION(smoker)",
    "COUNT(*) / 7",
    "AVG(CAST(smoker AS INT))",
)
ACCOUNTING_NAMES = ("", "WHERE age > 7", "WHERE age > -5", "WHERE age < 20 AND region = 'n'", "WHERE smoker")
AFTER = ("", "GROUP BY region", "HAVING COUNT(*) > 9")
PRICES: tuple[PriceWords, ...] = (
    {"scale": 40},
    {"within": 300, "expected_rows": 200},
    {"within": 300},
    {"epsilon": "0.5"},
    {"share": "0.1"},
)


def asked() -> list[str]:
    texts = [
        (value, where, after) for value in VALUES + MORE for where in ACCOUNTING_NAMES for after in AFTER
    ]
    return [f"SELECT {value} FROM people {where} {after}".strip() for value, where, after in texts]


def planned(make: Any) -> Any:
    """Also which refusal it is."""
    try:
        return make()
    except Exception as refusal:
        return type(refusal), str(refusal)


@pytest.mark.parametrize("name", STUDIES)
def test_a_plan_for_all_filters_is_the_plan_of_each(name: str) -> None:
    """Mutants: ``_is_plain`` without groups, EVERY_ROW, one measure or the shape; shares in ``batch``."""
    study = STUDIES[name]
    shapes, reader, made = Shapes(study), Requests(study.table), 0
    for words in PRICES:
        for text in asked():
            request = planned(lambda text=text: reader.of(text))
            if not isinstance(request, Request):
                continue
            price = agreed_price([request], words, study)
            found = planned(lambda r=request, p=price: shapes.batch([r], p))
            if found is None:
                continue
            made += 1
            left = study.allowed // 3
            assert found == planned(lambda r=request, p=price, n=left: make_batch(study, [r], p, n)), text
    assert made >= 20 or study.parts > 1
    assert made == 0 or study.parts == 1


def test_a_filtered_value_at_a_named_width_is_planned_once() -> None:
    """Mutant: a price as part of no key, or of none that is kept."""
    study = STUDIES["replace-one"]
    shapes, reader = Shapes(study), Requests(study.table)
    for number in range(3):
        for scale in (10, 20):
            request = reader.of(f"SELECT COUNT(*) FROM people WHERE age > {number}")
            assert isinstance(request, Request)
            batch = shapes.batch([request], agreed_price([request], {"scale": scale}, study))
            assert batch is not None
            assert batch.plans[0].parts[0].only.mechanism.scales == (Fraction(scale),)
            assert batch.plans[0].query == request.query
    assert shapes._planned.cache_info().misses == 2
    assert shapes._planned.cache_info().hits == 4
