"""Studies in memory that share a budget on the disk, for tests of the shared budget."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import adyton
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, Column, Table
from adyton.study import Study

FLAG = BooleanColumn("f")
SMALL = Fraction(1, 10**9)


def study_of(
    name: str,
    shared_budget: Path | None,
    *,
    columns: tuple[Column, ...] = (FLAG,),
    rows: int | None = 100,
    unit: PrivacyUnit | None = None,
    epsilon: int = 1,
    delta: Fraction = SMALL,
    **more: Any,
) -> Study:
    """A study of rows, without a file of its own."""
    unit = unit or PrivacyUnit("replace-one")
    return Study(
        Table(name, columns, rows), unit, Guarantee(epsilon, delta), shared_budget=shared_budget, **more
    )


def shared_budget_of(path: Path, **facts: Any) -> Path:
    """A shared budget for such studies."""
    said = {"epsilon": 1, "delta": SMALL, "unit": "row", "adjacency": "replace-one", "rows": "same", **facts}
    adyton.SharedBudget.create(path, **said).close()
    return path
