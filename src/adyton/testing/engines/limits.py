"""What an engine promises about time."""

from __future__ import annotations

import pytest

from adyton.errors import InvalidRequest
from adyton.query.leaves import ValueOf
from adyton.query.measures import Sum
from adyton.query.nodes import Question
from adyton.sensitivity import readings_of
from adyton.testing.engines.cases import AGE, PEOPLE, REGION, ROWS, SOME
from adyton.testing.engines.reference import expected
from adyton.testing.engines.setup import MakeEngine, Open


class LimitsContract:
    def test_a_question_without_time_fails(self, make_engine: MakeEngine, opened: Open) -> None:
        """Each time, and nothing else does: loading has a limit of its own; with time there is an answer."""
        readings = readings_of(Question(PEOPLE, (("s", Sum(ValueOf(AGE))),), by=(REGION,)), ROWS)
        hasty = make_engine(PEOPLE, ROWS, SOME, "salt", timeout=1e-9)
        hasty.prepare()
        for _ in range(2):
            with pytest.raises(TimeoutError):
                hasty.exact(readings)
        hasty.close()
        assert opened(PEOPLE, SOME).exact(readings) == expected(PEOPLE, ROWS, SOME, "salt", readings)

    @pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
    def test_a_limit_that_is_none_is_refused(self, make_engine: MakeEngine, seconds: float) -> None:
        with pytest.raises(InvalidRequest, match="time-out"):
            make_engine(PEOPLE, ROWS, SOME, "salt", timeout=seconds)
