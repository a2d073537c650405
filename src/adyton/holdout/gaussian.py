"""The default: every score with fresh Gaussian noise, so many of them that all intervals hold at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from adyton.errors import InvalidRequest
from adyton.exact import units_up
from adyton.holdout.methods import Frame
from adyton.holdout.metrics import Steps, total
from adyton.noise import Bits, rounded_gaussian
from adyton.validity import WidthSchedule, gaussian_multiplier, joint_questions, joint_rows, joint_width
from adyton.validity.hinge import LARGEST_MU, stability_width
from adyton.validity.outward import float_up, square_root_up
from adyton.validity.radius import MEAN, spent_by
from adyton.validity.search import largest, least

_LEVELS = 10
_NOISE_SHARE = Fraction(3, 10)  # of the failure; both are part of what an anytime holdout promised
_STEPS = 24


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Sums of values with rounded Gaussian noise; ``scale`` is its standard deviation in steps of the sum.

    Claim:    with probability 1 - failure every one of ``scores`` scores, each of predictions chosen in the
              light of all scores before it, is within ``half_width`` of the mean over the population; the
              items are mu-GDP with mu**2 = scores / (items sigma)**2, sigma the noise of a score.
    Assumes:  items are independent draws from the population; nobody has seen them otherwise; the noise is
              fresh; scores and scale were fixed in advance.
    Source:   derived here.  Theorem: HOLDOUT-SCORES.
    """

    frame: Frame
    scores: int
    scale: float
    anytime: bool = False
    name: ClassVar[str] = "gaussian"
    currency: ClassVar[str] = "gdp"

    @property
    def theorems(self) -> tuple[str, ...]:
        width = "PEELING" if self.anytime else "CENTRED-HINGE-JOINT"
        return ("HOLDOUT-SCORES", width, "ROUNDED-ANSWERS", "ROUNDED-GAUSSIAN-IS-GDP", "GDP-FILTER")

    @property
    def sigma(self) -> Fraction:
        """The noise of a score, exactly."""
        return Fraction(self.scale) / self.frame.whole

    @property
    def price(self) -> int:
        return units_up(1 / (self.frame.items * self.sigma) ** 2)

    @property
    def radius(self) -> int:
        return units_up(spent_by(MEAN, self.frame.items, self.sigma))

    def read(self, values: Steps, number: int) -> int:
        return total(values)

    def release(self, exact: int, bits: Bits) -> int:
        return exact + int(rounded_gaussian.draw(self.scale, 1, bits)[0])

    def share(self, released: int) -> Fraction:
        return Fraction(released, self.frame.whole)

    def half_width(self, number: int) -> float:
        if self.anytime:
            schedule = _schedule(self.frame, self.scores, self.scale)
            spent = number * spent_by(MEAN, self.frame.items, self.sigma)
            inner = Fraction(schedule.width(spent, number, float_up(self.sigma)))
        else:
            inner = Fraction(certified(self.frame, self.scores, self.scale))
        return float_up(inner + margin(self.frame))

    def settings(self) -> dict[str, str | int]:
        facts: dict[str, str | int] = {"scores": self.scores, "scale": repr(self.scale)}
        return {**facts, "anytime": "yes"} if self.anytime else facts


def margin(frame: Frame) -> Fraction:
    """Half a step of the sum for the rounded noise, and what rounding the values of items can do."""
    return Fraction(1, 2 * frame.whole) + frame.rounding


@lru_cache(maxsize=256)
def certified(frame: Frame, scores: int, scale: float) -> float:
    """Half-width of the scores before they are rounded.  Theorem: HOLDOUT-SCORES."""
    sigma = Fraction(scale) / frame.whole
    noise = sigma * Fraction(gaussian_multiplier(frame.failure, scores))
    mu0 = square_root_up(scores * spent_by(MEAN, frame.items, sigma))
    stability = stability_width(mu0, frame.failure)
    return math.inf if math.isinf(stability) else float_up(noise + Fraction(stability))


@lru_cache(maxsize=64)
def _schedule(frame: Frame, scores: int, scale: float) -> WidthSchedule:
    cap = square_root_up(scores * spent_by(MEAN, frame.items, Fraction(scale) / frame.whole))
    return WidthSchedule.plan(frame.failure, Fraction(cap), _LEVELS, noise_share=_NOISE_SHARE)


def plan_gaussian(
    frame: Frame, tolerance: Fraction | None, scores: int | None, anytime: bool = False
) -> Gaussian:
    """As many scores as the tolerance allows, or the best noise for so many scores."""
    if anytime:
        return _plan_anytime(frame, tolerance, scores)
    if scores is not None:
        made = Gaussian(frame, scores, joint_width(frame.items, scores, frame.failure).scale * frame.whole)
        width = made.half_width(1)
        if width >= 1 or (tolerance is not None and width > tolerance):
            wanted = "which says nothing" if tolerance is None else f"not {float(tolerance):g}"
            raise InvalidRequest(
                f"{scores:,} scores from {frame.items:,} items are certified within {width:.4g}, {wanted}"
            )
        return made
    if tolerance is None:
        raise InvalidRequest("give a tolerance, or how many scores there will be, or both")
    return _most(frame, tolerance)


def _most(frame: Frame, tolerance: Fraction) -> Gaussian:
    inner = tolerance - margin(frame)
    if inner > 0:
        found, sigma = joint_questions(frame.items, inner, frame.failure)
        while found and sigma is not None:
            made = Gaussian(frame, found, sigma * frame.whole)
            if made.half_width(1) <= tolerance:
                return made
            found -= 1 + found // 10**9  # roundings only
    raise InvalidRequest(_none(frame, tolerance))


def _none(frame: Frame, tolerance: Fraction) -> str:
    said = f"{frame.items:,} items certify no score within {float(tolerance):g}"
    needed = joint_rows(1, tolerance, frame.failure)[0]
    return said if needed is None else f"{said}; one score needs about {needed:,} items"


def _plan_anytime(frame: Frame, tolerance: Fraction | None, scores: int | None) -> Gaussian:
    """Noise and cap with the most scores, the last of which is still within the tolerance."""
    if tolerance is None or scores is not None:
        raise InvalidRequest("anytime widths need a tolerance for the last score, and no number of scores")
    inner = float(tolerance - margin(frame))

    def room(mu: float) -> tuple[int, float]:
        share = frame.failure * (1 - _NOISE_SHARE) / _LEVELS
        left = inner - stability_width(mu, share)
        if left <= 0:
            return 0, 0.0
        noise_failure = frame.failure * _NOISE_SHARE

        def fits(k: int) -> bool:
            z = gaussian_multiplier(noise_failure * Fraction(6, 10) / k**2)
            return z * math.sqrt(k) <= 2 * frame.items * mu * left

        k = largest(fits, 10**12)
        return k, math.sqrt(k) / (2 * frame.items * mu)

    highest = min(inner, LARGEST_MU)
    if inner > 0:
        mu = least(lambda m: -room(m)[0], highest / 100, highest, _STEPS)
        k, sigma = room(mu)
        while k:
            made = Gaussian(frame, k, sigma * frame.whole, anytime=True)
            if made.half_width(k) <= tolerance:
                return made
            k -= 1 + k // 1000
            sigma = math.sqrt(k) / (2 * frame.items * mu)
    raise InvalidRequest(_none(frame, tolerance))
