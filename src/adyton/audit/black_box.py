"""Refute a claim of differential privacy, if these samples can."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from adyton.audit.events import Loss, find
from adyton.audit.judge import (
    FINALISTS,
    POWER,
    Judged,
    as_rare_as,
    detectable,
    epsilon_of,
    judge,
    randomized_response,
    share,
)
from adyton.audit.outputs import read
from adyton.certify import RoundedGuarantee
from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.show import Sheet, Shown

Pair = tuple[Any, Any]
Mechanism = Callable[..., Any]
OnProgress = Callable[[float], None]

LEAST_SAMPLES = 400
_STEPS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Power(Document):
    """What the samples would have found, with probability 0.95: the least true epsilon above the claim.

    ``epsilon`` on the event of randomized response, ``at_event`` on an event as rare as the one found.
    """

    epsilon: float | None
    at_event: float | None

    json_keys = "epsilon at_event probability"

    @property
    def probability(self) -> float:
        return POWER

    def __str__(self) -> str:
        best, here = (_epsilon_text(e) for e in (self.epsilon, self.at_event))
        return (
            f"With probability {POWER} these samples would have found {best} in randomized response, "
            f"and {here} on an event as rare as the one above."
        )


@dataclass(frozen=True, slots=True)
class Verdict(Shown, Document):
    """What an audit found.  "consistent" is not a proof: these samples and these events found nothing."""

    mechanism: str
    claim: RoundedGuarantee
    lower_bound: float
    samples: int
    confidence: float
    verdict: Literal["consistent", "refuted"]
    event: Judged | None
    power: Power

    json_keys = "mechanism claim lower_bound samples confidence verdict power event"

    @property
    def refuted(self) -> bool:
        return self.verdict == "refuted"

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            ("claim", f"epsilon {self.claim.epsilon:g} at delta {self.claim.delta:g}"),
            ("epsilon is at least", f"{self.lower_bound:.4f}"),
            ("confidence", f"{100 * self.confidence:g} %"),
            ("samples of each input", f"{self.samples:,}"),
            ("verdict", self.verdict),
        )
        notes = [str(self.power)]
        if self.event:
            where = self.event.likelier_on
            more, less = self.event.counts
            notes.insert(
                0,
                f"Event: {self.event.event}; {more:,} times on the {where} input, {less:,} times on the "
                f"other, of {self.event.trials:,}.",
            )
        return Sheet(f"Audit of {self.mechanism}", ("", ""), rows, tuple(notes))


def audit(
    mechanism: Mechanism,
    pair: Pair,
    claim: Any,
    *,
    samples: int = 200_000,
    confidence: float = 0.999,
    name: str | None = None,
    vectorised: bool | None = None,
    on_progress: OnProgress | None = None,
) -> Verdict:
    """Try to refute that ``mechanism`` is private as ``claim`` says, on one ``pair`` of neighboring inputs.

    ``mechanism(input)`` returns one output, or ``mechanism(input, n)`` a sequence or array of n; how it is
    called follows from its signature unless ``vectorised`` says.  ``claim`` is an epsilon, a pair (epsilon,
    delta) or a Guarantee.  ``samples`` are drawn on each input: half find events, the other half judges.

    Claim:    the lower bound is above the least true epsilon at this delta with probability at most
              1 - confidence; so a true claim is "refuted" no more often than that.
    Assumes:  the outputs are independent draws.
    Source:   Clopper, Pearson 1934, and a union bound.  Theorem: AUDIT-LOWER-BOUND.
    """
    guaranteed = guarantee_of(claim)
    loss = partial(epsilon_of, delta=guaranteed.delta)
    drawn = draw(mechanism, pair, samples, vectorised, on_progress)
    judged = finalists(drawn, loss, confidence)
    best = max(judged, key=lambda j: j.bound, default=None)
    bound = max(0.0, best.bound) if best else 0.0
    return Verdict(
        mechanism=name or name_of(mechanism),
        claim=guaranteed,
        lower_bound=bound,
        samples=samples,
        confidence=confidence,
        verdict="refuted" if bound > guaranteed.epsilon else "consistent",
        event=best if best and best.bound > -math.inf else None,
        power=_power(guaranteed, best, samples - samples // 2, share(confidence), loss),
    )


def finalists(drawn: Pair, loss: Loss, confidence: float) -> list[Judged]:
    """Events found on the first half of the samples and counted on the second."""
    first, second = read(*drawn)
    half, failure = first.count // 2, share(confidence, FINALISTS)
    judges = first.part(half, first.count), second.part(half, second.count)
    judged = []
    for event in find(first.part(0, half), second.part(0, half), loss, failure):
        counts = event.count(judges[event.numerator]), event.count(judges[1 - event.numerator])
        judged.append(judge(event.description, event.numerator, counts, judges[0].count, failure, loss))
    return judged


def draw(
    mechanism: Mechanism, pair: Pair, samples: int, vectorised: bool | None, on_progress: OnProgress | None
) -> Pair:
    """``samples`` outputs on each input."""
    if samples < LEAST_SAMPLES:
        raise InvalidRequest(f"an audit needs at least {LEAST_SAMPLES} samples of each input, not {samples}")
    if vectorised is None:
        vectorised = _takes_a_number(mechanism)
    if vectorised:
        drawn = tuple(mechanism(value, samples) for value in pair)
        if any(len(outputs) != samples for outputs in drawn):
            raise InvalidRequest(f"mechanism(input, {samples}) must return {samples} outputs")
        return drawn[0], drawn[1]
    first: list[Any] = []
    second: list[Any] = []
    for i in range(samples):
        first.append(mechanism(pair[0]))
        second.append(mechanism(pair[1]))
        if on_progress is not None and i % (samples // _STEPS_SHOWN or 1) == 0:
            on_progress(i / samples)
    return first, second


def guarantee_of(claim: Any) -> RoundedGuarantee:
    """(epsilon, delta), from a number, a pair or anything that has both."""
    match claim:
        case tuple() | list() if len(claim) == 2:
            epsilon, delta = float(claim[0]), float(claim[1])
        case _ if hasattr(claim, "epsilon"):
            epsilon, delta = float(claim.epsilon), float(getattr(claim, "delta", 0.0))
        case int() | float() | Fraction():
            epsilon, delta = float(claim), 0.0
        case _:
            raise InvalidRequest("a claim is epsilon, (epsilon, delta) or a Guarantee")
    if not (0 <= epsilon < math.inf and 0 <= delta < 1):
        raise InvalidRequest("a claim has epsilon at least 0, and delta at least 0 and below 1")
    return RoundedGuarantee(epsilon, delta)


def name_of(mechanism: Mechanism) -> str:
    return str(getattr(mechanism, "__name__", type(mechanism).__name__))


def _takes_a_number(mechanism: Mechanism) -> bool:
    """Whether a second argument must be given."""
    try:
        parameters = inspect.signature(mechanism).parameters.values()
    except (TypeError, ValueError):
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in places and p.default is inspect.Parameter.empty]
    return len(needed) >= 2


def _power(
    guaranteed: RoundedGuarantee, best: Judged | None, trials: int, failure: float, loss: Loss
) -> Power:
    least = partial(detectable, claimed=guaranteed.epsilon, trials=trials, failure=failure, loss=loss)
    in_general = least(randomized_response(guaranteed.delta))
    if best is None:
        return Power(in_general, None)
    rare = max(best.counts[1], 1) / best.trials
    return Power(in_general, least(as_rare_as(rare, guaranteed.delta)))


def _epsilon_text(epsilon: float | None) -> str:
    return "no epsilon at all" if epsilon is None else f"epsilon {epsilon:.3f}"
