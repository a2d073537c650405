"""The price of a query in a planned study if nobody names one: an equal part of the stability."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from adyton.planning.plan import Outline, PricedBatch
from adyton.planning.price import Price
from adyton.query.request import Request
from adyton.study import Study

_ROUNDS = 8
_NEARLY = 1 - Fraction(1, 10**6)


def planned_batch(
    study: Study,
    requests: Sequence[Request],
    most: int,
    expected_rows: int | None,
) -> PricedBatch:
    """The plans with the least noise whose radius is at most ``most``, up to a millionth.

    What is spent of stability grows with the price, or with its square, so a few proportional steps find it.
    Radii are rounded up to whole units, each by itself: where ``most`` is only thousands of units the nearest
    step below may be farther away than a millionth, and the best one that was met is taken.
    The study's whole budget is only where they begin: a plan that it cannot pay for is refused by the ledger.
    """
    units, best, outline = study.allowed, None, Outline.of(study, requests)
    for _ in range(_ROUNDS):
        price = Price("units", Fraction(units), expected_rows)
        batch = outline.batch(price, study.allowed)
        if batch.radius <= most and (best is None or batch.radius > best.radius):
            best = batch
        if most * _NEARLY <= batch.radius <= most:
            break
        over = batch.radius - most
        aim = most - over if 0 < over < most else most  # as far below, or roundings could keep it above
        wanted = Fraction(aim, max(batch.radius, 1))
        if study.rule.capped:  # a radius grows with the square of an epsilon
            wanted = Fraction(float(wanted) ** 0.5)
        units = max(1, int(units * wanted * (1 - (1 - _NEARLY) / 2)))
    return best or batch
