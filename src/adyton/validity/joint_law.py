"""The largest noise and the likelihood ratio together: more questions for a fixed number of equal noises.

The joint form of the hinge theorem adds the worst noise to the worst stability, though they hardly ever meet.
Here their joint law is bounded instead, which certifies about a quarter more questions.  The bound is a sum,
over how many noises are larger than z0 and how large the largest is, of expectations in closed form; it grows
with both numbers, so cells are taken at their upper ends, and every rounding is paid for.

With d = 1/(2 n sigma), K noises beyond z0 and the largest of them m (all in units of sigma):
    M = sigma m + 1/(2n),     mu**2 = d**2 (k + K (pi/2) m**2),     g**k <= Pi <= exp(d**2 K m**2 / 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.exact import Number, positive
from adyton.special import special
from adyton.validity.joint import MOST, joint_questions, joint_width
from adyton.validity.outward import SAFE, float_down, probability, whole
from adyton.validity.search import largest

Floats = np.ndarray[Any, np.dtype[np.float64]]

_U = 2.0**-53
_HALF_PI = math.pi / 2 * SAFE
_FARTHEST = 37.0  # beyond it nothing is left: P(|N| > 37) < 1e-298, and the hinge grows like exp(0.11 m**2)
_MOST_LARGE = 60  # more noises than this beyond z0 are treated as if all of them were
_LARGEST_MU = 0.2


@dataclass(frozen=True, slots=True)
class Choice:
    """Parameters of the bound.  Every choice with 2 <= z0 is valid."""

    scale: float
    alpha: float
    c: float
    z0: float


@dataclass(frozen=True, slots=True)
class JointLawWidth:
    """A half-width, the standard deviation of the noise for it, and the parameters that prove it."""

    tolerance: float
    choice: Choice


def joint_law_width(rows: int, questions: int, failure: Number, *, effort: int = 400) -> JointLawWidth:
    """The half-width for ``questions`` adaptive questions with equal noise, rounded up; below ``joint_width``
    from some ten questions on.

    Claim:    Pr[some |a_j - q_j(P)| > tolerance] <= failure, exactly as in ``joint_width``.
    Assumes:  the same; and that scipy's ndtr is within 16 * 2**-53 of the truth, absolutely, and within
              1e-11 of it, relatively, from -37 to 0.
    Source:   derived here.  Theorem: CENTRED-HINGE-JOINT-LAW.
    """
    n, k = whole(rows, "the number of rows"), whole(questions, "the number of questions")
    share = probability(failure, "the failure probability")
    choice = _search_for(n, k, share, effort)
    return JointLawWidth(width_with(n, k, share, choice), choice)


def joint_law_questions(rows: int, tolerance: Number, failure: Number) -> tuple[int, Choice | None]:
    """The most questions that a search certifies within ``tolerance``, and the parameters for them.

    (0, None) if ``joint_questions`` certifies as many: for a very small failure floats are too coarse here.
    One to three seconds: parameters are searched for twice, and the number of questions for these.
    Theorem: CENTRED-HINGE-JOINT-LAW.
    """
    within, share = positive(tolerance, "the tolerance"), probability(failure, "the failure probability")
    simple = joint_questions(rows, within, share)[0]
    near, found, best = round(1.27 * simple), simple, None
    for _ in range(2 if near else 0):
        choice = _search_for(rows, max(1, near), share, effort=400)
        near = largest(lambda k, c=choice: _certifies(rows, k, within, share, c), MOST)  # type: ignore[misc]
        if near > found:
            found, best = near, choice
    return (found, best) if best else (0, None)


def _certifies(rows: int, questions: int, within: Fraction, failure: Fraction, choice: Choice) -> bool:
    d = SAFE / (2 * rows * choice.scale)
    return d * d * questions <= _LARGEST_MU**2 and width_with(rows, questions, failure, choice) <= within


def width_with(rows: int, questions: int, failure: Number, choice: Choice, *, ratio: float = 0.97) -> float:
    """alpha + E / failure for these parameters, rounded up.  ``ratio``: of the tails at the ends of a cell.

    Theorem: CENTRED-HINGE-JOINT-LAW.
    """
    share = float_down(probability(failure, "the failure probability"))
    d = SAFE / (2 * rows * choice.scale)
    if not (choice.z0 >= 2 and choice.c > 0 and d <= 1 and d * d * questions <= _LARGEST_MU**2):
        raise InvalidRequest("the joint law needs z0 >= 2, c > 0 and mu0 of at most 0.2")
    return (choice.alpha + expectation(rows, questions, choice, ratio) / share) * SAFE


def expectation(rows: int, questions: int, choice: Choice, ratio: float) -> float:
    """E of the hinge over the number of large noises and the size of the largest, rounded up."""
    ndtr = special().ndtr
    ends = _ends(choice.z0, ratio)
    numbers, weights = _numbers(questions, choice.z0)
    values = _values(rows, questions, choice, numbers[1:, None], ends[None, 1:])
    values = np.maximum.accumulate(values, axis=1)
    # of the largest of K: E value = first value + sum of P(beyond an end) * (growth in the cell after it)
    one = np.minimum(ndtr(-ends[1:-1]) / ndtr(-choice.z0), 1 - 1e-16)
    some = -np.expm1(numbers[1:, None] * np.log1p(-one)[None, :])
    means = values[:, 0] + (some * np.diff(values, axis=1)).sum(axis=1)
    none = _values(rows, questions, choice, np.zeros((1, 1)), np.array([[choice.z0]]))
    return (float(weights[0] * none[0, 0]) + float(weights[1:] @ means)) * (1 + 1e-10) + 1e-100


def _values(rows: int, questions: int, choice: Choice, large: Floats, sizes: Floats) -> Floats:
    """E max of the two quadratics' positive parts, for ``large`` noises beyond z0 of at most these sizes."""
    d = SAFE / (2 * rows * choice.scale)
    reach = large * sizes * sizes * d * d
    mu = np.sqrt(d * d * questions + _HALF_PI * reach) * SAFE
    low = math.exp(questions * _log_kept(choice.z0, d)) / SAFE
    slope = choice.scale * sizes * SAFE + SAFE / (2 * rows) - choice.alpha + 0 * reach
    return _hinge(mu, choice.c, slope, low, np.exp(reach / 2) * SAFE)


