"""Which routes apply after what was released, and how they share the level of a test.

Each route compares the transcript with one of a few laws of transcripts.  The laws and their parts of the
level are fixed in advance; as long as several of them agree about everything that was released, they are one
law with all of their parts.  So before the first query the level is whole, and what only a monitor would
make a difference to costs nothing until one is opened.  Theorem: LAST-LOOK-ROUTES.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from adyton.kernel.exact import float_down, float_up
from adyton.kernel.exact.outward import SAFE
from adyton.validity.last_look.leakage import numbers_nats
from adyton.validity.last_look.posterior import (
    InformationGiven,
    MaxInformation,
    MutualInformation,
    PosteriorPValues,
    SubsetPValues,
    all_rows_exchanged,
)
from adyton.validity.last_look.told import ReleasedTotals
from adyton.validity.subset.tails import gaussian_price, pure_price

MAIN = Fraction(31, 32)
"""Of the level, for the theorems that pay as receipts do; the rest is for counting what was seen."""
_COUNTED = Fraction(1, 64)  # of a pure study's level; as much is for its mutual information
_CODED = Fraction(1, 2)  # of a theorem's part, once there are monitors, for counting what these said
KEPT = ((0.25, Fraction(6, 10)), (0.6, Fraction(3, 10)), (0.9, Fraction(1, 10)))
"""Parts of the rows, each with its part of the level: most of it for few answers."""
_BY_WHAT_THEY_SAID = "subset, monitors by what they said"
_OF_THE_REST = (0.15, 0.4, 0.7)  # of the rows that are not kept, for what is not Gaussian


class PValueBound(Protocol):
    """How small a p-value must be at a level, and at which level a p-value would be small enough."""

    def threshold(self, level: Fraction) -> float: ...

    def level(self, p_value: float) -> float: ...


@dataclass(frozen=True, slots=True)
class Route:
    """One theorem, with its part of the level."""

    name: str
    theorem: str
    part: Fraction
    bound: PValueBound

    def threshold(self, alpha: Fraction) -> float:
        """At or below which a p-value is significant at ``alpha``, rounded down."""
        return self.bound.threshold(alpha * self.part)

    def worth(self, p_value: Fraction) -> float:
        """The least alpha at which it would be significant, rounded up; 1 if there is none."""
        p = float_up(p_value)
        level = self.bound.level(p) if p < 1 else 1.0
        return min(1.0, level if self.part == 1 else level / float_down(self.part) * SAFE)


def routes_after(told: ReleasedTotals, units: int, *, gaussian: bool) -> list[Route]:
    """All that apply; whichever says most may be taken.

    Claim:    if every test has level p for rows that nobody asked about, one that was chosen from all that
              was released, and rejects where p is at most the greatest threshold of these routes at alpha,
              rejects a true null hypothesis with probability at most alpha.
    Assumes:  rows are independent draws, at most ``units``; ``told`` is all that was released about them; the
              result is the last thing anybody learns of the rows.
    Source:   derived here.  Theorem: LAST-LOOK-ROUTES.
    """
    if told.nothing:
        return [
            Route(
                "nothing was released", "LAST-LOOK-ROUTES", Fraction(1), PosteriorPValues(units, Fraction(0))
            )
        ]
    return _gaussian(told, units) if gaussian else _pure(told, units)


# A study with Gaussian noise -------------------------------------------------------------------------------


def _gaussian(told: ReleasedTotals, units: int) -> list[Route]:
    if told.pure != told.by_monitors:  # a selection, or what else is not counted
        told = replace(told, numbers=None)
    if not told.radius:  # monitors and selections alone: no law has parted from others by a Gaussian answer
        itself = MAIN * (1 - _CODED)
        return [*_posterior(told.pure, units, itself), *_by_bits(told, units, 1 - itself)]
    spent, pure = float_up(told.radius), float_up(told.pure)
    by_bits = _by_bits(told, units, 1 - MAIN)
    if not pure:
        return [_subset(part, 1 - c, gaussian_price(units, spent, c)) for c, part in KEPT] + by_bits
    routes = []
    for c, part in KEPT:
        price = gaussian_price(units, spent, c)
        if told.pure == told.by_monitors:
            routes.append(_subset(part * _CODED, 1 - c, price + told.said, _BY_WHAT_THEY_SAID))
        for share in _OF_THE_REST:
            other, each = (1 - c) * share, part * (1 - _CODED) / len(_OF_THE_REST)
            routes.append(_subset(each, 1 - c - other, price + pure_price(units, pure, other)))
    return routes + by_bits


def _subset(part: Fraction, fresh: float, price: float, name: str = "subset") -> Route:
    return Route(name, "SUBSET-P-VALUES", part * MAIN, SubsetPValues(fresh, price))


# A pure study ----------------------------------------------------------------------------------------------


def _pure(told: ReleasedTotals, units: int) -> list[Route]:
    """What monitors said may be counted instead of their epsilon, what queries answered as well."""
    information = Route(
        "mutual information", "EVENTS-AFTER-INFORMATION", _COUNTED, MutualInformation(units, told.radius)
    )
    coded, asked = MAIN * _CODED, told.pure - told.by_monitors
    itself = _posterior(told.pure, units, MAIN - coded)
    if told.forgotten:  # monitors, perhaps, about which the two laws differ
        return [*itself, information]
    if not told.by_monitors:
        return [*_posterior(told.pure, units, MAIN), *_by_bits(told, units, _COUNTED), information]
    if not asked:
        return [*itself, *_by_bits(told, units, coded + _COUNTED), information]
    both = PosteriorPValues(units, asked, told.said + numbers_nats(told.of_monitors, units))
    by_both = Route("moments, monitors by what they said", "LAST-LOOK-ROUTES", coded, both)
    return [*itself, by_both, *_by_bits(told, units, _COUNTED), information]


# Of both ---------------------------------------------------------------------------------------------------


def _by_bits(told: ReleasedTotals, units: int, part: Fraction) -> list[Route]:
    """By all that was seen, where that is counted."""
    if told.numbers is None:
        return []
    nats = told.said + numbers_nats((*told.numbers, *told.of_monitors), units)
    return [Route("bits of the transcript", "TRANSCRIPT-LEAKAGE", part, SubsetPValues(1.0, nats))]


def _posterior(epsilon: Fraction, units: int, part: Fraction) -> list[Route]:
    """All compare with the law of the transcript itself, so each of them has the whole part."""
    return [
        Route("moments", "POSTERIOR-P-VALUES", part, PosteriorPValues(units, epsilon)),
        Route("max-information", "MAX-INFORMATION-INDEPENDENT", part, MaxInformation(units, epsilon)),
        Route("information", "POSTERIOR-P-VALUES", part, InformationGiven(units, epsilon)),
        Route("all rows exchanged", "MAX-INFORMATION-PURE", part, all_rows_exchanged(units, epsilon)),
    ]
