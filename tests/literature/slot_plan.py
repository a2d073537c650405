"""Plan mode: slots declared in advance, priced once by privacy loss distributions, used in any order.

A plan is not a filter.  Its price is the price of everything declared, on the first day as on the last: there
is no epsilon "so far".  Queries and the order of slots may depend on every earlier answer; slots may not.
"""

from __future__ import annotations

from typing import ClassVar

from adyton.accounting.pld import pld
from adyton.accounting.pld.pairs import DominatingPair
from adyton.accounting.pld.slots import counted
from adyton.errors import PrivacyRefused


class SlotPlan:
    """A multiset of slots, and how many of each are left.  For one process and one thread.

    Claim:    whatever is asked, in whatever order, all releases together are (epsilon(delta), delta)-DP.
    Assumes:  the slots were declared before the first answer; a release that uses a slot is dominated by the
              slot's pair, given everything released before it; each slot is used once, with fresh noise.
    Source:   Zhu, Dong, Wang 2022 (dominating pairs).  Theorem: PLD-PRICES-A-PLAN.
    """

    is_filter: ClassVar[bool] = False
    theorems: ClassVar[tuple[str, ...]] = ("PLD-PRICES-A-PLAN", "CONNECT-THE-DOTS", "PLD-ROUND-OFF")

    def __init__(self, slots: pld.Slots) -> None:
        self._declared = counted(slots)
        self._left = dict(self._declared)

    @property
    def declared(self) -> dict[DominatingPair, int]:
        return dict(self._declared)

    @property
    def left(self) -> dict[DominatingPair, int]:
        return {pair: times for pair, times in self._left.items() if times}

    def epsilon(self, delta: float) -> float:
        """The epsilon of the whole plan, rounded up.  What was used so far makes no difference."""
        return pld.epsilon_up(list(self._declared.items()), delta)

    def delta(self, epsilon: float) -> float:
        """The delta of the whole plan, rounded up."""
        return pld.delta_up(list(self._declared.items()), epsilon)

    def use(self, pair: DominatingPair) -> None:
        """Takes one slot; refused, without a trace, if none like it is left."""
        if not self._left.get(pair):
            declared = self._declared.get(pair, 0)
            raise PrivacyRefused(
                f"no slot {pair!r} is left: {declared} declared, all used"
                if declared
                else f"no slot {pair!r} was declared, and a plan cannot be changed once it is priced",
                requested=repr(pair),
                declared=str(declared),
            )
        self._left[pair] -= 1

    def __repr__(self) -> str:
        total, left = sum(self._declared.values()), sum(self._left.values())
        return f"SlotPlan({total} slots declared, {left} left; a plan, not a filter)"
