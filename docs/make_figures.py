"""Draw the pictures of the documentation:  python docs/make_figures.py [NAME ...]

They are what the commands on the pages draw (extra: plot).  Data are made up from fixed seeds; noise is new,
so numbers in pictures of answers differ a little from run to run.  Look at a picture before you commit it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

import adyton
from adyton.figures import plan, synthesis, width
from adyton.figures.answers import figure_of
from adyton.figures.budget import burn_down
from adyton.figures.drawing import Figure
from adyton.kernel.noise import SystemBits
from adyton.kernel.schema import CategoryColumn, IntegerColumn
from adyton.lab import run
from adyton.study import Validity

HERE = Path(__file__).parent
REGIONS = ("north", "south", "east", "west")
CONFIDENCE = Fraction("0.95")


def certified_queries() -> Figure:
    tolerance = Fraction("0.1")
    found = plan.curves(tolerance, CONFIDENCE, plan.rows_around(100_000))
    return plan.figure(found, tolerance, CONFIDENCE)


def width_by_share() -> Figure:
    rows, queries = 100_000, 100
    return width.figure(width.curves(rows, queries, CONFIDENCE), rows, queries, CONFIDENCE)


def measured_together() -> Figure:
    return run("coordinated", SystemBits(), np.random.default_rng(7)).figure()


def synthetic_table() -> Figure:
    """The people and the study of docs/how-to/make-a-synthetic-table.md, as they stand there."""
    page = (HERE / "how-to" / "make-a-synthetic-table.md").read_text(encoding="utf-8")
    made = re.search(r"```python\n(import numpy.*?)```", page, flags=re.DOTALL)
    study = re.search(r"```toml\n(# people\.toml.*?)```", page, flags=re.DOTALL)
    assert made is not None
    assert study is not None
    with tempfile.TemporaryDirectory() as folder:
        exec(made[1].replace('"people.parquet"', repr(f"{folder}/people.parquet")), {})
        (Path(folder) / "people.toml").write_text(study[1], encoding="utf-8")
        with adyton.open(f"{folder}/people.toml") as curator:
            made_up = curator.synthesize(["age", "region", "smoker", "income"], share=0.5)
            return synthesis.figure(made_up)


def _curator() -> adyton.Curator:
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {"region": rng.choice(REGIONS, 50_000), "income": rng.gamma(4, 9000, 50_000).astype(int)}
    )
    columns = (CategoryColumn("region", REGIONS), IntegerColumn("income", 0, 150_000))
    budget = adyton.Guarantee(epsilon=1, delta=1e-9)
    study = adyton.Study(
        adyton.Table("people", columns, rows=50_000),
        adyton.PrivacyUnit("replace-one"),
        budget,
        validity=Validity(confidence=0.95, dictionary="schema"),
    )
    return adyton.open(study, data=people)


def answer() -> Figure:
    query = "SELECT region, AVG(income) FROM people GROUP BY region"
    return figure_of(_curator().ask(query, within=1000, expected_rows=12_000))


def histogram() -> Figure:
    return figure_of(_curator().ask(adyton.histogram("income", width=10_000), within=300))


def left() -> Figure:
    curator = _curator()
    for place in range(24):
        curator.ask(
            f"SELECT COUNT(*) FROM people WHERE income > {1000 * place}", within=60 + 40 * (place % 3)
        )
    return burn_down(curator.receipts().to_json(), curator.budget().to_json())


PICTURES: dict[str, Callable[[], Figure]] = {
    "certified-queries": certified_queries,
    "width-by-share": width_by_share,
    "measured-together": measured_together,
    "synthetic-table": synthetic_table,
    "answer": answer,
    "histogram": histogram,
    "left": left,
}


def main() -> None:
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]().save(HERE / "figures" / f"{name}.png")


if __name__ == "__main__":
    main()
