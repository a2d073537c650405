"""What was published of Thresholdout and of the ladder: beside it stands what a holdout certifies."""

from __future__ import annotations

import math

from adyton.arithmetic.search import largest_that_holds


def published_overfits(items: int, tolerance: float, failure: float, queries: int) -> int:
    """The most overfits that the published theorem certifies: 0 for every n up to 10**6 and tau up to 0.1.

    T = 3 tau / 4, sigma = tau / (96 ln(4 m / beta)), n >= min(n0, n1)(B, sigma, tau / 8, beta / (2 m)).
    """
    sigma = tolerance / (96 * math.log(4 * queries / failure))
    tau, beta = tolerance / 8, failure / (2 * queries)

    def enough(overfits: int) -> bool:
        n0 = max(2 * overfits / (sigma * tau), math.log(6 / beta) / tau**2)
        n1 = 80 * math.sqrt(overfits * math.log(1 / (tau * beta))) / (tau * sigma)
        return items >= min(n0, n1)

    return largest_that_holds(enough, 10**9)


def published_epsilons(overfits: int, sigma: float, items: int, delta: float) -> dict[str, float]:
    """What B overfits cost: purely, as the paper's lemma, as half of it, and as advanced composition proves.

    The half that some slides show is not proved: two B-fold compositions of 1/(sigma n), each with delta / 2,
    cost more.
    """
    one = 1 / (sigma * items)
    lemma = math.sqrt(32 * overfits * math.log(2 / delta)) * one
    advanced = one * math.sqrt(2 * overfits * math.log(2 / delta)) + overfits * one * math.expm1(one)
    return {"pure": 2 * overfits * one, "lemma": lemma, "half": lemma / 2, "proved": 2 * advanced}


def published_ladder_width(items: int, scores: int, rung: float, failure: float) -> float:
    """e + rung with exp(-2 e**2 n + (1/rung + 2) ln(4 k / rung) + 1) = failure, as in the paper."""
    log = (1 / rung + 2) * math.log(4 * scores / rung) + 1 - math.log(failure)
    return math.sqrt(log / (2 * items)) + rung
