"""What an answer says about the population, although its query was chosen after seeing earlier answers.

Two theorems, by the noise of the study: with Gaussian noise every answer pays for what was released before
it (``subset``); with the noise of a pure study the stability of everything is capped in advance
(``hinge``). A study may also give each query units of its own (``split``), or round its answers and
count bits (``rounding``). What all have in common is here, also how many units there are: public under
``replace-one``, else an upper end from a noisy count of all of them.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from adyton.arithmetic.ratio import Ends
from adyton.certify import Absent
from adyton.certify.values import Way
from adyton.kernel.accounting.noisy_reading import LEVEL, NoisyReading, step_of
from adyton.kernel.exact import float_down, float_up, floats_up
from adyton.kernel.exact.cells import Array, Floats
from adyton.kernel.exact.outward import MANY, UP
from adyton.kernel.ledger import Ledger, Receipt
from adyton.kernel.ledger.base import counted
from adyton.kernel.ledger.links import Cap
from adyton.kernel.ledger.subjects import key_of_count
from adyton.kernel.ledger.texts import released_from_text
from adyton.kernel.mechanisms import GeometricNoise
from adyton.kernel.sensitivity import Reading
from adyton.kernel.sensitivity.reading import search_weights
from adyton.kernel.terms.measures import Cdf, Mean, Quantile, Sum, Variance
from adyton.kernel.terms.persons import TableOfPersons
from adyton.population.claims import NORMAL, Certain, CertainOfDescribed, GeometricNoises, Noise
from adyton.population.position import Counted, Position
from adyton.population.subset_ends import (
    Coin,
    about_means,
    cumulated_ends,
    mean_ends,
    search_reach,
    single_ends,
    span_of,
    sum_ends,
    uncentred,
)
from adyton.population.variance_ends import EACH, OF_LEAST, Around, least_variance, most_variance
from adyton.query.text import condition_text, number_text
from adyton.study import Study, Validity
from adyton.study.validity import FOR_THEIR_NOISE
from adyton.validity.described import FOR_DESCRIBED
from adyton.validity.part_sizes import most_by_lot
from adyton.validity.subset.tails import OpenLevels

NOT_DECLARED = Absent("not declared: the study file has no [validity] section")
_FAR = 1.04  # so much wider by a guess that is off by a hundredth: not worth a look
CertainType = TypeVar("CertainType", bound=Certain)
OF_SQUARES = 1 / 8  # of the level of a mean, for the variance of its values
OF_VARIANCES = 1 / 2  # of the level of a variance, for its upper end
OF_MEANS = 1 - OF_VARIANCES * (1 + OF_LEAST)  # for a mean and a mean square; the rest is for its lower end

UNPROVED = Absent(
    "discovering groups, or publishing a test on the rows, ends population intervals, of that answer "
    "and of all after it, but for queries with a description"
)
NOT_ASKED = Absent("only the noise is asked for")
ELSEWHERE = Absent("only the study's own table is a sample; this query is about another table, or a join")


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
        """For how much stability, in units, and how many queries intervals are certified; None: any."""

    @abstractmethod
    def each(self, query: int) -> int | None:
        """What this query of a plan may spend of stability; None where nothing is planned."""

    def missing(self, at: Position, units: int | None, nats: float | None = None) -> Absent | None:
        """Why there is no interval for an answer at this position, if so.

        ``nats``: how long the description of the query is; None if it has none.
        """
        if self.validity is None:
            return NOT_DECLARED
        if at.elsewhere:
            return ELSEWHERE
        if nats is None and (why := self.silent(at)) is not None:
            return why
        if units is None:
            unit = self.study.unit
            count = f"COUNT(DISTINCT {unit.person})" if unit.rows > 1 else "COUNT(*)"
            return Absent(f"the number of units is private: ask {count} of the whole table first")
        return None

    def silent(self, at: Position) -> Absent | None:
        """Why what was released leaves nothing to say, but for queries that have a description."""
        return UNPROVED if at.unproved else None

    def certificate(
        self, at: Position, units: int | None, *, ratios: bool, nats: Sequence[float | None] = ()
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The theorems and assumptions that come with a population interval; none where there is none.

        ``nats``: of the values, how long their descriptions are.
        """
        described = any(one is not None for one in nats)
        if self.missing(at, units, 0.0 if described else None) is not None:
            return (), ()
        theorems = self._theorems(at, ratios) if self.silent(at) is None else ()
        theorems += ("DESCRIBED-QUERIES",) if described else ()
        theorems += ("PERSONS-AS-ROWS",) if self.study.unit.rows > 1 else ()
        return theorems, self._assumptions() + self._of_the_file(at)

    def _of_the_file(self, at: Position) -> tuple[str, ...]:
        """What must be true of the study file: functions that it declares are as good as a query's own."""
        own = self.validity
        if self.silent(at) is not None and own and own.dictionary == "universal" and not own.registered:
            return ()
        return ("what the study file declares was not chosen by looking at these rows",)

    @abstractmethod
    def _theorems(self, at: Position, ratios: bool) -> tuple[str, ...]: ...

    def _assumptions(self) -> tuple[str, ...]:
        reserve = self.study.reserve is not None
        size = "as many units as are not in the reserve" if reserve else "a table of this size"
        return (
            "the units are independent draws from the population",
            "population intervals hold simultaneously, for all answers of the study, with probability "
            f"{self.level:.12g}",
            f"the population value of a count or sum is its expectation for {size}",
            *(["a salted hash sends each unit to the reserve as if by lot"] if reserve else []),
        )

    @abstractmethod
    def units_read(self, units: int | None) -> int | None:
        """How many of at most so many units one query reads, at most."""

    @abstractmethod
    def certifies(self, query: int) -> bool:
        """Whether failure probability is left for the noise of this query."""

    @abstractmethod
    def units_at_most(self, count: Counted, failure: Fraction | None = None) -> int:
        """An upper end for the number of units, from a noisy count of all of them that was asked before.

        It is right for all counts at once, but for their part of the study's failure, or but for ``failure``.
        """

    # Of an answer whose interval is not missing.  What follows from what was released before is up to the
    # study's noise; what follows from a description is the same for all.

    def singles(self, part: NoisyReading, released: Array, context: PopulationContext) -> PopulationEnds:
        """For counts and sums, in steps of the released integer."""
        squares = context.learned_of(part.reading)

        def ends(certain: Certain) -> Ends:
            if squares is None:
                return single_ends(part, released, certain)
            return sum_ends(part, released, certain, squares)

        coin = Coin(context.known_units, *span_of(part), float_up(part.mechanism.scales[0]))
        spread, noise = coin.variance(released), np.array(coin.scale)
        spread = spread if squares is None else np.minimum(spread, squares * part.reading.sensitivity.rows)
        ways = self._worth_a_look(part, context, lambda own: own.claims(1 / 2).about(spread, noise))
        return self._found(ends, ways, lambda: self._singles(part, released, context), context)

    def means(
        self, part: NoisyReading, released: Sequence[Array], context: PopulationContext
    ) -> PopulationEnds:
        """For the ratio of a centred sum, the first of two integers, to a count."""
        spread = context.learned_of(part.reading)
        of_sum, of_count = floats_up(part.mechanism.scales)
        scales = of_sum, of_count

        def ends(certain: Certain) -> Ends:
            top, bottom = released
            return mean_ends(part, top, bottom, for_a_mean(part, certain), scales, spread)

        about = about_means(part, released, scales, spread)
        ways = self._worth_a_look(part, context, lambda own: own.claims(1 / 2).about(*about))
        return self._found(ends, ways, lambda: self._means(part, released, context), context)

    def means_with_squares(
        self,
        part: NoisyReading,
        mean: NoisyReading,
        released: Sequence[Array],
        context: PopulationContext,
    ) -> PopulationEnds:
        """For a ratio as in ``means`` whose squares were released between its sum and its count.

        Claim:    as ``means``, at the same level, of which a part is for the variance.
        Assumes:  as ``mean_ends`` and ``most_variance``.
        Source:   derived here.  Theorem: VARIANCE-INTERVAL.
        """
        learned = context.learned_of(part.reading)
        of_sum, _, of_count = floats_up(part.mechanism.scales)
        scales = of_sum, of_count
        centred = part.reading.coordinates[0]
        assert centred.value is not None
        square = float_up((centred.box[1] * centred.value.lattice.step / 2) ** 2)  # of half of the range

        def ends(certain: Certain) -> Ends:
            weighed = around.weighed(certain)  # both rest on this end, which has its part of the whole level
            known = most_variance(part, released, certain.scaled(OF_SQUARES), weighed) * square * UP
            known = known if learned is None else np.minimum(known, learned)
            top, _, bottom = released
            return mean_ends(mean, top, bottom, certain.scaled(1 - OF_SQUARES), scales, known, weighed)

        def about(certain: Certain) -> Floats:
            likely, _ = around.likely(certain.claims(OF_SQUARES * EACH))
            known = likely * square if learned is None else np.minimum(likely * square, learned)
            spread, noise = about_means(mean, (released[0], released[-1]), scales, known)
            return certain.claims((1 - OF_SQUARES) / 2).about(spread, noise)

        around = Around(part, released)
        after, described = self._worth_a_look(part, context, about)
        return narrowest([ends(certain) for certain in after], [ends(certain) for certain in described])

    def variances(
        self, part: NoisyReading, released: Sequence[Array], mean: Ends, context: PopulationContext
    ) -> PopulationEnds | None:
        """Ends of variances, in squares of half of the range, from a centred sum, a centred sum of squares
        and a count, and what ``means`` says of the first; None where nothing is known but what it says.
        """

        def ends(certain: Certain) -> Ends:
            own = for_variances(certain)
            weighed = around.weighed(own)
            least = least_variance(part, released, mean, own, weighed)
            return least, most_variance(part, released, own, weighed)

        def about(certain: Certain) -> Floats:
            end, width = around.likely(for_variances(certain).claims(EACH))
            return np.where(end < 1, width, np.nan)  # no variance is above 1

        around = Around(part, released)
        after, described = self._worth_a_look(part, context, about)
        if not after and not described:
            return None
        return narrowest([ends(certain) for certain in after], [ends(certain) for certain in described])

    def cumulated(
        self, part: NoisyReading, left: Floats, right: Floats, bins: Ends, context: PopulationContext
    ) -> PopulationEnds:
        """For F = L / (L + R), from sums of noisy counts of so many bins on either side."""
        described = self.described(part, context, numbers=int(bins[0][0] + bins[1][0]))
        ways = self._after(context), described

        def ends(certain: Certain) -> Ends:
            return cumulated_ends(part, left, right, bins, certain)

        return self._found(ends, ways, lambda: self._cumulated(part, left, right, bins, context), context)

    def turns(self, part: NoisyReading, context: PopulationContext) -> tuple[int, int, Way]:
        """How far below and above 0 a comparison of a search may be although it is there already.

        By a description the place that is searched for is one number, so its rows have one claim, however
        many comparisons there are.
        """
        measure = part.reading.measure
        assert isinstance(measure, Quantile)
        times, _ = search_weights(measure)

        def reach(certain: Certain) -> tuple[int, int]:
            return search_reach(part, measure.fraction, times, certain)

        after = [reach(certain) for certain in self._after(context)]
        after += [self._turns(part, context)] if not after and self.silent(context.at) is None else []
        described = [reach(certain) for certain in self.described(part, context)]
        least, most = (min(side) for side in zip(*after, *described, strict=True))
        way: Way = "releases" if not described or [(least, most)] == after else "description"
        return least, most, way

    def _found(
        self,
        ends: Callable[[Certain], Ends],
        ways: tuple[list[Certain], list[Certain]],
        own: Callable[[], Ends],
        context: PopulationContext,
    ) -> PopulationEnds:
        """By all ways that are worth a look; ``own`` is that of a study with another theorem."""
        after, described = ([ends(certain) for certain in certains] for certains in ways)
        if not after and not self._after(context) and self.silent(context.at) is None:
            after = [own()]
        return narrowest(after, described)

    def _worth_a_look(
        self, part: NoisyReading, context: PopulationContext, about: Callable[[Certain], Floats]
    ) -> tuple[list[Certain], list[Certain]]:
        """What an answer rests on, without what would be wider in all cells.

        All ways hold at once, so what was released may choose among them.  ``about``: how wide intervals are,
        nearly, from released numbers; it chooses, and is never relied upon.  Where it is not a number, both
        ways stay.
        """
        after, described = self._after(context), self.described(part, context)
        if not after or not described:
            return after, described
        ratios = about(after[0]) / about(described[0])
        if float(ratios.min()) > _FAR:
            return [], described
        if float(ratios.max()) < 1 / _FAR:
            return after, []
        return after, described

    def described(
        self, part: NoisyReading, context: PopulationContext, numbers: int | None = None
    ) -> list[Certain]:
        """What an answer rests on because its query has a description; nothing where it has none.

        ``numbers``: of how many noises a value is made, if not of one for each number that is read.

        Claim:    with the failure that is kept for it, all such claims of all queries of the dictionary, and
                  the noise of all answers, hold at once.
        Assumes:  the dictionary was fixed without looking at the rows.
        Source:   derived here.  Theorem: DESCRIBED-QUERIES.
        """
        if part.nats is None or self.validity is None or self.study.parts > 1:
            return []
        rows, noise = self._of_described
        noise *= self.level_of(context.at.query) / context.at.values
        law: Noise = NORMAL
        if isinstance(part.mechanism, GeometricNoise):
            law = GeometricNoises(numbers or len(part.mechanism.scales))
        elif not part.mechanism.gaussian:
            return []  # how far this noise goes is not proved
        return [CertainOfDescribed(context.known_units, part.nats + rows, noise, law)]

    @cached_property
    def _of_described(self) -> tuple[float, float]:
        """The nats that the level of all descriptions is worth, and the failure left for their noise."""
        assert self.validity is not None
        failure = 1 - self.validity.confidence
        return -math.log(failure * FOR_DESCRIBED), float_down(failure * FOR_THEIR_NOISE) * (1 - MANY)

    def level_of(self, query: int) -> float:
        """The share of a failure that the answer with this number may use."""
        return OpenLevels().share(query)

    def _after(self, context: PopulationContext) -> list[Certain]:
        """What an answer rests on by what was released before it, where that is a subset theorem's."""
        return []

    # Of studies with another theorem than those that are made of claims:

    def _singles(self, part: NoisyReading, released: Array, context: PopulationContext) -> Ends:
        raise NotImplementedError

    def _means(self, part: NoisyReading, released: Sequence[Array], context: PopulationContext) -> Ends:
        raise NotImplementedError

    def _cumulated(
        self, part: NoisyReading, left: Floats, right: Floats, bins: Ends, context: PopulationContext
    ) -> Ends:
        raise NotImplementedError

    def _turns(self, part: NoisyReading, context: PopulationContext) -> tuple[int, int]:
        raise NotImplementedError

    def half_width(
        self,
        part: NoisyReading,
        context: PopulationContext,
        expected_rows: int | None,
        expect: Fraction | None = None,
    ) -> Width | None:
        """How wide it would be, before anything is read; for a mean if ``expected_rows`` rows contribute.

        ``expect``: for this value; None for the one that has the widest.
        """
        reading = part.reading
        if len(reading.coordinates) == 1 and not isinstance(reading.measure, Cdf):
            step = step_of(reading) / (reading.public_rows or 1)
            middle = Fraction(context.known_units * sum(span_of(part)), 2)
            released = middle if expect is None else expect / step
            return _half(self.singles(part, np.array([round(released)]), _widest(context)), step)
        if not expected_rows:
            return None
        if isinstance(reading.measure, Cdf):
            fraction, bins = 0.5 if expect is None else float(expect), len(reading.measure.points) + 1
            sides = (np.array([expected_rows * fraction]), np.array([expected_rows * (1 - fraction)]))
            half = np.array([bins / 2])
            return _half(self.cumulated(part, *sides, (half, half), context), Fraction(1))
        line = uncentred(part)
        ratio = Fraction(0) if expect is None else (expect - line.shift) / line.scale
        count = expected_rows * reading.coordinates[1].times
        both = np.array([round(ratio * count)]), np.array([count])
        return _half(self.means(part, both, _widest(context)), line.scale)


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

    def missing(self, part: NoisyReading | None = None) -> Absent | None:
        """Why there is no interval for this part, if so; without one, for a query without a description."""
        if self.noise_level != LEVEL:
            return NOT_ASKED
        return self.population.missing(self.at, self.units, part.nats if part is not None else None)

    def learned_of(self, reading: Reading) -> Floats | None:
        """What the study has learned of the spread of the values that are read."""
        return self.learned.get(learned_key(reading)) if self.learned else None

    @property
    def known_units(self) -> int:
        """Their number, or an upper end of it, where an interval is not missing."""
        assert self.units is not None
        return self.units


