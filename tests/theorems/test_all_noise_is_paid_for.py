"""Through the whole curator: what a receipt charges is what the noise that was drawn costs, worked out from its scales."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pandas as pd
import pytest

from adyton.curator.curator import Curator
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.ledger import Receipt
from adyton.kernel.ledger.texts import Stored, many_from_text
from adyton.kernel.privacy import Adjacency
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table, TextColumn
from support.curators import open_kept
from support.randomness import Seeded
from support.worlds import study_with

ROWS = 400
TABLE = Table(
    "t",
    (
        IntegerColumn("age", 0, 100),
        IntegerColumn("wide", 0, 10**6),
        CategoryColumn("region", ("a", "b")),
        TextColumn("city"),
    ),
    ROWS,
)
DATA = pd.DataFrame(
    {
        "age": [i % 101 for i in range(ROWS)],
        "wide": [i * 997 % 10**6 for i in range(ROWS)],
        "region": ["ab"[i % 2] for i in range(ROWS)],
        "city": ["york" if i % 3 else "bath" for i in range(ROWS)],
    }
)


def asked(sql: str, adjacency: Adjacency, seed: int = 0, epsilon: int = 4) -> tuple[Receipt, Stored]:
    study = study_with(
        TABLE, unit=adjacency, epsilon=20, delta=Fraction(1, 1000), discovery_delta=Fraction(1, 2000)
    )
    with open_kept(study, data=DATA) as opened:
        curator = Curator(study, opened._engine, opened._ledger, Seeded(seed))
        curator.ask(sql, epsilon=epsilon)
        (receipt,) = curator.receipts()
        text = curator._ledger.recall(1)
    assert text is not None
    (stored,) = many_from_text(text)
    return receipt, stored


def paid(squared_distance: int, scale: str) -> int:
    """What noise costs that a unit moves by this much, in units of mu**2, rounded up."""
    return math.ceil(squared_distance / Fraction(float(scale)) ** 2 * UNITS_PER_ONE)


# Squared: how far a unit that is exchanged, or added, moves one comparison.  For the fraction a / b a value up to
# the step counts b - a, another -a; a unit may also leave one group and enter another.
@pytest.mark.parametrize(
    ("sql", "exchanged", "added", "cells"),
    [
        ("SELECT MEDIAN(age) FROM t", 4, 1, 1),
        ("SELECT QUANTILE(wide, 0.9) FROM t", 100, 81, 1),
        ("SELECT QUANTILE(age, 0.25) FROM t", 16, 9, 1),
        ("SELECT MIN(age) FROM t", 1, 1, 1),
        ("SELECT MAX(wide) FROM t", 1, 1, 1),
        ("SELECT region, MEDIAN(age) FROM t GROUP BY region", 4, 1, 2),
        ("SELECT region, QUANTILE(age, 0.9) FROM t GROUP BY region", 2 * 81, 81, 2),
    ],
)
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_NOISY_SEARCH_the_curator_charges_released_comparisons(
    sql: str, exchanged: int, added: int, cells: int, adjacency: Adjacency
) -> None:
    """The curator charges every comparison that it released."""
    receipt, stored = asked(sql, adjacency)
    (comparisons,) = stored.released
    assert {len(column) for column in comparisons} == {cells}
    ((_, _, scale, *_),) = json.loads(receipt.order.detail)
    one = paid(exchanged if adjacency == "replace-one" else added, scale)
    assert receipt.order.amount == len(comparisons) * one
    assert len(comparisons) > 5


@pytest.mark.parametrize(("adjacency", "squared"), [("replace-one", 2), ("add-remove", 1)])
@pytest.mark.parametrize("groups", ["", "region, "])
def test_theorem_CUMULATED_COUNTS_a_curator_charges_bins_left_and_entered(
    adjacency: Adjacency, squared: int, groups: str
) -> None:
    by = " GROUP BY region" if groups else ""
    receipt, stored = asked(f"SELECT {groups}CDF(age, 10, 50) FROM t{by}", adjacency)
    ((_, _, scale),) = json.loads(receipt.order.detail)
    ((counts,),) = stored.released
    assert len(counts) == (6 if groups else 3)
    assert receipt.order.amount == paid(squared, scale)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_KEY_SELECTION_the_curator_charges_both_stages(adjacency: Adjacency) -> None:
    """Counts of all keys and the value of those shown: one cell, or one left and one entered.  Their number: 1."""
    receipt, stored = asked("SELECT city, COUNT(*) FROM t GROUP BY city", adjacency)
    assert stored.keys is not None
    counts, number, values = (scale for _, _, scale in json.loads(receipt.order.detail))
    cells = 2 if adjacency == "replace-one" else 1
    assert receipt.order.amount == paid(cells, counts) + paid(1, number) + paid(cells, values)
    nearest = math.ceil(paid(1, number) / 4)  # the phantom has half a key; of counts it has nothing
    assert abs(receipt.order.radius - paid(1, counts) - nearest - paid(1, values)) <= 1


def test_theorem_KEY_SELECTION_the_number_of_keys_and_values_have_noise() -> None:
    """Twenty studies: with this little budget the exact numbers come out of all of them with less than 1e-9."""
    numbers, values = set(), set()
    for seed in range(20):
        receipt, stored = asked("SELECT city, COUNT(*) FROM t GROUP BY city", "replace-one", seed, 1)
        counts, number, value = (float(scale) for _, _, scale in json.loads(receipt.order.detail))
        assert (
            min(counts, number, value) > 3
        )  # a rounded normal of this size is 0 with probability below 0.14
        numbers.add(stored.noisy_number)
        values |= {(str(key), z) for key, z in zip(stored.keys or (), stored.released[0][0], strict=True)}
    assert len(numbers) > 3
    assert len(values) > 6
