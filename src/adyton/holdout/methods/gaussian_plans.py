"""How many scores, and with which noise: from a tolerance or a number, and what is expected."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

from adyton.arithmetic.search import least_that_holds
from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.gaussian import SLACK, GaussianPlan, margin, squares_of
from adyton.kernel.exact import float_down
from adyton.kernel.special.scores import ScoreBlocks
from adyton.validity.plans.planned_scores import ScoreTarget
from adyton.validity.plans.score_plans import (
    best_wish,
    constant_scores,
    constant_wish,
    decreasing_scores,
    fits,
)

Noise = Literal["constant", "decreasing"]
_MOST_ITEMS = 10**12
_HAIR = Fraction(1, 10**12)  # that two floats may be above their sum


@dataclass(frozen=True, slots=True)
class GaussianWish:
    """``expected``: about what scores will be, which chooses noise and levels and guarantees nothing."""

    tolerance: Fraction | None = None
    scores: int | None = None
    anytime: bool = False
    expected: Fraction | None = None
    noise: str = "constant"


def plan_gaussian(frame: HoldoutSize, wish: GaussianWish) -> GaussianPlan:
    """As many scores as the tolerance allows, or the best noise for so many scores.

    With weights what is expected may be worth less than their squares, of which it knows nothing.
    """
    _check(wish)
    if frame.squares is None or wish.expected is None:
        return _planned(frame, wish)
    offers = []
    for one in (wish, replace(wish, expected=None)):
        with suppress(InvalidRequest):
            offers.append(_planned(frame, one))
    if not offers:
        return _planned(frame, wish)  # which says why
    return max(offers, key=lambda plan: (plan.scores, -plan.half_width()))


@lru_cache(maxsize=32)
def _planned(frame: HoldoutSize, wish: GaussianWish) -> GaussianPlan:
    if wish.scores is not None:
        return _for_scores(frame, wish, wish.scores)
    if wish.tolerance is None:
        raise InvalidRequest("give a tolerance, or how many scores there will be, or both")
    inner = (wish.tolerance - margin(frame)) * (1 - SLACK)
    if inner > 0:
        wanted = best_wish(
            frame.items, frame.failure, float_down(inner * (1 - _HAIR)), _float(wish.expected), wish.anytime,
            squares_of(frame),
        )  # fmt: skip
        offers = [constant_scores(wanted), decreasing_scores(wanted) if wish.noise == "decreasing" else None]
        found = [blocks for blocks in offers if blocks is not None]
        if found:  # of few scores noise that falls is no better
            return _made(frame, wanted, max(found, key=lambda blocks: blocks.scores), wish)
    raise InvalidRequest(_none(frame, wish.tolerance))


def _float(expected: Fraction | None) -> float | None:
    return None if expected is None else float(expected)


def check_noise(noise: str) -> None:
    if noise not in get_args(Noise):
        raise InvalidRequest(f"noise is 'constant' or 'decreasing', not {noise!r}")


def _check(wish: GaussianWish) -> None:
    if wish.expected is not None and not 0 < wish.expected < 1:
        raise InvalidRequest("what is expected of a score lies between the ends of its range, and is neither")
    if wish.anytime and (wish.tolerance is None or wish.scores is not None or wish.noise != "constant"):
        raise InvalidRequest(
            "anytime widths need a tolerance for the last score, constant noise, and no number of scores"
        )
    if wish.noise == "decreasing" and wish.scores is not None:
        raise InvalidRequest("decreasing noise is planned for a tolerance, not for a number of scores")


def _made(frame: HoldoutSize, wanted: ScoreTarget, blocks: ScoreBlocks, wish: GaussianWish) -> GaussianPlan:
    in_steps = ScoreBlocks(blocks.counts, tuple(scale * frame.steps for scale in blocks.scales))
    return GaussianPlan(frame, in_steps, wanted.parts(_float(wish.expected)), wish.expected, wish.anytime)


def _for_scores(frame: HoldoutSize, wish: GaussianWish, scores: int) -> GaussianPlan:
    wanted, blocks = constant_wish(
        frame.items, frame.failure, scores, _float(wish.expected), squares_of(frame)
    )
    made = _made(frame, wanted, blocks, wish)
    width = made.half_width()
    if width >= 1 or (wish.tolerance is not None and width > wish.tolerance):
        said = "which says nothing" if wish.tolerance is None else f"not {float(wish.tolerance):g}"
        raise InvalidRequest(
            f"{scores:,} scores from {frame.items:,} items are certified within {width:.4g}, {said}"
        )
    return made


def _none(frame: HoldoutSize, tolerance: Fraction) -> str:
    """Noise of an eighth of the tolerance is about the best for one score, which needs hardly any."""
    within = float(tolerance)

    def enough(items: int) -> bool:
        one = best_wish(items, frame.failure, within, None)
        return fits(one, ScoreBlocks((1,), (items * within / 8,)))

    said = f"{frame.items:,} items certify no score within {within:g}"
    needed = least_that_holds(enough, _MOST_ITEMS)
    return said if needed is None else f"{said}; one score needs about {needed:,} items"
