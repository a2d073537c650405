"""From noisy integers back to the rows of an answer, and what a preview says of each mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from adyton.certify import KeysFound, Row
from adyton.curator.noised import Noised, step_of
from adyton.curator.plan import Plan
from adyton.curator.population import Standing
from adyton.query.shape import Shape
from adyton.sensitivity import Sensitivity
from adyton.wire import Stored

Noisy = list[list[list[int]]]  # for each measure, for each coordinate, one integer for each cell


def rows_of(
    plan: Plan, noisy: Noisy, standing: Standing, found: Sequence[Sequence[str | int]] | None = None
) -> tuple[Row, ...]:
    columns = {
        part.name: part.values(released, standing) for part, released in zip(plan.parts, noisy, strict=True)
    }
    return tuple(
        Row(keys, {name: values[place] for name, values in columns.items()})
        for place, keys in enumerate(plan.keys(found))
    )


def shaped(rows: tuple[Row, ...], shape: Shape) -> tuple[Row, ...]:
    """The rows that HAVING, ORDER BY and LIMIT ask for; released values only, so it costs nothing."""
    told = [(row.keys, {name: v.value for name, v in row.values.items()}) for row in rows]
    return tuple(rows[place] for place in shape.applied(told))


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
