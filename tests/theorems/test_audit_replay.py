"""Record and replay: a sound curator shows nothing but the sensitivity, and planted faults show at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.audit import replay
from adyton.audit.cases.catalogue import target_of
from adyton.audit.cases.queries import QUERIES, ask_both
from adyton.audit.watching import RecordedBits
from adyton.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel import noisy, paid
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table
from adyton.planning.plan import PricedBatch
from adyton.study import Study
from support.curators import open_kept
from support.randomness import SeededByHash
from support.tries import LONG
from support.worlds import study_with

TABLE = Table("people", (IntegerColumn("age", 0, 100), CategoryColumn("region", ("north", "south"))), rows=4)
QUERY = "SELECT region, SUM(age) FROM people GROUP BY region"


def study(adjacency: Adjacency = "replace-one", accounting: str = "gdp") -> Study:
    return study_with(TABLE, accounting, adjacency, 10, Fraction(1, 100))


def people(*ages: float) -> pd.DataFrame:
    return pd.DataFrame({"age": ages, "region": ["north", "south"] * (len(ages) // 2)})


PAIR = people(30, 40, 50, 100), people(30, 40, 50, 0)


TARGET = target_of()  # its tables are loaded once for all queries

# How far integers move does not depend on the noise: every query meets all neighbors and both kinds of noise, and
# each with each in a long run.  The noise of zcdp is that of gdp at another price, so it is for a long run as well.
CASES = [
    (name, adjacency, accounting)
    for place, (name, adjacency, accounting) in enumerate(product(QUERIES, ADJACENCIES, ("gdp", "pure")))
    if LONG or place % 8 in (0, 3, 5, 6)
]


@pytest.mark.parametrize(
    ("name", "adjacency", "accounting"),
    [*CASES, *(product(QUERIES, ADJACENCIES, ["zcdp"]) if LONG else [])],
)
def test_theorem_REPLAY_finds_no_fault_in_the_curator(
    name: str, adjacency: Adjacency, accounting: str
) -> None:
    """All queries of the catalogue, hostile values included; most pairs move as far as is allowed."""
    found = ask_both(name, adjacency, accounting, replace(TARGET, bits=SeededByHash(1))).replayed
    assert found.faults == ()
    assert found.movements
    # From end to end a square does not move, and from the end to the middle a value and its square move nearly
    # as far as between any two numbers; so do two values, and what is allowed for them is a bound.
    if name not in ("hostile values", "variance", "correlation"):
        nearly = {
            "variance, from the middle": Fraction(999, 1000),
            "correlation, from the middle": Fraction(9, 10),
        }.get(name, Fraction(1))
        assert any(
            m.l2_squared >= nearly * m.l2_squared_allowed or m.l1 >= nearly * m.l1_allowed
            for m in found.movements
        )


def test_theorem_REPLAY_takes_anyones_tables_and_shows_itself() -> None:
    found = replay(study(), PAIR, QUERY, bits=SeededByHash(2), epsilon="1")
    assert not found.refuted
    assert found.movements[0].l1 == 100
    assert found.movements[0].l1_allowed == 200  # had the row moved to the other region
    assert found.to_json()["moved"][0]["l2"] == 100
    assert "consistent" in str(found)


# Planted faults ----------------------------------------------------------------------------------------------


class ForgetsToClip:
    """An engine whose integers obey nobody's bounds."""

    def __init__(self, ages: list[float]) -> None:
        self._ages = ages

    def prepare(self, readings: Any = ()) -> None: ...
    def close(self) -> None: ...

    def exact(self, readings: Any) -> Any:
        return [[[int(sum(self._ages[::2])), int(sum(self._ages[1::2]))]]]


def test_an_engine_that_clips_wrongly_is_found() -> None:
    def opened(known: Study, data: pd.DataFrame) -> Curator:
        made = open_kept(known, data)
        return Curator(known, ForgetsToClip(data["age"].tolist()), made._ledger)  # type: ignore[arg-type]

    wild = people(30, 40, 50, 5000), people(30, 40, 50, 0)
    found = replay(study(), wild, QUERY, opened_by=opened, bits=SeededByHash(3), epsilon="1")
    assert found.refuted
    assert any("moved farther" in fault for fault in found.faults)
    assert not replay(
        study(), wild, QUERY, bits=SeededByHash(3), epsilon="1"
    ).refuted  # the real engine clips


Touched = Callable[[list[Any], Bits], Any]  # the exact integers, before they get their noise


@contextmanager
def planted(touched: Touched) -> Iterator[None]:
    """A kernel with a fault: something looks at the exact integers."""
    with pytest.MonkeyPatch.context() as patch:

        def with_noise(query: Any, exact: Any, source: Any, bits: Bits) -> Any:
            return sound(query, iter(touched(list(exact), bits)), source, bits)

        sound = noisy.with_noise
        patch.setattr(noisy, "with_noise", with_noise)
        yield


def draws_once_more(exact: list[Any], bits: Bits) -> Any:
    """Where the data are large: the time it takes, and the noise, then depend on them."""
    if exact[0][0][1] > 100:
        bits.words(1)
    return exact


def adds_one(exact: list[Any], bits: Bits) -> Any:
    """Noise of its own where the data are large, after the words were read as usual."""
    if exact[0][0][1] > 100:
        exact[0][0] = [value + 1 for value in exact[0][0]]
    return exact


def refuses(exact: list[Any], bits: Bits) -> Any:
    """Does not answer where the data are small."""
    if exact[0][0][1] < 100:
        raise InvalidRequest("too few")
    return exact


