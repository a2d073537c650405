"""How often the long tests try: enough for every change, or as often as ``make long`` has time for."""

from __future__ import annotations

import os

LONG = os.environ.get("ADYTON_LONG") == "1"


def often(usually: int, long: int) -> int:
    """Whoever calls this says what so many tries can see."""
    return long if LONG else usually
