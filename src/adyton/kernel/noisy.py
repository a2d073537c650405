"""Queries whose integers each get noise of their own: what a query, or a batch of them, costs together.

Parts that no row can share cost the greatest, not the sum.  A *family* is a set of parts whose filters
exclude each other.  A unit of one row is seen by one part of a family only; with several rows, its rows are
divided among them, which is never worse than all in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from adyton.errors import InvalidRequest
from adyton.kernel.accounting import Accounting
from adyton.kernel.accounting.noisy_reading import NoisyReading
from adyton.kernel.exact import units_up
from adyton.kernel.exact.cells import Cells, whole
from adyton.kernel.exact.outward import bits_of, nats_up
from adyton.kernel.ledger.texts import Stored
from adyton.kernel.measurement import Columns, Due, ReadOnce, Source
from adyton.kernel.mechanisms import Mechanism
from adyton.kernel.mechanisms.grid import NoiseOnAGrid
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.protection import Protection
from adyton.kernel.searching import SearchLevels
from adyton.kernel.sensitivities import check_noisy
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.discovery import GroupDiscovery
from adyton.kernel.terms.disjoint import Exclusions, facts_of
from adyton.kernel.terms.measures import Extreme, Quantile
from adyton.kernel.terms.persons import are_of_the_same_persons

Families = list[list[int]]
_MOST_TRIED = 64  # a batch of thousands would otherwise compare every part with every other


@dataclass(frozen=True, slots=True)
class NoisyQuery:
    """The integers of one query with their noise, and how its groups are discovered, if that is needed."""

    parts: tuple[NoisyReading, ...]
    discovery: GroupDiscovery | None = None


@dataclass(frozen=True, slots=True)
class NoisyQueries(ReadOnce):
    """One query or a batch of them: every integer gets noise of its own."""

    queries: tuple[NoisyQuery, ...]

    @property
    def parts(self) -> list[NoisyReading]:
        return [part for query in self.queries for part in query.parts]

    @property
    def readings(self) -> list[Reading]:
        found = [one.discovery.counted.reading for one in self.queries if one.discovery is not None]
        return [*found, *(part.reading for part in self.parts)]

    def due(self, protection: Protection) -> Due:
        """What all parts cost together, and the discovery of groups beside them.

        Claim:    all that is released costs at most this, under the accounting of the study.  Where units are
                  split, so much must have been spent in total, whatever else was released.
        Assumes:  as the noise, the discovery and the accounting.
        Source:   parallel and sequential composition.  Theorem: DISJOINT-FILTERS.  Theorem: SPLIT-STUDY.
        """
        parts, rule = self.parts, protection.rule
        unit = self._checked(protection)
        families = families_of([part.reading for part in parts], unit)
        paid = due(parts, families, unit, rule)
        found = [one.discovery for one in self.queries if one.discovery is not None]
        extra = [noisy for one in found for noisy in one.noisy]
        amount = paid.amount + sum(noisy.amount(rule) for noisy in extra)
        if unit.parts > 1:
            amount = whole_price(amount, parts, families, unit, rule)
        radius = paid.radius + sum(noisy.radius() for noisy in extra)
        unproved = any(one.counted.mechanism.gaussian for one in found)
        if protection.rounded:
            radius = transcript_units(parts)
            return Due(amount, radius, unproved=unproved, coded_nats=nats_up(radius))
        return Due(amount, radius, unproved=unproved, gaussian=paid.gaussian)

    def _checked(self, protection: Protection) -> PrivacyUnit:
        """The unit that all parts protect; refuses what they do not say truly."""
        tables = {id(part.reading.table): part.reading.table for part in self.parts}.values()
        known = [table for table in tables if table is not None]
        alike = all(table == known[0] for table in known) or are_of_the_same_persons(known)
        if not known or len(known) < len(tables) or not alike:
            raise InvalidRequest("the queries of a batch are about one table, or one join of tables")
        (unit,) = {protection.unit_of(table) for table in known}
        for part in self.parts:
            check_noisy(part, unit)
            if part.mechanism.gaussian != protection.rule.noise.gaussian:
                raise InvalidRequest("answers have the noise of the study's accounting")
            if protection.rounded != isinstance(part.mechanism, NoiseOnAGrid):
                raise InvalidRequest("answers are rounded in a study that says so, and in no other")
        for query in self.queries:
            if query.discovery is not None:
                if len(self.queries) > 1 or protection.rounded:
                    raise InvalidRequest("a query whose keys must be found is asked alone, not in a batch")
                query.discovery.check(unit, protection.discovery_failure)
        return unit

    def release(self, source: Source, bits: Bits) -> list[Stored]:
        """All parts from few scans, except for groups that must be discovered."""
        if self.queries[0].discovery is not None:
            return [self._discovered(self.queries[0], self.queries[0].discovery, source, bits)]
        exact = source.exact()
        return [Stored(with_noise(query, exact, source, bits)) for query in self.queries]

    def refines(self, reading: Reading) -> bool:
        """A search counts again inside one bin of its reading: a narrower condition, and other bins."""
        return any(_refines(reading, own) for own in self.readings)

    def _discovered(self, query: NoisyQuery, discovery: GroupDiscovery, source: Source, bits: Bits) -> Stored:
        keys, (counted, *rest) = source.found()
        kept = discovery.release(keys, counted, source.place, bits)
        exact = iter([[Cells(whole(column)[kept.places]) for column in columns] for columns in rest])
        return Stored(with_noise(query, exact, source, bits), kept.keys, kept.noisy_number)


def with_noise(query: NoisyQuery, exact: Iterator[Columns], source: Source, bits: Bits) -> list[list[Cells]]:
    """The noisy integers of each part, from as many exact ones."""
    return [_with_noise(part, next(exact), source, bits) for part in query.parts]


def _with_noise(part: NoisyReading, exact: Columns, source: Source, bits: Bits) -> list[Cells]:
    if isinstance(part.reading.measure, Quantile | Extreme):
        return SearchLevels(part).release(exact, source.again, bits)
    return part.mechanism.release(exact, bits)


def _refines(reading: Reading, own: Reading) -> bool:
    same = (reading.coordinates, reading.table, reading.persons, reading.kept, reading.by[:-1])
    searched = isinstance(own.measure, Quantile | Extreme) and reading.measure == own.measure
    return searched and same == (own.coordinates, own.table, own.persons, own.kept, own.by[:-1])


# What parts cost together ----------------------------------------------------------------------------------


def families_of(readings: Sequence[Reading], unit: PrivacyUnit) -> Families:
    """The places of the parts, family by family.  A part that adds up persons stays alone."""
    if len(readings) == 1:
        return [[0]]
    families: Families = []
    open_to_more: list[tuple[list[int], Exclusions]] = []
    for place, own in enumerate(readings):
        facts = {} if unit.rows > 1 and own.persons is not None else facts_of(own.where)
        youngest = open_to_more[-_MOST_TRIED:]
        home = next((family for family, taken in youngest if taken.takes(facts)), None)
        if home is not None:
            home.append(place)
            continue
        families.append([place])
        taken = Exclusions()
        if taken.takes(facts):
            open_to_more.append((families[-1], taken))
    return families


def shares_of(families: Families, unit: PrivacyUnit) -> dict[int, Fraction]:
    """The part of the price that each part may use, so that all together cost no more than the price."""
    shares = {}
    for family in families:
        moved_between = unit.adjacency == "replace-one" and (len(family) > 1 or unit.may_change_parts)
        for place in family:
            shares[place] = Fraction(1, len(families) * (2 if moved_between else 1))
    return shares


def due(parts: Sequence[NoisyReading], families: Families, unit: PrivacyUnit, rule: Accounting) -> Due:
    """What privacy and validity pay for all parts together.

    Claim:    for parts whose filters exclude each other the greatest amount covers all of them if units are
              added or removed; if one is replaced, it may leave one part and enter another, and the two
              greatest amounts of one added unit cover that.  The radius is the greatest around nothing.
    Assumes:  no part adds up one number of a person whose rows other parts see.
    Source:   parallel composition; derived on the theorem's page.  Theorem: DISJOINT-FILTERS.
    """
    totals = [_family_due([parts[place] for place in family], unit, rule) for family in families]
    gaussian = tuple(one for total in totals for one in total.gaussian)
    return Due(sum(t.amount for t in totals), sum(t.radius for t in totals), gaussian=gaussian)


def _family_due(parts: Sequence[NoisyReading], unit: PrivacyUnit, rule: Accounting) -> Due:
    amounts = [part.amount(rule) for part in parts]
    if len(parts) == 1:
        radius = parts[0].radius()
        return Due(amounts[0], radius, gaussian=_gaussian(parts, radius))
    amount = max(amounts)
    if unit.adjacency == "replace-one":
        entering = sorted(part.amount_of_one_more(rule) for part in parts)
        amount = max(amount, entering[-1] + entering[-2])
    radius = max(part.radius_from_nothing() for part in parts)
    return Due(amount, radius, gaussian=_gaussian(parts, radius))


def _gaussian(parts: Sequence[NoisyReading], radius: int) -> tuple[tuple[int, int], ...]:
    """How many numbers of Gaussian noise share this radius; nothing where that is not known in advance."""
    numbers = [part.most_numbers for part in parts]
    known = all(number is not None for number in numbers)
    return ((sum(number or 0 for number in numbers), radius),) if known else ()


# In a study whose queries each read a part of the units of their own ---------------------------------------


def whole_price(
    amount: int, parts: Sequence[NoisyReading], families: Families, unit: PrivacyUnit, rule: Accounting
) -> int:
    """What must be spent altogether before this query may be answered, whatever the others were.

    Claim:    if at least this much is spent for each query of the study, the greatest of them covers all:
              a unit is seen by one query, or, where an exchanged person may leave one part and enter
              another, by two, each of which sees one unit more or less.
    Assumes:  query j reads part j alone, and which part a unit is in depends on that unit alone.
    Source:   derived here.  Theorem: SPLIT-STUDY.
    """
    if not unit.may_change_parts:
        return amount
    one_more = [max(parts[place].amount_of_one_more(rule) for place in family) for family in families]
    return max(amount, 2 * sum(one_more))


def still_due(price: int, spent: int) -> int:
    """What is charged so that at least ``price`` is spent; a charge is at least one unit."""
    return max(1, price - spent)


# In a study that rounds its answers ------------------------------------------------------------------------


def transcript_units(parts: Sequence[NoisyReading]) -> int:
    """The bits of all that is released for some parts, in units of 10**-18, rounded up.

    Claim:    the answer is one of at most 2**bits, whatever the rows are.
    Assumes:  every reading has noise on a grid.
    Source:   counting.  Theorem: ROUNDING-STUDY.
    """
    return sum(_units(part.mechanism, part.reading.cells) for part in parts)


@lru_cache(maxsize=4096)
def _units(mechanism: Mechanism, cells: int) -> int:
    assert isinstance(mechanism, NoiseOnAGrid)
    return units_up(cells * sum((bits_of(grid.cells) for grid in mechanism.grids), Fraction(0)))
