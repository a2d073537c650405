"""One thing to try: a mechanism, two neighbouring inputs, and what is claimed of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from adyton.audit.exact import Law
from adyton.audit.loaded import LoadedTables
from adyton.audit.replay import Replay
from adyton.certify import Promise
from adyton.noise import Bits


@dataclass(frozen=True, slots=True)
class AuditTarget:
    """What a mechanism shall be calibrated to; delta is for those that need one.

    What it is tried on is loaded once for all trials of a target.
    """

    epsilon: Fraction
    delta: Fraction
    bits: Bits
    tables: LoadedTables = field(default_factory=LoadedTables)


@dataclass(frozen=True, slots=True)
class Trial:
    mechanism: str
    pair_name: str
    neighbours: str
    release: Callable[..., Any]
    pair: tuple[Any, Any]
    claim: Promise
    mu: float | None = None  # if mu-GDP is claimed as well
    replayed: Replay | None = None
    laws: tuple[Law, Law] | None = None  # where both output laws can be written down
    slow: bool = False  # one output at a time, or of many numbers: gets a tenth of the samples

    @property
    def title(self) -> str:
        return f"{self.mechanism}, {self.pair_name}"


Listed = tuple[
    str, str, Callable[[AuditTarget], Iterator[Trial]], tuple[str, ...]
]  # name, about, trials, aliases