def _log_kept(z0: float, d: float) -> float:
    """ln g, rounded down; 1 - g is a second difference of Phi, and z phi(z) falls beyond 1."""
    near = z0 - d
    lost = d * d * near * math.exp(-near * near / 2) / math.sqrt(2 * math.pi)
    return math.log1p(-lost / math.erf(z0 / math.sqrt(2)) * SAFE) * SAFE


def _hinge(mu: Floats, c: float, slope: Floats, low: float, high: Floats) -> Floats:
    """E max over Pi in {low, high} of (slope r + c/4 + (r - 1)**2 / (4c))_+, r = Pi exp(mu N - mu**2 / 2).

    The quadratic of ``high`` is the larger one from ``cross`` on, that of ``low`` before it.
    """
    b = 1 - 2 * c * slope
    root = np.sqrt(np.maximum(b * b - 1 - c * c, 0))
    open_everywhere = (b <= 0) | (b * b <= 1 + c * c)
    cross = np.maximum(2 * b / (low + high), 0)
    first = np.where(open_everywhere, cross, (b - root) / low)
    second = np.where(open_everywhere, cross, (b + root) / low)
    third = np.where(open_everywhere, cross, (b - root) / high)
    fourth = np.where(open_everywhere, cross, (b + root) / high)
    total = (
        _part(mu, c, b, low, np.zeros_like(mu), np.minimum(first, cross))
        + _part(mu, c, b, low, np.minimum(second, cross), cross)
        + _part(mu, c, b, high, cross, np.maximum(third, cross))
        + _part(mu, c, b, high, np.maximum(fourth, cross), np.full_like(mu, np.inf))
    )
    size = (high * high * np.exp(mu * mu) + 2 * high * np.abs(b) + 1 + c * c) / (4 * c)
    guarded: Floats = np.maximum(total, 0) + 256 * _U * size
    return guarded


