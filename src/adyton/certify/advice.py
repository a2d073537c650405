"""What a preview suggests: prices that buy as much for less, and queries that are worth registering."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.certify.values import Bound
from adyton.documents import Document
from adyton.show import number


@dataclass(frozen=True, slots=True)
class Cheaper(Document):
    """The noise of a value is far smaller than the luck of the draw: a lower price would do nearly as well.

    ``times``: how much smaller.  ``within``: a half-width of the noise that would do.  ``share``: of the
    cost.  ``population``: the population interval then.
    """

    times: float
    within: float
    share: float
    population: Bound

    json_keys = "times within share_of_cost=share population_interval=population"

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
