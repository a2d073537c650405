"""Groups that nobody declared: their values are discovered, and shown only where many units have them.

First every group gets a noisy count of its units, and those below a threshold are dropped; then the values of
the groups that are left get noise of their own, so that being chosen does not bias them.  How many were
dropped is released with noise as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.engine import DiscoveredGroup
from adyton.kernel.exact.cells import Cells, whole
from adyton.kernel.exact.shares import query_share
from adyton.kernel.measurement import Columns
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import TextColumn
from adyton.kernel.sensitivities import check_noisy
from adyton.kernel.sensitivity import Coordinate, Reading, Sensitivity
from adyton.kernel.special.mechanisms.key_selection import KeySelection
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.measures import Count

_MOST_RECEIPTS = 10**9  # a threshold that could not be worked out is refused before anything is charged
NUMBER_OF_KEYS = "number of keys"  # the reading that tells queries whose groups were discovered from others


@dataclass(frozen=True, slots=True)
class DiscoveredGroups:
    """The groups that are shown, their places among all that were found, and a noisy number of all."""

    keys: list[list[str | int]]
    places: npt.NDArray[np.int64]
    noisy_number: int


@dataclass(frozen=True, slots=True)
class GroupDiscovery:
    """How the groups of one query are discovered.

    Claim:    with probability at least 1 - ``failure`` over all queries of a study no group is shown that
              only one unit has; given that, it costs what ``counted`` and ``number`` cost.
    Assumes:  as KEY-SELECTION; every receipt has a place of its own.
    Source:   derived on the theorem's page.  Theorem: KEY-SELECTION.
    """

    counted: NoisyReading
    number: NoisyReading
    failure: Fraction
    theorems: ClassVar[tuple[str, ...]] = ("KEY-SELECTION",)

    def __post_init__(self) -> None:
        self.selection(_MOST_RECEIPTS)

    @property
    def noisy(self) -> tuple[NoisyReading, ...]:
        return (self.counted, self.number)

    def selection(self, place: int) -> KeySelection:
        """Later queries get a smaller part of the failure probability, so that all stay within it."""
        touched = self.counted.reading.sensitivity.touched
        return KeySelection(self.counted.mechanism, touched, self.failure * query_share(place))

    def release(
        self, keys: Sequence[DiscoveredGroup], exact: Columns, place: int, bits: Bits
    ) -> DiscoveredGroups:
        """``exact`` are the counts of the units in each group."""
        counts = whole(exact[0])
        occurring = np.flatnonzero(counts > 0)
        places = occurring[self.selection(place).release(Cells(counts[occurring]), bits)]
        ((number,),) = self.number.mechanism.release([[len(occurring)]], bits)
        return DiscoveredGroups([list(keys[one]) for one in places.tolist()], places, number)

    def check(self, unit: PrivacyUnit, failure: Fraction) -> None:
        """Refuses what would show groups with a larger probability of failure, or cost more than it says."""
        counted, number = self.counted.reading, self.number.reading
        check_noisy(self.counted, unit)
        alone = unit.rows == 1 or counted.persons is not None
        if not alone or self.failure > failure or self.counted.times != 1 or self.number.times != 1:
            raise InvalidRequest("these groups are not discovered with the protection of this study")
        if counted.sensitivity.boxes != ((1, 1),):
            raise InvalidRequest("groups are discovered by how many units are in them")
        known = all(type(one.mechanism) in (GaussianNoise, GeometricNoise) for one in self.noisy)
        if not known or number.sensitivity != number_of_groups(counted).sensitivity:
            raise InvalidRequest("the number of groups is moved farther by one unit than it says")
        if not any(isinstance(group, TextColumn) for group in counted.by) or unit.parts > 1:
            raise InvalidRequest("only groups of text that nobody declared are discovered, among all units")


def number_of_groups(counted: Reading) -> Reading:
    """How many groups there are: one unit changes it by as many as it is in."""
    touched = counted.sensitivity.touched
    one = Sensitivity(((0, touched),), 1, counted.sensitivity.adjacency)
    return Reading(NUMBER_OF_KEYS, Count(), EVERY_ROW, (Coordinate(),), (), one)
