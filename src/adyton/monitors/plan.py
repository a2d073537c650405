"""What a monitor costs, and its mechanism as text in the ledger and back: public facts alone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from adyton.certify import Certificate
from adyton.errors import InvalidRequest
from adyton.kernel.ledger import Order, Receipt
from adyton.kernel.measurement import Due
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.noise.two_sided_geometric import LARGEST_SCALE
from adyton.kernel.privacy import PureCost
from adyton.kernel.schema import IntegerColumn, RealColumn
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import GAUSSIAN_VALUES, NumericSparse, one_integer
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, check_positives
from adyton.kernel.special.monitor import Machine, Monitor, sparse_of
from adyton.kernel.terms.measures import Count
from adyton.monitors.kinds import KINDS, MonitorKind, checked_kind, moves_one_way
from adyton.noise_intervals.sparse import comparison_error, numeric_sparse_for_cost, sparse_for_cost
from adyton.planning.known import assumptions_of
from adyton.planning.price import Price, units_of
from adyton.planning.readings import readings_of
from adyton.query.nodes import Query
from adyton.study import Study
from adyton.study.validity import refuse_where_rounded

_FINE, _FINER, _COARSEST = 2**32, 2**10, 2**12  # steps that one unit can move a scaled sum by
_LEAST_SHARE = Fraction(1, 2**40)  # of epsilon for each positive: less, and the noise outgrows 64 bits


@dataclass(frozen=True, slots=True)
class MonitorPlan:
    machine: Machine
    kind: MonitorKind
    due: Due
    unproved = False

    @property
    def amount(self) -> int:
        return self.due.amount

    @property
    def radius(self) -> int:
        return self.due.radius

    @property
    def pure(self) -> int:
        return self.due.pure

    @property
    def text(self) -> str:
        return text_of(self.machine, self.kind)

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,)

    @property
    def detail(self) -> str:
        return monitor_detail(self.machine, self.kind)

    @property
    def measurement(self) -> Monitor:
        """What the kernel prices, and compares later."""
        return Monitor(self.machine)

    def units_of_error(self, confidence: float, queries: int) -> Fraction:
        """SPARSE-ACCURACY, in numbers of what one unit can move."""
        return Fraction(
            comparison_error(self.machine, confidence, queries), sparse_of(self.machine).sensitivity
        )


def plan_monitor(
    study: Study, price: Price, left: int, positives: int, numeric: bool, refresh: bool | None, of: str
) -> MonitorPlan:
    """The quietest monitor whose cost, as the accounting of the study counts it, is not above the price.

    Where ``refresh`` is None, what makes comparisons quieter is chosen.
    """
    if price.by not in ("epsilon", "share"):
        raise InvalidRequest("the price of a monitor is named as epsilon or as share")
    if study.parts > 1:
        raise InvalidRequest("a monitor reads all units again and again: it does not go with a split of them")
    refuse_where_rounded(study, "a monitor")
    if type(numeric) is not bool or not (refresh is None or type(refresh) is bool):
        raise InvalidRequest("numeric is True or False, refresh is True, False or None")
    check_positives(positives)
    kind = checked_kind(of)
    wanted = Wanted(study, positives, numeric, moves_one_way(study, kind))
    units = units_of(study, price, left)
    if kind != "counts":
        alone = least_noise(replace(wanted, reach=1), units, refresh)
        wanted = replace(wanted, reach=_fine_reach(study, alone))
    machine = least_noise(wanted, units, refresh)
    return MonitorPlan(machine, kind, Monitor(machine).due(study.protection))


def _fine_reach(study: Study, machine: Machine) -> int:
    """A power of two, many times what one unit can move the sum of any column by, if its noise can still be
    drawn: so little is lost in scaling by whole numbers.  ``machine`` is the one for a reach of 1.
    """
    sparse = sparse_of(machine)
    scales = [sparse.threshold_scale, sparse.query_scale]
    scales += [machine.value_scale] if isinstance(machine, NumericSparse) else []
    room = math.floor(Fraction(LARGEST_SCALE) / max(scales)) // 2
    if room < _COARSEST:
        raise InvalidRequest(f"this price is too small for {sparse.positives} positives")
    columns = [one for one in study.table.columns if isinstance(one, IntegerColumn | RealColumn)]
    boxes = [(one.lattice.low, one.lattice.high) for one in columns]
    widest = max((max(abs(low), abs(high), high - low) for low, high in boxes), default=1)
    wanted = max(_FINE, 1 << (_FINER * widest * study.unit.rows).bit_length())
    return min(1 << (room.bit_length() - 1), wanted)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A machine, but for its noise.

    ``for_values``: the part of the price that buys Gaussian values; None makes them as loud as comparisons.
    ``reach``: how far one unit moves an integer; None: as far as a count.
    """

    study: Study
    positives: int
    numeric: bool
    monotone: bool
    for_values: Fraction | None = None
    reach: int | None = None

    @property
    def moved(self) -> int:
        """By how much; a count by the same for adding, removing and exchanging a unit."""
        if self.reach is not None:
            return self.reach
        (reading,) = readings_of(Query(self.study.table, (("count", Count()),)), self.study.unit)
        return math.ceil(reading.sensitivity.l1_diameter((Fraction(1),)))


def least_noise(wanted: Wanted, units: int, refresh: bool | None) -> Machine:
    """The quietest machine for so many units; where ``refresh`` is None, what makes comparisons quieter."""
    tried = (False, True) if refresh is None else (refresh,)
    return min((_quietest(wanted, units, anew) for anew in tried), key=_loudness)


