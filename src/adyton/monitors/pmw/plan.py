"""What PMW costs, how well it is expected to answer, and where something else answers better.

The rule was found by simulation (benchmarks/coordinated.py, tests/monitors/test_pmw_regime.py): it guarantees
nothing, and chooses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from adyton.arithmetic.search import largest_that_holds
from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number, rational
from adyton.kernel.measurement import Due
from adyton.kernel.mechanisms.base import Mechanism
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse, one_integer
from adyton.kernel.special.monitor import Pmw
from adyton.monitors.plan import Wanted, least_noise
from adyton.monitors.pmw.terms import Terms, checked_columns, kept_bins
from adyton.planning.price import Price, units_of
from adyton.query.conditions.atoms import Bins, axes_of_columns
from adyton.study import Study
from adyton.study.validity import refuse_where_rounded

MOST_QUERIES = 10**6
MOST_CELLS = 10**7  # of the guess, which is in memory; the histogram is never read
_FOR_TOTAL = Fraction(1, 20)  # of the price, for the number of units where that is private
_FOR_VALUES = Fraction(1, 10)  # of the rest, for values with Gaussian noise
_SPREADS = 3  # scales of a comparison's noise that a threshold has
_OF_ALL_UPDATES = 1 / 4  # as many as ln(cells) / (2 threshold**2) were enough for all data that were tried
_WRONG, _WRONG_IF_KEPT = 0.43, 0.5  # of the threshold: the root mean squared error; more if its noise is kept
_UNTAUGHT = 1000  # queries, at which the error is twice that: a guess errs most before it has learned
_FARTHEST = 1 / 4  # of all units: with a higher threshold the guess hardly learns
_ONE = one_integer(1)


@dataclass(frozen=True, slots=True)
class PmwPlan:
    """``error``: the expected error of an answer, and ``independent``: that of noise at the same price on
    each answer, or on each cell; both as shares of all units, root mean squares.
    """

    terms: Terms
    measurement: Pmw
    due: Due
    units: int
    error: float
    independent: float
    tolerance: float | None
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
        return self.terms.text

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,)

    @property
    def detail(self) -> str:
        return self.terms.detail

    @property
    def farthest(self) -> float:
        """A guess that is wrong by this share of all units is found out."""
        return self.terms.threshold / self.units

    @property
    def against(self) -> str | None:
        """Why this run should not be opened; None if it should."""
        if self.independent <= self.error:
            return (
                f"noise of its own for each answer, or for each cell, would be better: at this price it is "
                f"wrong by about {self.independent:.2g} of all units, PMW by about {self.error:.2g}; "
                f"PMW is for more queries, more cells or fewer units"
            )
        if self.farthest > _FARTHEST:
            return (
                f"at this price a guess would be corrected only where it is wrong by {self.farthest:.2g} of "
                f"all units, and {_FARTHEST:g} is the most that teaches it anything: a higher price, or more "
                "units"
            )
        if self.tolerance is not None and self.farthest > self.tolerance:
            return (
                f"a guess would be corrected only where it is wrong by {self.farthest:.2g} of all units, "
                f"above the tolerance of {self.tolerance:.2g}: a higher price, or a larger tolerance"
            )
        return None


@dataclass(frozen=True, slots=True)
class Wish:
    """What an asker wants of PMW, whatever it costs."""

    columns: Sequence[str]
    queries: int
    tolerance: Number | None = None
    bins: Mapping[str, Bins] | None = None

    def __post_init__(self) -> None:
        if type(self.queries) is not int or not 1 <= self.queries <= MOST_QUERIES:
            raise InvalidRequest(f"queries is a whole number from 1 to {MOST_QUERIES}")
        if not (self.bins is None or isinstance(self.bins, Mapping)):
            raise InvalidRequest('bins are given by column, as in {"age": 12}')

    @property
    def share(self) -> float | None:
        if self.tolerance is None:
            return None
        share = rational(self.tolerance, "tolerance")
        if not 0 < share <= 1:
            raise InvalidRequest("tolerance is a share of all units, above 0 and at most 1")
        return float(share)


def plan_pmw(study: Study, wish: Wish, price: Price, left: int) -> PmwPlan:
    """The PMW run that this price buys, from public facts; the number of updates follows from them."""
    units, tolerance = _expected_units(study, price), wish.share
    columns = checked_columns(wish.columns)
    axes = axes_of_columns(study.table, columns, wish.bins)
    axes.check(MOST_CELLS)
    bins = kept_bins(axes, wish.bins or {})
    priced = units_of(study, price, left)
    total = _total(study, priced)
    for_machine = priced if total is None else priced - math.ceil(priced * _FOR_TOTAL)
    machine = _machine(study, for_machine, units, axes.cells, wish.queries, tolerance)
    names = tuple(axis.subject.column.name for axis in axes.axes)
    rows, scale = (units, None) if total is None else (None, total.scales[0])
    terms = Terms(names, bins, axes.cells, wish.queries, rows, scale, _threshold(machine), machine)
    terms.run(units)  # refuses a table that is too large, before anything is charged
    measurement = terms.measurement(study)
    return PmwPlan(
        terms,
        measurement,
        measurement.due(study.protection),
        units,
        _expected_error(machine, wish.queries) / units,
        _independent(study, priced, wish.queries, axes.cells) / units,
        tolerance,
    )


def _expected_units(study: Study, price: Price) -> int:
    """How many units there are, or are expected; refusals of what PMW cannot be opened for."""
    if price.by not in ("epsilon", "share"):
        raise InvalidRequest("the price of PMW is named as epsilon or as share")
    if study.parts > 1:
        raise InvalidRequest("PMW reads all units again and again: it does not go with a split of them")
    refuse_where_rounded(study, "a weighted histogram")
    if study.unit.rows > 1:
        raise InvalidRequest("PMW is for units of one row: several would be in several cells")
    public = study.size_is_public
    units = study.units_expected if public or price.expected_rows is None else price.expected_rows
    if units is None:
        raise InvalidRequest(
            "whether PMW is worth its price depends on the number of rows, which is not declared: "
            "declare table.rows, or say how many you expect as expected_rows"
        )
    return units


def _total(study: Study, priced: int) -> Mechanism | None:
    """The noise of the number of rows, if that is private."""
    if study.size_is_public:
        return None
    return study.rule.noise.for_cost(_ONE, study.rule.noise_cost(math.ceil(priced * _FOR_TOTAL)))


@lru_cache(maxsize=64)  # a preview, the opening and an opening again ask for the same
def _machine(
    study: Study, priced: int, units: int, cells: int, queries: int, tolerance: float | None
) -> NumericSparse:
    """With as many updates as a guess over so many cells is likely to need, or as ``tolerance`` allows."""

    @cache
    def of(updates: int) -> NumericSparse:
        # What is too low and what is too high move against each other: no comparison is monotone.
        wanted = Wanted(study, updates, numeric=True, monotone=False, for_values=_FOR_VALUES)
        machine = least_noise(wanted, priced, refresh=None)
        assert isinstance(machine, NumericSparse)
        return machine

    def farthest(updates: int) -> float:
        return _threshold(of(updates)) / units

    def too_few(updates: int) -> bool:
        return updates * farthest(updates) ** 2 < _OF_ALL_UPDATES * math.log(max(cells, 2)) / 2

    needed = min(largest_that_holds(too_few, queries) + 1, queries)
    allowed = (
        largest_that_holds(lambda u: farthest(u) <= tolerance, queries) if tolerance is not None else needed
    )
    return of(max(needed, allowed))


def _threshold(machine: NumericSparse) -> int:
    return math.ceil(_SPREADS * machine.sparse.query_scale)


def _expected_error(machine: NumericSparse, queries: int) -> float:
    """The root mean squared error of an answer, in rows."""
    wrong = _WRONG if machine.sparse.refresh else _WRONG_IF_KEPT
    return wrong * (1 + _UNTAUGHT / queries) * _threshold(machine)


def _independent(study: Study, priced: int, queries: int, cells: int) -> float:
    """The standard deviation of a count, in rows, if each of the answers had noise of its own, or each cell.

    Of cells half make a count, and a unit that is exchanged for another moves two.
    """
    cost = float(study.rule.noise_cost(priced))
    moved = 2 if study.unit.adjacency == "replace-one" else 1
    if not study.rule.noise.gaussian:
        return min(queries, moved * math.sqrt(cells / 2)) * math.sqrt(2) / cost
    return math.sqrt(min(queries, moved * cells / 2) / cost)
