"""Sparse vectors to try: integers that cross their thresholds late and move against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from adyton.audit.cases.trial import AuditedMechanism, AuditTarget, Trial
from adyton.certify import RoundedGuarantee
from adyton.kernel.exact import float_up
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse
from adyton.noise_intervals.sparse import numeric_sparse_for_cost, sparse_for_cost
from adyton.textbook.above_threshold import AboveThreshold

# Every integer moves by one; in the first pair some up and some down, in the second all the same way.
_AGAINST = (0, 0, 0, 0, 1, 1), (1, 1, 1, 1, 0, 0)
_TOGETHER = (0, 0, 0, 0, 0, 0), (1, 1, 1, 1, 1, 1)


def _above_threshold(target: AuditTarget) -> Iterator[Trial]:
    for monotone, pair in ((False, _AGAINST), (True, _TOGETHER)):
        yield _trial(
            "above-threshold", AboveThreshold.for_cost(target.epsilon, monotone=monotone), pair, target
        )


def _sparse(target: AuditTarget) -> Iterator[Trial]:
    for monotone, refresh, pair in (
        (False, False, _AGAINST),
        (True, False, _TOGETHER),
        (False, True, _AGAINST),
    ):
        mechanism = sparse_for_cost(target.epsilon, 2, monotone=monotone, refresh=refresh)
        yield _trial("sparse", mechanism, pair, target)


def _numeric_sparse(target: AuditTarget) -> Iterator[Trial]:
    yield _trial("numeric-sparse", numeric_sparse_for_cost(target.epsilon, 1), _AGAINST, target)


def _trial(
    name: str, mechanism: AboveThreshold | Sparse | NumericSparse, pair: Any, target: AuditTarget
) -> Trial:
    release = _once(mechanism, target)
    spent = mechanism.cost().pure
    assert spent is not None  # no Gaussian values here
    claim = RoundedGuarantee(float_up(spent), 0.0)
    how = "all move the same way" if pair is _TOGETHER else "some move up, some down"
    if getattr(mechanism, "refresh", False):
        how += ", threshold refreshed"
    return Trial(name, how, "either", release, pair, claim, slow=True)


def _once(mechanism: AboveThreshold | Sparse | NumericSparse, target: AuditTarget) -> Callable[[Any], Any]:
    def release(sequence: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(mechanism.release(sequence, (0,) * len(sequence), target.bits))

    return release


ENTRIES = (
    AuditedMechanism("above-threshold", "the first query above its threshold", _above_threshold),
    AuditedMechanism("sparse", "the sparse vector with two positives", _sparse, ("sparse-vector",)),
    AuditedMechanism("numeric-sparse", "the sparse vector with a value for its positive", _numeric_sparse),
)
