"""For how many queries which filter leaves less noise, by the calculators that price the queries later."""

from __future__ import annotations

from fractions import Fraction

import pytest
from test_fitting import curator

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Adjacency, Guarantee, PrivacyUnit
from adyton.setup.which_accounting import choose_accounting

BUDGET = Guarantee(Fraction(1), Fraction(1, 10**6))


def test_few_counts_are_narrower_with_pure_and_many_with_gdp() -> None:
    one = choose_accounting(BUDGET, PrivacyUnit("replace-one"), 1)
    assert (one.pure, one.gdp, one.pure_up_to, one.name) == (3, 8, 7, "pure")
    assert choose_accounting(BUDGET, PrivacyUnit("replace-one"), 7).name == "pure"
    assert choose_accounting(BUDGET, PrivacyUnit("replace-one"), 8).name == "gdp"
    assert (
        choose_accounting(Guarantee(Fraction(1), Fraction(1, 10**9)), PrivacyUnit("replace-one"), 13).name
        == "pure"
    )
    assert "1 count is within 3 with pure, within 8 with gdp (95 %); pure is better up to 7" in str(one)


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "4", "20"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", [1, 5])
def test_law_the_better_filter_has_no_wider_intervals(epsilon: str, adjacency: Adjacency, rows: int) -> None:
    unit = PrivacyUnit(adjacency, "p", rows)
    budget = Guarantee(Fraction(epsilon), Fraction(1, 10**6))
    crossing = choose_accounting(budget, unit, 1).pure_up_to
    assert crossing >= 1
    for queries in {1, crossing, crossing + 1, 100}:
        choice = choose_accounting(budget, unit, queries)
        chosen, other = (choice.pure, choice.gdp) if choice.name == "pure" else (choice.gdp, choice.pure)
        assert chosen <= other
        assert choice.pure_up_to == crossing


@pytest.mark.parametrize("queries", [1, 7, 8, 30])
def test_the_widths_are_those_that_a_study_then_answers_with(queries: int) -> None:
    """Mutant: the budget is not shared by the queries."""
    choice = choose_accounting(BUDGET, PrivacyUnit("replace-one"), queries)
    for accounting, width in (("gdp", choice.gdp), ("pure", choice.pure)):
        asker = curator(accounting)
        seen = asker.preview("SELECT COUNT(*) FROM people", share=Fraction(1, queries))
        assert seen.bounds["count"].half_width == width


@pytest.mark.parametrize("queries", [0, -1, 10**6 + 1])
def test_numbers_of_queries_that_mean_nothing_are_refused(queries: int) -> None:
    with pytest.raises(InvalidRequest, match="from 1 to 1,000,000"):
        choose_accounting(BUDGET, PrivacyUnit("replace-one"), queries)
