"""What a ledger has released, in every measure in which a test on the rows may pay for it."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

from adyton.kernel.accounting import GdpAccounting
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.ledger import Ledger, Order, Receipt
from adyton.kernel.ledger.base import all_counted
from adyton.kernel.ledger.texts import many_from_text
from adyton.kernel.special.comparing import public_notes
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.monitor import Monitor, of_validity
from adyton.monitors.kinds import exchanged_reach
from adyton.monitors.notes import entry_of
from adyton.monitors.plan import monitor_in
from adyton.planning.learned import radius_in_full
from adyton.study import Study
from adyton.validity.last_look.leakage import comparisons_nats, gaussian_rate, geometric_rate, pure_distance
from adyton.validity.last_look.told import NoisyIntegers, ReleasedTotals

_FORGOTTEN = ("carried", "restored")  # what monitors said before is in another ledger, or lost
_NOISY = ("query", "batch")  # each integer has noise of its own


def told_by(study: Study, ledger: Ledger) -> ReleasedTotals:
    """All that was charged, and all that was seen.

    In a pure study everything is paid for by its epsilon.  Radii are as they were charged, not the final
    ones.  Where a copy of the ledger was put back, or an older ledger was carried over, monitors may have
    said what this one does not know: then none is counted by what it said.
    """
    receipts = list(all_counted(ledger))
    told = ReleasedTotals(forgotten=any(receipt.order.kind in _FORGOTTEN for receipt in receipts))
    for receipt in receipts:
        told = _and(told, study, ledger, receipt)
    return told


def _and(told: ReleasedTotals, study: Study, ledger: Ledger, receipt: Receipt) -> ReleasedTotals:
    order = receipt.order
    radius, pure = _one(radius_in_full(study, order)), exchanged(study, order)
    told = replace(told, radius=told.radius + radius, pure=told.pure + pure)
    rate = geometric_rate(pure) if study.rule.capped else gaussian_rate(radius)
    if (monitor := monitor_in(order)) is not None:
        machine, _ = monitor
        notes = map(entry_of, public_notes(ledger, receipt.number, 1, Monitor.word))
        fed = [note for note in notes if note is not None]  # that it was closed is public
        values = NoisyIntegers(sum(one.value is not None for one in fed), rate)
        other = isinstance(machine, NumericSparse) and not machine.gaussian and not study.rule.capped
        if other or told.forgotten:  # their epsilon is with that of the comparisons; or some are not known
            return replace(told, numbers=None)
        said = told.said + comparisons_nats(one.above for one in fed)
        by_monitors, of_monitors = told.by_monitors + pure, (*told.of_monitors, values)
        return replace(told, said=said, by_monitors=by_monitors, of_monitors=of_monitors)
    many = _integers(ledger, receipt) if pure == 0 or study.rule.capped else None
    if many is None or told.numbers is None:
        return replace(told, numbers=None)
    return replace(told, numbers=(*told.numbers, NoisyIntegers(many, rate)))


def exchanged(study: Study, order: Order) -> Fraction:
    """The epsilon of what is not Gaussian, if one unit is exchanged for another.

    In a pure study that is what was charged, or where neighbors have a unit more or less at most twice as
    much; there a monitor knows it, and the radius of one reading: a unit is nowhere farther from the centre.
    """
    if not study.rule.capped:
        return _one(order.pure)
    charged = _one(order.amount)
    if study.unit.adjacency == "replace-one":
        return charged
    if (monitor := monitor_in(order)) is not None:
        machine, kind = monitor
        return _one(of_validity(GdpAccounting(), machine, exchanged_reach(study, kind))[1])
    parts = json.loads(order.detail) if order.kind in _NOISY else []
    if len(parts) == 1 and not any(isinstance(fact, int) for fact in parts[0]):
        return min(2 * charged, 2 * Fraction(pure_distance(_one(order.radius))))
    return 2 * charged


def _integers(ledger: Ledger, receipt: Receipt) -> int | None:
    """How many an answer has; None where that is unknown, or they are not sums with noise of their own.

    A receipt of a shared budget does not say what it paid for, and has a number of its own.
    """
    order = receipt.order
    stored = ledger.recall(receipt.number) if order.kind in _NOISY else None
    if stored is None:
        return None
    answers = many_from_text(stored)
    if any(answer.keys is not None for answer in answers):
        return None
    return sum(len(column) for answer in answers for part in answer.released for column in part)


def _one(units: int) -> Fraction:
    return Fraction(units, UNITS_PER_ONE)
