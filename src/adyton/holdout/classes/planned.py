"""Which plan a holdout has that was declared to score rules of one class only."""

from __future__ import annotations

from adyton.errors import InvalidRequest
from adyton.holdout.classes.hypotheses import HypothesisClass
from adyton.holdout.classes.uniform_plan import plan_uniform
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.options import Aim, Method
from adyton.holdout.methods.restoring import Plan


def planned(
    frame: HoldoutSize, method: Method, aim: Aim, kind: HypothesisClass | None, features: int | None
) -> Plan:
    """What the method plans; or one width for all rules of a class, where that is better.

    It is better if it is within the tolerance, since then there is no end of scores; of a given number of
    scores, if it is the shorter one.
    """
    if kind is None or features is None:
        return method.plan(frame, aim)
    uniform = plan_uniform(frame, kind, features)
    width = uniform.half_width()
    near = width < 1 and (aim.tolerance is None or width <= aim.tolerance)
    if near and aim.scores is None:
        return uniform
    try:
        other = method.plan(frame, aim)
    except InvalidRequest:
        if near:
            return uniform
        raise InvalidRequest(
            f"{frame.items:,} items certify all rules of {uniform.rules.name} at once within {width:.4g}, "
            f"and no other method comes nearer: ask for less, or have more items"
        ) from None
    assert isinstance(other, GaussianPlan)  # with a class there is no other method
    return uniform if near and width <= other.half_width() else other
