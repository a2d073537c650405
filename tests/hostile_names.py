"""A study whose names are what somebody would write to have a browser run it."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pandas as pd

HOSTILE = '<script>alert("x")</script>\u202e\'{{7*7}}'
NAME = "<img src=x onerror=alert(1)>?#&amp;"
PATH = quote(NAME, safe="")  # in an address
STUDY = """
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
    path.write_text(STUDY + "v = {kind = 'integer', low = 0, high = 400}\n" + declared, encoding="utf-8")
    return path
