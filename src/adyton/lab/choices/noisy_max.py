"""Report noisy max with noise 1/epsilon: right where all counts move the same way, wrong elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, Finding, Line, Report, Topic
from adyton.figures.sources import BASSI
from adyton.lab.choices.broken import log_below

NOISY_MAX = Topic(
    "noisy-max", (BASSI,), "Report noisy max: noise 1/epsilon is enough only if all counts move together"
)
_EPSILON = Fraction(1, 2)
_FAR = 100  # how far the rivals are ahead
_MANY = 10**6  # rivals: some of them have large noise


def noisy_max() -> Report:
    """The true loss on a pair of neighbours that is as bad as can be, from the exact law of the winner."""
    quiet, loud = 1 / _EPSILON, 2 / _EPSILON
    epsilon = float(_EPSILON)
    findings = (
        Finding("noise 1/epsilon, one person added: loss", loss(quiet, 0), epsilon, 1e-6),
        Finding("noise 1/epsilon, one person replaced: loss", loss(quiet, 1), 2 * epsilon, 1e-6),
        Finding("noise 2/epsilon, one person replaced: loss", loss(loud, 1), epsilon, 1e-6),
        Finding("chance of the leader, counts 30, 25, 24, 10", _chance_of_the_leader(quiet)),
        Finding("the same with noise 2/epsilon", _chance_of_the_leader(loud)),
    )
    return Report(NOISY_MAX, findings, _NOTES, _chart())


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


def loss(scale: Fraction, lowered: int, ahead: int = _FAR) -> float:
    """An outsider's count rises by 1 and those of all its rivals, far ahead, fall by ``lowered``."""
    here, there = log_chance(scale, 1, [(ahead - lowered, _MANY)]), log_chance(scale, 0, [(ahead, _MANY)])
    return here - there


def _chance_of_the_leader(scale: Fraction) -> float:
    return math.exp(log_chance(scale, 30, [(25, 1), (24, 1), (10, 1)]))


def _chart() -> Chart:
    ahead = tuple(range(-20, _FAR // 2))
    quiet = 1 / _EPSILON
    return Chart(
        "how far the rivals are ahead",
        "true loss of noise 1/epsilon, epsilon = 0.5",
        (
            Line("one person added", ahead, tuple(loss(quiet, 0, a) for a in ahead)),
            Line("one person replaced", ahead, tuple(loss(quiet, 1, a) for a in ahead)),
        ),
    )


_NOTES = (
    "Adding somebody moves every count up or not at all; the winner's lead changes by 1 at most.",
    "Replacing somebody can lift one count and lower another: the lead changes by 2, and so does the loss.",
    "Only the index may be published. The winner's noisy count would be a second release.",
)
