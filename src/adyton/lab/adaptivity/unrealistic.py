"""Picking winners: every question fixed in advance is answered well, the one that they lead to is not."""

from __future__ import annotations

import math

import numpy as np

from adyton.exact.special import special
from adyton.figures.report import Chart, Finding, Line, Report, Topic
from adyton.figures.sources import BASSI

UNREALISTIC = Topic(
    "unrealistic",
    (BASSI,),
    "Picking the largest subset of each group: the mean of the winners is not the truth",
)
_ROWS = (10**3, 10**4, 10**5, 10**6)
_PICKED = {10**3: 0.5996, 10**4: 0.6941, 10**5: 0.7141, 10**6: 0.7591}
_DEVIATION = 0.5  # t: how far a subset's mean may be from 0 before it counts as bad
_CELLS = 8_000_000  # simulated subsets for one number of rows


def unrealistic(rng: np.random.Generator) -> Report:
    """n standard normals in subsets of about ln n; of each group of subsets the one with the largest mean."""
    picked = {n: picked_mean(n) for n in _ROWS}
    private = {n: private_mean(n) for n in _ROWS}
    findings = tuple(
        finding
        for n in _ROWS
        for finding in (
            Finding(f"mean of the winners, {n:,} rows", picked[n], _PICKED[n], 5e-5),
            Finding(f"picked privately, simulated, {n:,} rows", *_simulated(n, private[n], rng)),
        )
    )
    lines = tuple(
        Line(name, tuple(map(float, _ROWS)), tuple(means.values()))
        for name, means in (("picked by the answers", picked), ("picked privately", private))
    )
    return Report(
        UNREALISTIC, findings, _NOTES, Chart("rows", "mean of the winners; truth: 0", lines, ("x",))
    )


def sizes(rows: int) -> tuple[int, int]:
    """Rows of a subset, and subsets of a group: as many as there are groups."""
    subset = round(math.log(rows))
    return subset, math.isqrt(rows // subset)


def picked_mean(rows: int) -> float:
    """E max of m normals, over the root of a subset's size: the integral of y m phi(y) Phi(y)**(m - 1)."""
    subset, group = sizes(rows)
    y = np.linspace(-9, 9, 20_001)
    density = group * np.exp(-y * y / 2) / math.sqrt(2 * math.pi) * special().ndtr(y) ** (group - 1)
    return float(np.trapezoid(y * density, y)) / math.sqrt(subset)


def noise_scale(subset: int) -> float:
    """Of the seed's Laplace noise: it takes rows to lie within 3 of 0, true of 99.7 % of them only."""
    failure = 2 * float(special().ndtr(-_DEVIATION * math.sqrt(subset)))
    epsilon = math.sqrt(math.log(1 / failure) / (2 * subset))
    return 3 / subset / epsilon


def private_mean(rows: int) -> float:
    """The true mean of the subset whose noisy mean is largest: m E[X F(Z)**(m - 1)], Z = X + noise ~ F."""
    subset, group = sizes(rows)
    spread, scale = 1 / math.sqrt(subset), noise_scale(subset)
    z, dz = np.linspace(-40 * scale, 40 * scale, 8001, retstep=True)
    x, dx = np.linspace(-9 * spread, 9 * spread, 801, retstep=True)
    weight = np.exp(-((x / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi)) * dx
    kernel = np.exp(-np.abs(z[:, None] - x[None, :]) / scale) / (2 * scale) * dz
    density, first = kernel @ weight, kernel @ (x * weight)
    below = np.clip(np.cumsum(density) - density / 2, 0, 1)
    return float(group * np.sum(below ** (group - 1) * first))


def _simulated(rows: int, exact: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """A simulation, the exact value, and six standard errors: a false alarm in 5e8."""
    subset, group = sizes(rows)
    runs, total = _CELLS // group // 8, 0.0
    for _ in range(8):
        means = rng.normal(0, 1 / math.sqrt(subset), (runs, group))
        noisy = means + rng.laplace(0, noise_scale(subset), means.shape)
        total += float(np.take_along_axis(means, noisy.argmax(axis=1)[:, None], axis=1).mean())
    return total / 8, exact, 6 / math.sqrt(subset * 8 * runs)


_NOTES = (
    "Each subset's mean is close to 0 if the subset was fixed; the mean of the winners goes nowhere near 0.",
    "Private selection tells less about the winners, so their mean stays closer to that of the population.",
    "Figures of .1125, .1109, .1090 and .1042 have been given for it; this method gives what is shown here.",
)
