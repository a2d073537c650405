"""Reconstruction: enough counts with little noise each give everybody's secret away, by least squares."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.curator import open_study
from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import DINUR
from adyton.kernel.accounting.gaussian import mu_down
from adyton.kernel.exact.special import special
from adyton.kernel.noise import Bits, rounded_gaussian
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, Table
from adyton.study import Study

RECONSTRUCTION = Topic(
    "reconstruction",
    (DINUR,),
    "Reconstruction: many counts with little noise name everybody",
    story="Somebody asks for many counts of random groups, each with a little noise, and solves for "
    "everybody's secret by least squares.",
)
PEOPLE, ASKED = 60, 240
_SIGMA = 2.0
_EPSILON, _DELTA = 1.0, 1e-9
Secrets = npt.NDArray[np.bool_]


def reconstruction(bits: Bits, rng: np.random.Generator) -> LabReport:
    """Counts of random sets of people, fitted; with noise that never grows, and from a curator."""
    smokes, sets = rng.random(PEOPLE) < 0.5, rng.random((ASKED, PEOPLE)) < 0.5
    truth = (sets & smokes).sum(axis=1)
    noisy = truth + rounded_gaussian.draw(_SIGMA, ASKED, bits)
    found, expected = guessed(sets, noisy, smokes), chance(sets, _SIGMA)
    counts, most = private_counts(sets, smokes), float(special().ndtr(mu_down(_EPSILON, _DELTA) / 2))
    spread = 6 * (0.25 / PEOPLE) ** 0.5
    findings = (
        LabFinding(
            f"share of secrets found from {ASKED} counts, each with noise of {_SIGMA:g}",
            found,
            expected,
            6 * (expected * (1 - expected) / PEOPLE) ** 0.5 + 1 / PEOPLE,
            share=True,
        ),
        LabFinding(
            "share found from the same counts of a curator",
            guessed(sets, counts, smokes),
            (most + 0.5) / 2,
            spread,
            share=True,
        ),
        LabFinding("the largest share that its budget allows anybody, on average", most, share=True),
        LabFinding("share found by somebody who asks nothing", 0.5, share=True),
    )
    return LabReport(RECONSTRUCTION, findings, _NOTES, _chart(sets, truth, smokes, bits))


def guessed(sets: Secrets, counts: npt.ArrayLike, smokes: Secrets) -> float:
    """Least squares, rounded: the share of people whose secret that gets right."""
    fitted = np.linalg.lstsq(sets.astype(float), np.asarray(counts, float), rcond=None)[0]
    return float(np.mean((fitted > 0.5) == smokes))


def chance(sets: Secrets, sigma: float) -> float:
    """The expected share: the error of each fitted number is normal, and must stay below one half."""
    design = sets.astype(float)
    errors = sigma * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    return float(special().ndtr(0.5 / errors).mean())


def private_counts(sets: Secrets, smokes: Secrets) -> list[float]:
    """The same counts of a curator, for all of its budget."""
    import pyarrow as pa

    table = Table("people", (CategoryColumn("name", tuple(range(PEOPLE))), BooleanColumn("smokes")))
    budget = Guarantee(Fraction(_EPSILON), Fraction(str(_DELTA)))
    data = pa.table({"name": range(PEOPLE), "smokes": smokes.tolist()})
    names = [", ".join(map(str, np.flatnonzero(own))) for own in sets]
    asked = [f"SELECT COUNT(*) AS n FROM people WHERE smokes AND name IN ({own})" for own in names]
    with open_study(Study(table, PrivacyUnit("add-remove"), budget), data=data) as curator:
        return [float(answer["n"].value) for answer in curator.ask_many(asked, share=1)]


def _chart(sets: Secrets, truth: npt.NDArray[np.int64], smokes: Secrets, bits: Bits) -> Chart:
    sigmas = tuple(2.0**power for power in range(-1, 8))
    seen = [guessed(sets, truth + rounded_gaussian.draw(sigma, ASKED, bits), smokes) for sigma in sigmas]
    return Chart(
        "noise of each count",
        "share of secrets found",
        (
            ChartLine("found", sigmas, tuple(seen), strong=True),
            ChartLine("expected", sigmas, tuple(chance(sets, sigma) for sigma in sigmas), limit=True),
        ),
        ("x",),
        ("y",),
    )


_NOTES = (
    f"{PEOPLE} people, a secret bit each: {ASKED} counts of random sets of them, fitted by least squares.",
    "A curator adds up what all counts say together: for its budget they have too much noise to fit much.",
)