@pytest.mark.parametrize(
    ("touched", "said"),
    [
        (draws_once_more, "control flow differs at step"),
        (adds_one, "noise depends on the data"),
        (refuses, "outcome differs"),
    ],
)
def test_a_planted_fault_is_found(touched: Touched, said: str) -> None:
    with planted(touched):
        found = replay(study(), PAIR, QUERY, opened_by=open_kept, bits=SeededByHash(4), epsilon="1")
    assert found.refuted
    assert any(said in fault for fault in found.faults), found.faults


def test_a_charge_that_depends_on_the_data_is_found(monkeypatch: Any) -> None:
    ages: list[int] = []

    def opened(known: Study, data: Any) -> Curator:
        ages[:] = data["age"].tolist()
        return open_kept(known, data)

    def dear(*how: Any) -> Any:
        order = sound(*how)
        return replace(order, amount=order.amount + (max(ages) > 99))

    sound = paid.order_of
    monkeypatch.setattr(paid, "order_of", dear)
    monkeypatch.setattr(paid, "_is_for", lambda *_: True)
    found = replay(study(), PAIR, QUERY, opened_by=opened, bits=SeededByHash(4), epsilon="1")
    assert any("cost differs" in fault for fault in found.faults), found.faults


def test_what_planning_says_that_something_costs_is_not_what_is_charged() -> None:
    """Mutant: the order takes the amount of the plan."""

    class Cheap(Curator):
        def _batch(self, *asked: Any, **how: Any) -> PricedBatch:
            return replace(super()._batch(*asked, **how), amount=1, radius=0)

    opened = open_kept(study(), PAIR[0])
    honest = open_kept(study(), PAIR[0]).ask(QUERY, epsilon="1")
    cheap = Cheap(opened.study, opened._engine, opened._ledger).ask(QUERY, epsilon="1")
    assert cheap.cost.units == honest.cost.units
    assert [receipt.order.amount for receipt in opened.receipts()] == [honest.cost.units]


class Broken(ForgetsToClip):
    def exact(self, readings: Any) -> Any:
        raise OSError("on either table")


def test_two_runs_that_fail_alike_are_not_called_consistent() -> None:
    """Mutant: no refusal; nothing differs then, and the verdict would be consistent."""

    def opened(known: Study, data: Any) -> Curator:
        made = open_kept(known, data)
        return Curator(known, Broken(data["age"].tolist()), made._ledger)  # type: ignore[arg-type]

    with pytest.raises(
        InvalidRequest, match=r"nothing was compared: neither table was answered \(engine_failed\)"
    ):
        replay(study(), PAIR, QUERY, opened_by=opened, bits=SeededByHash(4), epsilon="1")
    with pytest.raises(InvalidRequest, match=r"neither table was answered \(invalid_request\)"):
        replay(study(), PAIR, "SELECT AVG(height) FROM people", bits=SeededByHash(4), epsilon="1")


# Searches over several levels, and batches ----------------------------------------------------------------------

WIDE = Table("people", (IntegerColumn("age", 0, 1_000_000),), rows=4)
SEARCHES = ["SELECT MEDIAN(age) FROM people", "SELECT MAX(age) FROM people", "SELECT MIN(age) FROM people"]


def wide_study() -> Study:
    return replace(study(), table=WIDE)


def wide(*ages: int) -> pd.DataFrame:
    return pd.DataFrame({"age": ages})


WIDE_PAIR = wide(30, 400_000, 500_000, 1_000_000), wide(30, 400_000, 500_000, 0)


@pytest.mark.parametrize("query", [*SEARCHES, SEARCHES])
def test_theorem_REPLAY_follows_a_search_to_its_end(query: Any) -> None:
    """Two levels, on tables between which the searches part ways; alone and in a batch."""
    found = replay(wide_study(), WIDE_PAIR, query, opened_by=open_kept, bits=SeededByHash(8), epsilon="1")
    assert found.faults == ()
    assert found.movements


@pytest.mark.parametrize("query", [SEARCHES[0], SEARCHES[2]])
def test_a_planted_fault_in_a_search_is_found(query: Any) -> None:
    def shifts(exact: list[Any], bits: Bits) -> Any:
        counts = list(exact[0][0])
        counts[0] += sum(counts[:40_000]) < 4  # someone is far up: one more at the bottom
        return [[counts], *exact[1:]]

    with planted(shifts):
        found = replay(wide_study(), WIDE_PAIR, query, opened_by=open_kept, bits=SeededByHash(8), epsilon="1")
    assert any("noise depends on the data" in fault for fault in found.faults), found.faults


def test_replay_does_not_spend_from_a_ledger_file(tmp_path: Any) -> None:
    with pytest.raises(InvalidRequest, match="ledger file"):
        replay(replace(study(), ledger=tmp_path / "x.ledger"), PAIR, QUERY, epsilon="1")


def test_replayed_bits_are_the_recorded_ones() -> None:
    first = RecordedBits(SeededByHash(5))
    words = [first.words(n) for n in (3, 1, 2)]
    second = RecordedBits(SeededByHash(6), first.handed_out)
    assert all(np.array_equal(second.words(len(w)), w) for w in words)
    assert len(second.words(4)) == 4  # beyond the record: fresh ones


def test_import_adyton_does_not_import_the_auditor() -> None:
    import subprocess
    import sys

    code = "import sys, adyton; raise SystemExit(any(m.startswith('adyton.audit') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert adyton.__all__
