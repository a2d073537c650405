"""A price is computed from a rational scale and noise is drawn at a float: never below what was priced."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noise import rounded_gaussian, two_sided_geometric
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse
from adyton.planning.coordinated.range_workload import IdentityQueries
from adyton.planning.coordinated.strategies import identity
from adyton.textbook.above_threshold import AboveThreshold
from adyton.textbook.matrix import GaussianMatrix, GeometricMatrix
from adyton.textbook.mwem import Mwem
from support.randomness import Seeded

THIRD = Fraction(1, 3)  # the nearest float is below it
BITS = Seeded(1)
COUNTS = np.array([3, 4])


def _sparse() -> Sparse:
    return Sparse(1, THIRD, THIRD)


def _synthetic() -> Any:
    choice = PermuteAndFlip((0, 1), Fraction(1), ScoreSensitivity(Fraction(1)))
    return Mwem(1, choice, THIRD).release(IdentityQueries(2), COUNTS, 7, BITS)


RELEASES: dict[str, Callable[[], Any]] = {
    "GAUSSIAN": lambda: GaussianNoise((THIRD,)).release([[1]], BITS),
    "GEOMETRIC": lambda: GeometricNoise((THIRD,)).release([[1]], BITS),
    "ABOVE": lambda: AboveThreshold(THIRD, THIRD).release([1], [0], BITS),
    "SPARSE": lambda: _sparse().release([1, 2], [0, 0], BITS),
    "NUMERIC": lambda: NumericSparse(_sparse(), THIRD).release([90], [0], BITS),
    "GAUSSIAN MATRIX": lambda: GaussianMatrix(identity(2), THIRD).release(COUNTS, BITS),
    "GEOMETRIC MATRIX": lambda: GeometricMatrix(identity(2), THIRD).release(COUNTS, BITS),
    "MWEM": _synthetic,
}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The scales at which noise was really drawn."""
    scales: list[float] = []
    for sampler in (rounded_gaussian, two_sided_geometric):

        def listening(scale: float, *rest: Any, true: Callable[..., Any] = sampler.draw) -> Any:
            scales.append(scale)
            return true(scale, *rest)

        monkeypatch.setattr(sampler, "draw", listening)
    return scales


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES.keys())
def test_law_no_noise_is_quieter_than_the_scale_that_was_priced(
    release: Callable[[], Any], drawn: list[float]
) -> None:
    """The nearest float to a third is less than a third, and would cost more than the price that was paid."""
    assert Fraction(float(THIRD)) < THIRD
    release()
    assert drawn
    assert all(THIRD <= Fraction(scale) < THIRD * (1 + Fraction(1, 2**50)) for scale in drawn)
