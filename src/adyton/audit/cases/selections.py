"""Selections to try: scores of declared candidates, of which a neighbour moves some up and some down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from adyton.audit.cases.trial import AuditTarget, Listed, Trial
from adyton.audit.exact import Law
from adyton.certify import Promise
from adyton.exact import float_up
from adyton.mechanisms.selection.exponential import ExponentialMechanism
from adyton.mechanisms.selection.noisy_max import NoisyMax
from adyton.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.mechanisms.selection.quantile import PrivateQuantile
from adyton.mechanisms.selection.scores import ScoreSensitivity
from adyton.mechanisms.selection.top_k import TopK
from adyton.privacy import NEIGHBOURS, Neighbours

_LAW_ERROR = 1e-10  # of the laws that mechanisms state to about 12 digits
# Counts: under replacement a person leaves one candidate for another, else joins some of them.
_SCORES: dict[Neighbours, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "replace": ((4, 5, 1), (3, 6, 1)),
    "add-or-remove": ((5, 5, 4), (6, 6, 4)),
}
_VALUES: dict[Neighbours, tuple[list[int], list[int]]] = {
    "replace": ([4, 4, 4, 10, 10], [4, 4, 4, 10, 0]),
    "add-or-remove": ([4, 4, 10, 10, 0], [4, 4, 10, 10]),
}
_HALF = Fraction(1, 2)

_KINDS: dict[str, Any] = {
    "exponential": ExponentialMechanism,
    "permute-and-flip": PermuteAndFlip,
    "noisy-max": NoisyMax,
}


def _selection(name: str, target: AuditTarget) -> Iterator[Trial]:
    for neighbours, pair in _SCORES.items():
        mechanism = _KINDS[name]((0, 1, 2), target.epsilon, ScoreSensitivity.of_counts(neighbours))
        laws = tuple(_law(mechanism.law(scores), 0) for scores in pair)
        yield _trial(name, "three candidates", neighbours, mechanism, pair, target, (laws[0], laws[1]))


def _top_k(target: AuditTarget) -> Iterator[Trial]:
    for neighbours, pair in _SCORES.items():
        mechanism = TopK((0, 1, 2), 2, target.epsilon, ScoreSensitivity.of_counts(neighbours))
        yield _trial("top-k", "the best two of three", neighbours, mechanism, pair, target)


def _quantile(target: AuditTarget) -> Iterator[Trial]:
    for neighbours in NEIGHBOURS:
        mechanism = PrivateQuantile(_HALF, 0, 10, target.epsilon, neighbours)
        pair = _VALUES[neighbours]
        laws = tuple(_law(mechanism.law(values), 0) for values in pair)
        yield _trial(
            "quantile", "the median of 0..10", neighbours, mechanism, pair, target, (laws[0], laws[1])
        )


def _law(probabilities: Any, first: int) -> Law:
    listed = {first + i: float(p) for i, p in enumerate(probabilities)}
    return Law(listed, error=_LAW_ERROR)


def _trial(
    name: str,
    how: str,
    neighbours: Neighbours,
    mechanism: Any,
    pair: Any,
    target: AuditTarget,
    laws: tuple[Law, Law] | None = None,
) -> Trial:
    claim = Promise(float_up(mechanism.cost().epsilon), 0.0)
    release: Callable[[Any], Any] = partial(_once, mechanism, target)
    return Trial(name, how, neighbours, release, pair, claim, laws=laws, slow=True)


def _once(mechanism: Any, target: AuditTarget, scores: Any) -> Any:
    return mechanism.release(scores, target.bits)


ENTRIES: tuple[Listed, ...] = (
    ("exponential", "the exponential mechanism", partial(_selection, "exponential"), ()),
    ("permute-and-flip", "permute-and-flip", partial(_selection, "permute-and-flip"), ()),
    ("noisy-max", "report noisy max, the index alone", partial(_selection, "noisy-max"), ()),
    ("top-k", "the k best, one after another", _top_k, ()),
    ("quantile", "a private median", _quantile, ("median",)),
)
