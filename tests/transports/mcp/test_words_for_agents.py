"""What a tool says in words: nothing narrower than it is, both intervals by their names, and what would fit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from adyton import errors
from adyton.refusals import Refusal, refused
from adyton.transports.mcp import words
from adyton.transports.mcp.words import _AFTER, _rows_said, _widths_said


def row(value: Any, noise: Any, population: Any, **more: Any) -> dict[str, Any]:
    intervals = {
        "noise_interval": {"level": 0.95, "low": noise[0], "high": noise[1]},
        "population_interval": {"absent": population}
        if isinstance(population, str)
        else {"level": 0.999, "low": population[0], "high": population[1]},
    }
    return {"keys": {"region": "north"}, "values": {"n": {"value": value, **intervals, **more}}}


def test_intervals_are_rounded_outwards_and_levels_are_not() -> None:
    """Mutants: ends rounded to the nearest; the level of 0.999 as 100 %."""
    (said,) = _rows_said([row(10.06, (3.14159, 17.23456), (0.00016, 23.999))])
    assert said == (
        "- region = north: n = 10.1, noise interval 3.1 to 17.3 (95 %), population interval 0 to 24 (99.9 %)"
    )


def test_what_is_missing_is_said_once_and_dates_as_they_are() -> None:
    """Mutant: a missing interval is an error, or is said for each row."""
    rows = [
        row(5.0, (1.0, 9.0), "not declared"),
        row("1990-05-01", ("1990-04-01", "1990-06-01"), "not declared"),
    ]
    first, second, reason = _rows_said(rows)
    assert first.endswith("noise interval 1.0 to 9.0 (95 %), no population interval")
    assert "n = 1990-05-01, noise interval 1990-04-01 to 1990-06-01 (95 %)" in second
    assert reason == "No population interval: not declared."
    (unknown,) = _rows_said([row(5.0, (None, 9.0), (0.0, 9.0), uninformative="it says nothing")])
    assert unknown == "- region = north: n: nothing is known, it says nothing"
    (open_end,) = _rows_said([row(5.0, (None, 9.0), (0.0, 9.0))])
    assert "noise interval no end to 9.0" in open_end
    (null,) = _rows_said([row(None, (1.0, 9.0), (0.0, 9.0))])
    assert "n = none" in null


def test_of_many_rows_the_first_are_said_and_how_many_follow() -> None:
    said = list(_rows_said([row(5.0, (1.0, 9.0), (0.0, 9.0))] * 100))
    assert len(said) == 61
    assert said[-1] == "... and 40 more rows, in the structured result"


def test_widths_that_are_alike_are_said_together_and_rounded_up() -> None:
    """Mutant: half-widths rounded to the nearest."""
    width = {"level": 0.95, "half_width": 12.01, "if_rows": None}
    mean = {"level": 0.95, "half_width": None, "if_rows": None}
    one = {
        "keys": {"region": "north"},
        "values": {"n": {"noise_interval": width, "population_interval": mean}},
    }
    (said,) = _widths_said([one, {**one, "keys": {"region": "south"}}])
    expected = "n: noise interval ± 13 (95 %), population interval as wide as the rows decide"
    assert said == f"- each of 2 rows by region: {expected}"
    rows = {
        "keys": {},
        "values": {
            "n": {"noise_interval": {**width, "if_rows": 7}, "population_interval": {"absent": "why"}}
        },
    }
    assert list(_widths_said([rows])) == [
        "- n: noise interval ± 13 (95 %) if 7 rows match, no population interval",
        "No population interval: why.",
    ]


def test_every_kind_of_refusal_has_advice() -> None:
    """Mutant: a kind of error more, without."""
    kinds = [
        one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.CuratorError)
    ]
    never = {"error", "budget_refused", "unreachable", "unauthenticated", "too_large"}  # results of a tool
    at_a_client = {errors.Unanswered.kind}
    with_its_own = {errors.PrivacyRefused.kind}
    assert {one.kind for one in kinds} - never - at_a_client - with_its_own == set(_AFTER)


def test_a_refusal_says_what_would_fit_or_that_nothing_does() -> None:
    """Mutants: what an engine lost is called free; a refusal has no advice."""
    dear = Refusal(counted_in="gdp", requested="1", spent="1", budget="2", largest="0.5")
    fits = words.refusal_said(refused(dear.fitting({"within": "6"})))
    assert fits.endswith(
        "Next: within = 6 would fit now; preview it, it is free, and ask if it is still useful."
    )
    assert "nothing fits any more" in words.refusal_said(refused(dear.fitting(None)))
    lost = words.refusal_said(errors.EngineFailed("abc"))
    assert "free of charge" not in lost.partition(":")[0]
    assert "it is paid for and free" in lost
    assert "free of charge" not in words.refusal_said(errors.LedgerCorrupt("x"))
    assert "free of charge" in words.refusal_said(errors.Forbidden("you may not"))


def test_when_nothing_is_left_the_advice_is_to_stop() -> None:
    told = {"query": "q", "repeated": False, "answer": []}
    assert "Next: report what you have" in words._asked_next(told, Fraction(0))
    assert "Left to you: 50 %" in words._asked_next(told, Fraction(1, 2))
