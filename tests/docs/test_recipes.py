"""The recipes of CONTRIBUTING.md, followed word by word in a copy of the source."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOY = """
from adyton.kernel.terms.expressions import Square
from adyton.kernel.terms.measures import Mean
from adyton.query.measures.computed import ComputedMeasure
from adyton.query.released.nodes import Apply

QUADRATIC_MEAN = ComputedMeasure(
    ("QUADRATIC_MEAN", "RMS"),
    lambda value, where: (("avg_square", Mean(Square(value), where)),),
    lambda mean: Apply("SQRT", (mean,)),
)
"""
LISTED = "COMPUTED_MEASURES: tuple[ComputedMeasure, ...] = ("
ASKED = """
import adyton, pandas as pd
from adyton.kernel.schema import IntegerColumn

table = adyton.Table("people", (IntegerColumn("age", -9, 90),), rows=20_000)
study = adyton.Study(table, adyton.PrivacyUnit("replace-one"), adyton.Guarantee(epsilon=100, delta=1e-9))
with adyton.open(study, data=pd.DataFrame({"age": [30, 40] * 10_000})) as curator:
    answer = curator.ask("SELECT rms(age) FROM people HAVING QUADRATIC_MEAN(age) > 1", share=1)
print(list(answer.rows.values), answer.query)
print(round(answer.value, 1), answer.noise_interval.low < 35.3553 < answer.noise_interval.high)
"""


def recipe(name: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {name}\n(.*?)(?=^## )", text, re.M | re.S)
    return str(found)


def test_every_file_of_a_recipe_is_there() -> None:
    """Mutant: a file is renamed and the recipe is not."""
    paths = re.findall(
        r"`((?:src/adyton|tests|docs|query|planning|kernel|arithmetic)/[\w/]+\.\w+)`", recipe("Add a measure")
    )
    roots = [ROOT, ROOT / "src" / "adyton"]
    missing = [
        path for path in paths if "NAME" not in path and not any((root / path).exists() for root in roots)
    ]
    assert len(paths) > 10
    assert missing == []


def test_a_measure_is_one_file_and_one_line(tmp_path: Path) -> None:
    """The root of the mean square, in a copy.  Mutant: some other list has to know its names too."""
    copy = tmp_path / "adyton"
    shutil.copytree(ROOT / "src" / "adyton", copy, ignore=shutil.ignore_patterns("__pycache__"))
    measures = copy / "query" / "measures"
    (measures / "quadratic_mean.py").write_text(TOY, encoding="utf-8")
    listing = measures / "__init__.py"
    text = listing.read_text(encoding="utf-8")
    assert LISTED in text
    named = (
        "from adyton.query.measures.quadratic_mean import QUADRATIC_MEAN\n\n" + LISTED + "QUADRATIC_MEAN, "
    )
    listing.write_text(text.replace(LISTED, named), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "['quadratic_mean_age'] SELECT AVG(SQUARE(age)) AS avg_square FROM people",
        "35.4 True",
    ], done.stderr
