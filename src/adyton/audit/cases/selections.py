"""Selections to try: scores of declared candidates, of which a neighbor moves some up and some down."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from adyton.audit.cases.trial import AuditedMechanism, AuditTarget, Trial, once
from adyton.audit.exact import OutputLaw, law_of
from adyton.certify import RoundedGuarantee
from adyton.kernel.exact import float_up
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.textbook.noisy_max import NoisyMax
from adyton.textbook.quantile import PrivateQuantile

# Counts: under replacement a person leaves one candidate for another, else joins some of them.
_SCORES: dict[Adjacency, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "replace-one": ((4, 5, 1), (3, 6, 1)),
    "add-remove": ((5, 5, 4), (6, 6, 4)),
}
_VALUES: dict[Adjacency, tuple[list[int], list[int]]] = {
    "replace-one": ([4, 4, 4, 10, 10], [4, 4, 4, 10, 0]),
    "add-remove": ([4, 4, 10, 10, 0], [4, 4, 10, 10]),
}
_HALF = Fraction(1, 2)

_KINDS: dict[str, Any] = {
    "exponential": ExponentialMechanism,
    "permute-and-flip": PermuteAndFlip,
    "noisy-max": NoisyMax,
}


def _selection(name: str, target: AuditTarget) -> Iterator[Trial]:
    for adjacency, pair in _SCORES.items():
        mechanism = _KINDS[name]((0, 1, 2), target.epsilon, ScoreSensitivity.of_counts(adjacency))
        laws = law_of(mechanism.law(pair[0])), law_of(mechanism.law(pair[1]))
        yield _trial(name, "three candidates", adjacency, mechanism, pair, target, laws)


def _top_k(target: AuditTarget) -> Iterator[Trial]:
    for adjacency, pair in _SCORES.items():
        mechanism = TopK((0, 1, 2), 2, target.epsilon, ScoreSensitivity.of_counts(adjacency))
        yield _trial("top-k", "the best two of three", adjacency, mechanism, pair, target)


def _quantile(target: AuditTarget) -> Iterator[Trial]:
    for adjacency in ADJACENCIES:
        mechanism = PrivateQuantile(_HALF, 0, 10, target.epsilon, adjacency)
        pair = _VALUES[adjacency]
        laws = law_of(mechanism.law(pair[0])), law_of(mechanism.law(pair[1]))
        yield _trial("quantile", "the median of 0..10", adjacency, mechanism, pair, target, laws)


def _trial(
    name: str,
    how: str,
    adjacency: Adjacency,
    mechanism: Any,
    pair: Any,
    target: AuditTarget,
    laws: tuple[OutputLaw, OutputLaw] | None = None,
) -> Trial:
    claim = RoundedGuarantee(float_up(mechanism.cost().epsilon), 0.0)
    return Trial(name, how, adjacency, once(mechanism, target), pair, claim, laws=laws, slow=True)


ENTRIES = (
    AuditedMechanism("exponential", "the exponential mechanism", partial(_selection, "exponential")),
    AuditedMechanism("permute-and-flip", "permute-and-flip", partial(_selection, "permute-and-flip")),
    AuditedMechanism("noisy-max", "report noisy max, the index alone", partial(_selection, "noisy-max")),
    AuditedMechanism("top-k", "the k best, one after another", _top_k),
    AuditedMechanism("quantile", "a private median", _quantile, ("median",)),
)
