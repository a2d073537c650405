"""The differencing attack: two harmless questions on two tables that differ by Bob."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, Finding, Line, Report, Topic
from adyton.figures.sources import BASSI, LI
from adyton.lab.cigarettes import BOB, HISTOGRAM, WITHOUT_BOB, curator_of, rows_of
from adyton.noise import Bits, rounded_gaussian

DIFFERENCING = Topic("differencing", (BASSI, LI), "Differencing: exact answers about everybody name Bob")
_PRICE = "0.4"
_TRIES = 20_000
_SQL = "SELECT SUM(cigarettes) AS total FROM people"


@dataclass(frozen=True, slots=True)
class Empirical:
    """The empirical mechanism: the exact answer, no noise.  NOT PRIVATE: the baseline of attacks."""

    rows: tuple[int, ...]

    def count(self) -> int:
        return len(self.rows)

    def total(self) -> int:
        return sum(self.rows)

    def mean(self) -> Fraction:
        return Fraction(self.total(), self.count())

    @classmethod
    def of(cls, rows: Sequence[int]) -> Empirical:
        return cls(tuple(rows))


def differencing(bits: Bits) -> Report:
    """Subtract two totals; exact answers give Bob away, the curator's do not."""
    sigma = _sigma()
    chance = _chance_of_a_hit(sigma)
    noise = rounded_gaussian.draw(sigma, 2 * _TRIES, bits)
    hits = float(np.count_nonzero(noise[:_TRIES] == noise[_TRIES:]) / _TRIES)
    findings = (
        Finding("from exact counts and means: what Bob smokes", float(exact_guess()), BOB, 0),
        Finding("from two curators, once: what Bob smokes", private_guess()),
        Finding(
            f"share of right guesses in {_TRIES:,} such attacks", hits, chance, 6 * math.sqrt(chance / _TRIES)
        ),
        Finding("share of right guesses of someone who asks nothing: 1 of 6", 1 / 6),
    )
    return Report(DIFFERENCING, findings, _NOTES, _chart(sigma))


def exact_guess() -> int:
    """n1 mean1 - n2 mean2."""
    with_bob, without = Empirical.of(rows_of(HISTOGRAM)), Empirical.of(rows_of(WITHOUT_BOB))
    return int(with_bob.count() * with_bob.mean() - without.count() * without.mean())


def private_guess() -> float:
    totals = []
    for histogram in (HISTOGRAM, WITHOUT_BOB):
        with curator_of(histogram) as curator:
            totals.append(curator.ask(_SQL, epsilon=_PRICE).rows[0].values["total"].value)
    return float(totals[0] - totals[1])


def _sigma() -> float:
    with curator_of(HISTOGRAM) as curator:
        return curator.preview(_SQL, epsilon=_PRICE).steps[0].scales[0]


def _chance_of_a_hit(sigma: float) -> float:
    """The two noise terms must be equal."""
    reach = int(12 * sigma) + 1
    return sum(rounded_gaussian.pmf(sigma, z) ** 2 for z in range(-reach, reach + 1))


def _chart(sigma: float) -> Chart:
    reach = int(3 * sigma)
    x = tuple(range(-reach, reach + 1))
    return Chart(
        "difference of the two totals",
        "probability",
        (
            Line("Bob smokes 5", x, tuple(_normal(d - BOB, sigma) for d in x)),
            Line("Bob smokes 0", x, tuple(_normal(d, sigma) for d in x)),
        ),
    )


def _normal(difference: int, sigma: float) -> float:
    """The law of the difference of two noise terms, close enough for a picture."""
    return math.exp(-((difference / sigma) ** 2) / 4) / math.sqrt(4 * math.pi) / sigma


_NOTES = (
    f"Each curator was asked for a total at epsilon {_PRICE}; both see all of Bob, so he pays twice.",
    "The guess from exact answers is always right; the private one is a guess about the noise.",
)