class PopulationEnds(NamedTuple):
    """The ends of intervals, and by which way they are so narrow."""

    low: Floats
    high: Floats
    way: Way | None


class Width(NamedTuple):
    """How wide half of an interval would be, and by which way it is not wider."""

    half: float
    way: Way | None


def narrowest(by_releases: Sequence[Ends], by_description: Sequence[Ends]) -> PopulationEnds:
    """What all of several intervals say together; where two contradict each other, what either says."""
    (low, high), *others = [*by_releases, *by_description]
    for other_low, other_high in others:
        least, most = np.maximum(low, other_low), np.minimum(high, other_high)
        apart = least > most
        low = np.where(apart, np.minimum(low, other_low), least)
        high = np.where(apart, np.maximum(high, other_high), most)
    if not (by_releases and by_description):
        return PopulationEnds(low, high, "releases" if by_releases else "description")
    ((own_low, own_high),), ((its_low, its_high),) = by_releases, by_description
    described = its_high - its_low < own_high - own_low
    return PopulationEnds(
        low, high, "description" if described.all() else "both" if described.any() else "releases"
    )


def _widest(context: PopulationContext) -> PopulationContext:
    """For one cell, whichever it is."""
    return replace(context, learned={key: end.max(keepdims=True) for key, end in context.learned.items()})


