"""What validity pays for an order in full, whatever its answer settled for."""

from __future__ import annotations

from adyton.exact import units_up
from adyton.ledger import Order
from adyton.ledger.texts import receipts_restored
from adyton.planning.price import cost_of_units
from adyton.study import Study


def radius_in_full(study: Study, order: Order) -> int:
    """The radius that was charged, in units of 10**-18; at least that, for all that a restored copy has lost.

    An anchor knows the radii of lost receipts only as their answers settled them.  But none was charged more
    than its price: privacy pays at least the distance from a unit that adds nothing, and validity at most
    that.

    Claim:    the squared radii of what the order stands for, as they were charged, sum to at most this.
    Assumes:  where answers may settle, every amount is what all Gaussian noise of its order costs, or more.
    Source:   derived here.  Theorem: RESTORED-LEDGER.
    """
    settles = study.filter_name != "pure" and not study.one_by_one
    if not settles or not receipts_restored(order.question, order.detail):
        return order.radius
    return max(order.radius, units_up(cost_of_units(study.filter_name, order.amount)))
