"""Plans: how many questions, each chosen from the answers before it, stay within a tolerance by which noise.

Shares of the rows, with values in [0, 1].  Question j misses on one side with probability at most
g(tolerance - b_j), g the miss of a question fixed in advance and b_j = mu0 / 2 what earlier answers moved.
As b_j only grows, questions are counted in blocks that are judged at their last question.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.special import special
from adyton.validity.outward import SAFE, float_down
from adyton.validity.search import largest, least
from adyton.validity.subset.answers import MARGIN, Floats, hazard

MOST = 10**15
_COARSE, _FINE = 250, 8000  # blocks, to search with and to certify with
_STEPS = 40


@dataclass(frozen=True, slots=True)
class ConstantNoise:
    """Adaptive questions that stay within ``tolerance``, all with noise of standard deviation ``scale``."""

    questions: int
    tolerance: float
    scale: float


@dataclass(frozen=True, slots=True)
class DecreasingNoise:
    """The same with less and less noise: ``counts[i]`` questions with ``scales[i]``, block after block."""

    tolerance: float
    counts: tuple[int, ...]
    scales: tuple[float, ...]

    @property
    def questions(self) -> int:
        return sum(self.counts)


def constant_questions(rows: int, tolerance: Fraction, failure: Fraction) -> ConstantNoise:
    """The most questions that noise of one scale certifies, about.

    Claim:    with probability 1 - failure every answer a_j is within ``tolerance`` of q_j(P), for all
              questions at once, each chosen in the light of the answers before it.
    Assumes:  rows are independent draws; values in [0, 1]; nothing else was released about the rows; the
              noise is normal, and of the planned scale.
    Source:   derived here.  Theorem: SUBSET-ANSWERS.
    """
    within, level = float_down(tolerance), float_down(failure)

    scale = least(lambda x: -_counted(rows, within, x, level, _COARSE), within / 400, within, _STEPS)
    return ConstantNoise(int(_counted(rows, within, scale, level, _FINE)), within, scale)


def _counted(rows: int, within: float, scale: float, failure: float, blocks: int) -> float:
    """How many questions fit: the misses of both sides of all of them sum to at most ``failure``."""
    moved = within * np.linspace(0, 1, blocks + 1)[1:]  # b, at the end of each block
    ends = np.floor((4 * rows * scale * moved) ** 2 * (1 - MARGIN)) + 1
    counts = np.diff(np.minimum(ends, 2.0**52), prepend=0.0)
    misses = 2 * np.exp(log_miss(rows, scale, within - moved)) * SAFE
    total = np.cumsum(counts * misses)
    full = int(np.searchsorted(total, failure / SAFE, side="right"))
    done = float(ends[full - 1]) if full else 0.0
    if full == blocks:
        return done
    left = failure / SAFE - (float(total[full - 1]) if full else 0.0)
    return done + min(float(counts[full]), math.floor(left / float(misses[full])))


def log_miss(rows: int, scale: Floats | float, beyond: Floats) -> Floats:
    """log Pr[answer > expectation + ``beyond``] of a question fixed in advance, rounded up."""
    ratio = 1 / (4 * rows * np.square(scale)) * (1 + 4 * MARGIN)
    x = beyond / scale
    y = x / (1 + ratio)
    for _ in range(_STEPS):
        h = hazard(y)
        step = (x - y - ratio * h) / (1 + ratio * h * (h - y))
        y = np.maximum(y + step, -37.0)
        if np.all(np.abs(step) <= 1e-12 * (1 + np.abs(y))):
            break
    h = hazard(y)
    tail, moved, spread = special().log_ndtr(-y), h * (x - y), ratio * h * h / 2
    bound: Floats = tail - moved + spread + MARGIN * (1 + np.abs(tail) + np.abs(moved) + spread)
    return np.minimum(bound, 0.0)


def decreasing_questions(rows: int, tolerance: Fraction, failure: Fraction) -> DecreasingNoise:
    """About the most questions if the noise falls as the shift grows: each misses with the same chance.

    A rough plan is made from continuous amounts; what it certifies is judged by ``missed``, and the number of
    questions is lowered until that is at most ``failure``.  Theorem: PLANNED-NOISE.
    """
    within, allowed = float_down(tolerance), float_down(failure)

    def held(questions: int) -> bool:
        return float(_amounts(rows, within, allowed / questions, _COARSE)[0].sum()) >= questions

    target = largest(held, MOST)
    while target:
        plan = _rough(rows, within, allowed, target)
        if missed(rows, plan) <= allowed:
            return plan
        target -= 1 + target // 1000
    return DecreasingNoise(within, (), ())


def missed(rows: int, plan: DecreasingNoise) -> float:
    """The chance, rounded up, that some answer of the plan is beyond its tolerance, on either side.

    Each block is judged at its last question, which all questions before it have moved.
    """
    counts, scales = np.array(plan.counts, dtype=np.float64), np.array(plan.scales)
    before = np.cumsum(counts / np.square(4 * rows * scales)) - 1 / np.square(4 * rows * scales)
    moved = np.sqrt(np.maximum(before, 0.0) * (1 + 1e-9))
    misses = 2 * np.exp(log_miss(rows, scales, plan.tolerance - moved))
    return float(np.sum(counts * misses)) * SAFE


def _rough(rows: int, within: float, failure: float, questions: int) -> DecreasingNoise:
    """Whole questions in blocks: what is left of one goes into the next block."""
    amounts, scales = _amounts(rows, within, failure / questions, _FINE)
    ends = np.minimum(np.floor(np.cumsum(amounts)), questions)
    ends[-1] = questions
    counts = np.diff(ends, prepend=0.0)
    used = counts > 0
    return DecreasingNoise(within, tuple(map(int, counts[used])), tuple(map(float, scales[used])))


def _amounts(rows: int, within: float, failure: float, blocks: int) -> tuple[Floats, Floats]:
    """How many questions, not whole, take b through each of equal steps, and the noise of each step.

    For a location y of the normal tail and its hazard h, the ratio r = 2 (log P(N > y) - level) / h**2 gives
    the scale 1 / (2 sqrt(rows r)) whose width at this level is scale (y + r h), which grows with y.
    """
    level = math.log(failure / 2)
    moved = within * np.linspace(0, 1, blocks + 1)
    wanted = within - moved[1:]
    low, high = np.full(blocks, -20.0), np.full(blocks, -float(special().ndtri_exp(level)))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        wide = _scale(rows, level, middle)[1] > wanted
        low, high = np.where(wide, low, middle), np.where(wide, middle, high)
    scales, width = _scale(rows, level, low)
    reached = width <= wanted
    amounts = np.where(reached, np.diff((4 * rows * moved) ** 2) * scales**2, 0.0)
    return amounts, np.where(reached, scales, scales[reached].min(initial=within))


def _scale(rows: int, level: float, y: Floats) -> tuple[Floats, Floats]:
    h = hazard(y)
    ratio = np.maximum(2 * (special().log_ndtr(-y) - level) / h**2, 1e-300)
    scale = 1 / (2 * np.sqrt(rows * ratio))
    return scale, scale * (y + ratio * h)
