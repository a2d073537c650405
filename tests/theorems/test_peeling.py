"""Widths that grow with what has been spent: exact small studies with adaptive noise, and the look-up itself."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adyton.errors import InvalidRequest
from adyton.kernel.exact.shares import query_share
from adyton.validity.hinge import peeling
from adyton.validity.hinge.noise_part import gaussian_multiplier
from adyton.validity.hinge.peeling import WidthSchedule
from adyton.validity.hinge.stability import stability_width

FIRST, AFTER_LOW, AFTER_HIGH = 2.0, 0.9, 4.0  # noise of the first answer, and of the second after it


def width_of(schedule: WidthSchedule, spent: Fraction, query: int, sigma: float) -> float:
    """Of query j of an open study, if its noise is normal."""
    noise = gaussian_multiplier(schedule.noise_failure * query_share(query)) * sigma
    return noise + schedule.stability(spent)


def failures_of(schedule: WidthSchedule, factor: float = 1.0) -> float:
    """Pr[some answer is off by more than its width]: two fair bits, the second noise chosen by the first answer."""
    grid, step = np.linspace(-14, 15, 801, retstep=True)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    noise = np.where(first < 0.5, AFTER_LOW, AFTER_HIGH)
    density = np.zeros_like(first)
    for sample in product((0, 1), repeat=2):
        mean = sum(sample) / 2
        one = np.exp(-((first - mean) ** 2) / (2 * FIRST**2)) / FIRST
        two = np.exp(-((second - mean) ** 2) / (2 * noise**2)) / noise
        density += one * two / (2 * math.pi * 4)
    spent = [Fraction(1, 16) / Fraction(s) ** 2 for s in (FIRST, AFTER_LOW, AFTER_HIGH)]
    width_1 = width_of(schedule, spent[0], 1, FIRST)
    low = width_of(schedule, spent[0] + spent[1], 2, AFTER_LOW)
    high = width_of(schedule, spent[0] + spent[2], 2, AFTER_HIGH)
    width_2 = np.where(first < 0.5, low, high)
    wrong = (np.abs(first - 0.5) > factor * width_1) | (np.abs(second - 0.5) > factor * width_2)
    assert density.sum() * step**2 == pytest.approx(1, abs=1e-3)
    return float((density * wrong).sum() * step**2)


@pytest.mark.parametrize(("failure", "levels"), [(0.5, 1), (0.5, 3), (0.2, 4), (0.05, 10)])
def test_theorem_PEELING_two_rows_and_adaptive_noise(failure: float, levels: int) -> None:
    schedule = WidthSchedule.plan(failure, "0.32", levels)
    assert failures_of(schedule) <= failure
    if levels == 1:
        assert failures_of(schedule, 0.3) > failure  # the integral can see failures


@settings(deadline=None, max_examples=25)
@given(st.floats(0.001, 0.9), st.floats(1e-6, 0.4), st.integers(1, 20), st.floats(0, 1))
def test_theorem_PEELING_every_level_has_its_own_share(
    failure: float, cap: float, levels: int, part: float
) -> None:
    schedule = WidthSchedule.plan(failure, cap, levels)
    spent = schedule.cap * Fraction(part)
    level = next(level for level in schedule.levels if spent <= level.spent)
    share = Fraction(str(failure)) * Fraction(7, 10) / levels
    exact = stability_width(math.sqrt(level.spent) * (1 - 1e-15), share)
    assert exact * (1 - 1e-12) <= schedule.stability(spent) <= exact * (1 + 1e-9)
    assert stability_width(math.sqrt(spent), share) <= schedule.stability(spent) * (1 + 1e-9)


def test_law_widths_grow_with_what_was_spent_and_stop_at_the_cap() -> None:
    schedule = WidthSchedule.plan("0.05", "0.118", 10)
    spent = [schedule.cap * Fraction(i, 4096) for i in range(4097)]
    widths = [schedule.stability(s) for s in spent]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1] / 20
    assert widths[-1] < 1.4 * stability_width(0.118, "0.035")
    assert schedule.covers(schedule.cap)
    assert not schedule.covers(schedule.cap + Fraction(1, 10**18))
    with pytest.raises(InvalidRequest, match="certified for"):
        schedule.stability(schedule.cap + Fraction(1, 10**18))


def test_a_look_up_computes_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take milliseconds each, and an answer would wait for them; all were computed with the plan."""
    schedule = WidthSchedule.plan("0.0499", "0.0991", 12)

    def never(*_: object) -> float:
        raise AssertionError("a width was computed again")

    monkeypatch.setattr(peeling, "stability_width", never)
    spent = [schedule.cap * Fraction(j, 1000) for j in range(1, 1001)]
    widths = [schedule.stability(s) for s in spent]
    assert widths == sorted(widths)


def test_refuses_a_schedule_that_says_nothing() -> None:
    for arguments in (("0", "0.1", 10), ("0.05", "0", 10), ("0.05", "0.1", 0), ("0.05", "0.1", 61)):
        with pytest.raises(InvalidRequest):
            WidthSchedule.plan(*arguments)
    with pytest.raises(InvalidRequest):
        WidthSchedule.plan("0.05", "0.1", noise_share=1)