def _half(ends: PopulationEnds, step: Fraction) -> Width:
    low, high, way = ends
    return Width(float_up(Fraction(float((high - low)[0])) / 2 * step), way)


def for_a_mean(part: NoisyReading, certain: CertainType) -> CertainType:
    """A variance leaves a part of its level to the mean and the mean square."""
    return certain.scaled(OF_MEANS) if isinstance(part.reading.measure, Variance) else certain


def for_variances(certain: CertainType) -> CertainType:
    """A variance has the levels of two values."""
    return certain.scaled(2 * OF_VARIANCES)


def spread_key(reading: Reading) -> Hashable:
    """Which values of which rows: a mean, a sum and a variance are about the same if this is.

    As canonical texts, however they were written.
    """
    measure = reading.measure
    assert isinstance(measure, Mean | Sum | Variance)
    value, where = number_text(measure.value), condition_text(reading.where)
    persons = reading.table if isinstance(reading.table, TableOfPersons) else None
    return value, measure.value.lattice, where, reading.by, reading.kept, persons


def learned_key(reading: Reading) -> tuple[type[Mean | Sum], Hashable] | None:
    """A mean needs the variance of its values, a sum the sum of their squares; others need nothing."""
    return (type(reading.measure), spread_key(reading)) if isinstance(reading.measure, Mean | Sum) else None


# How many units there are ----------------------------------------------------------------------------------


def units_outside(study: Study, units: int | None, failure: Fraction) -> int | None:
    """At most so many of the units are not in the reserve.  A count with noise counts no others.

    Claim:    Pr[more, or fewer than ``least_outside``] <= failure.
    Assumes:  the hash sends each unit to the reserve as if by lot.
    Source:   derived here.  Theorem: RESERVE-TEST.
    """
    if units is None or study.reserve is None or study.unit.adjacency != "replace-one":
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
        return self._study.unit.adjacency == "replace-one"

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
        key = key_of_count(self._study.table.name)
        while found := self._ledger.find("query", key, after=self._looked_at, below=below, most=1):
            yield found[0]
            below = found[0].number

    def _take(self, receipt: Receipt) -> bool:
        stored, mechanisms = self._ledger.recall(receipt.number), json.loads(receipt.order.detail)
        if stored is None:
            self._unanswered.add(receipt.number)
            return False
        ((_, _, scale),) = mechanisms
        (((released,),),) = released_from_text(stored)
        self._found = Counted(released, float(scale), counted(self._ledger, receipt).number)
        return True
