"""A synthetic table, what it was made from, and how well it agrees with that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adyton.certify import Amount, AmountLeft, Certificate, Interval, Proof, RoundedGuarantee
from adyton.certify.values import optional
from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise import rounded_gaussian, two_sided_geometric
from adyton.kernel.noise.refine import Integers
from adyton.kernel.schema import BooleanColumn, CategoryColumn, DateColumn, TextColumn, day_of
from adyton.kernel.special.mechanisms.marginals.adaptive import MarginalModel, NoisyMarginal
from adyton.kernel.special.mechanisms.marginals.tables import Axes
from adyton.query.conditions.axis import Axis
from adyton.show import Sheet, Shown, number
from adyton.synthesis.guessing import classes_drawn, last_guess
from adyton.synthesis.plan import SynthesisPlan
from adyton.synthesis.sampling import Columns, generator, values_of

MOST_ROWS = 10**7
_USUAL_ROWS = 10**6  # at most, where nobody says how many
MADE = "synthetic: drawn from what was measured; no population interval goes with what is computed from them"


@dataclass(frozen=True, slots=True, eq=False)
class Marginal(Document):
    """One marginal that was measured, beside the synthetic table: numbers of rows in its cells.

    ``half_width``: the noise interval of each measured number reaches so far to either side.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    released: Integers
    half_width: int
    level: float
    synthetic: Floats

    json_keys = "columns labels released=numbers half_width level synthetic=synthetic_numbers distance"

    @property
    def distance(self) -> float:
        """Between the shares of the cells, released and synthetic: 0 where they are alike, 1 at most.

        Measured shares below 0 count as 0.
        """
        released = np.maximum(self.released, 0).astype(float)
        return float(
            np.abs(released / max(released.sum(), 1.0) - self.synthetic / self.synthetic.sum()).sum() / 2
        )

    def interval(self, cell: int) -> Interval:
        """The noise interval of one number: of these rows, at ``level``, for each number alone."""
        value = int(self.released[cell])
        return Interval(self.level, value - self.half_width, value + self.half_width)

    @property
    def numbers(self) -> list[int]:
        found: list[int] = self.released.tolist()
        return found

    @property
    def synthetic_numbers(self) -> list[float]:
        return [round(float(value), 6) for value in self.synthetic]


