"""Certified values as they were: a change of how numbers are rounded or searched for may not move them unseen.

``certified_values.json`` holds, for every certified computation, a name, its arguments, its value and which side of
the truth is dangerous.  A new value is the old one or tighter, and not tighter by more than one part in a hundred:
what is looser takes something from people, and what is much tighter may guarantee too much.  Whether a value is *true*
is for the tests of its theorem to say; this one says only that it moved.

After a change that is meant to move values, and that somebody has looked at:

    python tests/certified/test_certified_table.py

writes the table again, and prints what moved.  The computations are listed in ``certified_*.py``.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("certified_values.json")
SAME = 1e-12  # other machines have other libraries of mathematics; no margin of ours is smaller by much
TIGHTER = 0.01

if __name__ == "__main__":
    sys.path[:0] = [str(TABLE.parent), str(TABLE.parent.parent)]

import certified_accounting  # noqa: E402
import certified_holdouts  # noqa: E402
import certified_mechanisms  # noqa: E402
import certified_subsets  # noqa: E402
import certified_validity  # noqa: E402
import pytest  # noqa: E402

from certified import Arguments, Certified, Danger  # noqa: E402

COMPUTATIONS: dict[str, tuple[Certified, ...]] = {
    "accounting": certified_accounting.COMPUTATIONS,
    "validity": certified_validity.COMPUTATIONS,
    "subsets": certified_subsets.COMPUTATIONS,
    "mechanisms": certified_mechanisms.COMPUTATIONS,
    "holdouts": certified_holdouts.COMPUTATIONS,
}


def looser(old: Any, new: Any, danger: Danger) -> float:
    """By which part of the old value the new one is looser; below 0 if it is tighter, infinite if it is wrong."""
    before, now = (Fraction(value) for value in (old, new))
    if before == now:
        return 0.0
    moved = float((now - before) / abs(before)) if before else float("inf")
    return {"smaller": moved, "larger": -moved, "either": float("inf")}[danger]


def complaint(old: Any, new: Any, danger: Danger) -> str | None:
    by = looser(old, new, danger)
    if by > SAME:
        return f"was {old}, is {new}: looser by {by:.3g} of it"
    if by < -TIGHTER:
        return f"was {old}, is {new}: tighter by {-by:.3g} of it, and {danger} is the dangerous side"
    return None


def stored() -> dict[str, list[dict[str, Any]]]:
    return json.loads(TABLE.read_text())


def entry(computation: Certified, arguments: Arguments, value: object) -> dict[str, Any]:
    return {"name": computation.name, "arguments": arguments, "danger": computation.danger, "value": value}


def computed(area: str) -> list[dict[str, Any]]:
    return [
        entry(computation, arguments, computation.value(arguments))
        for computation in COMPUTATIONS[area]
        for arguments in computation.tried_at
    ]


@pytest.mark.parametrize("area", COMPUTATIONS)
def test_no_certified_value_has_become_looser_or_suspiciously_tight(area: str) -> None:
    table = stored()[area]
    now = computed(area)
    asked = [(row["name"], row["arguments"], row["danger"]) for row in table]
    assert asked == [(row["name"], row["arguments"], row["danger"]) for row in now], "write the table again"
    moved = {
        f"{old['name']} {old['arguments']}": wrong
        for old, new in zip(table, now, strict=True)
        if (wrong := complaint(old["value"], new["value"], old["danger"]))
    }
    assert not moved, "\n".join(f"{what}: {wrong}" for what, wrong in moved.items())


def test_the_table_is_large_and_no_computation_is_listed_twice() -> None:
    rows = [(row["name"], str(row["arguments"])) for area in stored().values() for row in area]
    assert len(rows) >= 200
    assert sorted(rows) == sorted(set(rows))


@pytest.mark.parametrize(
    ("old", "new", "danger", "fine"),
    [
        (0.05, 0.05, "smaller", True),
        (0.05, 0.05 * (1 - 1e-3), "smaller", True),  # a tighter width
        (0.05, 0.05 * (1 - 2e-2), "smaller", False),  # too good to be true
        (0.05, 0.05 * (1 + 1e-9), "smaller", False),  # a margin that was loosened
        (197, 198, "larger", True),  # one more query
        (197, 196, "larger", False),
        (197, 205, "larger", False),
        ("1/3", "1/3", "either", True),
        ("1/3", "333333333333/1000000000000", "either", False),
    ],
)
def test_a_value_that_moved_is_judged_by_its_dangerous_side(
    old: Any, new: Any, danger: Danger, fine: bool
) -> None:
    assert (complaint(old, new, danger) is None) == fine


def write() -> None:
    before = stored() if TABLE.exists() else {}
    known = {(row["name"], str(row["arguments"])): row for area in before.values() for row in area}
    after = {area: computed(area) for area in COMPUTATIONS}
    for row in (row for area in after.values() for row in area):
        old = known.get((row["name"], str(row["arguments"])))
        if old is not None and old["value"] != row["value"]:
            by = looser(old["value"], row["value"], row["danger"])
            print(f"{row['name']} {row['arguments']}: {old['value']} -> {row['value']} ({by:+.3g})")
    lines = [
        f'"{area}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for area, rows in after.items()
    ]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
