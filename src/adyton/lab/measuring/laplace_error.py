"""What Laplace noise costs in accuracy: one query, many, and against the sampling error."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adyton.accounting.textbook.comparison import THEOREMS, largest_price
from adyton.arithmetic.search import largest_that_holds
from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI
from adyton.kernel.accounting import accounting_named
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.noise import Bits, two_sided_geometric
from adyton.kernel.privacy import Guarantee

LAPLACE_ERROR = Topic(
    "laplace-error",
    (BASSI,),
    "Laplace noise: the error of one count, of many counts, and of the sample itself",
    story="A curator answers m counts with one epsilon for all: how large is the error of each, and when "
    "does the sample itself err more?",
)
_DRAWS = 200_000
_ROWS = 10_000
_COUNTS = 100
_DELTA = Fraction(1, 10**6)
_LOG = math.log(1 / _DELTA)


def laplace_error(bits: Bits) -> LabReport:
    """E|noise| = 1/epsilon for one count, m/epsilon for m of them, and where sampling error takes over."""
    rough, m = slide_error(_COUNTS), _COUNTS
    findings = (
        *_moments(bits, 0.1),
        *_moments(bits, 0.01),
        LabFinding(f"mean error of each of m = {m} counts, epsilon 1 in all", mean_error(m), m, 0.01),
        LabFinding(
            "the same by advanced composition; Bassi's rough form", advanced_error(m), rough, rough / 20
        ),
        LabFinding("the same by adyton's Gaussian noise and GDP accounting", gaussian_error(m)),
        _how_many("n", _ROWS, _ROWS**2 / (2 * _LOG)),
        _how_many("sqrt(n), that of sampling", _ROWS**0.5, _ROWS / (2 * _LOG)),
    )
    return LabReport(LAPLACE_ERROR, findings, _NOTES, _chart())


def mean_error(scale: float) -> float:
    """E|Z| of two-sided geometric noise, exactly: 1/sinh(1/scale), a shade below ``scale``."""
    return 1 / math.sinh(1 / scale)


def variance(scale: float) -> float:
    """Of two-sided geometric noise: 2q/(1-q)**2 = 1/(2 sinh(1/(2 scale))**2), a shade below 2 scale**2."""
    return 1 / (2 * math.sinh(0.5 / scale) ** 2)


def slide_error(m: float) -> float:
    """The slide's rough form for epsilon 1 in all: sqrt(2m ln(1/delta))."""
    return math.sqrt(2 * m * _LOG)


def advanced_error(m: int) -> float:
    """1/epsilon_0 where m mechanisms of epsilon_0 are 1 together, by our form of the theorem itself."""
    return 1 / largest_price(THEOREMS["advanced"], Fraction(1), m, _DELTA)


def gaussian_error(m: int) -> float:
    """The mean error of each of m counts with Gaussian noise inside (1, 1e-6): sigma = sqrt(m)/mu."""
    units = accounting_named("gdp").allowed(Guarantee(Fraction(1), _DELTA))
    return math.sqrt(m * UNITS_PER_ONE / units * 2 / math.pi)


def most_within(error: float) -> int:
    """How many counts advanced composition answers with a mean error of at most this."""
    return largest_that_holds(lambda m: advanced_error(m) <= error, 10**9)


def _how_many(what: str, error: float, rough: float) -> LabFinding:
    """The slide's form leaves a term out that is worth about seven per cent here."""
    return LabFinding(
        f"n = {_ROWS:,}: counts with an error below {what}", most_within(error), rough, rough / 10
    )


def _moments(bits: Bits, epsilon: float) -> tuple[LabFinding, ...]:
    scale = 1 / epsilon
    mean, square = mean_error(scale), variance(scale)
    drawn = float(np.abs(two_sided_geometric.draw(scale, _DRAWS, bits)).mean())
    chance = 6 * math.sqrt((square - mean**2) / _DRAWS)
    return (
        LabFinding(f"mean |noise| at epsilon {epsilon:g}, exact law", mean, scale, 0.02 * scale),
        LabFinding(f"mean |noise| of {_DRAWS:,} draws", drawn, mean, chance),
        LabFinding(f"variance over 2/epsilon**2 at epsilon {epsilon:g}", square / (2 * scale**2), 1, 0.001),
    )


def _chart() -> Chart:
    m = tuple(2**i for i in range(24))
    return Chart(
        "counts m, epsilon 1 in all",
        "mean error of each, as a share of n = 10,000",
        (
            ChartLine("Laplace, basic composition", m, tuple(min(1.0, k / _ROWS) for k in m)),
            ChartLine(
                "Laplace, advanced composition", m, tuple(min(1.0, advanced_error(k) / _ROWS) for k in m)
            ),
            ChartLine(
                "Gaussian, GDP accounting",
                m,
                tuple(min(1.0, gaussian_error(k) / _ROWS) for k in m),
                strong=True,
            ),
            ChartLine("sampling error", m, tuple(_ROWS**-0.5 for _ in m), limit=True),
        ),
        ("x", "y"),
        ("y",),
    )


_NOTES = (
    "The noise is the Laplace law of the integers; its mean size is 1/sinh(epsilon), just below 1/epsilon.",
    "For up to a constant times n counts the noise stays below the sampling error; for up to a constant times"
    " n**2 it stays below n.",
    "delta is 1e-6 where there is one.",
)
