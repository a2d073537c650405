"""Exact integers for those who may know them: the owner of the data, and the auditor, who has both tables.

Nothing here is released, charged or offered over a service.  No other function outside of the kernel asks an
engine for integers.
"""

from __future__ import annotations

from collections.abc import Sequence

from adyton.kernel.engine import DiscoveredGroup, Engine, Exact
from adyton.kernel.sensitivity import Reading


def exact_integers(
    engine: Engine, readings: Sequence[Reading], *, groups: bool = False
) -> tuple[Sequence[DiscoveredGroup] | None, Exact]:
    """What a prepared engine reads; with ``groups`` also those under which something counts."""
    return engine.found(readings) if groups else (None, engine.exact(readings))
