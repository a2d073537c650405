"""Studies that are hard to show: hostile names, and everything that is wide."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd

# A study with everything that is wide: many columns, many groups, long names, names from right to left.

WIDE_STUDY = """
[table]
name = "wide"
source = "wide.parquet"
rows = 3000
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 50
delta = 1e-9
[validity]
independent = true
[columns]
"""
COLUMNS, GROUPS, VALUES, LETTERS = 300, 1000, 12, 100
LONG = "customerSegmentOf_the_last_calendar_year_" * 3
LONG = LONG[:LETTERS]  # a column
UNBROKEN = "x" * LETTERS  # a value
RIGHT_TO_LEFT = "\u05de\u05d7\u05d5\u05d6 \u05d4\u05e6\u05e4\u05d5\u05df"
NAMES = ["New South Wales", UNBROKEN, RIGHT_TO_LEFT, "north_of_the_river", "M\u00fcnster-Hiltrup"]
ALIASES = [f"avg_income_of_customer_{i}" for i in range(VALUES)]
# Twelve values of a thousand groups, in ten thousand letters.
QUERY = "SELECT {group}, {values} FROM wide WHERE c001 NOT IN ({others}) GROUP BY {group}".format(
    group=LONG,
    values=", ".join(f"AVG(c{i:03}) AS {alias}" for i, alias in enumerate(ALIASES)),
    others=", ".join(str(-(10**11) - n) for n in range(600)),
)


def wide_study(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    groups = [*NAMES, *(f"group {i}" for i in range(GROUPS - len(NAMES)))]
    table = {f"c{i:03}": rng.integers(0, 100, 3000) for i in range(COLUMNS)}
    pd.DataFrame({LONG: [groups[i % GROUPS] for i in range(3000)], **table}).to_parquet(
        folder / "wide.parquet"
    )
    declared = [f"{json.dumps(LONG)} = {{kind = 'category', values = {json.dumps(groups)}}}"]
    declared += [f"c{i:03} = {{kind = 'integer', low = 0, high = 100}}" for i in range(COLUMNS)]
    path = folder / "wide.toml"
    path.write_text(WIDE_STUDY + "\n".join(declared) + "\n", encoding="utf-8")
    return path


# A study whose names are what somebody would write to have a browser run it.

HOSTILE = '<script>alert("x")</script>\u202e\'{{7*7}}'
NAME = "<img src=x onerror=alert(1)>?#&amp;"
PATH = quote(NAME, safe="")  # in an address
HOSTILE_STUDY = """
[table]
name = "t"
source = "t.parquet"
rows = 400
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 5
delta = 1e-9
[columns]
"""


def hostile_study(folder: Path) -> Path:
    """Its file, a column and a category have such names."""
    values = [HOSTILE, "other"]
    pd.DataFrame({"v": range(400), HOSTILE: [values[i % 2] for i in range(400)]}).to_parquet(
        folder / "t.parquet"
    )
    path = folder / f"{NAME}.toml"
    declared = f"{json.dumps(HOSTILE)} = {{kind = 'category', values = {json.dumps(values)}}}\n"
    path.write_text(
        HOSTILE_STUDY + "v = {kind = 'integer', low = 0, high = 400}\n" + declared, encoding="utf-8"
    )
    return path
