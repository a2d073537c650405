"""Report noisy max with noise 1/epsilon: right where all counts move the same way, wrong elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Adjacency
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.lab.choices.broken import log_below
from adyton.textbook.noisy_max import NoisyMax

NOISY_MAX = Topic(
    "noisy-max",
    (BASSI,),
    "Report noisy max: noise 1/epsilon is enough only if all counts move together",
    story="Many counts get noise and only the name of the largest is told: how much does that name say "
    "about one person?",
)
_EPSILON = Fraction(1, 2)
_FAR, _RIVALS = 100, 40  # how far the rivals are ahead, and how many of them our own mechanism is given
_MANY = 10**6  # in the limit
_COUNTS, _TRIES = (30, 25, 24, 10), 2000


def noisy_max(bits: Bits) -> LabReport:
    """The loss on neighbors that are as bad as can be, from the law of our own mechanism."""
    epsilon, quiet, loud = float(_EPSILON), made("add-remove"), made("replace-one")
    leads = {mechanism: float(mechanism.law(_COUNTS)[0]) for mechanism in (made("replace-one", 4),)}
    ((four, lead),) = leads.items()
    findings = (
        _loss_of("noise 1/epsilon, one person added: loss", quiet, 0),
        _loss_of("noise 1/epsilon, one person replaced: loss, above epsilon", quiet, 1),
        _loss_of("noise 2/epsilon, one person replaced: loss", loud, 1),
        LabFinding(
            "noise 1/epsilon, replaced, a million rivals", limit_loss(1 / _EPSILON, 1), 2 * epsilon, 1e-6
        ),
        LabFinding("noise 2/epsilon, replaced, a million rivals", limit_loss(2 / _EPSILON, 1), epsilon, 1e-6),
        LabFinding(
            "chance of the leader, counts 30, 25, 24, 10, noise 2/epsilon",
            lead,
            math.exp(log_chance(2 / _EPSILON, 30, [(25, 1), (24, 1), (10, 1)])),
            share=True,
        ),
        LabFinding(
            f"share of the leader in {_TRIES:,} choices",
            sum(four.release(_COUNTS, bits) == 0 for _ in range(_TRIES)) / _TRIES,
            lead,
            6 * math.sqrt(lead * (1 - lead) / _TRIES),
            share=True,
        ),
    )
    return LabReport(NOISY_MAX, findings, _NOTES, _chart())


def made(adjacency: Adjacency, candidates: int = _RIVALS + 1) -> NoisyMax[int]:
    """Ours, for people who are added (noise 1/epsilon) or replaced (2/epsilon)."""
    return NoisyMax(tuple(range(candidates)), _EPSILON, ScoreSensitivity.of_counts(adjacency))


def loss(mechanism: NoisyMax[int], lowered: int, ahead: int = _FAR) -> float:
    """An outsider's count rises by 1 and those of all its rivals, far ahead, fall by ``lowered``."""
    rivals = len(mechanism.candidates) - 1
    here, there = [1] + [ahead - lowered] * rivals, [0] + [ahead] * rivals
    return float(np.log(mechanism.law(here)[0]) - np.log(mechanism.law(there)[0]))


def _loss_of(what: str, mechanism: NoisyMax[int], lowered: int) -> LabFinding:
    """Beside a sum over the winner's noise, which is no part of the mechanism."""
    scale, rivals = Fraction(1 if "1/" in what else 2) / _EPSILON, len(mechanism.candidates) - 1
    expected = limit_loss(scale, lowered, rivals=rivals)
    return LabFinding(f"{what} ({rivals} rivals)", loss(mechanism, lowered), expected, 1e-6)


def log_chance(scale: Fraction, own: int, rivals: Sequence[tuple[int, int]]) -> float:
    """ln of the chance that the first of the counts wins; it wins ties, being first.

    ``rivals`` are (count, how many have it).  A sum over the winner's noise of the chance that nobody passes.
    """
    far = int(60 * scale) + 60 + max(abs(count - own) for count, _ in rivals)
    noise = np.arange(-far, far + 1)
    terms = math.log(math.tanh(0.5 / float(scale))) - np.abs(noise) / float(scale)
    for count, many in rivals:
        terms = terms + many * log_below(scale, own + noise - count + 1)
    largest = float(terms.max())
    return largest + math.log(np.exp(terms - largest).sum())


def limit_loss(scale: Fraction, lowered: int, ahead: int = _FAR, rivals: int = _MANY) -> float:
    """The same loss with as many rivals as one likes."""
    here = log_chance(scale, 1, [(ahead - lowered, rivals)])
    return here - log_chance(scale, 0, [(ahead, rivals)])


def _chart() -> Chart:
    ahead, added, replaced = tuple(range(-20, _FAR // 2, 5)), made("add-remove"), made("replace-one")
    return Chart(
        "how far the rivals are ahead",
        "true loss; guaranteed: epsilon = 0.5",
        (
            ChartLine(
                "noise 1/epsilon, replaced", ahead, tuple(loss(added, 1, a) for a in ahead), strong=True
            ),
            ChartLine("noise 1/epsilon, added", ahead, tuple(loss(added, 0, a) for a in ahead)),
            ChartLine("noise 2/epsilon, replaced", ahead, tuple(loss(replaced, 1, a) for a in ahead)),
            ChartLine("guaranteed", ahead, (float(_EPSILON),) * len(ahead), limit=True),
        ),
    )


_NOTES = (
    "Adding somebody moves every count up or not at all; the winner's lead changes by 1 at most.",
    "Replacing somebody can lift one count and lower another: the lead changes by 2, and so does the loss.",
    "Only the index may be published. The winner's noisy count would be a second release.",
)
