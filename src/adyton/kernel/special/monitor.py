"""Comparisons that are paid for once and made later: of numbers with thresholds, and of counts with guesses.

The noise is made for integers that one unit moves by at most so much.  What is compared later is checked
against that before it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import Accounting
from adyton.kernel.measurement import Due, ReadOnce, Source
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise, Mechanism
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Cost, PrivacyUnit
from adyton.kernel.protection import Protection
from adyton.kernel.sensitivities import check_reading, moved_by_one
from adyton.kernel.sensitivity import Coordinate, Reading
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse, one_integer
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, SparseState

Machine = Sparse | NumericSparse
Outcome = Mapping[str, Any]  # what is released of one comparison, as it is noted
_ONE = one_integer(1)


@dataclass(frozen=True, slots=True)
class Monitor(ReadOnce):
    """Says of numbers, asked for one after another, whether they are above thresholds."""

    machine: Machine
    readings: ClassVar[tuple[Reading, ...]] = ()
    word: ClassVar[str] = "a monitor"

    def due(self, protection: Protection) -> Due:
        """All comparisons together, whatever they will be about.

        Claim:    all answers together cost at most this, under the accounting of the study.
        Assumes:  as SPARSE; ``check`` passes for all that is compared.
        Source:   the cost of the mechanism.  Theorem: MONITOR-IS-ONE-RELEASE.
        """
        protection.refuse_split_or_rounded("what is opened once and fed later")
        sparse = _checked(self.machine)
        both_ways = protection.unit.adjacency == "add-remove" and not sparse.monotone
        if sparse.monotone and protection.unit.adjacency != "add-remove":
            raise InvalidRequest("numbers move one way only where units are added or removed")
        validity = of_validity(protection.rule, self.machine, 2 if both_ways else 1)
        gaussian = ((sparse.positives, validity[0]),) if _gaussian_values(self.machine) else ()
        return Due(protection.rule.amount(self.machine.cost()), *validity, gaussian=gaussian)

    def check(self, reading: Reading, factor: int, protection: Protection) -> None:
        """Refuses a number that one unit can move farther than was paid for.

        Claim:    ``factor`` times the integer of the reading is moved by at most the machine's sensitivity,
                  one way with all others where the machine is monotone.
        Assumes:  as ``sensitivity_of``.
        Source:   derived on the theorem's page.  Theorem: MONITOR-OF-SUMS.
        """
        unit, sparse = _unit_of_one(reading, protection), sparse_of(self.machine)
        if type(factor) is not int or factor < 1 or factor * moved_by_one(reading, unit) > sparse.sensitivity:
            raise InvalidRequest("one unit can move this number farther than was paid for")
        if sparse.monotone and reading.sensitivity.boxes[0][0] < 0:
            raise InvalidRequest("this number can fall where others rise")

    def begin(self, source: Callable[[Reading], Sequence[int]], bits: Bits) -> tuple[SparseState, Outcome]:
        """The first noise of the threshold, which stays secret."""
        return self.machine.start(bits), {}

    def compare(
        self, watch: SparseState, exact: Sequence[int], threshold: int, bits: Bits
    ) -> tuple[Outcome, SparseState]:
        """A tie is above."""
        value, (number,) = None, exact
        if isinstance(self.machine, NumericSparse):
            value, after = self.machine.step(watch, number, threshold, bits)
            above = value is not None
        else:
            above, after = self.machine.step(watch, number, threshold, bits)
        return {"above": above, "value": None if value is None else str(value)}, after

    def uses_up(self, outcome: Outcome) -> bool:
        """Whether one fewer positive is left after it."""
        return outcome["above"] is True

    def release(self, source: Source, bits: Bits) -> Any:
        raise TypeError("what is compared later is not released at once")


@dataclass(frozen=True, slots=True)
class Pmw(ReadOnce):
    """Says of counts whether a public guess of them is too low or too high, and then measures how far.

    ``everybody``: the count of all units, with noise of ``total_noise``, where it is private; otherwise it is
    ``rows``.
    """

    machine: NumericSparse
    threshold: int
    rows: int | None
    total_noise: GaussianNoise | GeometricNoise | None = None
    everybody: Reading | None = None
    word: ClassVar[str] = "PMW"

    @property
    def readings(self) -> tuple[Reading, ...]:
        return () if self.everybody is None else (self.everybody,)

    def due(self, protection: Protection) -> Due:
        """All comparisons together, and the number of units.

        Claim:    all answers together cost at most this, under the accounting of the study.
        Assumes:  as SPARSE and the noise; ``check`` passes for all that is compared.
        Source:   composition.  Theorem: PMW-PRIVACY.
        """
        protection.refuse_split_or_rounded("what is opened once and fed later")
        if _checked(self.machine).monotone or protection.unit.rows > 1 or self.threshold < 1:
            raise InvalidRequest("counts with guesses are compared both ways, for units of one row")
        if (self.total_noise is None) != (self.everybody is None) or (self.rows is None) == (
            self.everybody is None
        ):
            raise InvalidRequest("the number of units is public, or is measured with noise")
        parts: tuple[tuple[Cost, int], ...] = ((self.machine.cost(), 1),)
        if self.total_noise is not None and self.everybody is not None:
            self.check(self.everybody, 1, protection)
            if type(self.total_noise) is not protection.rule.noise:
                raise InvalidRequest("this noise is not of a kind whose cost is proved")
            parts += ((self.total_noise.cost(_ONE), 1),)
        validity = of_validity(protection.rule, self.machine, total=self.total_noise)
        numbers = sparse_of(self.machine).positives + (self.total_noise is not None)
        gaussian = ((numbers, validity[0]),) if _gaussian_values(self.machine) else ()
        return Due(protection.rule.amount(ComposedCost(parts)), *validity, gaussian=gaussian)

    def check(self, reading: Reading, factor: int, protection: Protection) -> None:
        """Refuses what is not a count of which a unit is at most one.  Theorem: PMW-PRIVACY."""
        unit = _unit_of_one(reading, protection)
        counted = reading.coordinates == (Coordinate(),) and reading.persons is None and unit.rows == 1
        if factor != 1 or not counted or sparse_of(self.machine).sensitivity < 1:
            raise InvalidRequest("one unit can move this count farther than was paid for")

    def begin(self, source: Callable[[Reading], Sequence[int]], bits: Bits) -> tuple[SparseState, Outcome]:
        """The first noise of the thresholds, and the number of units within what can be."""
        watch, total = self.machine.start(bits), self.rows
        if self.total_noise is not None and self.everybody is not None:
            noisy = int(self.total_noise.release([source(self.everybody)], bits)[0][0])
            total = min(max(1, noisy), MOST_STEPS)
        return watch, {"total": str(total)}

    def compare(
        self, watch: SparseState, exact: Sequence[int], guess: int, bits: Bits
    ) -> tuple[Outcome, SparseState]:
        found, after = compare_both_ways(self.machine, self.threshold, watch, exact[0] - guess, bits)
        return {"found": None if found is None else [found.sign, str(found.excess)]}, after

    def uses_up(self, outcome: Outcome) -> bool:
        return outcome["found"] is not None

    def release(self, source: Source, bits: Bits) -> Any:
        raise TypeError("what is compared later is not released at once")


def _gaussian_values(machine: Machine) -> bool:
    """Whether the radius is that of noisy values, and not of comparisons."""
    return isinstance(machine, NumericSparse) and machine.gaussian


def _checked(machine: Machine) -> Sparse:
    if type(machine) not in (Sparse, NumericSparse) or type(sparse_of(machine)) is not Sparse:
        raise InvalidRequest("these comparisons are not of a kind whose cost is proved")
    return sparse_of(machine)


def _unit_of_one(reading: Reading, protection: Protection) -> PrivacyUnit:
    """Who is protected in the table of a single number."""
    if reading.table is None or len(reading.coordinates) != 1 or reading.cells != 1 or reading.by:
        raise InvalidRequest("one number is compared at a time")
    unit = protection.unit_of(reading.table)
    check_reading(reading, unit)
    return unit


# What they cost --------------------------------------------------------------------------------------------


def sparse_of(machine: Machine) -> Sparse:
    return machine.sparse if isinstance(machine, NumericSparse) else machine


def replace_one_cost(machine: Machine, reaches: int = 1) -> ComposedCost:
    """What a whole unit exchanged for another can do to the comparisons: the same noise, and integers that
    move either way, by so many times the reach.  They have no radius of their own, so validity pays this.
    Theorem: MONITOR-IS-ONE-RELEASE.
    """
    sparse = sparse_of(machine)
    return replace(sparse, monotone=False, sensitivity=reaches * sparse.sensitivity).cost()


def of_validity(
    rule: Accounting, machine: Machine, reaches: int = 1, total: Mechanism | None = None
) -> tuple[int, int]:
    """What validity pays for comparisons, as a radius and as a pure part, in whole units.

    Values are paid for as other numbers, by their radius, and so is the ``total``, a count.  But where not
    all is paid from one cap, geometric values are paid for by their epsilon, like the comparisons.
    Theorem: MONITOR-IS-ONE-RELEASE.
    """
    chosen, radii = replace_one_cost(machine, reaches), tuple[tuple[Cost, int], ...]()
    if isinstance(machine, NumericSparse):
        one, values = one_integer(reaches * machine.sparse.sensitivity), machine.sparse.positives
        if rule.capped or machine.gaussian:
            radii = ((machine.values.radius(one), values),)
        else:
            chosen = ComposedCost(((chosen, 1), (machine.values.cost(one), values)))
    if total is not None:
        radii += ((total.radius(_ONE), 1),)
    return rule.validity(chosen, ComposedCost(radii))


MOST_STEPS = 2**45  # total times denominator; beyond, a float could miss the guessed numerator by a step


class PmwCorrection(NamedTuple):
    """That a guess was found too low (``sign`` 1) or too high (-1), and by how much, with noise."""

    sign: int
    excess: int


def compare_both_ways(
    machine: NumericSparse, threshold: int, watch: SparseState, distance: int, bits: Bits
) -> tuple[PmwCorrection | None, SparseState]:
    """What is found of a guess that is too low by ``distance`` steps, and what to keep for the next.

    Asks the sparse vector twice, whether the guess is too low and whether it is too high, so that a positive
    also says in which direction to correct.  Theorem: PMW-PRIVACY.
    """
    for sign in (1, -1):
        excess, watch = machine.step(watch, sign * distance, threshold, bits)
        if excess is not None:
            return PmwCorrection(sign, excess), watch
    return None, watch
