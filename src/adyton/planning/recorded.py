"""The plan behind an earlier answer, made anew from its receipt, whatever price was named for it.

A receipt holds the query and the scales of its noise.  Scales are floats exactly, and the rest of a plan
follows from the query, so nothing has to be remembered beside the receipt.  What does not come out exactly
as the receipt has it is not used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.rules import NoiseKind
from adyton.kernel.ledger import Order
from adyton.kernel.mechanisms import NOISES, Mechanism
from adyton.kernel.sensitivity import Reading
from adyton.planning.plan import Outline, PricedBatch
from adyton.planning.price import Price, Pricing
from adyton.query.request import Request
from adyton.study import Study

_KINDS: dict[str, NoiseKind] = {kind.name: kind for kind in NOISES}
_KEY_READINGS = 2  # of a query whose groups are discovered, before those of its values


@dataclass(frozen=True, slots=True)
class _Recorded(Pricing):
    """Noise as it is written down, reading by reading."""

    noises: Iterator[Mechanism]

    def noise(self, reading: Reading, part: Fraction) -> Mechanism:
        return self._next(reading)

    def noise_for_units(self, reading: Reading, units: int) -> Mechanism:
        return self._next(reading)

    def check_total(self, what: str) -> None:
        """It was answered, so its price was of the right kind."""

    def _next(self, reading: Reading) -> Mechanism:
        found = next(self.noises, None)
        if found is None or len(found.scales) != len(reading.coordinates):
            raise ValueError("the receipt does not hold a plan of this kind")
        return found


def recorded_batch(study: Study, requests: Sequence[Request], order: Order) -> PricedBatch | None:
    """The plans that this order paid for; None if they cannot be made exactly as they were."""
    if len(requests) != 1 or study.grid is not None or study.parts > 1:
        return None
    try:
        noises = [_mechanism(one) for one in json.loads(order.detail)]
        if requests[0].query.discovers_groups:  # they are planned last, and written down first
            noises = noises[_KEY_READINGS:] + noises[:_KEY_READINGS]
        left = iter(noises)

        def pricing(study: Study, price: Price, most: int, rows: int | None) -> Pricing:
            return _Recorded(study, price, most, rows, left)

        outline = Outline.of(study, requests)
        batch = outline.batch(Price("units", Fraction(order.amount)), study.allowed, pricing)
    except (InvalidRequest, ValueError, TypeError, KeyError):
        return None
    same = (batch.text, batch.detail, batch.amount, batch.radius)
    return batch if same == (order.query, order.detail, order.amount, order.radius) else None


def _mechanism(written: Sequence[Any]) -> Mechanism:
    """[name, mechanism, scale, ...]; how often it is drawn, and which cells are kept, the plan knows."""
    kind = _KINDS[written[1]]
    scales = [text for text in written[2:] if isinstance(text, str) and not text.endswith(" cells")]
    return kind(tuple(Fraction(float(text)) for text in scales))