def _quietest(wanted: Wanted, units: int, refresh: bool) -> Machine:
    if not (wanted.numeric and wanted.study.rule.noise.gaussian):
        return _geometric(
            numeric_sparse_for_cost if wanted.numeric else sparse_for_cost, wanted, units, refresh
        )
    if wanted.for_values is None:
        # If each had all units; a part w of them makes 1 / w of the variance, at least where epsilon is small
        loud = _loudness(_geometric(sparse_for_cost, wanted, units, refresh))
        quiet = float(_values(wanted, units).scales[0]) ** 2
        for_values = math.ceil(units * quiet / (quiet + loud))
    else:
        for_values = math.ceil(units * wanted.for_values)
    sparse = sparse_of(_geometric(sparse_for_cost, wanted, units - for_values, refresh))
    return NumericSparse(sparse, _values(wanted, for_values).scales[0], gaussian=True)


def _geometric(
    quietest: Callable[..., Sparse] | Callable[..., NumericSparse], wanted: Wanted, units: int, refresh: bool
) -> Machine:
    """With geometric noise alone.  A threshold that is drawn anew makes as many releases as positives."""
    study, positives = wanted.study, wanted.positives
    runs = positives if refresh else 1
    epsilon = runs * study.rule.largest_epsilon(units // runs, PureCost) if units >= runs else Fraction(0)
    if epsilon < positives * _LEAST_SHARE:
        raise InvalidRequest(f"this price is too small for {positives} positives")
    reach, monotone = wanted.moved, wanted.monotone
    for _ in range(64):
        machine: Machine = quietest(epsilon, positives, sensitivity=reach, monotone=monotone, refresh=refresh)
        if study.rule.amount(machine.cost()) <= units:
            return machine
        epsilon *= 1 - Fraction(1, 2**40)  # a rounding of the last digits was against us
    raise InvalidRequest("no noise scale can be represented for this price")


def _values(wanted: Wanted, units: int) -> GaussianNoise:
    """Gaussian noise for the value of each positive, all of which cost ``units``."""
    cost = wanted.study.rule.noise_cost(units // wanted.positives)
    return GaussianNoise.for_cost(one_integer(wanted.moved), cost)


def _loudness(machine: Machine) -> float:
    """The variance of a comparison, nearly."""
    sparse = sparse_of(machine)
    return 2 * float(sparse.threshold_scale**2 + sparse.query_scale**2)


def certificate_of(study: Study, machine: Machine, kind: MonitorKind = "counts") -> Certificate:
    theorems = [*machine.theorems, *(("MONITOR-OF-SUMS",) if kind != "counts" else ())]
    theorems += ["SPARSE-ACCURACY", "MONITOR-IS-ONE-RELEASE", *study.rule.of_pure]
    theorems += [*study.rule.theorems, "POST-PROCESSING"]
    theorems += ["NOISE-INTERVAL"] if isinstance(machine, NumericSparse) else []
    return Certificate(tuple(dict.fromkeys(theorems)), assumptions_of(study, study.table))


def text_of(machine: Machine, kind: MonitorKind = "counts") -> str:
    sparse = sparse_of(machine)
    values = " WITH VALUES" if isinstance(machine, NumericSparse) else ""
    plural = "" if sparse.positives == 1 else "S"
    return f"MONITOR OF {kind.upper()}{values} HALTING AFTER {sparse.positives} POSITIVE{plural}"


def detail_of(machine: Machine) -> str:
    """The mechanism as canonical JSON; scales are floats exactly, so nothing is lost on the way back."""
    sparse = sparse_of(machine)
    scales = [sparse.threshold_scale, sparse.query_scale]
    scales += [machine.value_scale] if isinstance(machine, NumericSparse) else []
    facts = [machine.name, sparse.positives, sparse.sensitivity, sparse.monotone, sparse.refresh]
    return json.dumps([*facts, *(repr(float(scale)) for scale in scales)])


def monitor_detail(machine: Machine, kind: MonitorKind) -> str:
    """With what it may be fed with."""
    return json.dumps({"of": kind, "machine": detail_of(machine)})


def machine_of(receipt: Receipt) -> Machine:
    """The mechanism that a receipt paid for; InvalidRequest if it paid for something else."""
    return monitor_of(receipt)[0]


def monitor_of(receipt: Receipt) -> tuple[Machine, MonitorKind]:
    """The mechanism that a receipt paid for, and what it may be fed with."""
    found = monitor_in(receipt.order)
    if found is None:
        raise InvalidRequest(
            f"receipt {receipt.number} did not pay for a monitor; adyton monitor list, or "
            "Curator.monitors(), shows the numbers of those that there are"
        )
    return found


def monitor_in(order: Order) -> tuple[Machine, MonitorKind] | None:
    """The mechanism that an order describes, and what it may be fed with; None if it is for no monitor."""
    if order.kind != "monitor":
        return None
    with suppress(ValueError, TypeError, KeyError):
        known = json.loads(order.detail)
        machine, kind = machine_from(known["machine"]), known["of"]
        if machine is not None and kind in KINDS and order.detail == monitor_detail(machine, kind):
            return machine, kind
    return None


def machine_from(detail: str) -> Machine | None:
    """The mechanism that ``detail_of`` wrote, None if it did not write this."""
    try:
        name, positives, sensitivity, monotone, refresh, *scales = json.loads(detail)
        threshold, query, *value = (Fraction(float(scale)) for scale in scales)
        sparse = Sparse(positives, threshold, query, sensitivity, monotone, refresh)
        machine: Machine = sparse
        if value:
            machine = NumericSparse(sparse, value[0], gaussian=name == GAUSSIAN_VALUES)
        return machine if detail_of(machine) == detail else None
    except (ValueError, TypeError, InvalidRequest):
        return None
