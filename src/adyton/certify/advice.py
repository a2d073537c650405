"""What a preview suggests: prices that buy as much for less, and queries that are worth registering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.certify.values import Bound
from adyton.show import number


@dataclass(frozen=True, slots=True)
class Cheaper:
    """The noise of a value is far smaller than the luck of the draw: a lower price would do nearly as well.

    ``times``: how much smaller.  ``within``: a half-width of the noise that would do.  ``share``: of the
    cost.  ``population``: the population interval then.
    """

    times: float
    within: float
    share: float
    population: Bound

    def to_json(self) -> dict[str, Any]:
        own = {"times": self.times, "within": self.within, "share_of_cost": self.share}
        return {**own, "population_interval": self.population.to_json()}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Cheaper:
        population = Bound.from_json(told["population_interval"])
        return cls(told["times"], told["within"], told["share_of_cost"], population)

    def text(self, name: str) -> str:
        half = self.population.half_width or 0.0
        return (
            f"The noise of {name} is {self.times:.0f} times smaller than its sampling error. Within "
            f"{self.within:g} would cost {_fraction(self.share)}; its population interval would be "
            f"± {number(half, half)}."
        )


def _fraction(share: float) -> str:
    """About what part of the cost."""
    return f"a {_ORDINALS[round(1 / share)]}" if round(1 / share) in _ORDINALS else f"1/{1 / share:.0f}"


_NAMES = ("third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINALS = dict(enumerate(_NAMES, 3))
