"""One thing to try: a mechanism, two neighboring inputs, and what is claimed of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from adyton.audit.exact import OutputLaw
from adyton.audit.loaded import LoadedTables
from adyton.audit.replay import Replay
from adyton.certify import RoundedGuarantee
from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import ACCOUNTING_NAMES, gaussian
from adyton.kernel.noise import Bits


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
    adjacency: str
    release: Callable[..., Any]
    pair: tuple[Any, Any]
    claim: RoundedGuarantee
    mu: float | None = None  # if mu-GDP is claimed as well
    replayed: Replay | None = None
    laws: tuple[OutputLaw, OutputLaw] | None = None  # where both output laws can be written down
    slow: bool = False  # one output at a time, or of many numbers: gets a tenth of the samples

    @property
    def title(self) -> str:
        return f"{self.mechanism}, {self.pair_name}"


@dataclass(frozen=True, slots=True)
class AuditedMechanism(Document):
    """All that is tried of one mechanism, by its name."""

    name: str
    about: str
    trials: Callable[[AuditTarget], Iterator[Trial]]
    aliases: tuple[str, ...] = ()

    json_keys = "name aliases about"


def for_each_accounting(
    word: str,
    about: str,
    trials: Callable[[str, AuditTarget], Iterator[Trial]],
    filters: Iterable[str] = ACCOUNTING_NAMES,
) -> tuple[AuditedMechanism, ...]:
    return tuple(
        AuditedMechanism(f"{name}-{word}", f"{about}, {name} accounting", partial(trials, name))
        for name in filters
    )


def once(mechanism: Any, target: AuditTarget) -> Callable[[Any], Any]:
    """One release of whatever a mechanism takes."""
    return lambda exact: mechanism.release(exact, target.bits)


def gaussian_mu(target: AuditTarget, mechanism: str) -> float:
    """What a Gaussian mechanism shall be calibrated to."""
    if target.delta == 0:
        raise InvalidRequest(f"the {mechanism} mechanism needs delta above 0")
    return gaussian.mu_down(float(target.epsilon), float(target.delta))


def gaussian_claim(mu: float, target: AuditTarget) -> RoundedGuarantee:
    return RoundedGuarantee(gaussian.epsilon_up(mu, float(target.delta)), float(target.delta))
