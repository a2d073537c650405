"""Rows that no generator makes, so that no version of one can change them."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pandas as pd

from support.servers import STUDY

ROWS = 1200
REGIONS = ("north", "south", "east", "west")
MORE = """
[columns.age]
kind = "integer"
low = 0
high = 100
[columns.smoker]
kind = "boolean"
"""


def people() -> pd.DataFrame:
    row = np.arange(ROWS)
    return pd.DataFrame(
        {
            "person": row // 3,
            "age": row * 37 % 101,
            "income": row * row * 17 % 90_001 / 2,
            "smoker": row * 7 % 5 < 2,
            "region": np.array(REGIONS)[row * 13 % 11 % 4],
            "seen": [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(n)) for n in row * 11 % 366],
            "town": np.array(["Ur", "Uruk", "Eridu", "Lagash"])[row * 5 % 17 % 4],
        }
    )


def write_people(folder: Path, name: str = "people", **changed: str) -> Path:
    """A study file about them; ``changed`` are words of it, and what stands in their place."""
    people().to_parquet(folder / "people.parquet")
    text = STUDY.replace("rows = 1000", f"rows = {ROWS}") + MORE
    for old, new in changed.items():
        text = text.replace(old, new)
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path
