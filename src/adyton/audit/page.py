"""The page docs/audit.md: what was tried against our own claims, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from adyton.audit.exact import OutputLaw, exact_delta, gaussian_law, geometric_law
from adyton.audit.report import HEADERS, AuditReport, Tried, cells
from adyton.kernel.accounting import gaussian

_INTRODUCTION = """\
# Refute us if you can

Written by `make audit`; do not edit. Each row tries to refute a claim of adyton: two neighboring inputs,
many outputs of each, events that tell them apart, found on one half of the samples and judged on the other
([AUDIT-LOWER-BOUND](theorems/AUDIT-LOWER-BOUND.md)). The true epsilon is at least the lower bound, with
confidence {confidence:g} % for each row. A claim is refuted if the lower bound is above it.

"Consistent" is not a proof. The proofs are on the theorem pages; an audit can only fail to refute them, and
it does not see what happens with tiny probability. The last column says which true epsilon these samples
would have found, with probability 0.95, had the mechanism been randomized response. To try a mechanism of
your own, see [how-to/audit-your-own.md](how-to/audit-your-own.md).

{summary}
"""

_TRADE_OFF = """
## Gaussian claims on the trade-off curve

A mu-GDP claim bounds both error probabilities of every test at once, which shows more than one pair
(epsilon, delta) does ([AUDIT-TRADE-OFF](theorems/AUDIT-TRADE-OFF.md)).
"""

_REPLAY = """
## Replay

Each query again, on both tables, with the same random words: control flow, shape, charge and receipts
must be the same, the noise too, and the exact integers may move by their sensitivity and no farther
([REPLAY](theorems/REPLAY.md)). {count} queries were replayed; {faulty} of them had a fault. Moved and
allowed are the L1 distances of what gets noise, the same under every accounting.
"""

_EXACT = """
## No samples at all

Where the output law can be written down, the true delta is a sum
([EXACT-DELTA](theorems/EXACT-DELTA.md)). The interval holds the truth, the far tails included. For added
noise the neighboring values are 0 and 1.
"""


def page(report: AuditReport, confidence: float) -> str:
    """The whole page."""
    parts = [_INTRODUCTION.format(confidence=100 * confidence, summary=report.summary())]
    parts.append("\n" + _table((*HEADERS, "would find"), (_row(t) for t in report.tried)))
    with_mu = [t for t in report.tried if t.trade_off]
    if with_mu:
        parts.append(_TRADE_OFF + "\n" + _table(_MU_HEADERS, map(_mu_row, with_mu)))
    replayed = [t for t in report.tried if t.trial.replayed]
    if replayed:
        faulty = [t for t in replayed if t.trial.replayed and t.trial.replayed.refuted]
        parts.append(_REPLAY.format(count=len(replayed), faulty=len(faulty)) + "\n")
        shown = dict.fromkeys(map(_replay_row, replayed))
        parts.append(_table(_REPLAY_HEADERS, shown))
    parts.append(_EXACT + "\n" + _table(_EXACT_HEADERS, _exact_rows(report)))
    return "".join(parts)


_MU_HEADERS = ("mechanism and pair", "adjacency", "claimed mu", "lower bound", "verdict", "would find")
_REPLAY_HEADERS = ("query", "adjacency", "moved", "allowed", "faults")
_EXACT_HEADERS = ("mechanism", "epsilon", "delta at least", "delta at most", "claimed delta")


def _row(tried: Tried) -> tuple[str, ...]:
    power = tried.verdict.power.epsilon
    return (*cells(tried), "-" if power is None else f"{power:.3f}")


def _mu_row(tried: Tried) -> tuple[str, ...]:
    found = tried.trade_off
    assert found is not None
    power = "-" if found.power is None else f"{found.power:.3f}"
    claimed, bound = f"{found.claimed_mu:.4f}", f"{found.lower_bound:.4f}"
    return found.mechanism, tried.trial.adjacency, claimed, bound, found.verdict, power


def _replay_row(tried: Tried) -> tuple[str, ...]:
    found = tried.trial.replayed
    assert found is not None
    plain = [m for m in found.movements if not m.name.endswith(", in rows")]
    moved = ", ".join(f"{float(m.l1):g}" for m in plain)
    allowed = ", ".join(f"{float(m.l1_allowed):g}" for m in plain)
    faults = "; ".join(found.faults) or "none"
    return tried.trial.pair_name, tried.trial.adjacency, moved, allowed, faults


def _exact_rows(report: AuditReport) -> Iterator[tuple[str, ...]]:
    for tried in report.tried:
        if tried.trial.laws:
            title, claim = f"{tried.trial.title}, {tried.trial.adjacency}", tried.verdict.claim
            yield _exact_row(title, tried.trial.laws, claim.epsilon, f"{claim.delta:g}")
    for scale in (0.5, 1.0, 10.0):
        reach = math.ceil(60 * scale)
        laws = [geometric_law(v, scale, -reach, reach) for v in (0, 1)]
        yield _exact_row(f"geometric, scale {scale:g}", laws, 1 / scale, "0")
        yield _exact_row(f"geometric, scale {scale:g}", laws, 0.9 / scale, "none")
    for sigma in (0.5, 1.0, 4.0):
        reach = math.ceil(15 * sigma) + 2
        laws = [gaussian_law(v, sigma, -reach, reach) for v in (0, 1)]
        for epsilon in (0.5, 1.0, 2.0):
            claimed = gaussian.delta_up(1 / sigma, epsilon)
            yield _exact_row(f"rounded Gaussian, sigma {sigma:g}", laws, epsilon, f"{claimed:.6g}")


def _exact_row(noise: str, laws: Sequence[OutputLaw], epsilon: float, claimed: str) -> tuple[str, ...]:
    found = exact_delta(laws[0], laws[1], epsilon)
    return noise, f"{epsilon:.6g}", f"{found.low:.6g}", f"{found.high:.6g}", claimed


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