def _part(mu: Floats, c: float, b: Floats, factor: Any, start: Floats, end: Floats) -> Floats:
    """E of one quadratic where exp(mu N - mu**2/2) is between ``start`` and ``end``."""
    masses = []
    with np.errstate(divide="ignore"):
        x, y = ((np.log(edge) + mu * mu / 2) / mu for edge in (start, end))
    for j in (0, 1, 2):
        left, right = x - j * mu, y - j * mu
        ndtr = special().ndtr
        # the smaller of the two tails on each side, so that nothing cancels far out
        masses.append(np.where(left > 0, ndtr(-left) - ndtr(-right), ndtr(right) - ndtr(left)))
    square = factor * factor * np.exp(mu * mu) * masses[2]
    part: Floats = (square - 2 * factor * b * masses[1] + (1 + c * c) * masses[0]) / (4 * c)
    return part


def _ends(z0: float, ratio: float) -> Floats:
    """Ends of the cells: tails in geometric progression down to 1e-14, then steps of one."""
    tail = special().ndtr(-z0) * ratio ** np.arange(1 + math.ceil(-32 / math.log(ratio)))
    near = -special().ndtri(tail)
    near[0] = z0
    far = np.arange(near[-1] + 1, _FARTHEST, 1.0)
    return np.maximum.accumulate(np.concatenate([near, far, [_FARTHEST]]))


def _numbers(questions: int, z0: float) -> tuple[Floats, Floats]:
    """How many noises are beyond z0, with probabilities rounded up; very many count as all of them."""
    p = math.erfc(z0 / math.sqrt(2))
    odds = p * SAFE / (1 - p * SAFE)
    numbers, weights = [0.0], [math.exp(questions * math.log1p(-p / SAFE)) * SAFE]
    while numbers[-1] < min(questions, _MOST_LARGE) and (weights[-1] > 1e-22 or numbers[-1] < questions * p):
        large = numbers[-1]
        weights.append(weights[-1] * (questions - large) / (large + 1) * odds * SAFE)
        numbers.append(large + 1)
    large = numbers[-1]
    if large < questions:
        step = (
            (questions - large) / (large + 1) * odds * SAFE
        )  # of each further probability to the one before
        numbers.append(float(questions))
        weights.append(min(1.0, weights[-1] * step / (1 - step)) if step < 1 else 1.0)
    return np.array(numbers), np.array(weights)


def _search_for(rows: int, questions: int, failure: Fraction, effort: int) -> Choice:
    simple = joint_width(rows, questions, failure)
    return _search(rows, questions, failure, simple.tolerance, simple.scale, effort)


def _search(
    rows: int, questions: int, failure: Fraction, tolerance: float, scale: float, effort: int
) -> Choice:
    """About the best parameters: a simplex in their logarithms, on coarse cells."""
    from scipy.optimize import minimize  # 0.3 s: only who searches pays for it

    def choice_at(logs: Floats) -> Choice:
        s, a, c, z = np.exp(np.clip(logs, -30, 10))
        return Choice(float(s) * scale, float(a) * tolerance, float(c) * tolerance, max(2.0, float(z)))

    def value(logs: Floats) -> float:
        try:
            return width_with(rows, questions, failure, choice_at(logs), ratio=0.75)
        except InvalidRequest:
            return 1e9  # not infinity: the simplex takes differences

    large = min(0.5, 0.25 * math.log(questions + 2) / questions)
    z0 = max(2.0, -float(special().ndtri(large / 2)))
    start = np.log([1.12, 0.86, 0.92, z0])
    simplex = start + np.vstack([np.zeros(4), 0.06 * np.eye(4)])
    options = {"maxfev": effort, "xatol": 1e-5, "fatol": 1e-9, "initial_simplex": simplex}
    return choice_at(minimize(value, start, method="Nelder-Mead", options=options).x)
