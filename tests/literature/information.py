"""What follows from the mutual information of rows and transcript, beside what a pure study uses of it."""

from __future__ import annotations

import math

from adyton.arithmetic.search import edge
from adyton.kernel.exact import Number, float_up, positive, probability, whole
from adyton.kernel.exact.outward import SAFE, digits, up
from adyton.validity.published.mutual_information import _kl, _nats, best_exponent


def information_of(rows: int, spent: Number) -> float:
    """n mu0**2 / 2 nats, rounded up: what Gaussian answers with sum ``spent`` = mu0**2 say about all rows.

    Claim:    I(S; T) <= n mu0**2 / 2, mu0**2 the cap of ``stability_width``; k / (8 n sigma**2) for equal
              noise.
    Assumes:  independent rows; fresh Gaussian noise; a cap fixed in advance.
    Source:   derived here.  Theorem: MUTUAL-INFORMATION-OF-ANSWERS.
    """
    return float_up(whole(rows, "the number of rows") * positive(spent, "what was spent") / 2)


def expected_gap(information: float, rows: int) -> float:
    """sqrt(I / (2n)): |E[q(S) - q(P)]| for a query chosen by the transcript, rounded up.

    Source:   Russo, Zou 2016; Xu, Raginsky 2017.  Theorem: MUTUAL-INFORMATION-GAP.
    """
    return math.sqrt(_nats(information) / (2 * whole(rows, "the number of rows"))) * SAFE


def gap_square(information: float, rows: int) -> float:
    """E[(q(S) - q(P))**2] for a query chosen by the transcript, rounded up.

    Claim:    at most (2 I - ln(1 - l)) / (4 n l) for every 0 < l < 1, I the mutual information in nats.
    Assumes:  independent rows; values in [0, 1].
    Source:   Russo, Zou 2016, through Donsker and Varadhan's inequality.  Theorem: MUTUAL-INFORMATION-GAP.
    """
    return best_exponent(_nats(information)) / (4 * whole(rows, "the number of rows")) * SAFE


def event_probability(fixed: Number, information: float) -> float:
    """The most that an event of probability ``fixed`` can have if the transcript chose it, rounded up.

    Claim:    if Pr[S in O] <= fixed for every event O fixed in advance, then Pr[S in O(T)] is at most the
              largest p with kl(p || fixed) <= information, the mutual information of rows and transcript in
              nats.
    Assumes:  that information is an upper bound.
    Source:   data processing.  Theorem: EVENTS-AFTER-INFORMATION.
    """
    q = probability(fixed, "the probability of the fixed event")
    mp = digits(50)
    rate, room = mp.mpf(q.numerator) / q.denominator, mp.mpf(_nats(information))
    if mp.log(1 / rate) <= room:
        return 1.0
    # kl grows with p above ``rate``, so ``high`` is never below the solution
    high = edge(lambda p: bool(_kl(mp, p, rate) > room), mp.mpf(1), rate, halvings=120)
    return min(1.0, up(high * (1 + mp.mpf(10) ** -20)))


def simple_event_probability(fixed: Number, information: float) -> float:
    """(I + ln 2) / ln(1 / fixed): a weaker bound without a search, rounded up.

    Theorem: EVENTS-AFTER-INFORMATION.
    """
    q = probability(fixed, "the probability of the fixed event")
    return min(1.0, (_nats(information) + math.log(2)) / -math.log(float_up(q)) * SAFE)
