"""What an answer says about the population, although its question was chosen after seeing earlier answers.

Two theorems, by the noise of the study: with Gaussian noise every answer pays for what was released before
it (``subset``); with the noise of a pure study the stability of everything is capped in advance
(``hinge``). A study may also give each question units of its own (``split``), or round its answers and
count bits (``rounding``). What all have in common is here, also how many units there are: public under
``replace``, else an upper end from a noisy count of all of them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from adyton.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.certify import Absent
from adyton.exact import UNITS_PER_ONE
from adyton.exact.cells import Array, Floats
from adyton.ledger import Ledger, Receipt, Totals
from adyton.ledger.base import counted
from adyton.ledger.links import Cap
from adyton.ledger.texts import released_from_text
from adyton.mechanisms.ratio import Ends
from adyton.query.measures import Count, CountPersons, Mean, Sum, Variance
from adyton.query.nodes import Question
from adyton.query.persons import TableOfPersons
from adyton.query.text import condition_text, number_text, question_text
from adyton.sensitivity import Reading
from adyton.study import Study, Validity
from adyton.validity.part_sizes import most_by_lot

NOT_DECLARED = Absent("not declared: the study file has no [validity] section")
UNPROVED = Absent(
    "finding keys in the data, or publishing a test on the rows, ends population intervals, of that answer "
    "and of all after it"
)
NOT_ASKED = Absent("only the noise is asked for")
ELSEWHERE = Absent("only the study's own table is a sample; this question is about another table, or a join")


@dataclass(frozen=True, slots=True)
class Position:
    """Where an answer stands in the study: its number, what was released before it and by it, and how many
    values it has.  Radii are squared, in units of the noise, or bits where answers are rounded; ``pure`` is
    an epsilon.
    """

    question: int
    before: Fraction
    own: Fraction
    values: int
    pure: Fraction = Fraction(0)
    unproved: bool = False  # it, or something before it, is not covered by the theorem
    elsewhere: bool = False  # asked of another table than the one that is a sample

    @classmethod
    def of(cls, receipt: Receipt) -> Position:
        """Where an answer stands that was paid for."""
        own, pure = receipt.order.radius, receipt.spent_pure - receipt.order.pure
        before = receipt.spent_radius - own
        return cls(receipt.number, _one(before), _one(own), 1, _one(pure), receipt.unproved > 0)

    @classmethod
    def after(cls, totals: Totals, radius: int = 0) -> Position:
        """Where the next question would stand, if it has this radius."""
        before, own, pure = _one(totals.radius), _one(radius), _one(totals.pure)
        return cls(totals.receipts + 1, before, own, 1, pure, totals.unproved > 0)

    @property
    def spent(self) -> Fraction:
        return self.before + self.own


@dataclass(frozen=True, slots=True)
class Counted:
    """A noisy count of all units, and the number of the question that asked for it."""

    released: int
    scale: float
    question: int


@dataclass(frozen=True)
class Population(ABC):
    """The population intervals of one study."""

    study: Study

    @property
    def validity(self) -> Validity | None:
        return self.study.validity

    @property
    def level(self) -> float:
        return float(self.validity.confidence) if self.validity else 0.0

    @property
    @abstractmethod
    def cap(self) -> Cap | None:
        """What the ledger itself must not let pass, because nothing could be certified beyond it."""

    @property
    @abstractmethod
    def certified(self) -> tuple[int | None, int | None]:
        """For how much stability, in units, and how many questions intervals are certified; None: any."""

    @abstractmethod
    def each(self, question: int) -> int | None:
        """What this question of a plan may spend of stability; None where nothing is planned."""

    def missing(self, at: Position, units: int | None) -> Absent | None:
        """Why there is no interval for an answer at this position, if so."""
        if self.validity is None:
            return NOT_DECLARED
        if at.unproved:
            return UNPROVED
        if at.elsewhere:
            return ELSEWHERE
        if units is None:
            unit = self.study.unit
            count = f"COUNT(DISTINCT {unit.person})" if unit.rows > 1 else "COUNT(*)"
            return Absent(f"the number of units is private: ask {count} of the whole table first")
        return None

    def certificate(
        self, at: Position, units: int | None, *, ratios: bool
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The theorems and assumptions that come with a population interval; none where there is none."""
        if self.missing(at, units) is not None:
            return (), ()
        persons = ("PERSONS-AS-ROWS",) if self.study.unit.rows > 1 else ()
        return self._theorems(at, ratios) + persons, self._assumptions()

    @abstractmethod
    def _theorems(self, at: Position, ratios: bool) -> tuple[str, ...]: ...

    def _assumptions(self) -> tuple[str, ...]:
        reserve = self.study.reserve is not None
        size = "as many units as are not in the reserve" if reserve else "a table of this size"
        at_once = "population intervals hold for all answers of the study at once with probability"
        return (
            "the units are independent draws from the population",
            f"{at_once} {self.level:.12g}",
            f"the population value of a count or sum is its expectation for {size}",
            *(["a salted hash sends each unit to the reserve as if by lot"] if reserve else []),
        )

    @abstractmethod
    def units_read(self, units: int | None) -> int | None:
        """How many of at most so many units one question reads, at most."""

    @abstractmethod
    def certifies(self, question: int) -> bool:
        """Whether failure probability is left for the noise of this question."""

    @abstractmethod
    def units_at_most(self, count: Counted, failure: Fraction | None = None) -> int:
        """An upper end for the number of units, from a noisy count of all of them that was asked before.

        It is right for all counts at once, but for their part of the study's failure, or but for ``failure``.
        """

    # Of an answer whose interval is not missing:

    @abstractmethod
    def singles(self, part: NoisyReading, released: Array, context: PopulationContext) -> Ends:
        """For counts and sums, in steps of the released integer."""

    @abstractmethod
    def means(self, part: NoisyReading, released: Sequence[Array], context: PopulationContext) -> Ends:
        """For the ratio of a centred sum, the first of two integers, to a count."""

    def variances(
        self, part: NoisyReading, released: Sequence[Array], mean: Ends, context: PopulationContext
    ) -> Ends | None:
        """Ends of variances, in squares of half of the range, from a centred sum, a centred sum of squares
        and a count, and what ``means`` says of the first; None where nothing is known but what it says.
        """
        return None

    @abstractmethod
    def cumulated(
        self, part: NoisyReading, left: Floats, right: Floats, bins: Ends, context: PopulationContext
    ) -> Ends:
        """For F = L / (L + R), from sums of noisy counts of so many bins on either side."""

    @abstractmethod
    def turns(self, part: NoisyReading, context: PopulationContext) -> tuple[int, int]:
        """How far below and above 0 a comparison of a search may be although it is there already."""

    @abstractmethod
    def half_width(
        self,
        part: NoisyReading,
        context: PopulationContext,
        expected_rows: int | None,
        expect: Fraction | None = None,
    ) -> float | None:
        """How wide it would be, before anything is read; for a mean if ``expected_rows`` rows contribute.

        ``expect``: for this value; None for the one that has the widest.
        """


