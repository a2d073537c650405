"""Which keys may be shown, if nobody declared them: those that clearly more than one unit has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import whole
from adyton.kernel.exact.outward import COARSE
from adyton.kernel.exact.special import special
from adyton.kernel.mechanisms.base import Mechanism
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.noise import Bits

LEAST_PROBABILITY = Fraction(1, 10**250)
_FARTHER = 1 + COARSE


@dataclass(frozen=True, slots=True)
class KeySelection:
    """Every key that occurs gets a noisy count of its units; it is shown if that is at least ``threshold``.

    Claim:    with probability at least 1 - ``probability`` no key is shown that only one unit has; given
              that, the keys shown are as private as the noisy counts of keys that were known before.
    Assumes:  a unit adds 1 to the counts of at most ``touched`` keys, and nothing to others; ``noise`` fits.
    Source:   Korolova, Kenthapadi, Mishra, Ntoulas 2009; here with the two guarantees kept apart.
    Theorem: KEY-SELECTION.
    """

    noise: Mechanism
    touched: int
    probability: Fraction
    name: ClassVar[str] = "key selection"

    def __post_init__(self) -> None:
        if not LEAST_PROBABILITY <= self.probability / self.touched < Fraction(1, 2):
            raise InvalidRequest("no threshold can be worked out for this discovery_delta: it is too small")

    @property
    def threshold(self) -> int:
        """A t with P(1 + noise >= t) * touched <= probability: the least, but for a margin for roundings."""
        each, scale = float(self.probability / self.touched) / _FARTHER, float(self.noise.scales[0])
        if isinstance(self.noise, GaussianNoise):  # rounded: half a step more
            return math.ceil(1.5 - float(special().ndtri(each)) * _FARTHER * scale)
        beyond = -math.log(each) * _FARTHER - math.log1p(math.exp(-1 / scale))  # P(Z >= m) = q**m / (1 + q)
        return 1 + math.ceil(beyond * _FARTHER * scale)

    def release(self, counts: Sequence[int], bits: Bits) -> npt.NDArray[np.bool_]:
        """For each key that occurs, whether it is shown."""
        (noisy,), threshold = self.noise.release([counts], bits), self.threshold
        shown: npt.NDArray[np.bool_] = whole(noisy) >= threshold
        return shown

    def surely_shown(self, confidence: float) -> int:
        """How many units a key needs to be shown with this probability."""
        return self.threshold + self.noise.error(1 - 2 * (1 - confidence))
