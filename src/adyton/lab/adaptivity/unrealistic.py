"""Picking winners: every query fixed in advance is answered well, the one that they lead to is not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.special import special
from adyton.kernel.noise import Bits
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.textbook.noisy_max import NoisyMax

UNREALISTIC = Topic(
    "unrealistic",
    (BASSI,),
    "Picking the largest subset of each group: the mean of the winners is not the truth",
    story="Somebody splits the rows into subsets, keeps of each group the one with the largest mean, and "
    "reports the mean of the winners.",
)
_ROWS = (10**3, 10**4, 10**5, 10**6)
_PICKED = {10**3: 0.5996, 10**4: 0.6941, 10**5: 0.7141, 10**6: 0.7591}
_DEVIATION = 0.5  # t: how far a subset's mean may be from 0 before it counts as bad
_STEPS = 10**6  # of a mean, for one: noise is put on whole numbers
_GROUPS = 1000  # simulated for one number of rows
_DRAWN = 10**4  # rows behind the figure


def unrealistic(bits: Bits, rng: np.random.Generator) -> LabReport:
    """n standard normals in subsets of about ln n; of each group of subsets the one with the largest mean."""
    findings = []
    for n in _ROWS:
        means = _means(n, rng)
        spread = 6 / math.sqrt(sizes(n)[0] * _GROUPS)
        best, any_one = means.max(axis=1).mean(), means[:, 0].mean()
        private = np.mean([row[i] for row, i in zip(means, _chosen(n, means, bits), strict=True)])
        findings += [
            LabFinding(f"mean of the winners, {n:,} rows", picked_mean(n), _PICKED[n], 5e-5),
            LabFinding(f"the same, {_GROUPS:,} simulated groups", float(best), picked_mean(n), spread),
            LabFinding("control: a subset that was fixed before", float(any_one), 0, spread),
            LabFinding("picked by our report noisy max", float(private), private_mean(n), spread),
        ]
    return LabReport(UNREALISTIC, tuple(findings), _NOTES, _chart())


def sizes(rows: int) -> tuple[int, int]:
    """Rows of a subset, and subsets of a group: as many as there are groups."""
    subset = round(math.log(rows))
    return subset, math.isqrt(rows // subset)


def _means(rows: int, rng: np.random.Generator) -> Floats:
    subset, group = sizes(rows)
    means: Floats = rng.normal(0, 1 / math.sqrt(subset), (_GROUPS, group))
    return means


def mechanism(rows: int) -> NoisyMax[int]:
    """Ours, with the noise of the source: it takes rows to lie within 3 of 0, and all means to move alike."""
    subset, group = sizes(rows)
    failure = 2 * float(special().ndtr(-_DEVIATION * math.sqrt(subset)))
    epsilon = Fraction(math.sqrt(math.log(1 / failure) / (2 * subset)))
    moved = Fraction(3 * _STEPS, subset)
    return NoisyMax(tuple(range(group)), epsilon, ScoreSensitivity(moved, monotone=True))


def _chosen(rows: int, means: Floats, bits: Bits) -> list[int]:
    choice = mechanism(rows)
    return [choice.release(np.rint(row * _STEPS).astype(np.int64), bits) for row in means]


def winner_density(rows: int, y: Floats) -> Floats:
    """Of the largest of m means: m/s phi(y/s) Phi(y/s)**(m - 1), where a mean is normal with deviation s."""
    subset, group = sizes(rows)
    z = y * math.sqrt(subset)
    normal = np.exp(-z * z / 2) * math.sqrt(subset / (2 * math.pi))
    density: Floats = group * normal * special().ndtr(z) ** (group - 1)
    return density


def picked_mean(rows: int) -> float:
    """The mean of that density."""
    y = np.linspace(-9, 9, 20_001) / math.sqrt(sizes(rows)[0])
    return float(np.trapezoid(y * winner_density(rows, y), y))


def _private_parts(rows: int) -> tuple[Floats, Floats]:
    """Means, and the density of that of the subset with the largest noisy mean: Z = X + Laplace noise."""
    subset, group = sizes(rows)
    spread, scale = 1 / math.sqrt(subset), _source_scale(rows)
    z, dz = np.linspace(-40 * scale, 40 * scale, 8001, retstep=True)
    x, dx = np.linspace(-9 * spread, 9 * spread, 801, retstep=True)
    weight = np.exp(-((x / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
    kernel = np.exp(-np.abs(z[:, None] - x[None, :]) / scale) / (2 * scale) * dz
    noisy = kernel @ (weight * dx)
    below = np.clip(np.cumsum(noisy) - noisy / 2, 0, 1) ** (group - 1)
    density: Floats = group * weight * (below @ kernel)
    return x, density


def _source_scale(rows: int) -> float:
    """3/ln n over epsilon = sqrt(ln(1/beta)/(2 ln n)), beta = 2 Q(t sqrt(ln n)): written out once more."""
    subset, _ = sizes(rows)
    beta = math.erfc(_DEVIATION * math.sqrt(subset / 2))
    return 3 / subset / math.sqrt(math.log(1 / beta) / (2 * subset))


def private_mean(rows: int) -> float:
    """The expected true mean of the subset whose noisy mean is largest."""
    x, density = _private_parts(rows)
    return float(np.trapezoid(x * density, x))


def _chart() -> Chart:
    """Densities of one subset's mean: fixed before, picked by the answers, picked privately."""
    x, private = _private_parts(_DRAWN)
    kept = np.abs(x) <= 1.5
    y, subset = x[kept], sizes(_DRAWN)[0]
    fixed = np.exp(-y * y * subset / 2) * math.sqrt(subset / (2 * math.pi))
    along, winner = tuple(y.tolist()), winner_density(_DRAWN, y)
    return Chart(
        "mean of the subset; the population's is 0",
        "density, 10,000 rows",
        (
            ChartLine("fixed before anything was seen", along, tuple(fixed.tolist())),
            ChartLine("picked privately", along, tuple(private[kept].tolist())),
            ChartLine("picked by the exact answers", along, tuple(winner.tolist()), strong=True),
        ),
    )


_NOTES = (
    "Each subset's mean is close to 0 if the subset was fixed; the mean of the winners goes nowhere near 0.",
    "Private selection tells less about the winners, so their mean stays closer to that of the population.",
    "Figures of .1125, .1109, .1090 and .1042 have been given for it; this method gives what is shown here.",
)
