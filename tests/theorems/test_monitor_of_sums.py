"""MONITOR-OF-SUMS on tiny tables with all their neighbors: what is compared, how far it moves, and the exact law.

The integers are those of the plain loop over rows that engines are held to (adyton.testing), so no SQL and no
rounding of ours is on both sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sparse_law import FLOAT, answers, chance, table_of

import adyton
from adyton.curator.curator import Curator
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.exact import units_up
from adyton.kernel.ledger import Header, MemoryLedger
from adyton.kernel.noise import SystemBits, two_sided_geometric
from adyton.kernel.schema import BooleanColumn, IntegerColumn, RealColumn, Table
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse
from adyton.kernel.special.monitor import replace_one_cost, sparse_of
from adyton.monitors.compared import Compared, compared
from adyton.monitors.kinds import KINDS, exchanged_reach, moves_one_way
from adyton.monitors.plan import machine_of
from adyton.noise_intervals.sparse import sparse_for_cost
from adyton.query.request import request_of
from adyton.study import Study
from adyton.testing.engines.meaning import Row
from adyton.testing.engines.reference import exact_of
from support.curators import kept_engine
from support.worlds import study_with

TABLE = Table(
    "t",
    (
        IntegerColumn("a", 0, 2),
        RealColumn("b", Fraction(-1), Fraction(3, 2), Fraction(1, 2)),
        BooleanColumn("c"),
    ),
    rows=2,
)
UNITS: list[dict[str, Any]] = [
    {"a": a, "b": b, "c": c} for a in (0, 2, None) for b in (-2, 0, 3, None) for c in (True, False)
]  # b in its steps
ASKED: dict[str, list[tuple[str, str]]] = {
    "counts": [("SELECT COUNT(*) FROM t WHERE c", "1"), ("SELECT COUNT(*) FROM t WHERE a > 1", "0")],
    "sums": [
        ("SELECT SUM(a) FROM t", "1"),
        ("SELECT SUM(a) FROM t WHERE c", "2.5"),
        ("SELECT COUNT(*) FROM t WHERE NOT c", "0"),
        ("SELECT SUM(b + 1) FROM t", "1.75"),
    ],
    "means": [
        ("SELECT AVG(a) FROM t", "1/3"),
        ("SELECT AVG(b) FROM t", "0.5"),
        ("SELECT AVG(b) FROM t WHERE c", "-1"),
        ("SELECT SUM(b) FROM t", "-0.5"),
        ("SELECT PROPORTION(c) FROM t", "0.4"),
        ("SELECT PROPORTION(a > 1) FROM t WHERE c", "0.5"),
        ("SELECT COUNT(*) FROM t WHERE c", "1"),
    ],
}


def study(adjacency: str, accounting: str = "pure", epsilon: int = 1, rows: int = 2) -> Study:
    return study_with(replace(TABLE, rows=rows), accounting, adjacency, epsilon)


def fitted(known: Study, kind: Any, reach: int, most: int | None = None) -> list[Compared]:
    return [
        compared(known, kind, reach, request_of(sql, known.table).alone, Fraction(above))
        for sql, above in ASKED[kind][:most]
    ]


def rows_of(units: Sequence[dict[str, Any]]) -> list[tuple[int, Row]]:
    return [(place, dict(unit)) for place, unit in enumerate(units)]


def integers(asked: Sequence[Compared], units: Sequence[dict[str, Any]]) -> list[int]:
    """As they are compared."""
    exact = exact_of(rows_of(units), False, "", [one.reading for one in asked])
    return [one.factor * columns[0][0] for one, columns in zip(asked, exact, strict=True)]


def pairs(asked: Sequence[Compared], adjacency: str) -> Iterator[tuple[list[int], list[int]]]:
    """The integers of tables of two units, and of those with one unit less, or another one."""
    for other in (UNITS[0], UNITS[7], UNITS[-1]):
        alone, both = integers(asked, [other]), [integers(asked, [other, unit]) for unit in UNITS]
        if adjacency == "replace-one":
            yield from itertools.product(both, both)
        else:
            yield from ((one, alone) for one in both)
            yield from ((alone, one) for one in both)


def truth(sql: str, threshold: Fraction, units: Sequence[dict[str, Any]]) -> bool:
    """By fractions, with a division."""
    rows = [{"a": u["a"], "b": None if u["b"] is None else Fraction(u["b"], 2), "c": u["c"]} for u in units]
    if sql.endswith("WHERE c"):
        rows = [row for row in rows if row["c"]]
    if sql.endswith("WHERE NOT c"):
        rows = [row for row in rows if not row["c"]]
    if sql.endswith("WHERE a > 1"):
        rows = [row for row in rows if row["a"] is not None and row["a"] > 1]
    if "COUNT" in sql:
        return len(rows) > threshold
    if "PROPORTION" in sql:
        share = [row["c"] if "(c)" in sql else row["a"] is not None and row["a"] > 1 for row in rows]
        return bool(rows) and Fraction(sum(map(bool, share)), len(rows)) > threshold
    values = [row["a" if "(a)" in sql else "b"] for row in rows]
    present = [value + ("b + 1" in sql) for value in values if value is not None]
    if "SUM" in sql:
        return sum(present) > threshold
    return bool(present) and Fraction(sum(present)) / len(present) > threshold


@pytest.fixture(params=["replace-one", "add-remove"])
def adjacency(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_theorem_MONITOR_OF_SUMS_without_noise_it_is_where_the_number_is(kind: Any, adjacency: str) -> None:
    """Every table of up to two units, at three thresholds of each query.  Mutants: ``math.ceil`` for
    ``math.floor(...) + 1``; no ``+ 1``; a mean without ``- threshold``.
    """
    known = study(adjacency)
    tables = [[], *([one] for one in UNITS), *map(list, itertools.product(UNITS[::3], UNITS))]
    for sql, above in ASKED[kind]:
        for shift in (Fraction(0), Fraction(1, 4), Fraction(1, 2)):
            threshold = Fraction(above) + shift
            try:
                one = compared(known, kind, 64, request_of(sql, known.table).alone, threshold)
            except adyton.InvalidRequest:
                assert threshold > 1  # no share, and under replace-one no count, lies there
                continue
            found = [integers([one], table)[0] >= one.least for table in tables]
            assert found == [truth(sql, threshold, table) for table in tables], (sql, threshold)


def test_theorem_MONITOR_OF_SUMS_what_falls_where_others_rise_is_refused() -> None:
    """Where all move the same way, the price is that of such queries alone.  Mutant: no refusal."""
    asked = request_of("SELECT SUM(b) FROM t", TABLE).alone
    with pytest.raises(adyton.InvalidRequest, match="can be negative"):
        compared(study("add-remove"), "sums", 64, asked, 0)
    for adjacency, kind in (("replace-one", "sums"), ("add-remove", "means")):
        assert compared(study(adjacency), kind, 64, asked, 0).reading.sensitivity.boxes[0][0] < 0


def test_theorem_MONITOR_OF_SUMS_a_filter_of_a_mean_leaves_rows_out(adjacency: str) -> None:
    """Mutant: the sum of what rows have above the threshold is over all rows."""
    known, table = study(adjacency), [{"a": 3, "b": 0, "c": True}, {"a": 0, "b": 0, "c": False}]
    for sql, above in (
        ("SELECT AVG(a) FILTER (WHERE c) FROM t", True),
        ("SELECT AVG(a) FILTER (WHERE NOT c) FROM t", False),
        ("SELECT PROPORTION(a > 1) FILTER (WHERE c) FROM t", True),
        ("SELECT PROPORTION(a > 1) FILTER (WHERE NOT c) FROM t", False),
    ):
        threshold = Fraction(2) if "AVG" in sql else Fraction(2, 3)
        one = compared(known, "means", 64, request_of(sql, known.table).alone, threshold)
        assert (integers([one], table)[0] >= one.least) == above


@pytest.mark.parametrize("reach", [20, 64, 2**32])
@pytest.mark.parametrize("kind", ["sums", "means"])
def test_theorem_MONITOR_OF_SUMS_one_unit_moves_no_query_beyond_the_reach(
    kind: Any, reach: int, adjacency: str
) -> None:
    """On all neighbors; each is moved by more than the reach less one unit's own, so no larger factor would
    do.  Where the price counts on it all move the same way.  Mutants: ``-(-reach // moved)`` in ``_factor``;
    ``moves_one_way`` that is True for means.
    """
    known = study(adjacency)
    asked = fitted(known, kind, reach)
    farthest = [0] * len(asked)
    for here, there in pairs(asked, adjacency):
        gaps = [b - a for a, b in zip(here, there, strict=True)]
        assert max(map(abs, gaps)) <= reach
        if moves_one_way(known, kind):
            assert min(gaps) >= 0 or max(gaps) <= 0
        farthest = [max(known_, abs(gap)) for known_, gap in zip(farthest, gaps, strict=True)]
    for far, one in zip(farthest, asked, strict=True):
        moved = one.reading.sensitivity.l1_diameter((Fraction(1),))
        assert far == one.factor * moved > reach - moved


@pytest.mark.parametrize("kind", KINDS)
def test_theorem_MONITOR_OF_SUMS_what_an_exchanged_unit_can_do(kind: Any, adjacency: str) -> None:
    """By at most as many reaches as validity pays for; in means under add-remove by nearly two of them, so
    one would not be enough.  Mutant: ``exchanged_reach`` of 1.
    """
    known, reach = study(adjacency), 1 if kind == "counts" else 2**32
    asked, most = fitted(known, kind, reach), exchanged_reach(known, kind)
    farthest = 0
    for here, there in pairs(asked, "replace-one"):
        gaps = [b - a for a, b in zip(here, there, strict=True)]
        farthest = max(farthest, *map(abs, gaps))
    assert farthest <= most * reach
    assert farthest > (most - Fraction(1, 2)) * reach
    assert most == (2 if (kind, adjacency) == ("means", "add-remove") else 1)


@pytest.mark.parametrize("accounting", ["pure", "gdp"])
@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("kind", ["sums", "means"])
def test_theorem_MONITOR_OF_SUMS_validity_pays_for_an_exchanged_unit(
    kind: Any, adjacency: str, numeric: bool, accounting: str
) -> None:
    """The receipt has the epsilon of integers that move by so many reaches, and the radius of values that do."""
    known = study(adjacency, accounting)
    with adyton.open(known, data=pd.DataFrame({"a": [0, 1], "b": [0, 1], "c": [True, False]})) as curator:
        curator.open_monitor(positives=3, of=kind, numeric=numeric, epsilon="0.5")
        (receipt,) = curator.receipts()
    machine, reaches = machine_of(receipt), exchanged_reach(known, kind)
    sparse = sparse_of(machine)
    far = Fraction(reaches * sparse.sensitivity)
    runs = 3 if sparse.refresh else 1
    epsilon = runs * (far / sparse.threshold_scale + 3 // runs * 2 * far / sparse.query_scale)
    assert replace_one_cost(machine, reaches).pure == epsilon
    radius = None
    if isinstance(machine, NumericSparse):
        radius = machine.values.radius(Sensitivity(((0, int(far)),), 1, "replace-one"))
        assert radius == machine.values.cost(Sensitivity(((0, int(far / 2)),), 1, "replace-one"))
    if accounting == "pure":
        of_values = 3 * radius.gdp if radius is not None else 0
        assert receipt.order.radius == pytest.approx(
            stability_units(replace_one_cost(machine, reaches)) + units_up(of_values), rel=1e-12
        )
    else:
        assert receipt.order.pure == units_up(epsilon)
        assert receipt.order.radius == (units_up(3 * radius.gdp) if radius is not None else 0)


# The exact law -----------------------------------------------------------------------------------------------


def worst(machine: Sparse, asked: Sequence[Compared], adjacency: str) -> float:
    """The largest loss over all tables of two units and their neighbors, all monitors of two of the queries,
    and all answers to them.
    """
    gaps = set()
    for a, b in pairs(asked, adjacency):
        gaps |= {tuple((x - one.least, y - one.least) for x, y, one in zip(a, b, asked, strict=True))}
    every = sorted({gap for moved in gaps for pair in moved for gap in pair})
    law = table_of(machine, every, reach=40 * machine.sensitivity)
    found = -math.inf
    monitors = {pair for moved in gaps for pair in itertools.product(moved, repeat=2)}
    for said in answers(2, machine.positives):
        for monitor in monitors:
            here, there = zip(*monitor, strict=True)
            p, q = chance(law, said, here[: len(said)]), chance(law, said, there[: len(said)])
            found = max(found, math.log((p + law.left_out) / q))
    return found


@pytest.mark.parametrize("kind", ["sums", "means"])
def test_theorem_MONITOR_OF_SUMS_every_short_sequence_by_the_exact_law(kind: Any, adjacency: str) -> None:
    """Counts, sums and means in one monitor, on every pair of neighbors: never above the price."""
    known, reach = study(adjacency), 20
    machine = sparse_for_cost(Fraction(1), 1, sensitivity=reach, monotone=moves_one_way(known, kind))
    loss = worst(machine, fitted(known, kind, reach), adjacency)
    assert 0.3 < loss <= 1 + FLOAT


@pytest.mark.parametrize("kind", ["sums", "means"])
def test_theorem_MONITOR_OF_SUMS_the_price_is_attained(kind: Any, adjacency: str) -> None:
    """Twenty queries far above that are said to be below, then one far below: with a factor that is one too
    large, or a tenth less noise, the loss is above the price.
    """
    known = study(adjacency)
    own = int(fitted(known, kind, 2**32)[0].reading.sensitivity.l1_diameter((Fraction(1),)))
    reach = 2 * own
    (one,) = fitted(known, kind, reach, 1)
    assert one.factor == 2
    machine = sparse_for_cost(Fraction(1), 1, sensitivity=reach, monotone=moves_one_way(known, kind))

    def loss(factor: int, machine: Sparse) -> float:
        moved, high, low = factor * own, 20 * reach, -30 * reach
        against = 0 if machine.monotone else -moved
        law = table_of(machine, [high, high + moved, low, low + against], reach=200 * reach)
        said = (False,) * 20 + (True,)
        p = chance(law, said, [high] * 20 + [low])
        return math.log(p / (chance(law, said, [high + moved] * 20 + [low + against]) + law.left_out))

    assert loss(one.factor, machine) == pytest.approx(1, abs=5e-3)
    assert loss(one.factor + 1, machine) > 1.2
    assert loss(one.factor, replace(machine, query_scale=machine.query_scale * Fraction(9, 10))) > 1.02


# Through a curator ---------------------------------------------------------------------------------------------


def asker(known: Study, frame: pd.DataFrame) -> Curator:
    ledger = MemoryLedger(Header.fresh(known.fingerprint, known.accounting, known.allowed))
    return Curator(known, kept_engine(known.table, known.unit, frame), ledger, SystemBits())


@pytest.mark.parametrize("kind", KINDS)
def test_theorem_MONITOR_OF_SUMS_a_curator_without_noise_tells_the_truth(
    kind: Any, adjacency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB reads, the ledger keeps, and what is shown is the count, the sum or the excess itself."""
    monkeypatch.setattr(two_sided_geometric, "draw", lambda scale, count, bits: np.zeros(count, np.int64))
    chosen = [UNITS[i] for i in (0, 3, 5, 10, 14, 17, 20)]
    known = study(adjacency, epsilon=9, rows=len(chosen))
    frame = pd.DataFrame(
        {
            "a": pd.array([u["a"] for u in chosen], "Int64"),
            "b": [None if u["b"] is None else u["b"] / 2 for u in chosen],
            "c": [u["c"] for u in chosen],
        }
    )
    with asker(known, frame) as curator:
        monitor = curator.open_monitor(positives=30, of=kind, numeric=True, epsilon=9)
        for sql, above in ASKED[kind]:
            for shift in (Fraction(-1, 4), Fraction(0), Fraction(1, 4)):
                threshold = Fraction(above) + shift
                try:
                    answer = monitor.feed(sql, above=threshold)
                except adyton.InvalidRequest:
                    continue
                assert answer.above is truth(sql, threshold, chosen), (sql, threshold)
                if answer.above:
                    assert answer.noise_interval is not None
                    assert answer.noise_interval.low <= answer.value <= answer.noise_interval.high
                    assert answer.value == pytest.approx(number(sql, threshold, chosen), rel=1e-15)
        assert monitor.budget().feeds > len(ASKED[kind])


def number(sql: str, threshold: Fraction, units: Sequence[dict[str, Any]]) -> float:
    """What a numeric monitor says: the count, the sum, or of a mean the sum of what is above the threshold."""
    low, high = Fraction(-100), Fraction(100)
    if "AVG" not in sql and "PROPORTION" not in sql:
        steps = range(int(low * 4), int(high * 4) + 1)
        return next(float(Fraction(n, 4)) for n in steps if not truth(sql, Fraction(n, 4), units))
    inside = [u for u in units if u["c"] or not sql.endswith("WHERE c")]
    if "PROPORTION" in sql:
        hit = [bool(u["c"] if "(c)" in sql else u["a"] is not None and u["a"] > 1) for u in inside]
        return float(sum(hit) - len(hit) * threshold)
    column, step = ("a", Fraction(1)) if "(a)" in sql else ("b", Fraction(1, 2))
    return float(sum(u[column] * step - threshold for u in inside if u[column] is not None))
