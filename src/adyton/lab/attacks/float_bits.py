"""Low-order bits: Laplace noise made of floats says by its last digits which count it was added to."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import MIRONOV
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise import Bits, two_sided_geometric
from adyton.noise_intervals.laws import geometric_pmf

FLOAT_BITS = Topic(
    "float-bits",
    (MIRONOV,),
    "Low-order bits: noise made of floats gives the count away",
    story="A program adds textbook noise made of floats, and somebody looks at the last digits of what it "
    "prints.",
)
_SCALE, _RELEASES = 10.0, 20_000
_FINE = 2**53  # the uniform numbers of most libraries are whole multiples of one over this
_NEAR = 6  # uniform numbers tried on either side of the likely one


def float_bits(bits: Bits, rng: np.random.Generator) -> LabReport:
    """Counts of 0 and of 1 with textbook noise: which of them can give the very float that is seen?"""
    seen = {count: textbook_release(count, _SCALE, rng) for count in (0, 1)}
    whole = two_sided_geometric.draw(_SCALE, _RELEASES, bits)
    wrong = np.mean([excluded(seen[count], 1 - count, _SCALE).mean() for count in (0, 1)])
    right = np.mean([excluded(seen[count], count, _SCALE).mean() for count in (0, 1)])
    apart = geometric_pmf(_SCALE, 0) / geometric_pmf(_SCALE, 1)
    findings = (
        LabFinding(
            "textbook noise: share of releases that rule the wrong count out for good",
            float(wrong),
            share=True,
        ),
        LabFinding("textbook noise: share that rule the right count out", float(right), 0, 0, share=True),
        LabFinding("whole numbers: share that rule the wrong count out", impossible(whole), 0, 0, share=True),
        LabFinding(
            "whole numbers: how much likelier one can be from the other count",
            apart,
            math.exp(1 / _SCALE),
            1e-9,
        ),
    )
    return LabReport(FLOAT_BITS, findings, _NOTES, _chart(rng))


def textbook_release(count: int, scale: float, rng: np.random.Generator) -> Floats:
    """count + sign * scale * -ln(u), as it is written in most programs."""
    uniform = rng.integers(1, _FINE, _RELEASES) / _FINE
    sign = np.where(rng.random(_RELEASES) < 0.5, -1.0, 1.0)
    released: Floats = count + sign * (-scale * np.log(uniform))
    return released


def excluded(released: Floats, count: int, scale: float) -> npt.NDArray[np.bool_]:
    """Where no uniform number makes this very float of ``count``: all that come near are tried."""
    away = released - count
    sign = np.where(away < 0, -1.0, 1.0)
    likely = np.rint(np.exp(-np.abs(away) / scale) * _FINE)
    possible = np.zeros(released.shape, np.bool_)
    for shift in range(-_NEAR, _NEAR + 1):
        uniform = np.clip(likely + shift, 1, _FINE - 1) / _FINE
        for sided in (sign, -sign):  # next to the count itself either sign will do
            possible |= count + sided * (-scale * np.log(uniform)) == released
    return ~possible


def impossible(noise: npt.NDArray[np.int64]) -> float:
    """The share of whole releases of 0 that a count of 1 could not give: those of probability 0."""
    return float(np.mean([geometric_pmf(_SCALE, int(z) - 1) <= 0 for z in np.unique(noise)]))


def _chart(rng: np.random.Generator) -> Chart:
    scales = tuple(2.0**power for power in range(-2, 8))
    shares = tuple(float(excluded(textbook_release(0, s, rng)[:2000], 1, s).mean()) for s in scales)
    return Chart(
        "scale of the noise",
        "share of releases that give the count away",
        (
            ChartLine("floats", scales, shares),
            ChartLine("whole numbers", scales, (0.0,) * len(scales), strong=True),
        ),
        ("x",),
        ("y",),
    )


_NOTES = (
    "A float has 53 bits, and so has the uniform number behind it: each count can become some floats only.",
    "Noise on whole numbers reaches every whole number from every count, as likely as the theorem says.",
)