@dataclass(frozen=True, slots=True)
class PopulationContext:
    """What the intervals of one answer depend on, besides its plan and its integers.

    At another ``noise_level`` than the usual one only noise intervals are asked for.
    """

    population: Population
    at: Position
    units: int | None
    learned: Mapping[Hashable, Floats] = field(default_factory=dict)  # by ``learned_key``
    noise_level: float = LEVEL

    @property
    def missing(self) -> Absent | None:
        """Why there is no interval, if so."""
        return self.population.missing(self.at, self.units) if self.noise_level == LEVEL else NOT_ASKED

    @property
    def known_units(self) -> int:
        """Their number, or an upper end of it, where an interval is not missing."""
        assert self.units is not None
        return self.units


def spread_key(reading: Reading) -> Hashable:
    """Which values of which rows: a mean, a sum and a variance are about the same if this is.

    As canonical texts, however they were written.
    """
    measure = reading.measure
    assert isinstance(measure, Mean | Sum | Variance)
    value, where = number_text(measure.value), condition_text(reading.where)
    persons = reading.table if isinstance(reading.table, TableOfPersons) else None
    return value, measure.value.lattice, where, reading.by, reading.kept, persons


def learned_key(reading: Reading) -> Hashable:
    """A mean needs the variance of its values, a sum the sum of their squares; others need nothing."""
    return (type(reading.measure), spread_key(reading)) if isinstance(reading.measure, Mean | Sum) else None


