"""Our mechanisms, each with neighboring inputs that move it as far as its claim allows.  The table grows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from adyton.audit.cases import (
    means_with_squares,
    monitors,
    read_again,
    reserves,
    rounded_studies,
    selected,
    selections,
    shared_budgets,
    sparse_vectors,
    split_studies,
    surveyed,
    workloads,
)
from adyton.audit.cases.queries import QUERIES, ask_both
from adyton.audit.cases.trial import (
    AuditedMechanism,
    AuditTarget,
    Trial,
    for_each_accounting,
    gaussian_claim,
    gaussian_mu,
)
from adyton.certify import RoundedGuarantee
from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up, positive, rational
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise, QueryNoise
from adyton.kernel.noise import Bits, SystemBits
from adyton.kernel.privacy import ADJACENCIES
from adyton.kernel.sensitivity import Sensitivity
from adyton.noise_intervals.proportions import noise_for_cost

_ONE_STEP = Sensitivity(((0, 1),), 1, "replace-one")
_HISTOGRAM = Sensitivity(((1, 1),), 3, "replace-one")
_MEAN = Sensitivity(((-7, 7), (1, 1)), 1, "add-remove")
# For each of these, the exact integers on two neighbors.
_PAIRS: dict[str, tuple[Sensitivity, tuple[Any, Any]]] = {
    "0 and 1": (_ONE_STEP, ([[0]], [[1]])),
    "a million and one more": (_ONE_STEP, ([[10**6]], [[10**6 + 1]])),
    "a row of a histogram moves": (_HISTOGRAM, ([[5, 2, 0]], [[4, 2, 1]])),
    "a row joins a mean": (_MEAN, ([[20], [9]], [[27], [10]])),
}


def _pure(kind: type[QueryNoise], name: str, target: AuditTarget) -> Iterator[Trial]:
    """Noise whose cost is an epsilon."""
    for pair_name, (sensitivity, pair) in _PAIRS.items():
        noise = noise_for_cost(kind, sensitivity, target.epsilon)
        epsilon = noise.cost(sensitivity).pure
        assert epsilon is not None
        claim = RoundedGuarantee(float_up(epsilon), 0.0)
        yield Trial(name, pair_name, sensitivity.adjacency, _repeated(noise, target.bits), pair, claim)


def _gaussian(target: AuditTarget) -> Iterator[Trial]:
    mu = gaussian_mu(target, "Gaussian")
    for pair_name, (sensitivity, pair) in _PAIRS.items():
        noise = noise_for_cost(GaussianNoise, sensitivity, Fraction(mu) ** 2)
        true_mu = math.sqrt(noise.cost(sensitivity).gdp) * SAFE
        claim, mechanism = gaussian_claim(true_mu, target), _repeated(noise, target.bits)
        yield Trial("gaussian", pair_name, sensitivity.adjacency, mechanism, pair, claim, mu=true_mu)


def _repeated(noise: QueryNoise, bits: Bits) -> Callable[[Any, int], Any]:
    """n releases of the same integers, one in each row."""

    def release(exact: list[list[int]], n: int) -> Any:
        noisy = noise.release([column * n for column in exact], bits)
        return np.concatenate([np.array(c, dtype=np.int64).reshape(n, -1) for c in noisy], axis=1)

    return release


def _queries(accounting: str, target: AuditTarget) -> Iterator[Trial]:
    for adjacency in ADJACENCIES:
        for name in QUERIES:
            yield ask_both(name, adjacency, accounting, target)


CATALOGUE: tuple[AuditedMechanism, ...] = (
    AuditedMechanism(
        "geometric",
        "two-sided geometric noise (discrete Laplace)",
        partial(_pure, GeometricNoise, "geometric"),
        ("laplace",),
    ),
    AuditedMechanism("gaussian", "rounded Gaussian noise", _gaussian),
    *(*surveyed.ENTRIES, *selections.ENTRIES, *sparse_vectors.ENTRIES, *workloads.ENTRIES),
    *for_each_accounting("queries", "whole queries through a curator", _queries),
    *means_with_squares.ENTRIES,
    *(*monitors.ENTRIES, *selected.ENTRIES, *read_again.ENTRIES),
    *(*split_studies.ENTRIES, *rounded_studies.ENTRIES, *reserves.ENTRIES, *shared_budgets.ENTRIES),
)


def entry_named(name: str) -> AuditedMechanism:
    for entry in CATALOGUE:
        if name in (entry.name, *entry.aliases):
            return entry
    raise InvalidRequest(f"unknown mechanism {name!r}; known: {', '.join(e.name for e in CATALOGUE)}")


def target_of(epsilon: object = 1, delta: object = "0.01", bits: Bits | None = None) -> AuditTarget:
    asked = rational(delta, "delta")
    if not 0 <= asked < 1:
        raise InvalidRequest("delta must be at least 0 and below 1")
    return AuditTarget(positive(epsilon, "epsilon"), asked, bits if bits is not None else SystemBits())
