"""Candidates that come from the data: an output that is possible only if Bob took part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BELLET
from adyton.kernel.noise import Bits
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.lab.choices.price import profit

CANDIDATES = Topic(
    "candidates",
    (BELLET,),
    "Candidates taken from the data give the data away",
    story="A seller chooses a price privately, but only among the prices that buyers offered: whoever reads "
    "4 knows that somebody offered 4.",
)
_WITH, _INSTEAD = (3, 4), (3, 3)  # Bob offers 4, or 3
_DECLARED = (1, 2, 3, 4, 5)
_EPSILON, _TRIES = Fraction(1), 3000


def candidates(bits: Bits) -> LabReport:
    """The same mechanism over candidates from the offers, and over declared ones."""
    with_bob, without = _own_prices(_WITH), _own_prices(_INSTEAD)
    declared = [_law(_DECLARED, bids) for bids in (_WITH, _INSTEAD)]
    worst = max(abs(math.log(a / b)) for a, b in zip(*declared, strict=True))
    four = declared[0][_DECLARED.index(4)]
    told, by_hand = _tried(bits), 1 / (1 + math.exp(-(4 - 3) / (2 * 5)))  # profits 4 and 3, sensitivity 5
    findings = (
        LabFinding(
            "candidates from the offers: chance of 4, Bob offered 4", with_bob[4], by_hand, share=True
        ),
        LabFinding("the same, had Bob offered 3: impossible", without.get(4, 0.0), 0, 0, share=True),
        LabFinding("so the loss of reading 4 is", math.inf if 4 not in without else 0.0, math.inf, 0),
        LabFinding("declared candidates 1..5: chance of 4, Bob offered 4", four, share=True),
        LabFinding("the same, had Bob offered 3", declared[1][_DECLARED.index(4)], share=True),
        LabFinding("declared candidates: the largest loss of any price", worst),
        LabFinding("is that within epsilon 1", float(worst <= float(_EPSILON)), 1, 0),
        LabFinding(
            f"share of 4 in {_TRIES:,} choices, declared, Bob offered 4",
            told,
            four,
            6 * math.sqrt(four / _TRIES),
            share=True,
        ),
    )
    return LabReport(CANDIDATES, findings, _NOTES, _chart(with_bob, without, declared))


def mechanism(prices: Sequence[int]) -> ExponentialMechanism[int]:
    """One offer moves the profit at a price by 5 at most: no price is higher."""
    return ExponentialMechanism(tuple(prices), _EPSILON, ScoreSensitivity(Fraction(max(_DECLARED))))


def _own_prices(bids: Sequence[int]) -> dict[int, float]:
    """BROKEN: the range of the choice depends on the data.  The mechanism itself is ours."""
    prices = sorted(set(bids))
    return dict(zip(prices, _law(prices, bids), strict=True))


def _law(prices: Sequence[int], bids: Sequence[int]) -> list[float]:
    law: list[float] = mechanism(prices).law([profit(bids, p, 1) for p in prices]).tolist()
    return law


def _tried(bits: Bits) -> float:
    chosen, scores = mechanism(_DECLARED), [profit(_WITH, p, 1) for p in _DECLARED]
    return sum(chosen.release(scores, bits) == 4 for _ in range(_TRIES)) / _TRIES


def _chart(with_bob: dict[int, float], without: dict[int, float], declared: list[list[float]]) -> Chart:
    return Chart(
        "price",
        "chance that it is chosen",
        (
            ChartLine("from the offers, Bob offered 4", _DECLARED, _of(with_bob), strong=True),
            ChartLine("from the offers, Bob offered 3", _DECLARED, _of(without)),
            ChartLine("declared, Bob offered 4", _DECLARED, tuple(declared[0])),
            ChartLine("declared, Bob offered 3", _DECLARED, tuple(declared[1])),
        ),
        percent=("y",),
    )


def _of(law: dict[int, float]) -> tuple[float, ...]:
    return tuple(law.get(price, 0.0) for price in _DECLARED)


_NOTES = (
    "An output that is impossible on a neighbor is an infinite loss, whatever the probabilities elsewhere.",
    "Candidates are declared before the data are seen, as adyton's grouping columns and bounds are.",
)
