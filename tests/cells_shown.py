"""The groups of a query as an answer shows them: the values of each cell, one after the other."""

from __future__ import annotations

from typing import Any

from adyton.query.conditions.possible_cells import cell_codes
from adyton.query.labels import group_values
from adyton.query.nodes import Query


def cell_values(query: Query) -> list[tuple[Any, ...]]:
    codes, cells = cell_codes(query)
    listed = [[group_values(g)[i] for i in own.tolist()] for g, own in zip(query.by, codes, strict=True)]
    return list(zip(*listed, strict=True)) if listed else [()] * cells
