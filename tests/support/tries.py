"""How often the long tests try: enough for every change, or as often as ``make long`` has time for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle, islice, product
from typing import Any

LONG = os.environ.get("ADYTON_LONG") == "1"


def often(usually: int, long: int) -> int:
    """Whoever calls this says what so many tries can see."""
    return long if LONG else usually


def crossed(*kinds: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Cases for things that are asked about in several ways: each with each in a long run, usually every one at least
    once.  For what one way of asking can hardly get wrong alone.
    """
    if LONG:
        return list(product(*kinds))
    most = max(map(len, kinds))
    return list(zip(*(islice(cycle(kind), most) for kind in kinds), strict=True))
