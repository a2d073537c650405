"""Online weights through the curator: planned from public facts, and refused where something is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from adyton.curator.certifying import PopulationClaims
from adyton.curator.previewing import would_cost
from adyton.curator.purse import Planned, Purse
from adyton.errors import InvalidRequest
from adyton.exact import Number
from adyton.planning.price import Price, PriceWords, price_of
from adyton.query.conditions.atoms import Bins
from adyton.streams.weights.answer import WeightsPreview
from adyton.streams.weights.plan import WeightsPlan, Wish, plan_weights


class WeightsWords(PriceWords, total=False):
    """A price, and what it is for.

    ``questions``: how many there may be.  ``bins``: of columns without declared values, how many, or where
    each but the first begins.  ``tolerance``: the share of all units by which a guess may be wrong before it
    is corrected; without it, what takes fewest updates.
    """

    questions: int
    tolerance: Number | None
    bins: Mapping[str, Bins] | None


class Weighing:
    """The plan of weights at the price that was named, and at any other."""

    def __init__(
        self,
        purse: Purse,
        columns: Sequence[str],
        words: WeightsWords,
        left_for: Callable[[Price], int] | None = None,
    ) -> None:
        asked = dict(words)
        if "questions" not in asked:
            raise InvalidRequest("say how many questions there may be, as in questions=10_000")
        own = {name: asked.pop(name) for name in ("questions", "tolerance", "bins") if name in asked}
        self._purse = purse
        self.price: Price = price_of(**asked)  # type: ignore[arg-type]  # which refuses words it does not know
        wish = Wish(columns, **own)  # type: ignore[arg-type]  # and this what is not of its kind
        left = purse.left_now if left_for is None else left_for(self.price)
        self.planned: Planned = partial(plan_weights, purse.study, wish, left=left)
        self.plan: WeightsPlan = plan_weights(purse.study, wish, self.price, left)

    def worth_it(self) -> WeightsPlan:
        """The plan; InvalidRequest where it would not be worth its price."""
        if self.plan.against is not None:
            raise InvalidRequest(f"{self.plan.against}; nothing was charged")
        return self.plan

    def preview(self, claims: PopulationClaims) -> WeightsPreview:
        plan = self.plan
        return WeightsPreview(
            weights=plan.terms.text,
            cells=plan.terms.cells,
            updates=plan.terms.updates,
            farthest=plan.farthest,
            error=plan.error,
            independent=plan.independent,
            against=plan.against,
            **would_cost(plan, plan.pure, self._purse, claims),
        )
