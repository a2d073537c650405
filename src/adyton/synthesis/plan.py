"""What a synthetic table measures and costs, and how loud its first counts would be: public facts only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import combinations
from typing import Literal, get_args

from adyton.certify import Certificate, OpeningPreview
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.measurement import Due
from adyton.kernel.privacy import PureCost
from adyton.kernel.schema import BooleanColumn, CategoryColumn, Column, TextColumn
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.marginals import SELECTING, Marginals, marginals_sensitivity, step_for
from adyton.kernel.special.mechanisms.marginals.adaptive import AdaptiveMarginals, AdaptiveRound
from adyton.kernel.special.mechanisms.marginals.tables import Axes, size_of
from adyton.kernel.terms.buckets import MOST_CELLS
from adyton.planning.known import assumptions_of
from adyton.planning.price import Price, units_of
from adyton.planning.readings import histogram_of_axes
from adyton.query.conditions import atoms
from adyton.query.conditions.atoms import Bins
from adyton.show import Sheet
from adyton.study import Study
from adyton.study.validity import refuse_where_rounded

Method = Literal["cells", "graph"]
MOST_CELLS_IN_MEMORY = 10**7
USUAL_BINS = 16
USUAL_WAYS = 3
_MOST_BINS = 1_000
_MOST_WAYS = 4
_MOST_CANDIDATES = 5_000
_LARGEST_MARGINAL = 20_000  # cells; one with more would be nearly all noise
_ROUNDS_OF_A_COLUMN = {True: 8, False: 4}  # by whether noise is Gaussian; with more nothing is gained
_GROWTH = {True: 4, False: 2}  # of a price, for noise of half the scale


@dataclass(frozen=True, slots=True)
class SynthesisPlan:
    """Adaptive marginals over public cells, at a price."""

    study: Study
    axes: atoms.Axes
    method: Method
    machine: AdaptiveMarginals
    due: Due = field(init=False)
    unproved = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "due", self.measurement.due(self.study.protection))

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(axis.subject.column for axis in self.axes.axes)

    @property
    def known_rows(self) -> int | None:
        """The number of rows, where it is public: a unit that is exchanged for another keeps its one row."""
        unit = self.study.unit_of(self.axes.table)
        return self.axes.table.rows if self.study.size_is_public and unit.rows == 1 else None

    @property
    def amount(self) -> int:
        return self.due.amount

    @property
    def text(self) -> str:
        return text_of_axes(self.axes)

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,)

    @property
    def detail(self) -> str:
        """All that decides what is selected and measured, as canonical JSON."""
        machine = self.machine
        facts = {
            "begins": {
                axis.name: axis.starts.tolist() for axis in self.axes.axes if _has_bins(axis.subject.column)
            },
            "candidates": len(machine.candidates),
            "each": str(machine.each),
            "growth": machine.growth,
            "largest": _LARGEST_MARGINAL,
            "method": self.method,
            "selecting": SELECTING,
            "ways": max(map(len, machine.candidates)),
        }
        return json.dumps({"synthesis": facts}, ensure_ascii=False, sort_keys=True)

    @property
    def radius(self) -> int:
        return self.due.radius

    @property
    def pure(self) -> int:
        return self.due.pure

    @property
    def measurement(self) -> Marginals:
        """What the kernel prices and releases."""
        from adyton.synthesis.guessing import first_guess

        unit = self.study.unit_of(self.axes.table)
        tables = tuple((by, histogram_of_axes(self.axes, by, unit)) for by in self.read)
        return Marginals(tables, self.machine, first_guess(self), self.study.rule)

    @property
    def readings(self) -> tuple[Reading, ...]:
        return self.measurement.readings

    @property
    def read(self) -> tuple[Axes, ...]:
        """The marginals that an engine counts, of which all others are sums: one of all axes, if it fits."""
        everything = tuple(range(len(self.axes.axes)))
        if self.axes.cells <= MOST_CELLS:
            return (everything,)
        wanted = sorted({*self.machine.candidates, *self.machine.first}, key=len, reverse=True)
        largest: list[set[int]] = []
        for axes in wanted:
            if not any(set(axes) <= other for other in largest):
                largest.append(set(axes))
        return tuple(tuple(sorted(axes)) for axes in largest)

    def step(self, units: int) -> AdaptiveRound:
        return step_for(self.study.rule, self.machine.sensitivity, units)

    @property
    def certificate(self) -> Certificate:
        selecting = "PERMUTE-AND-FLIP" if self.study.rule.choice is PureCost else "BOUNDED-RANGE"
        noise = self.study.rule.noise.theorems
        theorems = ["ADAPTIVE-MARGINALS", "PUBLIC-CELLS", "SCORE-SPAN", selecting, *noise]
        theorems += [*self.study.rule.theorems, "POST-PROCESSING", "NOISE-INTERVAL"]
        return Certificate(
            tuple(dict.fromkeys(theorems)),
            (
                *assumptions_of(self.study, self.axes.table),
                "synthetic rows are drawn from what was measured, and copied from nowhere; no population "
                "interval goes with what is computed from them",
            ),
        )


def plan_synthesis(
    study: Study,
    columns: Sequence[str],
    price: Price,
    left: int,
    *,
    bins: Mapping[str, Bins] | None = None,
    ways: int | None = None,
    method: Method | None = None,
) -> SynthesisPlan:
    """Refuses what cannot be made, free of charge."""
    if price.by not in ("epsilon", "share", "units"):
        raise InvalidRequest("the price of a synthetic table is named as epsilon or as share")
    if study.parts > 1:
        raise InvalidRequest("a synthetic table is made of all units: it does not go with a split of them")
    refuse_where_rounded(study, "a synthetic table")
    axes = axes_of(study, columns, bins)
    ways = min(USUAL_WAYS, len(axes.axes)) if ways is None else ways
    if type(ways) is not int or not 1 <= ways <= _MOST_WAYS:
        raise InvalidRequest(f"marginals of 1 to {_MOST_WAYS} columns are measured, not of {ways}")
    units = units_of(study, price, left)
    candidates = marginals_up_to(axes.shape, ways, max(_LARGEST_MARGINAL, *axes.shape))
    if len(candidates) > _MOST_CANDIDATES:
        raise InvalidRequest(
            f"these columns have {len(candidates)} marginals of up to {ways} columns; at most "
            f"{_MOST_CANDIDATES} are compared: name fewer columns, or fewer ways"
        )
    machine = _machine(study, axes, candidates, units)
    return SynthesisPlan(study, axes, _method(axes, method), machine)


def text_of_axes(axes: atoms.Axes) -> str:
    """What is charged, as a receipt says it."""
    names = ", ".join(json.dumps(axis.subject.column.name, ensure_ascii=False) for axis in axes.axes)
    return f"SYNTHETIC TABLE OF {names} FROM {json.dumps(axes.table.name, ensure_ascii=False)}"


def axes_of(study: Study, columns: Sequence[str], bins: Mapping[str, Bins] | None) -> atoms.Axes:
    table = study.table
    if isinstance(columns, str) or not columns:
        raise InvalidRequest("name the columns of the synthetic table, at least one, as a list")
    wanted = {table.column(name).name for name in columns}
    if len(wanted) < len(columns):
        raise InvalidRequest("a column was named twice")
    chosen = [column for column in table.columns if column.name in wanted]
    usual = {column.name: USUAL_BINS for column in chosen if _has_bins(column)}
    given = {table.column(name).name: own for name, own in (bins or {}).items()}
    if unused := sorted(set(given) - set(usual)):
        raise InvalidRequest(f"bins are for numbers and dates that are asked for, not for {unused[0]!r}")
    for name, own in given.items():
        if (own if isinstance(own, int) else len(own)) > _MOST_BINS:
            raise InvalidRequest(f"{name!r} would have too many bins; at most {_MOST_BINS}")
    return atoms.axes_of_columns(table, [column.name for column in chosen], {**usual, **given})


def _has_bins(column: Column) -> bool:
    return not isinstance(column, CategoryColumn | BooleanColumn | TextColumn)


def _method(axes: atoms.Axes, method: Method | None) -> Method:
    if method is not None and method not in get_args(Method):
        raise InvalidRequest(f"method is one of {', '.join(get_args(Method))}, not {method!r}")
    chosen: Method = method or ("cells" if axes.cells <= MOST_CELLS_IN_MEMORY else "graph")
    if chosen == "cells" and axes.cells > MOST_CELLS_IN_MEMORY:
        axes.check(MOST_CELLS_IN_MEMORY)
    if chosen == "graph" and find_spec("mbi") is None:
        widest = max(axes.axes, key=lambda axis: axis.size)
        raise InvalidRequest(
            f"these columns have {axes.cells} cells; beyond {MOST_CELLS_IN_MEMORY} mbi fits them: "
            f"pip install 'adyton[synthetic]', or leave out {widest.name!r}, which has {widest.size} values"
        )
    return chosen


def _machine(study: Study, axes: atoms.Axes, candidates: tuple[Axes, ...], units: int) -> AdaptiveMarginals:
    first = tuple((place,) for place in range(len(axes.axes)))
    moved = marginals_sensitivity(axes.shape, candidates, first, study.unit_of(axes.table))
    rounds = _ROUNDS_OF_A_COLUMN[study.rule.noise.gaussian] * len(axes.axes)
    each = units // rounds
    if each < 2 * SELECTING:
        raise InvalidRequest("this price is too small for a synthetic table of so many columns")
    most_epsilon = rounds * step_for(study.rule, moved, each).epsilon
    growth = _GROWTH[study.rule.noise.gaussian]
    return AdaptiveMarginals(axes.shape, candidates, first, moved, units, each, growth, most_epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisPreview(OpeningPreview):
    """What a synthetic table would cost."""

    plan: SynthesisPlan

    json_keys = (
        "synthesis=plan.text method=plan.method cells=plan.axes.cells candidates half_width "
        + OpeningPreview.json_keys
    )

    @property
    def candidates(self) -> int:
        return len(self.plan.machine.candidates)

    @property
    def half_width(self) -> int:
        """Of the 95 % noise interval of each count of one column; later measurements are no louder."""
        machine = self.plan.machine
        return self.plan.step(machine.each).noise.error(LEVEL)

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            *self.charge_rows(),
            ("cells", f"{self.plan.axes.cells:,}"),
            ("marginals to choose from", f"{self.candidates:,}"),
            ("noise of a first count", f"±{self.half_width:,}"),
        )
        return Sheet(f"Preview: {self.plan.text}", ("", ""), rows, self.charge_notes())


def marginals_up_to(shape: Sequence[int], ways: int, most_cells: int) -> tuple[Axes, ...]:
    """All marginals of one to ``ways`` axes that have at most ``most_cells`` cells, the short ones first."""
    numbers = range(1, min(ways, len(shape)) + 1)
    every = (axes for number in numbers for axes in combinations(range(len(shape)), number))
    return tuple(axes for axes in every if size_of(shape, axes) <= most_cells)
