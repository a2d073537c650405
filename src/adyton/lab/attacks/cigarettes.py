"""The table of the slides: how many cigarettes a day, with Bob, who smokes five, and without him."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from adyton.curator import Curator, open_study
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import IntegerColumn, Table
from adyton.study import Study

HISTOGRAM = (10, 2, 4, 13, 44, 35)  # how many people smoke 0, 1, ... 5
WITHOUT_BOB = (10, 2, 4, 13, 44, 34)
BOB = 5
BUDGET = Guarantee(Fraction(1), Fraction(1, 10**9))


def rows_of(histogram: tuple[int, ...]) -> list[int]:
    return [value for value, people in enumerate(histogram) for _ in range(people)]


@contextmanager
def curator_of(histogram: tuple[int, ...]) -> Iterator[Curator]:
    """A real curator for such a table: its own engine, its own ledger, the noise of the operating system."""
    table = Table("people", (IntegerColumn("cigarettes", 0, BOB),))
    with TemporaryDirectory() as folder:
        data = Path(folder) / "people.csv"
        data.write_text("cigarettes\n" + "".join(f"{value}\n" for value in rows_of(histogram)))
        with open_study(Study(table, PrivacyUnit("add-remove"), BUDGET), data=data) as curator:
            yield curator
