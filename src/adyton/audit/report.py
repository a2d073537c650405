"""All trials in a row, as verdicts and as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from adyton.audit.black_box import LEAST_SAMPLES, Verdict, audit
from adyton.audit.cases.catalogue import CATALOGUE, entry_named
from adyton.audit.cases.trial import AuditedMechanism, AuditTarget, Trial
from adyton.audit.trade_off import TradeOff, audit_gdp
from adyton.documents import Document
from adyton.show import Sheet, Shown

OnStep = Callable[[str, float], None]  # what is being tried, and how much of everything is done
SLOWER = 10  # a mechanism that makes one output at a time gets a tenth of the samples


@dataclass(frozen=True, slots=True)
class Tried(Document):
    trial: Trial
    verdict: Verdict
    trade_off: TradeOff | None

    json_keys = (
        "adjacency=trial.adjacency mechanism=verdict.mechanism claim=verdict.claim "
        "lower_bound=verdict.lower_bound samples=verdict.samples confidence=verdict.confidence "
        "verdict=verdict.verdict power=verdict.power event=verdict.event trade_off replay=trial.replayed"
    )

    @property
    def refuted(self) -> bool:
        found = (self.verdict, self.trade_off, self.trial.replayed)
        return any(one is not None and one.refuted for one in found)


@dataclass(frozen=True, slots=True)
class AuditReport(Shown, Document):
    tried: tuple[Tried, ...]

    json_keys = "refuted=number_refuted audits=tried"

    @property
    def refuted(self) -> tuple[Tried, ...]:
        return tuple(t for t in self.tried if t.refuted)

    @property
    def number_refuted(self) -> int:
        return len(self.refuted)

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(map(cells, self.tried))
        return Sheet("Audits", HEADERS, rows, (self.summary(),), left_aligned=2)

    def summary(self) -> str:
        if not self.refuted:
            return f"{len(self.tried)} audits, none of them refuted a claim."
        return f"{len(self.refuted)} of {len(self.tried)} audits REFUTED a claim: " + "; ".join(
            t.trial.title for t in self.refuted
        )


@dataclass(frozen=True, slots=True)
class AuditContents(Shown, Document):
    """What can be audited by name."""

    json_keys = "mechanisms"

    @property
    def mechanisms(self) -> tuple[AuditedMechanism, ...]:
        return CATALOGUE

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple((e.name, ", ".join(e.aliases), e.about) for e in CATALOGUE)
        return Sheet("Mechanisms to audit", ("name", "also called", "about"), rows, left_aligned=3)


def run(
    entries: Sequence[AuditedMechanism],
    target: AuditTarget,
    samples: int,
    confidence: float,
    on_step: OnStep = lambda what, done: None,
) -> AuditReport:
    """Every trial of every entry."""
    tried: list[Tried] = []
    for i, entry in enumerate(entries):
        for trial in entry.trials(target):
            on_step(trial.title, i / len(entries))
            tried.append(try_one(trial, samples, confidence))
    return AuditReport(tuple(tried))


def try_one(trial: Trial, samples: int, confidence: float) -> Tried:
    n = max(LEAST_SAMPLES, samples // SLOWER) if trial.slow else samples
    verdict = audit(
        trial.release, trial.pair, trial.claim, samples=n, confidence=confidence, name=trial.title
    )
    trade_off = None
    if trial.mu is not None:
        trade_off = audit_gdp(
            trial.release, trial.pair, trial.mu, samples=n, confidence=confidence, name=trial.title
        )
    return Tried(trial, verdict, trade_off)


def audit_named(
    name: str, target: AuditTarget, samples: int, confidence: float, on_step: OnStep = lambda what, done: None
) -> Verdict:
    """The worst verdict over the pairs of one mechanism; they share what may fail."""
    trials = list(entry_named(name).trials(target))
    each = 1 - (1 - confidence) / len(trials)
    worst: Verdict | None = None
    for i, trial in enumerate(trials):
        found = audit(
            trial.release,
            trial.pair,
            trial.claim,
            samples=samples,
            confidence=each,
            on_progress=partial(_of_all, on_step, trial.title, i, len(trials)),
        )
        if worst is None or _excess(found) > _excess(worst):
            where = found.event and replace(found.event, event=f"{found.event.event} ({trial.pair_name})")
            worst = replace(found, mechanism=name, confidence=confidence, event=where)
    assert worst is not None
    return worst


def _excess(verdict: Verdict) -> float:
    return verdict.lower_bound - verdict.claim.epsilon


def _of_all(on_step: OnStep, what: str, done_before: int, how_many: int, done: float) -> None:
    on_step(what, (done_before + done) / how_many)


HEADERS = ("mechanism and pair", "adjacency", "claim", "lower bound", "samples", "verdict")


def cells(tried: Tried) -> tuple[str, ...]:
    v = tried.verdict
    claim = f"{v.claim.epsilon:.4g}" if v.claim.delta == 0 else f"{v.claim.epsilon:.4g}, {v.claim.delta:g}"
    return v.mechanism, tried.trial.adjacency, claim, f"{v.lower_bound:.3f}", f"{v.samples:,}", v.verdict
