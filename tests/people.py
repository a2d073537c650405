"""A small table of people, the same every time, for the pages and the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

PEOPLE = 5000


def make_people(folder: Path) -> None:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "person_id": np.arange(PEOPLE),
            "age": rng.integers(18, 95, PEOPLE),
            "income": rng.gamma(4.0, 9000.0, PEOPLE).round(2),
            "region": rng.choice(["north", "south", "east", "west"], PEOPLE),
            "smoker": rng.random(PEOPLE) < 0.2,
        }
    )
    frame.to_parquet(folder / "people.parquet")
