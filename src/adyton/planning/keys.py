"""Groups that nobody declared: their keys are found in the data, and shown only where many units have them.

First every key gets a noisy count of its units, and those below a threshold are dropped; then the values of
the keys that are left get noise of their own, so that being chosen does not bias them.  How many were dropped
is said with noise as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.certify import Interval, KeysFound, KeysSought
from adyton.errors import InvalidRequest
from adyton.exact.cells import Cells, whole
from adyton.mechanisms.key_selection import KeySelection
from adyton.noise import Bits
from adyton.planning.part import Columns
from adyton.planning.price import Pricing
from adyton.privacy import PrivacyUnit
from adyton.query.leaves import EVERY_ROW
from adyton.query.measures import Cdf, Count, CountPersons, Extreme, Quantile
from adyton.query.nodes import Question
from adyton.schema import TextColumn
from adyton.sensitivity import Coordinate, Reading, Sensitivity, readings_for
from adyton.study import keys_failure
from adyton.study.validity import refuse_where_rounded
from adyton.validity.subset.tails import question_share

NUMBER_OF_KEYS = "number of keys"  # the reading that tells questions whose keys were found from all others
PART = Fraction(1, 4)  # of the price of a question, for finding its keys
_OF_COUNTS = Fraction(4, 5)  # of that, for the counts; the rest is for how many keys were dropped
_MOST_RECEIPTS = 10**9  # a threshold that could not be worked out is refused before anything is charged

Keys = Sequence[Sequence[str | int]]


@dataclass(frozen=True, slots=True)
class Kept:
    """The keys that are shown, their places among all that were found, and a noisy number of all."""

    keys: list[list[str | int]]
    places: npt.NDArray[np.int64]
    noisy_number: int


@dataclass(frozen=True, slots=True)
class KeyFinding:
    """How the keys of one question are found."""

    counted: NoisyReading
    number: NoisyReading
    failure: Fraction
    theorems = ("KEY-SELECTION",)

    def __post_init__(self) -> None:
        self.selection(_MOST_RECEIPTS)

    @property
    def noisy(self) -> tuple[NoisyReading, ...]:
        return (self.counted, self.number)

    def selection(self, receipt: int) -> KeySelection:
        """Later questions get a smaller part of the failure probability, so that all stay within it."""
        touched = self.counted.reading.sensitivity.touched
        return KeySelection(self.counted.mechanism, touched, self.failure * question_share(receipt))

    def release(self, keys: Keys, exact: Columns, receipt: int, bits: Bits) -> Kept:
        """``exact`` are the counts of the units that have each key."""
        counts = whole(exact[0])
        occurring = np.flatnonzero(counts > 0)
        places = occurring[self.selection(receipt).release(Cells(counts[occurring]), bits)]
        ((number,),) = self.number.mechanism.release([[len(occurring)]], bits)
        return Kept([list(keys[place]) for place in places.tolist()], places, number)

    def sought(self, receipt: int) -> KeysSought:
        """What a preview says: how many units a key needs if this is the number of the receipt."""
        selection = self.selection(receipt)
        return KeysSought(receipt, selection.threshold, selection.surely_shown(LEVEL), LEVEL)

    def found(self, shown: int, noisy_number: int, receipt: int) -> KeysFound:
        """What an answer says about the keys that it does not show."""
        error = self.number.mechanism.error(LEVEL)
        low, high = (float(max(0, noisy_number + sign * error - shown)) for sign in (-1, 1))
        selection = self.selection(receipt)
        return KeysFound(
            shown=shown,
            suppressed=float(max(0, noisy_number - shown)),
            interval=Interval(LEVEL, low, high),
            threshold=selection.threshold,
            surely_shown=selection.surely_shown(LEVEL),
        )


def plan_keys(question: Question, unit: PrivacyUnit, pricing: Pricing, paid_for_values: int) -> KeyFinding:
    """For a question that has keys to find."""
    study = pricing.study
    if study.parts > 1:
        raise InvalidRequest(
            "keys are not found in a study that splits its units: declare the column's values"
        )
    refuse_where_rounded(study, "a list of keys that are found")
    if not study.keys_delta:
        undeclared = next(group.name for group in question.by if isinstance(group, TextColumn))
        raise InvalidRequest(
            f"the values of {undeclared!r} are not declared: finding them needs privacy.keys_delta in the "
            "study file, a part of delta; or declare the column as a category"
        )
    if any(isinstance(measure, Quantile | Extreme | Cdf) for _, measure in question.measures):
        raise InvalidRequest("quantiles and distributions are answered for declared groups only")
    units = int(pricing.units * PART) if pricing.is_total else paid_for_values // 3
    counted, number = _readings(question, unit)
    for_counts = int(units * _OF_COUNTS)
    return KeyFinding(
        NoisyReading(counted, pricing.noise_for_units(counted, for_counts)),
        NoisyReading(number, pricing.noise_for_units(number, units - for_counts)),
        keys_failure(study),
    )


def _readings(question: Question, unit: PrivacyUnit) -> tuple[Reading, Reading]:
    """The units of each key, and the number of keys, which a unit can change by as many as it has."""
    measure = Count() if unit.rows == 1 else CountPersons()
    (counted,) = readings_for("units of a key", measure, question, unit, None)
    one = Sensitivity(((0, counted.sensitivity.touched),), 1, unit.neighbours)
    return counted, Reading(NUMBER_OF_KEYS, Count(), EVERY_ROW, (Coordinate(),), (), one)
