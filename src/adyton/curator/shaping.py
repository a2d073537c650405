"""Which rows and columns of an answer are shown: HAVING, QUALIFY, ORDER BY, LIMIT, and what is computed.

All of it works on released values and public facts, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from adyton.certify import Absent, Bound, KeyColumn, KeyedRows, KnownRange, LateValues, RowKeys, Values
from adyton.certify.linear import GaussianValue, linear_of
from adyton.certify.released import CertifiedRows, Levels
from adyton.curator.certifying import Reads, values_of_many
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact.cells import Floats
from adyton.planning.plan import QueryPlan
from adyton.population.base import PopulationContext
from adyton.query.released.answered import Answered, Told
from adyton.query.released.nodes import (
    Apply,
    ComputedLabel,
    Having,
    IsNull,
    Node,
    Relation,
    Released,
    ReleasedName,
    Term,
    When,
    Window,
    inside,
    is_label,
    names_in,
)
from adyton.query.request import AS_ASKED, Shape


def levels_of(plan: QueryPlan, place: int, read: Reads, context: PopulationContext) -> Levels:
    """The values of all rows of one answer, with noise intervals at whatever level is asked for."""

    @cache
    def told(level: float) -> Mapping[str, Values]:
        return values_of_many([plan], [read()[place]], replace(context, noise_level=level))[0]

    return told


def shaped(
    rows: KeyedRows, plan: QueryPlan, place: int, read: Reads, context: PopulationContext
) -> KeyedRows:
    """The rows and columns that are asked for, with their keys under the names that were given.

    Released values and public facts only, so it costs nothing.  A value that says nothing is missing here:
    where its noise put it is no reason to show a row, or to show it first.
    """
    shape, levels = plan.shape, levels_of(plan, place, read, context)
    if replace(shape, names=()) == AS_ASKED:
        return _renamed(rows, shape)
    numbers = [name for name, value in shape.shown if not is_label(value)]
    if replace(shape, names=(), shown=()) == AS_ASKED and len(numbers) == len(shape.shown):
        late = LateValues(numbers, lambda: _Shaping(rows, plan, levels).rows().values)
        return _renamed(KeyedRows(rows.keys, late), shape)
    return _Shaping(rows, plan, levels).rows()


def _renamed(rows: KeyedRows, shape: Shape) -> KeyedRows:
    return KeyedRows(rows.keys.renamed(dict(shape.names)), rows.values) if shape.names else rows


class _Shaping:
    """HAVING first; then what is computed from the rows that are left; then QUALIFY, ORDER BY and LIMIT."""

    def __init__(self, rows: KeyedRows, plan: QueryPlan, levels: Levels) -> None:
        self.shape, self.all = plan.shape, rows
        told = told_of(rows, plan.known)
        everything, gaussian = Answered(told, len(rows), {}), plan.gaussian
        before = CertifiedRows(
            everything, lambda level: _at(rows, levels, level), gaussian, len(rows), chosen=False
        )
        having = [self.shape.having] if self.shape.having is not None else []
        self.kept = self.shape.kept(told, len(rows), _said(before, having))
        chosen = any(names_in(said) & rows.values.keys() for said in having)
        self.certified = CertifiedRows(
            everything.at(self.kept),
            cache(lambda level: {n: v.at(self.kept) for n, v in _at(rows, levels, level).items()}),
            gaussian,
            len(rows),
            chosen=chosen,
        )

    def rows(self) -> KeyedRows:
        """As they are shown."""
        shape, certified = self.shape, self.certified
        behind = [shape.qualify] if shape.qualify is not None else []
        texts = [one for _, node in shape.shown for one in inside(node) if isinstance(one, ComputedLabel)]
        answered = replace(certified.answered, said=_said(certified, [*behind, *shape.order, *texts]))
        places = shape.places(answered)
        left = self.all.at(self.kept).at(places)
        if not shape.shown:
            return _renamed(left, shape)
        labels = {name: answered.told(node) for name, node in shape.shown if is_label(node)}
        names, kept = dict(shape.names), left.keys.columns.items()
        keys = {names.get(n, n): key for n, key in kept if n not in shape.unshown} | {
            name: KeyColumn(told[0], told[1]).at(places) for name, told in labels.items()
        }
        values = {
            name: left.values[node.name]
            if isinstance(node, ReleasedName) and node.name in left.values
            else certified.values(node).at(places)
            for name, node in shape.shown
            if name not in labels
        }
        return KeyedRows(RowKeys(keys, len(left)), values)


def told_of(rows: KeyedRows, known: Mapping[str, KnownRange]) -> dict[str, Told]:
    """Keys, and values; a value that says nothing is no number."""
    told: dict[str, Told] = {name: (key.labels, key.codes) for name, key in rows.keys.columns.items()}
    return told | {
        name: np.where(known[name].tells(values), values.value, np.nan)
        for name, values in rows.values.items()
    }


def _at(rows: KeyedRows, levels: Levels, level: float) -> Mapping[str, Values]:
    return rows.values if level == LEVEL else levels(level)


def _said(certified: CertifiedRows, clauses: Sequence[Having | Term | ComputedLabel]) -> dict[Node, Floats]:
    """The values of the expressions that are compared, ordered by or written into texts; not a number where
    they say nothing.
    """
    sides: list[Released] = []
    for part in (part for clause in clauses for part in inside(clause)):
        match part:
            case Relation(left, _, right):
                sides += [left, right]
            case IsNull(inner):
                sides += [inner]
            case Term():
                sides += [part.value]
            case ComputedLabel(_, inner):
                sides += inner
    computed = {side for side in sides if isinstance(side, Apply | When | Window) and not is_label(side)}
    return {side: certified.values(side).value for side in computed}


def shown_keys(plan: QueryPlan) -> RowKeys:
    """The groups of an answer under the names that were given; without those whose values are counted."""
    keys, folded = plan.keys(), plan.shape.folded
    if folded:
        columns = {name: key for name, key in keys.columns.items() if name not in folded}
        codes = np.stack([np.zeros(len(keys), np.int32), *(key.codes for key in columns.values())])
        keys = RowKeys(columns, len(keys)).at(np.sort(np.unique(codes, axis=1, return_index=True)[1]))
    return keys.renamed(dict(plan.shape.names))


def computed_bounds(plan: QueryPlan) -> dict[str, Bound]:
    """How wide the noise intervals of computed columns will be, where that does not depend on the values."""
    parts, gaussian = {part.name: part for part in plan.parts}, plan.gaussian
    one = Answered({name: np.zeros(1) for name in parts}, 1, {})
    alone = {name: GaussianValue(Fraction(1), 0.0) for name in parts}
    bounds = {}
    for name, node in plan.computed.items():
        form = linear_of(node, one, alone, lambda _: False) if names_in(node) <= parts.keys() else None
        weights, half = form.weights if form is not None else {}, None
        if len(weights) == 1:
            ((part, weight),) = weights.items()
            known = parts[part].bound(plan.expected_rows).half_width
            half = None if known is None else known * float(abs(weight[0]))
        elif form is not None and weights and weights.keys() <= gaussian.keys():
            half = float(form.width(gaussian, LEVEL)[0])
        bounds[name] = Bound(LEVEL, half)
    return bounds


def computed_populations(plan: QueryPlan, context: PopulationContext) -> dict[str, Bound | Absent]:
    """The same for the population: it follows from the values, whose widths are told."""
    parts = {part.name: part for part in plan.parts}
    absent = {
        name: [why for part in names_in(node) & parts.keys() if (why := context.missing(parts[part].only))]
        for name, node in plan.computed.items()
    }
    return {name: whys[0] if whys else Bound(context.population.level, None) for name, whys in absent.items()}
