"""Choosing instead of measuring: prices, hair colours, and candidates that must not come from the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from adyton.figures.report import Chart, Finding, Line, Report, Topic
from adyton.figures.sources import BELLET

PRICE = Topic(
    "price",
    (BELLET,),
    "The best price: a little noise on the answer ruins it, a noisy choice does not",
)
HAIR = Topic("hair", (BELLET,), "Hair colours: how often the exponential mechanism is wrong")
CANDIDATES = Topic("candidates", (BELLET,), "Candidates taken from the data give the data away")
_BIDS = (Fraction(3), Fraction(4))  # Alice, Bob
_PRICES = tuple(Fraction(p) for p in ("3", "3.01", "4", "4.01"))


def exponential_law(scores: Sequence[Fraction | float], exponent: float) -> list[float]:
    """The chances exp(exponent * score), made to sum to 1."""
    best = max(scores)
    weights = [math.exp(exponent * float(score - best)) for score in scores]
    return [weight / math.fsum(weights) for weight in weights]


def profit(bids: Sequence[Fraction], price: Fraction, units: int) -> Fraction:
    return price * min(units, sum(bid >= price for bid in bids))


def price() -> Report:
    """Alice offers 3, Bob 4: the slide's table, and what noise on the price would earn."""
    found = [
        Finding(f"profit at {float(p):g} with one unit to sell", float(profit(_BIDS, p, 1)), expected)
        for p, expected in zip(_PRICES, (3, 3.01, 4, 0), strict=True)
    ]
    found.append(Finding("profit at 3 with two units to sell", float(profit(_BIDS, _PRICES[0], 2)), 6))
    crowd = [Fraction(3)] * 60 + [Fraction(4)] * 50
    scores = [profit(crowd, p, len(crowd)) for p in _PRICES]
    law = exponential_law(scores, 1 / (2 * float(max(_PRICES))))
    earned = math.fsum(p * float(s) for p, s in zip(law, scores, strict=True))
    found += [
        Finding("60 offers of 3 and 50 of 4: best profit", float(max(scores)), 330),
        Finding("what an exponential mechanism earns there, epsilon 1", earned, 330, 0.5),
        Finding(
            "what the best price plus 0.01 earns", float(profit(crowd, Fraction("3.01"), len(crowd))), 150.5
        ),
    ]
    return Report(PRICE, tuple(found), _PRICE_NOTES, _price_chart(crowd))


def hair() -> Report:
    """500 dark, 400 of the runner-up, epsilon 0.1: the bound and the truth."""
    bound = 4 * math.exp(-5)
    findings = (
        Finding("bound of the theorem, 4 e^-5", utility_bound(4, 1, 100, 0.1), 0.026952, 5e-7),
        Finding(
            "the same, counting only the wrong colours: 3 e^-5", utility_bound(3, 1, 100, 0.1), 0.75 * bound
        ),
        *(
            Finding(
                f"true chance of a wrong colour, others {', '.join(map(str, others))}",
                wrong(others),
                expected,
                5e-6,
            )
            for others, expected in _OTHERS.items()
        ),
        Finding(
            "counts move together: exponent epsilon, worst case", wrong((400, 400, 400), 0.1), 1.36e-4, 5e-7
        ),
    )
    return Report(HAIR, findings, _HAIR_NOTES, _hair_chart())


def utility_bound(bad: int, best: int, gap: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """At most the chance of a score ``gap`` or more below the best: bad/best exp(-epsilon gap / (2 D))."""
    return bad / best * math.exp(-epsilon * gap / (2 * sensitivity))


def wrong(others: Sequence[int], exponent: float = 0.05) -> float:
    """The chance of not choosing the colour with 500; the exponent is epsilon/2 for epsilon = 0.1."""
    return 1 - exponential_law([500, *others], exponent)[0]


def candidates() -> Report:
    """Offer the bids themselves as candidates: Bob's own price is possible only if he took part."""
    with_bob, without = _own_prices((3, 4)), _own_prices((3, 3))
    impossible = [p for p in with_bob if p not in without]
    declared = [_declared(bids) for bids in ((3, 4), (3, 3))]
    worst = max(abs(math.log(a / b)) for a, b in zip(*declared, strict=True))
    findings = (
        Finding("candidates from the bids: chance of 4, Bob offered 4", with_bob[4], 0.622, 5e-4),
        Finding("the same, had Bob offered 3", without.get(4, 0.0), 0, 0),
        Finding("outputs that prove what Bob offered", len(impossible), 1, 0),
        Finding("declared candidates 1..5: worst loss, at most epsilon = 1", worst),
        Finding("declared candidates: is it within epsilon", float(worst <= 1), 1, 0),
    )
    return Report(CANDIDATES, findings, _CANDIDATE_NOTES, _candidates_chart(declared))


def _own_prices(bids: Sequence[int]) -> dict[int, float]:
    """BROKEN: the exponential mechanism over the bids themselves, one unit to sell."""
    prices = sorted(set(bids))
    law = exponential_law([profit([Fraction(b) for b in bids], Fraction(p), 1) for p in prices], 0.5)
    return dict(zip(prices, law, strict=True))


def _declared(bids: Sequence[int]) -> list[float]:
    scores = [profit([Fraction(b) for b in bids], Fraction(p), 1) for p in range(1, 6)]
    return exponential_law(scores, 1 / (2 * 5))  # one bid moves a profit by 5 at most


def _price_chart(crowd: Sequence[Fraction]) -> Chart:
    prices = [Fraction(i, 100) for i in range(250, 451)]
    return Chart(
        "price",
        "profit",
        (
            Line(
                "60 offers of 3, 50 of 4",
                tuple(map(float, prices)),
                tuple(float(profit(crowd, p, 110)) for p in prices),
            ),
        ),
    )


def _hair_chart() -> Chart:
    gaps = tuple(range(0, 201, 10))
    bound = tuple(min(1.0, utility_bound(4, 1, gap, 0.1)) for gap in gaps)
    true = tuple(wrong((500 - gap,) * 3) for gap in gaps)
    return Chart(
        "lead of dark hair",
        "chance of a wrong colour, epsilon 0.1",
        (Line("bound", gaps, bound), Line("true, worst case", gaps, true)),
        ("y",),
    )


def _candidates_chart(declared: Sequence[Sequence[float]]) -> Chart:
    prices = tuple(range(1, 6))
    named = zip(("Bob offered 4", "Bob offered 3"), declared, strict=True)
    return Chart("declared price", "chance", tuple(Line(name, prices, tuple(law)) for name, law in named))


_OTHERS = {(400, 400, 400): 0.019813, (400, 400, 0): 0.01330, (400, 0, 0): 0.006693}
_PRICE_NOTES = (
    "Bellet says that a price of 3 earns 3; so it does if there is one unit to sell. With two it earns 6.",
    "Scores may jump between neighbouring candidates; what counts is how far one person moves each score.",
    "The exponent is epsilon/(2 x 4.01): one bid moves the profit at a price by that price at most.",
)
_HAIR_NOTES = (
    "The bound holds whatever the other counts are; the worst case has all three at 400.",
    "If people only ever add to counts, the exponent may be epsilon: epsilon/2 wastes half of it.",
)
_CANDIDATE_NOTES = (
    "An output that is impossible on a neighbour is an infinite loss, whatever the probabilities elsewhere.",
    "Candidates are declared before the data are seen, as adyton's grouping columns and bounds are.",
)
