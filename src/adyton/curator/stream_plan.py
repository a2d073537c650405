"""What a stream costs, and its mechanism as text in the ledger and back: public facts alone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction

from adyton.accounting import Filter
from adyton.certify import Certificate
from adyton.curator.noised import stability_units
from adyton.curator.plan import assumptions_of
from adyton.curator.price import Price
from adyton.curator.pricing import units_of
from adyton.errors import InvalidRequest
from adyton.exact import UNITS_PER_ONE, Number, rational, units_up
from adyton.ledger import Order, Receipt
from adyton.mechanisms import NumericSparse, Sparse
from adyton.privacy import PureCost
from adyton.query.nodes import Count, Question
from adyton.sensitivity import readings_of
from adyton.study import Study

Machine = Sparse | NumericSparse

_OF_PURE = {"gdp": ("PURE-IMPLIES-GDP",), "zcdp": ("PURE-IMPLIES-ZCDP",), "pure": ()}
_MOST_IN_A_COUNT = 2**63 - 1  # where the number of units is private: what every engine can count to
_LONGEST_DENOMINATOR = 10**100  # a note keeps every digit
_LEAST_SHARE = Fraction(1, 2**40)  # of epsilon for each positive: less, and the noise outgrows 64 bits


@dataclass(frozen=True, slots=True)
class StreamPlan:
    machine: Machine
    amount: int
    radius: int
    pure: int

    def order(self, request: str | None) -> Order:
        what = (text_of(self.machine), detail_of(self.machine), self.amount, self.radius)
        return Order(*what, request, pure=self.pure)


def plan_stream(
    study: Study, price: Price, left: int, positives: int, numeric: bool, refresh: bool
) -> StreamPlan:
    """The quietest stream whose cost, in the study's currency, is not above the price."""
    if price.by not in ("epsilon", "share"):
        raise InvalidRequest("the price of a stream is named as epsilon or as share")
    if type(numeric) is not bool or type(refresh) is not bool:
        raise InvalidRequest("numeric and refresh are True or False")
    units = units_of(study, price, left)
    epsilon = largest_epsilon(study.filter, units)
    if type(positives) is int and epsilon < positives * _LEAST_SHARE:
        raise InvalidRequest(f"this price is too small for {positives} positives")
    kind = NumericSparse if numeric else Sparse
    reach = _reach_of_a_count(study)
    monotone = study.unit.neighbours == "add-or-remove"  # then all counts rise together, or fall together
    for _ in range(64):
        machine = kind.for_cost(epsilon, positives, sensitivity=reach, monotone=monotone, refresh=refresh)
        amount = study.filter.amount(machine.cost())
        if amount <= units:
            return StreamPlan(machine, amount, *of_validity(study.filter_name, machine))
        epsilon *= 1 - Fraction(1, 2**40)  # a rounding of the last digits was against us
    raise InvalidRequest("no noise scale can be represented for this price")


def largest_epsilon(rule: Filter, units: int) -> Fraction:
    """The largest pure epsilon, rounded down to twelve digits, that costs at most ``units``."""
    if rule.name == "pure":
        return Fraction(units, UNITS_PER_ONE)

    def fits(epsilon: float) -> bool:
        return rule.amount(PureCost(Fraction(epsilon))) <= units

    low = high = 1.0
    while not fits(low):
        low, high = low / 2, low
    while fits(high):
        low, high = high, high * 2
    while high / low > 1 + 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Fraction(low)


def _reach_of_a_count(study: Study) -> int:
    """How far one unit can move any count; the same for adding, removing and exchanging one."""
    (reading,) = readings_of(Question(study.table, (("count", Count()),)), study.unit)
    return math.ceil(reading.sensitivity.l1_diameter((Fraction(1),)))


