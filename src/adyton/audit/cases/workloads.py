"""Answers to many linear queries together, to try: one row of a small histogram moves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from adyton.audit.cases.trial import AuditedMechanism, AuditTarget, Trial, gaussian_claim, gaussian_mu, once
from adyton.certify import RoundedGuarantee
from adyton.kernel.exact import UNITS_PER_ONE, float_up
from adyton.kernel.exact.outward import SAFE
from adyton.kernel.mechanisms import GeometricNoise
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.mechanisms.marginals.adaptive import AdaptiveMarginals, AdaptiveRound
from adyton.kernel.special.mechanisms.marginals.tables import tables_of
from adyton.monitors.pmw.run import PrivateMwPlan
from adyton.noise_intervals.sparse import numeric_sparse_for_cost
from adyton.planning.coordinated.range_workload import Prefixes
from adyton.planning.coordinated.strategies import tree, wavelet
from adyton.synthesis.fitting import CellGuess
from adyton.synthesis.plan import marginals_up_to
from adyton.textbook.matrix import GaussianMatrix, GeometricMatrix
from adyton.textbook.mwem import Mwem

_CELLS = 4
_PAIRS: dict[Adjacency, tuple[Any, Any]] = {
    "replace-one": (np.array([6, 1, 0, 3]), np.array([5, 1, 0, 4])),
    "add-remove": (np.array([6, 1, 0, 3]), np.array([6, 1, 0, 4])),
}


def _matrix(target: AuditTarget) -> Iterator[Trial]:
    for adjacency in ADJACENCIES:
        for strategy in (tree(_CELLS, 2), wavelet(_CELLS)):
            mechanism = GeometricMatrix.for_cost(strategy, adjacency, target.epsilon)
            claim = RoundedGuarantee(float_up(mechanism.cost(adjacency).epsilon), 0.0)
            how, release = f"{strategy.name}, geometric noise", once(mechanism, target)
            yield Trial("matrix", how, adjacency, release, _PAIRS[adjacency], claim, slow=True)
        yield _gaussian_matrix(adjacency, target)


def _gaussian_matrix(adjacency: Adjacency, target: AuditTarget) -> Trial:
    mu = gaussian_mu(target, "Gaussian matrix")
    mechanism = GaussianMatrix.for_cost(tree(_CELLS, 2), adjacency, Fraction(mu) ** 2)
    true_mu = math.sqrt(mechanism.cost(adjacency).gdp) * SAFE
    claim, release = gaussian_claim(true_mu, target), once(mechanism, target)
    how = f"{mechanism.strategy.name}, Gaussian noise"
    return Trial("matrix", how, adjacency, release, _PAIRS[adjacency], claim, mu=true_mu, slow=True)


def _mwem(target: AuditTarget) -> Iterator[Trial]:
    workload = Prefixes(_CELLS)
    mechanism = Mwem.for_cost(workload, target.epsilon, 2)
    spent = mechanism.cost().pure
    assert spent is not None

    def release(histogram: Any) -> Any:
        made = mechanism.release(workload, workload.numerators(histogram), 10, target.bits)
        return (*(round(m.gap, 9) for m in made.measurements), *np.round(made.last, 9).tolist())

    for adjacency, pair in _PAIRS.items():
        yield Trial(
            "mwem", "two rounds", adjacency, release, pair, RoundedGuarantee(float_up(spent), 0.0), slow=True
        )


def _private_mw(target: AuditTarget) -> Iterator[Trial]:
    workload = Prefixes(_CELLS)
    plan = PrivateMwPlan(_CELLS, 10, numeric_sparse_for_cost(target.epsilon, 1), threshold=2, gap=0.1)

    def release(histogram: Any) -> Any:
        run, said = plan.start(target.bits), []
        for i, exact in enumerate(workload.numerators(histogram).tolist()):
            if run.halted:
                break
            said.append(tuple(run.ask(workload.query(i), exact, target.bits)))
        return tuple(said)

    spent = plan.cost().pure
    assert spent is not None  # no Gaussian values here
    claim = RoundedGuarantee(float_up(spent), 0.0)
    for adjacency, pair in _PAIRS.items():
        yield Trial("private-mw", "four prefixes", adjacency, release, pair, claim, slow=True)


def _adaptive_marginals(target: AuditTarget) -> Iterator[Trial]:
    """Two rounds on a table of two by two, with a public guess that takes a few steps only."""
    shape, units = (2, 2), int(target.epsilon * UNITS_PER_ONE)
    for adjacency, pair in _PAIRS.items():
        moved = Sensitivity(((1, 1),), _CELLS, adjacency)
        machine = AdaptiveMarginals(
            shape, marginals_up_to(shape, 2, _CELLS), (), moved, units, units // 2, 1, target.epsilon
        )
        guess = replace(CellGuess.even(shape, 10), most_steps=2)

        def release(histogram: Any, machine: AdaptiveMarginals = machine, guess: CellGuess = guess) -> Any:
            exact = tables_of(histogram.reshape(shape), machine.candidates)
            made = machine.release(exact, guess, partial(_step, machine), target.bits)
            return tuple((one.axes, *one.noisy.tolist()) for one in made)

        claim = RoundedGuarantee(float_up(target.epsilon), 0.0)
        yield Trial("adaptive-marginals", "two rounds", adjacency, release, pair, claim, slow=True)


def _step(machine: AdaptiveMarginals, units: int) -> AdaptiveRound:
    """A tenth for the selection, as syntheses have it."""
    selecting = units // 10
    noise = GeometricNoise.for_cost(machine.sensitivity, Fraction(units - selecting, UNITS_PER_ONE))
    return AdaptiveRound(Fraction(selecting, UNITS_PER_ONE), selecting, noise, units - selecting)


ENTRIES = (
    AuditedMechanism(
        "adaptive-marginals", "marginals of a synthetic table", _adaptive_marginals, ("synthesis",)
    ),
    AuditedMechanism("matrix", "the matrix mechanism on four cells", _matrix),
    AuditedMechanism("mwem", "multiplicative weights and the exponential mechanism", _mwem),
    AuditedMechanism("private-mw", "online multiplicative weights", _private_mw, ("pmw",)),
)
