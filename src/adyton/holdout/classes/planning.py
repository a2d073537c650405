"""What a plan says of questions that are all from one declared class: as many as one likes, exactly."""

from __future__ import annotations

from fractions import Fraction

from adyton.exact.search import least_within
from adyton.holdout.planner import Special
from adyton.validity.classes.growth import RuleClass
from adyton.validity.classes.uniform import threshold_width, uniform_shares, uniform_width
from adyton.validity.planner import HALF, Comparison
from adyton.validity.plans.noise_plan import MOST

_MOST_ROWS = 10**9
ONE_COLUMN = RuleClass("thresholds", 1)


def class_method(plan: Comparison, rules: RuleClass = ONE_COLUMN) -> Special:
    """Exact answers of any number of questions that count the rows to which a rule of the class says yes.

    Of questions the planner's largest number stands for any number.
    """
    failure = 1 - plan.confidence
    value: int | float | None
    if plan.rows is None:
        assert plan.tolerance is not None
        value = least_within(lambda rows: _width(rules, rows, failure), plan.tolerance, _MOST_ROWS)
    else:
        width = _width(rules, plan.rows, failure)
        if plan.tolerance is None:
            value = width if width < HALF else None
        else:
            value = MOST if width <= plan.tolerance else 0
    applies = (
        f"all questions count rows by rules of the class {rules.name}, without noise; any number of them"
    )
    return Special(f"class {rules.name}", plan.wanted, value, None, "UNIFORM-CLASSES", applies)


def _width(rules: RuleClass, rows: int, failure: Fraction) -> float:
    """Of sets that grow with the cut the width of one question is enough."""
    if rules == ONE_COLUMN:
        return threshold_width(rows, failure)
    return uniform_width(uniform_shares(rules, rows, failure))
