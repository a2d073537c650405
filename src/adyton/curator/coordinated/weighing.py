"""The words in which online weights are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adyton.errors import InvalidRequest
from adyton.exact import Number
from adyton.planning.price import Price, PriceWords, price_of
from adyton.query.conditions.atoms import Bins
from adyton.streams.weights.plan import Wish


class WeightsWords(PriceWords, total=False):
    """A price, and what it is for.

    ``questions``: how many there may be.  ``bins``: of columns without declared values, how many, or where
    each but the first begins.  ``tolerance``: the share of all units by which a guess may be wrong before it
    is corrected; without it, what takes fewest updates.
    """

    questions: int
    tolerance: Number | None
    bins: Mapping[str, Bins] | None


def wished(columns: Sequence[str], words: WeightsWords) -> tuple[Wish, Price]:
    """What is asked for, and the price that was named for it."""
    asked = dict(words)
    if "questions" not in asked:
        raise InvalidRequest("say how many questions there may be, as in questions=10_000")
    own = {name: asked.pop(name) for name in ("questions", "tolerance", "bins") if name in asked}
    price = price_of(**asked)  # type: ignore[arg-type]  # which refuses words it does not know
    return Wish(columns, **own), price  # type: ignore[arg-type]  # and this what is not of its kind
