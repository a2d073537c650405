"""The sparse vector with numbers: each positive also gets a noisy value, paid for separately."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from adyton.kernel.mechanisms.base import Mechanism
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.noise import Bits
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, SparseState

GEOMETRIC_VALUES = "numeric sparse vector"
GAUSSIAN_VALUES = "numeric sparse vector, Gaussian values"


@dataclass(frozen=True, slots=True)
class NumericSparse:
    """As ``sparse``, and the value of each positive with noise of its own, never that of the comparison.

    Claim:    as private as ``sparse`` and c further releases, each of one integer that moves by at most D:
              with geometric noise of ``value_scale``, or, if ``gaussian``, with this standard deviation.
    Assumes:  as SPARSE; the noise of a value is independent of the noise of its comparison.
    Source:   Dwork, Roth 2014, section 3.6; Lyu, Su, Li 2017.  Theorem: NUMERIC-SPARSE.
    """

    sparse: Sparse
    value_scale: Fraction
    gaussian: bool = False

    def __post_init__(self) -> None:
        assert self.values.scales  # made once here, to refuse a scale before anything is charged

    @property
    def name(self) -> str:
        return GAUSSIAN_VALUES if self.gaussian else GEOMETRIC_VALUES

    @property
    def theorems(self) -> tuple[str, ...]:
        own = ("ROUNDED-GAUSSIAN-IS-GDP",) if self.gaussian else ()
        return (*self.sparse.theorems, "NUMERIC-SPARSE", *own)

    @property
    def values(self) -> Mechanism:
        """What is added to the integer of a positive."""
        return (GaussianNoise if self.gaussian else GeometricNoise)((self.value_scale,))

    def cost(self) -> ComposedCost:
        value = self.values.cost(one_integer(self.sparse.sensitivity))
        return ComposedCost(((self.sparse.cost(), 1), (value, self.sparse.positives)))

    def start(self, bits: Bits) -> SparseState:
        return self.sparse.start(bits)

    def step(
        self, watch: SparseState, exact: int, threshold: int, bits: Bits
    ) -> tuple[int | None, SparseState]:
        """The noisy value if the query was found above, else None; and what to keep for the next."""
        above, after = self.sparse.step(watch, exact, threshold, bits)
        return (self.values.release([[exact]], bits)[0][0] if above else None), after

    def release(self, exact: Iterable[int], thresholds: Iterable[int], bits: Bits) -> list[int | None]:
        watch, said = self.start(bits), list[int | None]()
        for value, threshold in zip(exact, thresholds, strict=False):
            answer, watch = self.step(watch, value, threshold, bits)
            said.append(answer)
            if not watch.left:
                break
        return said


def one_integer(moved: int) -> Sensitivity:
    """Of a single integer that one unit moves by at most ``moved``."""
    return Sensitivity(((0, moved),), 1, "replace-one")
