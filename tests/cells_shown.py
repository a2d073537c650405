"""The groups of a question as an answer shows them: the values of each cell, one after the other."""

from __future__ import annotations

from typing import Any

from adyton.kernel.terms.buckets import group_values
from adyton.query.conditions.possible_cells import cell_codes
from adyton.query.nodes import Question


def cell_values(question: Question) -> list[tuple[Any, ...]]:
    codes, cells = cell_codes(question)
    listed = [[group_values(g)[i] for i in own.tolist()] for g, own in zip(question.by, codes, strict=True)]
    return list(zip(*listed, strict=True)) if listed else [()] * cells
