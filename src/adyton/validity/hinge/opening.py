"""Where the hinge of the stability width is set: a convex problem in two numbers, solved in floats.

h(r) = (c/4 + (r - 1)**2 / (4c) - s r)_+ is convex in (c, s) together for every r, and so is s + E h /
failure. Newton's method needs E h, its slopes and its curvature.  All are integrals over the two tails in
which the hinge is open; their integrands are positive, so nothing cancels, however small mu is.
Whatever is returned gives a valid width (see ``hinge``); a bad choice only makes it wider.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from adyton.kernel.exact.cells import Floats

_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_PANELS = np.array([0, 0.5, 1.5, 3.5, 7, 13])  # distances from the edge of a tail
_STEPS = 60


class _Edge(NamedTuple):
    place: float  # where on the normal axis the hinge opens
    side: int  # 1: open to the right of it, -1: to the left
    gap: float  # r - 1 there
    other: float  # r - 1 where else the hinge is 0


class _Sums(NamedTuple):
    """Over the open part: E h, its probability, E r and E (r - 1)**2."""

    hinge: float
    mass: float
    ratio: float
    square: float


def open_at(mu: float, failure: float) -> tuple[float, float]:
    """Floats (c, s), both above 0, for which s + E h / failure is about as small as it can be."""
    s = mu / 2 * max(1.0, math.sqrt(2 * math.log(2 / failure)) - 0.3)
    c = 2 * s
    value = _value(mu, c, s, failure)
    for _ in range(_STEPS):
        step_c, step_s, fall = _newton(mu, c, s, failure)
        if not fall > 1e-13 * value:
            break
        moved = _along(mu, (c, s), (step_c, step_s), failure, value - 1e-4 * fall)
        if moved is None:
            break
        c, s, value = moved
    return c, s


def _along(
    mu: float, start: tuple[float, float], step: tuple[float, float], failure: float, target: float
) -> tuple[float, float, float] | None:
    """The first of the step, its half, its quarter, ... that gets below ``target``."""
    t = 1.0
    while t > 1e-8:
        c, s = start[0] + t * step[0], start[1] + t * step[1]
        if c > 0 and s > 0 and _discriminant(c, s) > 0:
            value = _value(mu, c, s, failure)
            if value < target:
                return c, s, value
        t /= 2
    return None


def _newton(mu: float, c: float, s: float, failure: float) -> tuple[float, float, float]:
    """A step for c and for s, and how much of the value it guarantees to take away."""
    edges = _edges(mu, c, s)
    sums = _sums(mu, c, edges)
    by_c = (sums.mass / 4 - sums.square / (4 * c * c)) / failure
    by_s = 1 - sums.ratio / failure
    cc, cs, ss = sums.square / (2 * c**3) / failure, 0.0, 0.0
    for edge in edges:  # moving an edge changes the slopes
        r = 1 + edge.gap
        slope = abs((edge.gap / (2 * c) - s) * r * mu)
        weight = math.exp(-(edge.place**2) / 2) / (_ROOT_TWO_PI * slope * failure)
        of_c = 0.25 - edge.gap**2 / (4 * c * c)
        cc, cs, ss = cc + weight * of_c**2, cs - weight * of_c * r, ss + weight * r * r
    determinant = cc * ss - cs * cs
    if not determinant > 0:
        return 0.0, 0.0, 0.0
    step_c = (cs * by_s - ss * by_c) / determinant
    step_s = (cs * by_c - cc * by_s) / determinant
    return step_c, step_s, -(by_c * step_c + by_s * step_s)


def _value(mu: float, c: float, s: float, failure: float) -> float:
    return s + _sums(mu, c, _edges(mu, c, s)).hinge / failure


def _discriminant(c: float, s: float) -> float:
    return s / c + s * s - 0.25


def _edges(mu: float, c: float, s: float) -> list[_Edge]:
    """Where c/4 + v**2/(4c) - s (1 + v) = 0, v = r - 1; below v = -1 there is nothing."""
    root = math.sqrt(_discriminant(c, s))
    above, below = 2 * c * (s + root), 2 * c * (s - root)
    edges = [_Edge((math.log1p(above) + mu * mu / 2) / mu, 1, above, below)]
    if below > -1:
        edges.append(_Edge((math.log1p(below) + mu * mu / 2) / mu, -1, below, above))
    return edges


def _sums(mu: float, c: float, edges: list[_Edge]) -> _Sums:
    distance, weights = _nodes()
    hinge = mass = ratio = square = 0.0
    for edge in edges:
        x = edge.place + edge.side * distance
        v = np.expm1(mu * x - mu * mu / 2)
        weight = weights * np.exp(-x * x / 2) / _ROOT_TWO_PI
        hinge += float(weight @ ((v - edge.gap) * (v - edge.other))) / (4 * c)
        mass += float(weight.sum())
        ratio += float(weight @ (1 + v))
        square += float(weight @ (v * v))
    return _Sums(hinge, mass, ratio, square)


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Points and weights of Gauss and Legendre on the panels."""
    x, w = np.polynomial.legendre.leggauss(16)
    half = np.diff(_PANELS)[:, None] / 2
    return (_PANELS[:-1, None] + half * (x + 1)).ravel(), (half * w).ravel()