class Synthesis(Shown, Document):
    """A table like the private one in the marginals that were measured.

    Rows, and all that is said about them, follow from what was measured, and cost nothing more.

    >>> made = curator.synthesize(["region", "smoker"], rows=100, share=0.5)
    >>> len(made.to_pandas())
    100
    """

    plan: SynthesisPlan
    cost: Amount
    spent: Amount
    left: AmountLeft
    budget: RoundedGuarantee
    receipt: Proof
    repeated: bool

    json_keys = (
        "synthesis=query repeated rows method=plan.method marginals cost spent left budget receipt "
        "certificate"
    )

    def __init__(
        self,
        plan: SynthesisPlan,
        measured: Sequence[NoisyMarginal],
        rows: int | None,
        *,
        cost: Amount,
        spent: Amount,
        left: AmountLeft,
        budget: RoundedGuarantee,
        receipt: Proof,
        repeated: bool,
    ) -> None:
        self.plan, self.measured, self._rows = plan, tuple(measured), check_rows(rows)
        self.cost, self.spent, self.left, self.budget = cost, spent, left, budget
        self.receipt, self.repeated = receipt, repeated

    @property
    def query(self) -> str:
        """What was released, in the words of the receipt."""
        return self.plan.text

    @property
    def certificate(self) -> Certificate:
        """The theorems that it rests on, and what must be true."""
        return self.plan.certificate

    @cached_property
    def guess(self) -> MarginalModel:
        """What is publicly known about all cells."""
        return last_guess(self.plan, self.measured)

    @cached_property
    def rows(self) -> int:
        """How many rows it has: as many as were asked for, or as the private table seems to have."""
        known = self.plan.known_rows or round(float(self.guess.tables([(0,)])[(0,)].sum()))
        return self._rows if self._rows is not None else max(1, min(known, _USUAL_ROWS))

    @cached_property
    def classes(self) -> list[Integers]:
        """For each column, the class of each row."""
        return classes_drawn(self.guess, self.rows, generator(self.receipt.digest))

    @cached_property
    def columns(self) -> Columns:
        """The table: arrays by the names of the columns, masked where a value is missing."""
        random = generator(self.receipt.digest[::-1])
        return values_of(self.plan.axes, dict(enumerate(self.classes)), random)

    @cached_property
    def marginals(self) -> list[Marginal]:
        """All that was measured, in that order, beside the synthetic table."""
        return [self._marginal(one) for one in self.measured]

    def to_pandas(self) -> Any:
        """The table as a pandas.DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The table as a polars.DataFrame."""
        return optional("polars").from_arrow(self.to_arrow())

    def to_arrow(self) -> Any:
        """The table as a pyarrow.Table; a missing value is null."""
        arrow = optional("pyarrow")
        return arrow.table({name: _arrow(arrow, values) for name, values in self.columns.items()})

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(
            (
                " x ".join(one.columns),
                f"{one.released.size:,}",
                f"±{one.half_width:,}",
                number(one.distance, 0.01),
            )
            for one in self.marginals
        )
        notes = (
            f"{self.rows:,} rows, {MADE}.",
            "Noise: of each measured number, 95 %, for these rows. Distance: between measured and synthetic "
            "shares, 0 to 1.",
            f"Cost {self.cost} of the budget. Spent {self.spent}, left {self.left}."
            if not self.repeated
            else f"Made before, free of charge. Spent {self.spent}, left {self.left}.",
            f"The guarantee: {self.budget}, whatever is asked.",
            f"Receipt {self.receipt.number}, {self.receipt.digest[:12]}.",
        )
        details = (f"Theorems: {', '.join(self.certificate.theorems)}.",)
        sheet = Sheet(self.query, ("measured", "cells", "noise", "distance"), rows, notes, details=details)
        return sheet.detailed() if verbose else sheet

    def _marginal(self, one: NoisyMarginal) -> Marginal:
        axes = [self.plan.axes.axes[place] for place in one.axes]
        cover = rounded_gaussian if one.gaussian else two_sided_geometric
        return Marginal(
            tuple(axis.name for axis in axes),
            tuple(labels_of(axis) for axis in axes),
            one.noisy,
            cover.coverage_radius(one.scale, LEVEL),
            LEVEL,
            self._counted(one.axes),
        )

    def _counted(self, axes: Axes) -> Floats:
        """The rows of the synthetic table in the cells of a marginal."""
        shape = [self.plan.axes.shape[place] for place in axes]
        places = np.ravel_multi_index([self.classes[place] for place in axes], shape)
        return np.bincount(places, minlength=int(np.prod(shape))).astype(float)


def check_rows(rows: int | None) -> int | None:
    if rows is not None and (type(rows) is not int or not 1 <= rows <= MOST_ROWS):
        raise InvalidRequest(f"a synthetic table has 1 to {MOST_ROWS} rows, not {rows}")
    return rows


def labels_of(axis: Axis) -> tuple[str, ...]:
    """What the classes of a column are called."""
    column = axis.subject.column
    codes, there = axis.first
    assert not isinstance(column, TextColumn)
    if isinstance(column, CategoryColumn):
        return tuple(str(column.values[c]) if t else "missing" for c, t in zip(codes, there, strict=True))
    if isinstance(column, BooleanColumn):
        return tuple(("no", "yes")[c] if t else "missing" for c, t in zip(codes, there, strict=True))
    ends = dict(zip(axis.starts.tolist(), [*axis.starts[1:].tolist(), column.lattice.high + 1], strict=True))

    def shown(step: int) -> str:
        if isinstance(column, DateColumn):
            return day_of(step).isoformat()
        return f"{float(step * column.lattice.step):,.12g}"

    def named(low: int) -> str:
        return shown(low) if ends[low] == low + 1 else f"{shown(low)} .. {shown(ends[low] - 1)}"

    return tuple(named(int(c)) if t else "missing" for c, t in zip(codes, there, strict=True))


def _arrow(arrow: Any, values: Any) -> Any:
    if values.dtype.kind == "M":
        return arrow.array(values.astype("datetime64[D]"))
    if isinstance(values, np.ma.MaskedArray):
        return arrow.array(values.data, mask=np.ma.getmaskarray(values))
    return arrow.array(values.tolist())
