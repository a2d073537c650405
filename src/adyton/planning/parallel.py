"""What a question with several parts pays: parts that no row can share pay the greatest, not the sum.

A *family* is a set of parts whose filters exclude each other.  A unit of one row is seen by one part of a
family only; with several rows, its rows are divided among them, which is never worse than all in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from adyton.accounting import Filter
from adyton.accounting.noisy_reading import NoisyReading
from adyton.planning.part import MeasurePlan
from adyton.privacy import PrivacyUnit
from adyton.query.conditions.disjoint import Exclusions, facts_of
from adyton.sensitivity import Reading

Families = list[list[int]]
_MOST_TRIED = 64  # a batch of thousands would otherwise compare every part with every other


def families_of(readings: Sequence[Sequence[Reading]], unit: PrivacyUnit) -> Families:
    """The places of the parts, family by family.  A part that adds up persons stays alone."""
    if len(readings) == 1:
        return [[0]]
    families: Families = []
    open_to_more: list[tuple[list[int], Exclusions]] = []
    for place, own in enumerate(readings):
        facts = {} if _counts_persons(own, unit) else facts_of(own[0].where)
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
    amounts = [sum(n.amount(rule) for n in part.noisy) for part in parts]
    if len(parts) == 1:
        return Charge(amounts[0], sum(n.radius() for n in parts[0].noisy))
    amount = max(amounts)
    if unit.neighbours == "replace":
        entering = sorted(sum(n.amount_of_one_more(rule) for n in part.noisy) for part in parts)
        amount = max(amount, entering[-1] + entering[-2])
    return Charge(amount, max(sum(map(NoisyReading.radius_from_nothing, part.noisy)) for part in parts))


def _counts_persons(readings: Sequence[Reading], unit: PrivacyUnit) -> bool:
    return unit.rows > 1 and any(reading.persons is not None for reading in readings)
