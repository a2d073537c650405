"""The parts of a planned question: what each can do, whatever it measures, and what they pay together.

Parts that no row can share pay the greatest, not the sum.  A *family* is a set of parts whose filters
exclude each other.  A unit of one row is seen by one part of a family only; with several rows, its rows are
divided among them, which is never worse than all in one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from adyton.accounting import Filter
from adyton.accounting.noisy_reading import LEVEL, NoisyReading
from adyton.certify import Absent, Bound, Values
from adyton.exact.cells import Cells
from adyton.mechanisms import Mechanism, Ratio
from adyton.mechanisms.grid import NoiseOnAGrid
from adyton.mechanisms.ratio import Solved
from adyton.noise import Bits
from adyton.population.base import PopulationContext
from adyton.privacy import PrivacyUnit
from adyton.query.conditions.disjoint import Exclusions, facts_of
from adyton.sensitivity import Reading
from adyton.study import Study

Columns = Sequence[Sequence[int]]  # for each coordinate, one integer for each cell
Read = Callable[[Reading], Columns]
Families = list[list[int]]
_MOST_TRIED = 64  # a batch of thousands would otherwise compare every part with every other


class MeasurePlan(Protocol):
    """One measure: what is read, the noise, and the way back from noisy integers to values.

    ``values`` and the bounds see released integers and public facts only; ``release`` sees the exact ones.
    """

    @property
    def name(self) -> str: ...

    @property
    def only(self) -> NoisyReading:
        """The reading and its noise: all that is paid for."""
        ...

    @property
    def theorems(self) -> tuple[str, ...]: ...

    @property
    def noises(self) -> int:
        """How many noisy values of one cell must be right at the same time."""
        ...

    @property
    def keys(self) -> tuple[str, tuple[float | int, ...]] | None:
        """The name and the values of a key that the measure itself adds to the groups."""
        ...

    def release(self, exact: Columns, read: Read, bits: Bits) -> list[Cells]:
        """From the integers of the reading; ``read`` reads more, which is already paid for."""
        ...

    def alike(self, context: PopulationContext) -> Hashable:
        """Parts of which this is the same give the same values for the same integers; None: like no other."""
        ...

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        """The ratios whose intervals the values need; those of many parts are found together."""
        ...

    def values(self, released: Columns, context: PopulationContext, solved: list[Solved]) -> Values:
        """``solved`` are the intervals of the ratios, in their order."""
        ...

    def bound(self, expected_rows: int | None) -> Bound:
        """How wide the noise interval will be, before anything is read."""
        ...

    def population_bound(
        self, context: PopulationContext, expected_rows: int | None, expect: Fraction | None = None
    ) -> Bound | Absent: ...


@dataclass(frozen=True, slots=True)
class OfOneReading:
    """What parts with noise of their own have in common, unless they say otherwise."""

    only: NoisyReading

    @property
    def name(self) -> str:
        return self.reading.name

    @property
    def reading(self) -> Reading:
        return self.only.reading

    @property
    def mechanism(self) -> Mechanism:
        return self.only.mechanism

    @property
    def keys(self) -> tuple[str, tuple[float | int, ...]] | None:
        return None

    def over_count(self, top: int) -> NoisyReading:
        """The mean of one of several sums over the count, which comes last, as if these two had been read
        alone; what is paid for is ``only``.
        """
        reading, both = self.reading, (top, len(self.reading.coordinates) - 1)
        coordinates = tuple(reading.coordinates[i] for i in both)
        boxes = tuple(coordinate.box for coordinate in coordinates)
        sensitivity = replace(reading.sensitivity, boxes=boxes, curved=0, squares=Fraction(0))
        pair = replace(reading, coordinates=coordinates, sensitivity=sensitivity)
        return NoisyReading(pair, self.mechanism.at(*both), nats=self.only.nats)

    def release(self, exact: Columns, read: Read, bits: Bits) -> list[Cells]:
        return self.mechanism.release(exact, bits)

    def alike(self, context: PopulationContext) -> Hashable:
        return None

    def ratios(self, released: Columns, context: PopulationContext) -> list[Ratio]:
        return []

    def bound(self, expected_rows: int | None) -> Bound:
        """How wide it will be depends on the rows."""
        return Bound(LEVEL, None)

    def population_bound(
        self, context: PopulationContext, expected_rows: int | None, expect: Fraction | None = None
    ) -> Bound | Absent:
        return context.missing(self.only) or Bound(context.population.level, None)


def detail_of(noisy: NoisyReading, name: str | None = None) -> list[object]:
    """A mechanism as receipts have it, under the ``name`` of its value there."""
    scales = [repr(float(scale)) for scale in noisy.mechanism.scales]
    times = [noisy.times] if noisy.times > 1 else []
    kept = noisy.reading.kept  # said, so that an answer with all cells is never taken for one without some
    cells = [f"{len(kept)} cells"] if kept is not None else []
    grids = noisy.mechanism.said if isinstance(noisy.mechanism, NoiseOnAGrid) else ()
    return [name or noisy.reading.name, noisy.mechanism.name, *scales, *times, *grids, *cells]


# What parts pay together -----------------------------------------------------------------------------------


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
        moved_between = unit.neighbours == "replace" and (len(family) > 1 or unit.may_change_parts)
        for place in family:
            shares[place] = Fraction(1, len(families) * (2 if moved_between else 1))
    return shares


@dataclass(frozen=True, slots=True)
class Charge:
    amount: int
    radius: int


def due(parts: Sequence[MeasurePlan], families: Families, unit: PrivacyUnit, rule: Filter) -> Charge:
    """What privacy and validity pay for all parts together.

    Claim:    for parts whose filters exclude each other the greatest amount covers all of them if units are
              added or removed; if one is replaced, it may leave one part and enter another, and the two
              greatest amounts of one added unit cover that.  The radius is the greatest around nothing.
    Assumes:  no part adds up one number of a person whose rows other parts see.
    Source:   parallel composition; derived on the theorem's page.  Theorem: DISJOINT-FILTERS.
    """
    totals = [_family_due([parts[place] for place in family], unit, rule) for family in families]
    return Charge(sum(t.amount for t in totals), sum(t.radius for t in totals))


def _family_due(parts: Sequence[MeasurePlan], unit: PrivacyUnit, rule: Filter) -> Charge:
    amounts = [part.only.amount(rule) for part in parts]
    if len(parts) == 1:
        return Charge(amounts[0], parts[0].only.radius())
    amount = max(amounts)
    if unit.neighbours == "replace":
        entering = sorted(part.only.amount_of_one_more(rule) for part in parts)
        amount = max(amount, entering[-1] + entering[-2])
    return Charge(amount, max(part.only.radius_from_nothing() for part in parts))


# In a study whose questions each read a part of the units of their own -------------------------------------


def whole_price(
    amount: int, parts: Sequence[MeasurePlan], families: Families, unit: PrivacyUnit, rule: Filter
) -> int:
    """What must be spent altogether before this question may be answered, whatever the others were.

    Claim:    if at least this much is spent for each question of the study, the greatest of them covers all:
              a unit is seen by one question, or, where an exchanged person may leave one part and enter
              another, by two, each of which sees one unit more or less.
    Assumes:  question j reads part j alone, and which part a unit is in depends on that unit alone.
    Source:   derived here.  Theorem: SPLIT-STUDY.
    """
    if not unit.may_change_parts:
        return amount
    one_more = [max(parts[place].only.amount_of_one_more(rule) for place in family) for family in families]
    return max(amount, 2 * sum(one_more))


def most_for_each(study: Study) -> int:
    """Each question may have all of the limit, but for the least unit that every later charge takes."""
    return study.allowed - study.parts


def still_due(price: int, spent: int) -> int:
    """What is charged so that at least ``price`` is spent; a charge is at least one unit."""
    return max(1, price - spent)
