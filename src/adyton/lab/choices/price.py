"""The best price: told exactly it gives offers away, with noise on it nobody buys, a private choice sells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BELLET
from adyton.kernel.noise import Bits
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity

PRICE = Topic(
    "price",
    (BELLET,),
    "The best price: a little noise on the answer ruins it, a noisy choice does not",
    story="Buyers whisper what they would pay, and the seller wants the price that earns most, without "
    "telling what anybody whispered.",
)
Cents = int
_BIDS = (300, 400)  # Alice, Bob
PRICES: tuple[Cents, ...] = (300, 301, 400, 401)
_CROWD = (300,) * 60 + (400,) * 50
_BY_HAND = 291.9624  # the mean of 330, 150.5, 200 and 0, weighted by exp(0.1 profit / 8.02)
_FAR: Cents = 150  # fifteen scales of the noise
_EPSILON, _LESS, _TRIES = Fraction(1), Fraction(1, 10), 3000


def profit(bids: Sequence[Cents], price: Cents, units: int) -> Cents:
    return price * min(units, sum(bid >= price for bid in bids))


def price(bits: Bits) -> LabReport:
    """Alice offers 3, Bob 4: the slide's table; and a crowd, whose best price is chosen."""
    scores, rest = _scores(_CROWD), _scores(_CROWD[:-1])
    chosen, careful = mechanism(_EPSILON), mechanism(_LESS)
    (earned, _), (less, spread) = _earned(chosen, scores), _earned(careful, scores)
    exact_with, exact_without = (PRICES[row.index(max(row))] for row in (_scores(_BIDS), _scores(_BIDS[:1])))
    findings = (
        *(
            LabFinding(f"profit at {p / 100:g} with one unit to sell", profit(_BIDS, p, 1) / 100, expected)
            for p, expected in zip(PRICES, (3, 3.01, 4, 0), strict=True)
        ),
        LabFinding("profit at 3 with two units to sell", profit(_BIDS, 300, 2) / 100, 6),
        LabFinding("the leak: exact best price of one unit, Alice and Bob", exact_with / 100, 4),
        LabFinding("the leak: the same without Bob, whose offer it was", exact_without / 100, 3),
        LabFinding("60 offers of 3 and 50 of 4: best profit", max(scores) / 100, 330),
        LabFinding("what the best price plus 0.01 earns", profit(_CROWD, 301, 110) / 100, 150.5),
        LabFinding("what a private choice earns on average, epsilon 1", earned / 100, 330, 0.5),
        LabFinding("the same with epsilon 0.1, by its exact law", less / 100, _BY_HAND, 5e-4),
        LabFinding(
            f"what {_TRIES:,} such choices earned on average",
            _tried(careful, scores, bits) / 100,
            less / 100,
            6 * spread / math.sqrt(_TRIES) / 100,
        ),
        LabFinding(
            "how much likelier a price can get if one buyer leaves: loss", _loss(chosen, scores, rest)
        ),
        LabFinding("is that within epsilon", float(_loss(chosen, scores, rest) <= 1), 1, 0),
    )
    return LabReport(PRICE, findings, _NOTES, _chart(chosen))


def mechanism(epsilon: Fraction) -> ExponentialMechanism[Cents]:
    """One offer moves the profit at a price by that price at most."""
    return ExponentialMechanism(PRICES, epsilon, ScoreSensitivity(Fraction(max(PRICES))))


def _scores(bids: Sequence[Cents]) -> list[int]:
    units = 1 if bids in (_BIDS, _BIDS[:1]) else len(bids)
    return [profit(bids, p, units) for p in PRICES]


def _earned(chosen: ExponentialMechanism[Cents], scores: Sequence[int]) -> tuple[float, float]:
    """Mean and standard deviation of the profit at the chosen price, by the exact law."""
    law = chosen.law(list(scores)).tolist()
    mean = math.fsum(p * s for p, s in zip(law, scores, strict=True))
    return mean, math.sqrt(math.fsum(p * (s - mean) ** 2 for p, s in zip(law, scores, strict=True)))


def _tried(chosen: ExponentialMechanism[Cents], scores: list[int], bits: Bits) -> float:
    profits = dict(zip(PRICES, scores, strict=True))
    return math.fsum(profits[chosen.release(scores, bits)] for _ in range(_TRIES)) / _TRIES


def _loss(chosen: ExponentialMechanism[Cents], here: list[int], there: list[int]) -> float:
    pairs = zip(chosen.law(here).tolist(), chosen.law(there).tolist(), strict=True)
    return max(abs(math.log(a / b)) for a, b in pairs)


def _chart(chosen: ExponentialMechanism[Cents]) -> Chart:
    """What is earned where, and what each way of telling a price earns."""
    prices = tuple(range(250, 451))
    x = tuple(p / 100 for p in prices)
    profits = {p: profit(_CROWD, p, 110) for p in range(prices[0] - _FAR, prices[-1] + _FAR + 1)}
    exact = tuple(profits[p] / 100 for p in prices)
    earned = _earned(chosen, _scores(_CROWD))[0] / 100
    noisy = tuple(_with_noise(p, profits) for p in prices)
    return Chart(
        "price",
        "profit, 60 offers of 3 and 50 of 4",
        (
            ChartLine("profit at this price", x, exact),
            ChartLine("this price plus noise of 0.10 on it: on average", x, noisy),
            ChartLine(
                "a price that is chosen privately, epsilon 1: on average", x, (earned,) * len(x), strong=True
            ),
        ),
    )


def _with_noise(price: Cents, profits: Mapping[Cents, Cents]) -> float:
    """The mean over Laplace noise of scale ten cents, in whole cents."""
    q = math.exp(-0.1)
    weights = {z: math.tanh(0.05) * q ** abs(z) for z in range(-_FAR, _FAR + 1)}
    return math.fsum(weight * profits[price + z] for z, weight in weights.items()) / 100


_NOTES = (
    "Bellet says that a price of 3 earns 3; so it does if there is one unit to sell. With two it earns 6.",
    "Profits jump between neighboring prices; what counts is how far one person moves each profit.",
    "The price is chosen among declared ones, so that none of them tells what somebody offered.",
)
