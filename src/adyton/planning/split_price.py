"""What a question pays in a study whose questions each read a part of the units of their own."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.accounting import Filter
from adyton.planning.parallel import Families
from adyton.planning.part import MeasurePlan
from adyton.privacy import PrivacyUnit
from adyton.study import Study


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
    one_more = [
        max(sum(noisy.amount_of_one_more(rule) for noisy in parts[place].noisy) for place in family)
        for family in families
    ]
    return max(amount, 2 * sum(one_more))


def most_for_each(study: Study) -> int:
    """Each question may have all of the limit, but for the least unit that every later charge takes."""
    return study.allowed - study.parts


def still_due(price: int, spent: int) -> int:
    """What is charged so that at least ``price`` is spent; a charge is at least one unit."""
    return max(1, price - spent)
