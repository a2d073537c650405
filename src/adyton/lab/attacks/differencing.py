"""The differencing attack: two harmless queries on two tables that differ by Bob."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI, LI
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Guarantee
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.lab.attacks.cigarettes import BOB, BUDGET, HISTOGRAM, WITHOUT_BOB, curator_of, rows_of
from adyton.noise_intervals.laws import gaussian_pmf

DIFFERENCING = Topic(
    "differencing",
    (BASSI, LI),
    "Differencing: exact answers about everybody name Bob",
    story="Two harmless totals are asked, of everybody and of everybody but Bob, and somebody subtracts "
    "them.",
)
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


def differencing(bits: Bits) -> LabReport:
    """Subtract two totals; exact answers give Bob away, the curator's hardly help the best guess."""
    sigma = _sigma(_PRICE)
    chance = chance_of_best_guess(sigma)
    naive = _chance_of_a_hit(sigma)
    findings = (
        LabFinding("from exact counts and means: what Bob smokes", float(exact_guess()), BOB, 0),
        LabFinding("from two curators, once: difference of the totals", private_guess()),
        LabFinding(
            f"best guess of what Bob smokes, right in {_TRIES:,} attacks",
            _tried(sigma, bits),
            chance,
            6 * math.sqrt(chance / _TRIES),
            share=True,
        ),
        LabFinding("naive guess, the difference itself: right", naive, share=True),
        LabFinding("somebody who asks nothing: right, 1 of 6", 1 / (BOB + 1), share=True),
        LabFinding("the most that epsilon allows any guess", _most_allowed(), share=True),
        LabFinding("is the best guess within it", float(chance <= _most_allowed()), 1, 0),
    )
    return LabReport(DIFFERENCING, findings, _NOTES, _chart())


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


def _sigma(price: str) -> float:
    with curator_of(HISTOGRAM) as curator:
        return curator.preview(_SQL, epsilon=price).steps[0].scales[0]


def _tried(sigma: float, bits: Bits) -> float:
    """Bobs of 0 to 5 in turn; of two noisy totals the difference, and the nearest of what Bob may smoke."""
    bobs = np.arange(_TRIES) % (BOB + 1)
    noise = GaussianNoise((Fraction(sigma),))
    here, there = (np.array(noise.release([[0] * _TRIES], bits)[0], np.int64) for _ in range(2))
    return float(np.mean(np.clip(bobs + here - there, 0, BOB) == bobs))


def chance_of_best_guess(sigma: float) -> float:
    """If all six are as likely: the nearest to the difference is the likeliest, by the law of two noises."""
    reach = int(12 * sigma) + BOB
    one = np.array([gaussian_pmf(sigma, z) for z in range(-reach, reach + 1)])
    middle = 2 * reach  # the difference 0 in the law of the difference
    both = np.convolve(one, one)
    inner = (BOB - 1) * both[middle]
    ends = 2 * both[middle:].sum()  # at 0 and at 5 every difference beyond is guessed right as well
    return float((inner + ends) / (BOB + 1))


def _chance_of_a_hit(sigma: float) -> float:
    """The two noise terms must be equal."""
    reach = int(12 * sigma) + 1
    return sum(gaussian_pmf(sigma, z) ** 2 for z in range(-reach, reach + 1))


def _most_allowed(price: str = _PRICE) -> float:
    """Bob is in the first table only.  By (epsilon, delta)-DP a guess among m is right with at most
    (e^epsilon + (m - 1) delta)/(e^epsilon + m - 1), which randomized response attains.
    """
    budget = Guarantee(Fraction(price), BUDGET.delta)
    return float(RandomizedResponse.for_guarantee(budget, BOB + 1).truth)


def _chart() -> Chart:
    prices = tuple(f"0.{tenths}" for tenths in range(1, 10, 2))
    x = tuple(map(float, prices))
    best = tuple(chance_of_best_guess(_sigma(p)) for p in prices)
    return Chart(
        "epsilon of each of the two totals",
        "share of right guesses",
        (
            ChartLine("exact totals", x, (1.0,) * len(x)),
            ChartLine("most that epsilon allows", x, tuple(_most_allowed(p) for p in prices), limit=True),
            ChartLine("best guess from two curators", x, best, strong=True),
            ChartLine("no query at all", x, (1 / (BOB + 1),) * len(x)),
        ),
        percent=("y",),
    )


_NOTES = (
    f"Each curator was asked for a total at epsilon {_PRICE}; Bob is in the table of the first one only.",
    "The best guess is what Bob would most likely smoke, given the difference; all six are taken as equally"
    " likely before.",
)
