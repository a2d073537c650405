"""What was released about the units, in every measure that a route to a p-value may pay in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class NoisyIntegers:
    """``many`` integers with noise: for each of them, how far one unit can move the exact one, times the
    greatest density of the noise, both in the same scale.
    """

    many: int
    rate: float


@dataclass(frozen=True, slots=True)
class ReleasedTotals:
    """Everything that was released, as it was charged.

    ``radius`` is the sum of squared radii, each in units of its noise; ``pure`` the sum of the epsilons, if
    one unit is exchanged for another, of what is not Gaussian; ``by_monitors`` the part of it that paid for
    monitors whose yes and no are counted.  What was seen itself: ``said``, the price in nats of those yes and
    no; ``numbers``, the integers of all queries, and ``of_monitors``, those of monitors.  None: not counted.
    ``forgotten``: there may have been monitors whose yes and no are not known any more.
    """

    radius: Fraction = Fraction(0)
    pure: Fraction = Fraction(0)
    by_monitors: Fraction = Fraction(0)
    said: float = 0.0
    numbers: tuple[NoisyIntegers, ...] | None = ()
    of_monitors: tuple[NoisyIntegers, ...] = ()
    forgotten: bool = False

    @property
    def nothing(self) -> bool:
        return self.radius == self.pure == 0
