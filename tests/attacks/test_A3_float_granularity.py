"""Case A3: which numbers can be written at all must not depend on the data (Mironov 2012, Haney et al. 2022).

A real curator sums a real column in eight thousand groups at once (``make long``: twenty thousand).  On one table every group has the first rows of
a pair, on the other one row more, so each group is a draw of one release on neighboring inputs, and what is audited
are the numbers that an analyst sees.  The auditor looks at their lowest bits among other things: there a system that
adds floats is found at once (tests/attacks/test_audit_finds_bugs.py has numpy's noise).
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from adyton.audit import audit
from adyton.curator.curator import Curator
from adyton.engines.duckdb import DuckDBEngine
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.noise import rounded_gaussian, two_sided_geometric
from adyton.kernel.schema import CategoryColumn, RealColumn, Table
from adyton.planning.readings import readings_of
from adyton.query.request import request_of
from adyton.study import Study
from support.randomness import Seeded
from support.tries import crossed, often
from support.worlds import study_with

GROUPS, ASKED = often(8_000, 20_000), 3
EPSILON, DELTA = Fraction(1), Fraction(1, 10**9)
# (rows of a group, the same and one row more), the largest value of a row, and the step that the study declares
PAIRS: dict[str, tuple[tuple[float, ...], tuple[float, ...], str, str]] = {
    "0 and 1": ((0.0,), (0.0, 1.0), "1", "0.125"),
    "0.3 and 1.3": ((0.3,), (0.3, 1.0), "1", "0.1"),
    "1e6 and 1e6 + 1": ((1e6,), (1e6, 1.0), "1000000", "0.25"),
    "1e-9 and 1": ((1e-9,), (1e-9, 1 - 1e-9), "1", "0.000000001"),
    "0.1 + 0.2 and 0.6": ((0.1, 0.2), (0.1, 0.2, 0.3), "1", "0.1"),
}


def study(accounting: str, largest: str, step: str, groups: int = GROUPS) -> Study:
    names = tuple(f"g{i}" for i in range(groups))
    columns = (
        CategoryColumn("cell", names),
        RealColumn("x", Fraction(0), Fraction(largest), Fraction(step)),
    )
    return study_with(Table("people", columns), accounting, "add-remove", 20, DELTA)


def released(known: Study, rows: tuple[float, ...], n: int) -> list[float]:
    """``n`` sums as they are shown: some queries over all groups, at epsilon 1 each."""
    frame = pd.DataFrame({"cell": [f"g{i}" for i in range(GROUPS) for _ in rows], "x": list(rows) * GROUPS})
    ledger = MemoryLedger.of(known)
    engine = DuckDBEngine(known.table, known.unit, frame)
    with Curator(known, engine, ledger, Seeded(len(rows))) as curator:
        found: list[float] = []
        for k in range(ASKED):  # another price is another charge, with noise of its own
            price = EPSILON * (1 - Fraction(k, 10**9))
            answer = curator.ask("SELECT cell, SUM(x) AS s FROM people GROUP BY cell", epsilon=price)
            found += answer["s"].value.tolist()  # as in the rows, which are made one by one
            assert [row.values["s"].value for row in answer[:9]] == found[k * GROUPS : k * GROUPS + 9]
    assert len(found) >= n
    return found[:n]


def verdict(accounting: str, name: str) -> Any:
    first, second, largest, step = PAIRS[name]
    known = study(accounting, largest, step)
    drawn: dict[tuple[float, ...], list[float]] = {}

    def mechanism(rows: tuple[float, ...], n: int) -> list[float]:
        return drawn.setdefault(rows, released(known, rows, n))

    claim = (float(EPSILON), float(known.budget.delta))
    return audit(mechanism, (first, second), claim, samples=GROUPS * ASKED), drawn, Fraction(step)


@pytest.mark.parametrize(("accounting", "name"), crossed(["pure", "gdp"], [*PAIRS]))
def test_A3_released_sums_leak_nothing_through_their_bits(accounting: str, name: str) -> None:
    """Mutant: noise on a coarser lattice than the values, as in the next test.

    Every number is the float nearest to a whole number of steps: the lattice is public, and the same for both.
    """
    found, drawn, step = verdict(accounting, name)
    assert not found.refuted, found
    assert found.lower_bound <= EPSILON
    for values in drawn.values():
        assert len(set(values)) > 5
        assert all(float(round(Fraction(value) / step) * step) == value for value in set(values))


@pytest.mark.parametrize(
    ("accounting", "sampler"), [("pure", two_sided_geometric), ("gdp", rounded_gaussian)]
)
def test_A3_noise_on_a_coarser_lattice_than_the_values_is_found(
    monkeypatch: pytest.MonkeyPatch, accounting: str, sampler: Any
) -> None:
    """The mutant itself: noise in steps of two values' distance, at the right scale.  Rounding tells which table."""
    real, step = sampler.draw, 16  # steps of an eighth: 0 and 1 are eight apart
    monkeypatch.setattr(
        sampler, "draw", lambda scale, count, bits: step * real(max(scale / step, 0.01), count, bits)
    )
    found, _, _ = verdict(accounting, "0 and 1")
    assert found.refuted
    assert found.lower_bound > 5


def test_A3_a_sum_of_floats_does_not_depend_on_the_order_of_rows() -> None:
    """0.1 + 0.2 + 0.3 is 0.6 or the float above it; a sum of steps is one number.

    Mutant: ``floor(x / step)`` for ``floor(x / step + 1/2)`` in engines/loading/clipped.py: 0.3 is 2 tenths then.
    """
    known = study("pure", "1", "0.1", groups=1)
    (reading,) = readings_of(request_of("SELECT SUM(x) FROM people", known.table).alone, known.unit)
    sums = set()
    for rows in itertools.permutations((0.1, 0.2, 0.3)):
        engine = DuckDBEngine(known.table, known.unit, pd.DataFrame({"cell": ["g0"] * 3, "x": rows}))
        engine.prepare([reading])
        sums.add(engine.exact([reading])[0][0][0])
        engine.close()
    assert len({sum(rows) for rows in itertools.permutations((0.1, 0.2, 0.3))}) == 2
    assert sums == {6}
