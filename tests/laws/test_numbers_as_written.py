"""Limits and plans take numbers as people write them, and keep them exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from adyton.errors import InvalidRequest
from adyton.privacy import Guarantee
from adyton.study import Validity


@pytest.mark.parametrize("delta", [1e-9, "1e-9", Decimal("1e-9"), Fraction(1, 10**9)])
def test_a_limit_is_what_was_written(delta: object) -> None:
    """Mutant: ``keep_exactly`` keeps floats; Fraction(value) instead of ``rational``."""
    limit = Guarantee(1, delta)  # type: ignore[arg-type]
    assert limit == Guarantee(Fraction(1), Fraction(1, 10**9))
    assert isinstance(limit.epsilon, Fraction)
    assert isinstance(limit.delta, Fraction)


def test_a_plan_is_what_was_written() -> None:
    plain = Validity(0.95, questions=10, tolerance="0.1", share=0.01)
    assert plain == Validity(Fraction(19, 20), None, 10, Fraction(1, 10), share=Fraction(1, 100))


@pytest.mark.parametrize("bad", [True, "a", float("nan"), float("inf"), None, [1]])
def test_what_is_no_number_is_refused(bad: object) -> None:
    with pytest.raises((InvalidRequest, TypeError)):
        Guarantee(bad, 0)  # type: ignore[arg-type]
