"""A budget: privacy always, stability where the study declares that its rows are independent draws."""

from __future__ import annotations

from typing import Any

import pytest

from adyton.certify import Amount, AmountLeft, Budget, Odometer, RoundedGuarantee
from adyton.kernel.exact import UNITS_PER_ONE

CAP = UNITS_PER_ONE // 400  # mu0 = 0.05


def budget(queries: int = 3, **validity: Any) -> Budget:
    spent, left = Amount("gdp", 10**16, 10**17), AmountLeft("gdp", 9 * 10**16, 10**17)
    odometer = Odometer(0.4, 1e-6, "ZCDP-ODOMETER")
    return Budget(spent, left, RoundedGuarantee(1.0, 1e-6), queries, 9, odometer, **validity)


def test_without_a_declaration_nothing_is_said_about_stability() -> None:
    plain = budget()
    assert set(plain.to_json()) == {"spent", "left", "guarantee", "queries", "more", "odometer"}
    assert "stability" not in str(plain)
    assert not plain.beyond


def test_a_budget_with_a_declaration_says_how_much_stability_is_spent() -> None:
    declared = budget(stability=CAP // 5, stability_cap=CAP)
    expected = {"spent": "0.0005", "cap": "0.0025", "queries": None, "beyond": False}
    assert declared.to_json()["validity"] == expected
    shown = " ".join(str(declared).split())
    for part in ("stability spent, of what is certified │ 20 %", "any number"):
        assert part in shown
    assert "no population interval" not in shown
    assert "20 %" in declared._repr_html_()
    assert "20 % (0.0005 mu0²)" in declared.sheet(verbose=True).text()


def test_a_person_sees_the_guarantee_and_shares_and_no_running_epsilon() -> None:
    """Mutants: a row with filter.epsilon(spent); the odometer without being asked for; an amount in gdp."""
    shown = " ".join(str(budget()).split())
    assert "the guarantee, whatever is asked │ epsilon 1, delta 1e-6" in shown
    assert "spent of the budget │ 10 %" in shown
    assert "left of the budget │ 90 %" in shown
    assert "would fit, like the last one │ 9 more" in shown
    assert shown.count("epsilon") == 1
    assert "gdp" not in shown
    asked = " ".join(budget().sheet(odometer=True).text().split())
    assert "odometer │ epsilon 0.4, delta 1e-6" in asked
    assert "10 % (0.01 gdp)" in budget().sheet(verbose=True).text()


def test_a_study_for_a_known_number_of_queries_says_how_many() -> None:
    declared = budget(stability=0, stability_cap=CAP, certified_queries=1000)
    assert declared.to_json()["validity"]["queries"] == 1000
    assert "1,000" in str(declared)


@pytest.mark.parametrize(
    ("queries", "spent", "certified", "beyond"),
    [
        (3, CAP, None, False),
        (3, CAP + 1, None, True),
        (3, CAP, 3, False),
        (4, CAP, 3, True),
        (2, CAP + 1, 3, True),
    ],
)
def test_what_is_beyond_is_said(queries: int, spent: int, certified: int | None, beyond: bool) -> None:
    made = budget(queries, stability=spent, stability_cap=CAP, certified_queries=certified)
    assert made.beyond is beyond
    assert made.to_json()["validity"]["beyond"] is beyond
    assert ("no population interval" in str(made)) is beyond


def test_a_study_with_gaussian_noise_is_never_beyond() -> None:
    """Its answers beyond a plan have intervals as well.  Mutant: a plan of three queries ends them."""
    made = budget(4, certified_queries=3)
    assert not made.beyond
    assert "no population interval" not in str(made)
