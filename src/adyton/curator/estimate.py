"""From noisy integers back to the rows of an answer, and what a preview says of each mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import nan

from adyton.certify import KeysFound, Known, Row, Value
from adyton.curator.noised import Noised, step_of
from adyton.curator.plan import Plan
from adyton.curator.population import Standing
from adyton.mechanisms import intervals_of
from adyton.query.shape import Shape
from adyton.sensitivity import Sensitivity
from adyton.wire import Stored


def rows_of(plan: Plan, stored: Stored, standing: Standing) -> tuple[Row, ...]:
    """The rows of one answer."""
    return rows_of_many([plan], [stored], standing)[0]


def rows_of_many(
    plans: Sequence[Plan], stored: Sequence[Stored], standing: Standing
) -> list[tuple[Row, ...]]:
    """The rows of each answer.  All intervals that must be searched for are searched for together."""
    parts = [
        (part, released)
        for plan, own in zip(plans, stored, strict=True)
        for part, released in zip(plan.parts, own.released, strict=True)
    ]
    ratios = [part.ratios(released, standing) for part, released in parts]
    solved = iter(intervals_of([ratio for own in ratios for ratio in own]))
    values = iter(
        part.values(released, standing, [next(solved) for _ in own])
        for (part, released), own in zip(parts, ratios, strict=True)
    )
    return [
        _rows(plan, {part.name: next(values) for part in plan.parts}, own)
        for plan, own in zip(plans, stored, strict=True)
    ]


def _rows(plan: Plan, columns: dict[str, list[Value]], stored: Stored) -> tuple[Row, ...]:
    return tuple(
        Row(keys, {name: values[place] for name, values in columns.items()})
        for place, keys in enumerate(plan.keys(stored.keys))
    )


def shaped(rows: tuple[Row, ...], shape: Shape, known: Mapping[str, Known]) -> tuple[Row, ...]:
    """The rows that HAVING, ORDER BY and LIMIT ask for, with their keys under the names that were given.

    Released values and public facts only, so it costs nothing.  A value that says nothing is missing here:
    where its noise put it is no reason to show a row, or to show it first.
    """
    told = [
        (row.keys, {n: v.value if known[n].is_informative(v) else nan for n, v in row.values.items()})
        for row in rows
    ]
    kept = tuple(rows[place] for place in shape.applied(told))
    return tuple(Row(shape.named(row.keys), row.values) for row in kept) if shape.names else kept


def found_in(plan: Plan, stored: Stored, receipt: int) -> KeysFound | None:
    """What the answer says about keys that it does not show."""
    if plan.finding is None or stored.keys is None:
        return None
    return plan.finding.found(len(stored.keys), stored.noisy_number, receipt)


def cells_in(plan: Plan, stored: Stored | None) -> int:
    """How many groups the answer has; at least 1, so that a preview has something to say."""
    if not plan.question.finds_keys:
        return plan.question.cells
    return max(1, len(stored.keys or ())) if stored is not None else 1


def scales_of(noised: Noised) -> tuple[float, ...]:
    """The noise in the units of the answer, and of the count of a mean in rows."""
    steps = (step_of(noised.reading), *(Fraction(1, c.times) for c in noised.reading.coordinates[1:]))
    return tuple(float(scale * step) for scale, step in zip(noised.mechanism.scales, steps, strict=True))


def sensitivity_of(noised: Noised) -> float:
    """How far one unit can move the (first) number that is read, in the units of the answer."""
    whole = noised.reading.sensitivity
    first = Sensitivity(whole.boxes[:1], whole.cells, whole.neighbours, whole.rows, whole.touched)
    one = (Fraction(1),)
    moved = (
        float(first.l1_diameter(one))
        if noised.mechanism.norm == 1
        else float(first.l2_diameter_squared(one)) ** 0.5
    )
    return moved * float(step_of(noised.reading))
