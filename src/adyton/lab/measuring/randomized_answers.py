"""Randomized response: a survey that never collects the truth, and what it still can say."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import NIKOLOV, ZHOU
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Guarantee
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.surveys import CategoryQuestion, Survey

RANDOMIZED_ANSWERS = Topic(
    "randomized-response",
    (NIKOLOV, ZHOU),
    "Randomized response: two coins, and Warner's version",
    story="A survey asks whether people have a pet, and everybody answers by the toss of coins: how many "
    "have one?",
)
_PEOPLE = 50_000
_SHARE = 0.3


def randomized_answers(bits: Bits, rng: np.random.Generator) -> LabReport:
    """Made-up people with and without a pet answer with two coins; how many have one?"""
    coins = RandomizedResponse.two_coins()
    held = (rng.random(_PEOPLE) < _SHARE).astype(int).tolist()
    guess = _estimate(coins, held, bits)
    share, spread = sum(held) / _PEOPLE, math.sqrt(0.75 / _PEOPLE)
    warner = RandomizedResponse.for_epsilon(Fraction(1))
    e = math.e
    findings = (
        LabFinding("epsilon of two coins", float(coins.cost().epsilon), math.log(3)),
        LabFinding("chance of a true answer with two coins", float(coins.truth), 0.75, 0, share=True),
        LabFinding(f"estimated share of {_PEOPLE:,} people", guess, share, 6 * spread, share=True),
        LabFinding(
            "variance of that estimate times n", float(coins.variance(1, _PEOPLE - 1)) / _PEOPLE, 0.75
        ),
        LabFinding("epsilon of Warner's version for 1, rounded up", float(warner.cost().epsilon), 1, 1e-9),
        LabFinding("chance of a true answer, e/(1 + e)", float(warner.truth), e / (1 + e), share=True),
        LabFinding(
            "variance of its estimate times n", float(warner.variance(0, 100)) / 100, e / (e - 1) ** 2
        ),
        LabFinding(
            "its estimated share",
            _estimate(warner, held, bits),
            share,
            6 * math.sqrt(e / (e - 1) ** 2 / _PEOPLE),
            share=True,
        ),
        *_many(),
        LabFinding("error of one number from a curator, as a share", 1 / _PEOPLE, share=True),
    )
    return LabReport(RANDOMIZED_ANSWERS, findings, _NOTES, _chart())


def _many() -> tuple[LabFinding, ...]:
    """A survey of 50 queries, epsilon 2 for all: there a delta is worth something."""
    queries = tuple(CategoryQuestion(f"query_{i}", ("yes", "no")) for i in range(50))
    truths = []
    for delta in ("0", "1e-6"):
        first = Survey("many", queries, Guarantee(2, delta)).randomizers[0]
        assert isinstance(first, RandomizedResponse)
        truths.append(float(first.truth))
    by_parts = 1 / (1 + math.exp(-2 / 50))
    return (
        LabFinding("50 queries, epsilon 2 in all: chance of a true answer", truths[0], by_parts, share=True),
        LabFinding("the same with delta 1e-6, by optimal composition", truths[1], 0.516411, 5e-6, share=True),
    )


def _estimate(mechanism: RandomizedResponse, held: list[int], bits: Bits) -> float:
    yes = sum(mechanism.release(held, bits))
    return float(mechanism.estimate([len(held) - yes, yes])[1]) / len(held)


def _chart() -> Chart:
    people = tuple(10**i for i in range(1, 8))
    coins = RandomizedResponse.two_coins()
    local = tuple(math.sqrt(coins.variance(0, n)) / n for n in people)
    return Chart(
        "people",
        "standard deviation of a share, epsilon ln 3",
        (
            ChartLine("randomized response", people, local, strong=True),
            ChartLine("a curator's count", people, tuple(math.sqrt(2) / math.log(3) / n for n in people)),
        ),
        ("x", "y"),
    )


_NOTES = (
    "Each single report is epsilon-DP: nobody has to be trusted, and there is no curator.",
    "The price is accuracy: the error of a count is of order sqrt(n); a curator's does not grow with n.",
)
