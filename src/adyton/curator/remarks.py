"""What there is to say about how a text was read, and about rows that noisy values chose or counted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from adyton.certify import KeyedRows
from adyton.kernel.accounting.noisy_reading import LEVEL
from adyton.kernel.exact import float_up
from adyton.kernel.exact.outward import each_of
from adyton.kernel.schema import CategoryColumn
from adyton.planning.plan import QueryPlan
from adyton.query.conditions.possible_cells import groups_without_value, number_of_cells
from adyton.query.nodes import Query
from adyton.query.released.nodes import Relation, ReleasedName, Window
from adyton.query.released.windows import OCCURRING
from adyton.query.request import Shape

_OCCURRING = (
    "Those values of {} are counted that have a noisy count above {:,}: with probability 95 % all of them "
    "have rows. The noise interval reaches to all values that may have some."
)
_COMMON = "These are the rows with the largest noisy {}; noise intervals of {} are simultaneous"
_SURE = ", and say that no other row belongs here."
_UNSURE = ", and say that others may belong in the place of {} of these {:,}."


def remarks(plan: QueryPlan, rows: KeyedRows | None = None) -> tuple[str, ...]:
    """From public facts, and from ``rows`` as they are shown, once there are some."""
    own = (*plan.remarks, *_of_occurring(plan), *_of_common(plan, rows))
    return (*own, *in_no_group(plan.query, plan.shape))


def in_no_group(query: Query, shape: Shape) -> tuple[str, ...]:
    """Whose rows no group has, so that nobody takes the groups for all rows."""
    shown, lacking = dict(shape.names), set(groups_without_value(query)) - shape.folded
    groups = [group for group in query.by if group.name in lacking]
    if not groups:
        return ()
    *others, last = [shown.get(group.name, group.name) for group in groups]
    listed = f"{', '.join(others)} or {last}" if others else last
    declared = " or not declared" * any(isinstance(group, CategoryColumn) for group in groups)
    return (f"Rows whose {listed} is missing{declared} are in no group.",)


def _of_occurring(plan: QueryPlan) -> list[str]:
    """The threshold is the width of noise intervals that hold for all values at once."""
    mechanisms = {part.name: part.only.mechanism for part in plan.parts}
    said = []
    for _, value in plan.shape.shown:
        if not isinstance(value, Window) or value.function != OCCURRING:
            continue
        count, key = value.inner
        assert isinstance(count, ReleasedName)
        assert isinstance(key, ReleasedName)
        level = float_up(each_of(LEVEL, max(1, number_of_cells(plan.query))))
        said.append(_OCCURRING.format(key.name, mechanisms[count.name].error(level)))
    return said


def _of_common(plan: QueryPlan, rows: KeyedRows | None) -> list[str]:
    """Where the first rows by their values are kept, and their ranks are shown."""
    chosen = plan.shape.qualify
    if not (isinstance(chosen, Relation) and isinstance(chosen.left, Window) and chosen.sign == "<="):
        return []
    first, most = chosen.left, chosen.right
    if first.function != "ROW_NUMBER" or not isinstance(most, Fraction) or len(first.order) != 1:
        return []
    (by,) = first.order
    same = Window("RANK", (), first.partition, first.order, first.frame)
    ranks = [name for name, value in plan.shape.shown if value == same]
    if not ranks or not by.descending or by.name not in {part.name for part in plan.parts}:
        return []
    said = _COMMON.format(by.name, ranks[0])
    if rows is None or not len(rows):
        return [f"{said}."]
    unsure = int(np.sum(rows.values[ranks[0]].noise.high > float(most)))
    return [said + (_UNSURE.format(unsure, len(rows)) if unsure else _SURE)]
