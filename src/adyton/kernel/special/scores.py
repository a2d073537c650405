"""Scores of a holdout: sums over items, which hidden labels move within declared bounds.

The private table has a row for each item.  Which items there are, and in which group each of them is, is
public, so a label that is exchanged moves one cell of a reading.  The submission that a reading is named for
is public too; what it is worth on each item is the reading's column.

Some methods have no noise: their theorems count how many different answers there can be, and nothing else
limits what these say of the labels.  The kernel lets nobody but a holdout release them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import Accounting
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.ledger.subjects import Kind
from adyton.kernel.measurement import Due, ReadOnce, Source
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noise import Bits, rounded_gaussian
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.protection import Protection
from adyton.kernel.sensitivities import sensitivity_of
from adyton.kernel.sensitivity import Reading, Sensitivity
from adyton.kernel.special.mechanisms import exponential_weights
from adyton.kernel.special.mechanisms.selection.scores import gaps_below_best
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, SparseState
from adyton.kernel.terms.leaves import EVERY_ROW
from adyton.kernel.terms.measures import Sum

Outcome = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ScoreBlocks:
    """``counts[i]`` scores with noise of ``scales[i]``, block after block."""

    counts: tuple[int, ...]
    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.scales) or not self.counts or min(self.counts) < 1:
            raise ValueError
        if not all(math.isfinite(scale) and scale > 0 for scale in self.scales):
            raise ValueError

    @property
    def scores(self) -> int:
        return sum(self.counts)

    def scale(self, number: int) -> float:
        """Of the noise of score ``number``."""
        last = 0
        for count, scale in zip(self.counts, self.scales, strict=True):
            last += count
            if number <= last:
                return scale
        raise InvalidRequest(f"the plan has {last:,} scores, and no number {number:,}")

    def spent_before(self, number: int) -> Fraction:
        """mu0**2 of all scores before this one: each adds (1 / (2 scale))**2."""
        left, spent = number - 1, Fraction(0)
        for count, scale in zip(self.counts, self.scales, strict=True):
            spent += min(count, left) / (2 * Fraction(scale)) ** 2
            left -= min(count, left)
        return spent


@dataclass(frozen=True, slots=True)
class NoisyScore(ReadOnce):
    """A score, or how much better one submission is than another; with ``noise`` for each cell, of the place
    that the number of the receipt is.
    """

    readings: tuple[Reading, ...]
    noise: tuple[ScoreBlocks, ...]

    @property
    def kind(self) -> Kind:
        return "comparison" if self.readings[0].coordinates[0].box[0] < 0 else "score"

    def due(self, protection: Protection) -> Due:
        """That of the place with the least noise: before the charge nobody knows which it will be.

        Claim:    the noisy sums of all cells together cost at most this, whichever place it is.
        Assumes:  as ROUNDED-GAUSSIAN-IS-GDP; a label is counted in one cell, always the same.
        Source:   one cell at a time; derived on the theorem's page.  Theorem: SLICES.
        """
        (reading,) = self.readings
        if reading.cells != len(self.noise):
            raise InvalidRequest("every cell of a score has noise of its own")
        return _due(self.noise, _of_one_cell(reading, protection), protection.rule)

    def release(self, source: Source, bits: Bits) -> list[int]:
        (cells,), place = next(iter(source.exact())), source.place
        found = zip(cells, self.noise, strict=True)
        return [int(exact) + int(rounded_gaussian.draw(one.scale(place), 1, bits)[0]) for exact, one in found]


@dataclass(frozen=True, slots=True)
class ModelVote(ReadOnce):
    """A place that a choice of the best submission takes from scores; the last of its places makes it.

    ``earlier``: the numbers of its receipts before the last; None of any of these.  ``rate``: that of the
    exponential mechanism in these places, from public facts.
    """

    readings: tuple[Reading, ...]
    noise: ScoreBlocks
    rate: Callable[[tuple[int, ...]], Fraction]
    largest: bool
    earlier: tuple[int, ...] | None
    kind: ClassVar[Kind] = "vote"

    def due(self, protection: Protection) -> Due:
        (apart,) = {_of_one_cell(reading, protection) for reading in self.readings}
        return _due((self.noise,), apart, protection.rule)

    def release(self, source: Source, bits: Bits) -> int | None:
        """The place of the winner, as the last of its receipts is released.

        Claim:    it costs no more rho than Gaussian scores in all of its places, half of their mu**2.
        Assumes:  as BOUNDED-RANGE: with the labels of one item every sum moves by at most one step.
        Source:   derived on the theorem's page.  Theorem: CHOICE-AS-SCORES.
        """
        if self.earlier is None:
            return None
        places = (*self.earlier, source.place)
        if len(set(places)) < len(places):
            raise InvalidRequest("a choice takes each of its places once")
        for number in places:  # its own too: it is no part of another choice
            source.claim(number)
        rate = self.rate(places)
        if not 0 < rate**2 <= sum(1 / Fraction(self.noise.scale(place)) ** 2 for place in places):
            raise InvalidRequest("a choice is sharper than its places have paid for")
        sums = np.array([int(columns[0][0]) for columns in source.exact()], dtype=np.int64)
        return exponential_weights.choose(gaps_below_best(sums if self.largest else -sums), rate, bits)


@dataclass(frozen=True, slots=True)
class ScoreGrid:
    """What is said of an exact sum: nothing if it is from ``quiet[0]`` to ``quiet[1]``, otherwise
    (times * sum + plus) // by, at most ``most``.

    ``items``: of so many, the sum must be farther outside than the standard error of its difference to
    another one, whose sum and sum of squares are read with it.
    """

    times: int = 1
    plus: int = 0
    by: int = 1
    most: int | None = None
    quiet: tuple[int, int] | None = None
    items: int | None = None

    def of(self, exact: int, apart: int = 0, squares: int = 0) -> int | None:
        if self.quiet is not None:
            outside = max(self.quiet[0] - exact, exact - self.quiet[1])
            spread = 0 if self.items is None else self.items * squares - apart**2
            if outside <= 0 or (self.items and outside**2 * max(self.items - 1, 1) <= spread):
                return None
        cell = (self.times * exact + self.plus) // self.by
        return cell if self.most is None else min(cell, self.most)


@dataclass(frozen=True, slots=True)
class ExactScore(ReadOnce):
    """A score without noise, or the cell that it is in; ``last``: for all that is left of the budget."""

    readings: tuple[Reading, ...]
    grid: ScoreGrid = ScoreGrid()
    last: bool = False

    @property
    def kind(self) -> Kind:
        return "last score" if self.last else "score"

    def due(self, protection: Protection) -> Due:
        """One unit for one answer, as the theorem of the method counts; it bounds no epsilon."""
        (reading,) = self.readings
        _of_one_cell(reading, protection)
        if protection.rule.capped is self.last:
            raise InvalidRequest("scores without noise are counted, or one is the last")
        return Due(1, 0, unproved=self.last, everything=self.last)

    def release(self, source: Source, bits: Bits) -> list[int | None]:
        return [self.grid.of(int(cells[0])) for (cells,) in source.exact()]


# Answered one after another, for one charge ----------------------------------------------------------------


class AnswersOfHoldout(ReadOnce):
    """What methods have in common that are paid for at once."""

    __slots__ = ()
    readings: ClassVar[tuple[Reading, ...]] = ()
    kind: ClassVar[Kind] = "holdout method"
    word: ClassVar[str] = "a holdout"

    def release(self, source: Source, bits: Bits) -> Any:
        raise TypeError("what is asked later is not released at once")


@dataclass(frozen=True, slots=True)
class CountedAnswers(AnswersOfHoldout):
    """Cells of exact scores, so many of them at most, each noted before it is said."""

    most: int

    def due(self, protection: Protection) -> Due:
        """One unit for all of them: how much they say is counted by the theorem of the method."""
        _check_holdout(protection)
        if not protection.rule.capped:
            raise InvalidRequest("scores without noise are counted")
        return Due(1, 0)

    def check(self, reading: Reading, factor: int, protection: Protection) -> None:
        """Refuses what is no single score."""
        if factor != 1 or reading.cells != 1:
            raise InvalidRequest("one score is answered at a time")

    def begin(self, source: Callable[[Reading], Sequence[int]], bits: Bits) -> tuple[SparseState, Outcome]:
        return SparseState(self.most, 0), {}

    def compare(
        self, watch: SparseState, exact: Sequence[int], grid: ScoreGrid, bits: Bits
    ) -> tuple[Outcome, SparseState]:
        return {"value": grid.of(*exact)}, SparseState(watch.left - 1, watch.offset)

    def uses_up(self, outcome: Outcome) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class GuessedScores(AnswersOfHoldout):
    """Says of guesses, sums themselves, whether they are farther off than ``threshold``, and the noisy sum
    where they are: as often as ``machine`` has positives.
    """

    machine: NumericSparse
    threshold: int

    def due(self, protection: Protection) -> Due:
        """All answers together.

        Claim:    all answers together cost at most this, under the accounting of the holdout.
        Assumes:  as SPARSE and the noise; ``check`` passes for all that is asked.
        Source:   the cost of the mechanism.  Theorem: THRESHOLDOUT-PRIVACY.
        """
        _check_holdout(protection)
        kinds = (type(self.machine), type(self.machine.sparse), type(self.machine.values))
        if kinds != (NumericSparse, Sparse, GeometricNoise) or self.machine.sparse.monotone:
            raise InvalidRequest("these comparisons are not of a kind whose cost is proved")
        return Due(protection.rule.amount(self.machine.cost()), 0)

    def check(self, reading: Reading, factor: int, protection: Protection) -> None:
        """Refuses a score that one label can move farther than was paid for."""
        moved = _of_one_cell(reading, protection).l1_diameter((Fraction(1),))
        if factor != 1 or reading.cells != 1 or moved > self.machine.sparse.sensitivity:
            raise InvalidRequest("one label can move this score farther than was paid for")

    def begin(self, source: Callable[[Reading], Sequence[int]], bits: Bits) -> tuple[SparseState, Outcome]:
        return self.machine.start(bits), {}

    def compare(
        self, watch: SparseState, exact: Sequence[int], guess: int, bits: Bits
    ) -> tuple[Outcome, SparseState]:
        """A guess that is off by just the threshold is not too far off."""
        (total,) = exact
        above, after = self.machine.sparse.step(watch, abs(total - guess), self.threshold + 1, bits)
        value = int(self.machine.values.release([[total]], bits)[0][0]) if above else None
        return {"value": value}, after

    def uses_up(self, outcome: Outcome) -> bool:
        return outcome["value"] is not None


# What they cost --------------------------------------------------------------------------------------------


def _check_holdout(protection: Protection) -> None:
    unit = protection.unit
    if not protection.holdout or (unit.adjacency, unit.rows) != ("replace-one", 1):
        raise InvalidRequest("scores are released by a holdout alone")


def _of_one_cell(reading: Reading, protection: Protection) -> Sensitivity:
    """How far a label that is exchanged moves the one cell that its item is in.  Theorem: SLICES."""
    _check_holdout(protection)
    return _moved(replace(reading, name=""), protection.unit)


@lru_cache(maxsize=256)
def _moved(reading: Reading, unit: PrivacyUnit) -> Sensitivity:
    summed, plain = isinstance(reading.measure, Sum), (reading.persons, reading.kept) == (None, None)
    if not summed or not plain or reading.where != EVERY_ROW or len(reading.coordinates) != 1:
        raise InvalidRequest("a score is the sum of one number over all items")
    return replace(sensitivity_of(reading, unit), cells=1)


@lru_cache(maxsize=256)
def _due(noise: tuple[ScoreBlocks, ...], apart: Sensitivity, rule: Accounting) -> Due:
    least = [GaussianNoise((Fraction(min(one.scales)),)) for one in noise]
    amount = max(rule.amount(one.cost(apart)) for one in least)
    return Due(amount, max(stability_units(one.radius(apart)) for one in least))