def replace_one_cost(machine: Machine) -> PureCost:
    """What a whole unit exchanged for another can do: the same noise, and counts that move either way.

    A stream has no radius of its own, so this is also what validity pays.  Theorem: STREAM-IS-ONE-RELEASE.
    """
    if isinstance(machine, NumericSparse):
        return replace(machine, sparse=replace(machine.sparse, monotone=False)).cost()
    return replace(machine, monotone=False).cost()


def of_validity(filter_name: str, machine: Machine) -> tuple[int, int]:
    """What validity pays for a stream, as a radius and as a pure part, in whole units.

    The theorem of studies with Gaussian noise pays for all else by its pure epsilon; in a pure study the
    radius says it all.
    """
    cost = replace_one_cost(machine)
    return (stability_units(cost), 0) if filter_name == "pure" else (0, units_up(cost.epsilon))


def checked_threshold(study: Study, above: Number | None) -> Fraction:
    """A threshold that a count could be on either side of, judged by public facts alone."""
    if above is None:
        raise InvalidRequest("a stream compares each count with a threshold: name it, as in above=100")
    threshold, most = rational(above, "above"), largest_count(study)
    if threshold.denominator > _LONGEST_DENOMINATOR:
        raise InvalidRequest("above must be a number such as 25 or 0.5, not a fraction of hundreds of digits")
    if not 0 <= threshold <= most:
        raise InvalidRequest(f"above must be from 0 to {most}: no count of this table lies beyond")
    return threshold


def largest_count(study: Study) -> int:
    """Of rows, if the number of units is public; otherwise what a count can hold."""
    if study.unit.neighbours == "replace" and study.table.rows is not None:
        return study.table.rows * study.unit.rows
    return _MOST_IN_A_COUNT


def certificate_of(study: Study, machine: Machine) -> Certificate:
    theorems = [*machine.theorems, "SPARSE-ACCURACY", "STREAM-IS-ONE-RELEASE", *_OF_PURE[study.filter_name]]
    theorems += [*study.filter.theorems, "POST-PROCESSING"]
    theorems += ["NOISE-INTERVAL"] if isinstance(machine, NumericSparse) else []
    return Certificate(tuple(dict.fromkeys(theorems)), assumptions_of(study, study.table))


def text_of(machine: Machine) -> str:
    sparse = machine.sparse if isinstance(machine, NumericSparse) else machine
    values = " WITH VALUES" if isinstance(machine, NumericSparse) else ""
    plural = "" if sparse.positives == 1 else "S"
    return f"STREAM OF COUNTS{values} HALTING AFTER {sparse.positives} POSITIVE{plural}"


def detail_of(machine: Machine) -> str:
    """The mechanism as canonical JSON; scales are floats exactly, so nothing is lost on the way back."""
    sparse = machine.sparse if isinstance(machine, NumericSparse) else machine
    scales = [sparse.threshold_scale, sparse.question_scale]
    scales += [machine.value_scale] if isinstance(machine, NumericSparse) else []
    facts = [machine.name, sparse.positives, sparse.sensitivity, sparse.monotone, sparse.refresh]
    return json.dumps([*facts, *(repr(float(scale)) for scale in scales)])


def machine_of(receipt: Receipt) -> Machine:
    """The mechanism that a receipt paid for; InvalidRequest if it paid for something else."""
    machine = machine_in(receipt.order.question, receipt.order.detail)
    if machine is None:
        raise InvalidRequest(f"receipt {receipt.number} did not pay for a stream")
    return machine


def machine_in(text: str, detail: str) -> Machine | None:
    """The mechanism that these texts of an order describe, None if they are not those of a stream."""
    try:
        name, positives, sensitivity, monotone, refresh, *scales = json.loads(detail)
        threshold, question, *value = (Fraction(float(scale)) for scale in scales)
        sparse = Sparse(positives, threshold, question, sensitivity, monotone, refresh)
        machine: Machine = NumericSparse(sparse, *value) if name == NumericSparse.name else sparse
        return machine if (text_of(machine), detail_of(machine)) == (text, detail) else None
    except (ValueError, TypeError, InvalidRequest):
        return None