@lru_cache(maxsize=64)
def _one(units: int) -> Fraction:
    return Fraction(units, UNITS_PER_ONE)


# How many units there are ----------------------------------------------------------------------------------


def units_outside(study: Study, units: int | None, failure: Fraction) -> int | None:
    """At most so many of the units are not in the reserve.  A count with noise counts no others.

    Claim:    Pr[more, or fewer than ``least_outside``] <= failure.
    Assumes:  the hash sends each unit to the reserve as if by lot.
    Source:   derived here.  Theorem: RESERVE-TEST.
    """
    if units is None or study.reserve is None or study.unit.neighbours != "replace":
        return units
    return max(1, most_by_lot(units, 1 - study.reserve.share, failure / 2))


def least_outside(study: Study, units: int, failure: Fraction) -> int:
    """At least so many; the share of the hashes is rounded up to a whole one of 16**12."""
    if study.reserve is None:
        return units
    most = min(Fraction(1), study.reserve.share + Fraction(1, 16**12))
    return units - most_by_lot(units, most, failure / 2)


class StandIn:
    """Looks for the newest count of all units, rows or persons, which anyone may have asked."""

    def __init__(self, study: Study, ledger: Ledger, population: Population) -> None:
        self._study, self._ledger, self._population = study, ledger, population
        counted = Count() if study.unit.rows == 1 else CountPersons()
        # The name of the value stands between these two, and a question of one value has nothing else there.
        before, _, after = question_text(Question(study.table, (("x", counted),))).partition(" AS x ")
        self._before, self._after = before + " AS ", " " + after
        self._looked_at = 0
        self._unanswered: set[int] = set()  # counts that were charged, perhaps by others who are not done yet
        self._found: Counted | None = None

    def units(self, failure: Fraction | None = None) -> int | None:
        """``failure``: of all counts together, in place of the part of the study's own that they may use."""
        if self._population.validity is None:
            return None
        if self.public:
            return self._study.table.rows
        count = self.counted
        return self._population.units_at_most(count, failure) if count is not None else None

    @property
    def public(self) -> bool:
        """Whether their number is a public fact."""
        return self._study.unit.neighbours == "replace"

    @property
    def counted(self) -> Counted | None:
        """The newest count of all units, if one was asked."""
        self._look()
        return self._found

    def _look(self) -> None:
        """From the newest receipt on, until one will do; of those seen before only at unanswered counts."""
        newest, before = self._ledger.count(), sorted(self._unanswered, reverse=True)
        for receipt in chain(self._counts(newest), map(self._ledger.receipt, before)):
            if receipt is None or not self._population.certifies(counted(self._ledger, receipt).number):
                continue
            if self._take(receipt):
                self._unanswered = {later for later in self._unanswered if later > receipt.number}
                break
        self._looked_at = newest

    def _counts(self, newest: int) -> Iterator[Receipt]:
        """Counts of all units that were not looked at, the newest first."""
        below = newest + 1
        while receipt := self._ledger.counting(self._before, self._after, self._looked_at, below):
            yield receipt
            below = receipt.number

    def _take(self, receipt: Receipt) -> bool:
        stored, mechanisms = self._ledger.recall(receipt.number), json.loads(receipt.order.detail)
        if len(mechanisms) != 1:
            return False
        if stored is None:
            self._unanswered.add(receipt.number)
            return False
        ((_, _, scale),) = mechanisms
        (((released,),),) = released_from_text(stored)
        self._found = Counted(released, float(scale), counted(self._ledger, receipt).number)
        return True
