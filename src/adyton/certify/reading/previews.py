"""A preview, read back from its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from adyton.certify.preview import PlannedRow, Preview
from adyton.certify.reading.answers import keys_from
from adyton.certify.stacked import widest, widest_or_absent
from adyton.documents import read_fields


def preview_from(shape: Any) -> Preview:
    rows, many = shape.listed, shape.rows
    whole = Preview(
        **read_fields(Preview, shape),
        keys=None if many is None else keys_from([row.keys for row in rows[:many]]),
        bounds={},
        population={},
    )
    if not shape.part_rows:
        return replace(whole, **_widths(rows[0]))
    parts = _parts(whole, rows, shape.part_rows)
    names = parts[0].bounds
    return replace(
        whole,
        bounds={name: widest([part.bounds[name] for part in parts]) for name in names},
        population={name: widest_or_absent([part.population[name] for part in parts]) for name in names},
        parts=parts,
    )


def _parts(whole: Preview, rows: Sequence[Any], sizes: Sequence[int]) -> tuple[Preview, ...]:
    """Of a table that several queries make: its rows in turn, each part with widths of its own."""
    in_turn = iter(rows)
    own = [list(islice(in_turn, size)) for size in sizes]
    return tuple(
        replace(whole, keys=keys_from([row.keys for row in part]), **_widths(part[0])) for part in own
    )


def _widths(row: Any) -> dict[str, Any]:
    """How wide the intervals of each value would be."""
    planned = PlannedRow.from_shape(row).values
    return {
        "bounds": {name: one.noise_interval for name, one in planned.items()},
        "population": {name: one.population_interval for name, one in planned.items()},
    }
