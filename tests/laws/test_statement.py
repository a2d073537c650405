"""A statement: privacy always, stability where the study declares that its rows are independent draws."""

from __future__ import annotations

from typing import Any

import pytest

from adyton.certify import Promise, Statement
from adyton.exact import UNITS_PER_ONE

CAP = UNITS_PER_ONE // 400  # mu0 = 0.05


def statement(questions: int = 3, **validity: Any) -> Statement:
    return Statement(Promise(0.25, 1e-6), Promise(1.0, 1e-6), "gdp", 10**17, questions, **validity)


def test_without_a_declaration_nothing_is_said_about_stability() -> None:
    plain = statement()
    assert set(plain.to_json()) == {"spent", "limit", "currency", "left", "questions"}
    assert "stability" not in str(plain)
    assert not plain.beyond


def test_with_a_declaration_a_statement_says_how_much_stability_is_spent_of_what() -> None:
    declared = statement(stability=CAP // 5, stability_cap=CAP)
    expected = {"spent": "0.0005", "cap": "0.0025", "questions": None, "beyond": False}
    assert declared.to_json()["validity"] == expected
    shown = " ".join(str(declared).split())
    for part in ("stability so far │ 0.0005 mu0²", "stability certified │ 0.0025 mu0²", "any number"):
        assert part in shown
    assert "no population interval" not in shown
    assert "0.0025 mu0²" in declared._repr_html_()


def test_a_study_for_a_known_number_of_questions_says_how_many() -> None:
    declared = statement(stability=0, stability_cap=CAP, certified_questions=1000)
    assert declared.to_json()["validity"]["questions"] == 1000
    assert "1,000" in str(declared)


@pytest.mark.parametrize(
    ("questions", "spent", "certified", "beyond"),
    [
        (3, CAP, None, False),
        (3, CAP + 1, None, True),
        (3, CAP, 3, False),
        (4, CAP, 3, True),
        (2, CAP + 1, 3, True),
    ],
)
def test_what_is_beyond_is_said(questions: int, spent: int, certified: int | None, beyond: bool) -> None:
    made = statement(questions, stability=spent, stability_cap=CAP, certified_questions=certified)
    assert made.beyond is beyond
    assert made.to_json()["validity"]["beyond"] is beyond
    assert ("no population interval" in str(made)) is beyond
