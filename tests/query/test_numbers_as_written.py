"""Limits, plans and queries take numbers as people write them, and keep them exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adyton
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee
from adyton.kernel.schema import RealColumn, Table
from adyton.kernel.terms.leaves import Constant
from adyton.query.canonical import canonical_text
from adyton.query.doubles import remarks_on, shortest
from adyton.query.queries import cdf, count
from adyton.query.request import Request, Requests, asked_of
from adyton.query.sql.read import parse_number
from adyton.query.text import fraction_text
from adyton.study import Validity
from adyton.transports.pg.parameters import literal
from support.servers import write_study


@pytest.mark.parametrize("delta", [1e-9, "1e-9", Decimal("1e-9"), Fraction(1, 10**9)])
def test_a_limit_is_what_was_written(delta: object) -> None:
    """Mutant: ``keep_exactly`` keeps floats; Fraction(value) instead of ``rational``."""
    budget = Guarantee(1, delta)  # type: ignore[arg-type]
    assert budget == Guarantee(Fraction(1), Fraction(1, 10**9))
    assert isinstance(budget.epsilon, Fraction)
    assert isinstance(budget.delta, Fraction)


def test_a_plan_is_what_was_written() -> None:
    plain = Validity(0.95, queries=10, tolerance="0.1", share=0.01)
    assert plain == Validity(Fraction(19, 20), None, 10, Fraction(1, 10), share=Fraction(1, 100))


@pytest.mark.parametrize("bad", [True, "a", float("nan"), float("inf"), None, [1]])
def test_what_is_no_number_is_refused(bad: object) -> None:
    with pytest.raises((InvalidRequest, TypeError)):
        Guarantee(bad, 0)  # type: ignore[arg-type]


# In queries -------------------------------------------------------------------------------------------------

T = Table("t", (RealColumn("x", Fraction(-1), Fraction(1), Fraction(1, 100)),), rows=100)
LITERALS = {
    "0.29999999999999999": "0.3",
    ".29999999999999999": "0.3",
    "2.9999999999999999e-1": "0.3",
    "'0.29999999999999999'::float8": "0.3",
    "CAST('0.29999999999999999' AS DOUBLE PRECISION)": "0.3",
    "0.30000000000000004": "0.30000000000000004",  # is the shortest text of its double
    "0.299999999999999": "0.299999999999999",
    "CAST('0.29999999999999999' AS DECIMAL)": "(29999999999999999 / 100000000000000000)",
}


def where_of(sql: str, dialect: str | None = None) -> str:
    asked = asked_of(sql, T, dialect=dialect)
    assert isinstance(asked, Request)
    return canonical_text(asked.query).partition("WHERE ")[2]


@pytest.mark.parametrize("written", LITERALS)
def test_a_literal_with_all_digits_of_a_double_means_its_shortest_text(written: str) -> None:
    """Mutants: ``shortest`` gives back what it gets; the cast to a double reads a string exactly."""
    read = LITERALS[written]
    assert where_of(f"SELECT COUNT(*) FROM t WHERE x > {written}") == f"(x > {read})"
    assert where_of(f"SELECT COUNT(*) FROM t WHERE x > {read}") == f"(x > {read})"
    if "CAST" not in written and not written.startswith("."):
        assert where_of(f"SELECT COUNT(*) FROM t WHERE x > {written}", "postgres") == f"(x > {read})"


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=1e-30, max_value=1e30), st.integers(17, 25))
def test_law_any_writing_of_a_double_with_enough_digits_is_its_shortest(value: float, digits: int) -> None:
    """Mutant: 17 digits are taken for exact."""
    for written in (f"{value:.{digits}e}", f"{Decimal(value):f}"[:50]):
        if float(written) == value and len(written.replace(".", "").lstrip("0").partition("e")[0]) >= 16:
            read = shortest(written)
            assert Fraction(read) == Fraction(written if written.isdecimal() else repr(value))
            assert shortest(read) == read


@given(st.integers(0, 10**30), st.integers(0, 18))
def test_law_what_a_canonical_text_writes_is_read_exactly(steps: int, digits: int) -> None:
    """Mutant: ``fraction_text`` writes a decimal that means another."""
    value = Fraction(steps, 10**digits)
    read = parse_number(fraction_text(value), T)
    assert isinstance(read, Constant)
    assert read.value == value
    assert steps >= 10**15 or fraction_text(value) == str(value) or "/" not in fraction_text(value)


@given(st.integers(-(10**20), 10**20), st.integers(0, 20))
def test_law_a_parameter_of_type_numeric_is_exact(steps: int, digits: int) -> None:
    """Mutant: it is written as a literal like any other."""
    read = parse_number(literal(Decimal(steps).scaleb(-digits)), T)
    assert isinstance(read, Constant)
    assert read.value == Fraction(steps, 10**digits)


@pytest.mark.parametrize("whole", ["9007199254740993", "12345678901234567890"])
def test_whole_numbers_and_short_decimals_stay_exact(whole: str) -> None:
    read = parse_number(whole, T)
    assert isinstance(read, Constant)
    assert read.value == int(whole)
    assert not remarks_on(
        f"SELECT {whole}, 0.123456789012345, 'x 0.29999999999999999' -- 0.29999999999999999"
    )


@pytest.mark.parametrize(
    "bomb", ["1.2345678901234567e-999999999", "1.2345678901234567e999999999", "9." + "9" * 5000]
)
def test_a_literal_that_is_a_bomb_is_left_to_whoever_reads_it(bomb: str) -> None:
    """Mutant: both sides are compared as fractions."""
    assert shortest(bomb) == bomb


def test_the_answer_says_which_literal_was_read_as_another(tmp_path: Path) -> None:
    """Of texts that are read anew, kept, or alike but for their numbers; in batches and drafts too."""
    said = "20000.300000000001 was read as 20000.3, the shortest text of the same double."
    text = "SELECT COUNT(*) AS n FROM people WHERE income > {}"
    with adyton.open(write_study(tmp_path)) as curator:
        first = curator.ask(text.format("20000.300000000001"), within=100)
        assert said in first.remarks
        assert said in curator.preview(text.format("20000.300000000001"), within=100).remarks
        assert said in str(first)
        plain = curator.ask(text.format("20000.3"), within=100)
        assert (plain.repeated, plain.remarks) == (True, ())
        for number in range(4):
            again = curator.ask(text.format(f"2000{number}.300000000001"), within=100)
            assert any("was read as" in one for one in again.remarks)
            assert f"income > 2000{number}.3)" in again.query
        drafted = curator.ask(count("income > 20000.300000000001", name="m"), within=100)
        assert (drafted.repeated, drafted.remarks) == (True, (said,))
        union = curator.ask(
            f"{text.format(20000.3)} UNION ALL {text.format('20001.300000000001')}", within=100
        )
        assert len(union.remarks) == 1
        points = curator.preview(cdf("income", [20000.300000000001, 30000]), epsilon="0.1")
        assert "20000.3," in points.query
    asked = Requests(T).of("SELECT COUNT(*) FROM t WHERE x > 0.5")
    assert isinstance(asked, Request)
    assert asked.remarks == ()
