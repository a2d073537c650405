"""Whole numbers as people write them on a command line, and nothing that is not exactly whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from adyton.errors import InvalidRequest
from adyton.transports.cli.app import app
from adyton.transports.terminal import whole


@pytest.mark.parametrize(
    "text", ["100000", "100_000", "100,000", "1e5", "1E5", "1e+5", "1.0e5", "+100000", "0.1e6"]
)
def test_a_hundred_thousand_in_every_spelling(text: str) -> None:
    assert whole(text, "--rows") == 100_000
    plan = CliRunner().invoke(app, ["plan", "--rows", text, "--queries", "1", "--json"])
    assert plan.exit_code == 0, plan.output
    assert json.loads(plan.stdout)["rows"] == 100_000


NO_WHOLE = (
    *("", "1.5", "1e-1", "15e-1", "1,00", "10,0000", "1,,000", "_100", "1__000", "0x10", "1e", "e5", "1 000"),
    *("nan", "inf", "1e99", "1e18", "1e5e5", "--5", "٣", "9" * 40),
)


@pytest.mark.parametrize("text", NO_WHOLE)
def test_what_is_not_exactly_whole_is_refused(text: str) -> None:
    """Mutant: int(float(text)) takes 1.5 and loses digits beyond 2**53."""
    with pytest.raises(InvalidRequest, match="--rows must be a whole number"):
        whole(text, "--rows")


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_law_every_digit_counts(number: int) -> None:
    assert whole(str(number), "x") == whole(f"{number:,}", "x") == whole(f"{number:_}", "x") == number


def test_the_refusal_is_json_too() -> None:
    done = CliRunner().invoke(app, ["plan", "--rows", "1.5", "--tolerance", "0.2", "--json"])
    assert done.exit_code == 2
    assert (
        json.loads(done.stdout)["error"]["message"]
        == "--rows must be a whole number, such as 1000 or 1e3, not '1.5'"
    )
