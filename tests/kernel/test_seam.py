"""What is charged is what is released: forgeries, readings that nobody paid for, and plans that lie.

The first two tests are attacks that an earlier design let through: a release that charged one unit and gave
exact integers back, and a monitor whose reader gave any exact integer for nothing.
"""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, dataclass, replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from adyton.curator import Curator
from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.data import Data, PaidData
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.measurement import Due
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.noise import SystemBits
from adyton.kernel.noisy import NoisyQueries
from adyton.kernel.paid import Paid, charge, order_of, resume
from adyton.kernel.price import Label, Priced, price
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.release import Released, release
from adyton.kernel.schema import CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.comparing import Asked, Comparisons
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse
from adyton.kernel.special.monitor import Monitor
from adyton.planning.plan import make_batch
from adyton.planning.price import price_of
from adyton.query.request import request_of
from adyton.study import Study, Validity
from support.curators import kept_engine

TABLE = Table(
    "people",
    (IntegerColumn("age", 0, 100), CategoryColumn("region", ("a", "b")), TextColumn("town")),
)
ROWS = pd.DataFrame({"age": [10, 20, 30, 40], "region": list("aabb"), "town": list("xxyy")})
COUNT = "SELECT COUNT(*) FROM people WHERE age > 15"


def study(table: Table = TABLE, **more: Any) -> Study:
    budget = Guarantee(Fraction(3), Fraction(1, 10**9))
    return Study(table, more.pop("unit", PrivacyUnit("add-remove")), budget, **more)


def split(queries: int) -> Study:
    validity = Validity(Fraction(19, 20), queries=queries, method="split")
    return study(replace(TABLE, rows=len(ROWS)), unit=PrivacyUnit("replace-one"), validity=validity)


class Counting:
    """An engine that counts what it was asked."""

    def __init__(self, known: Study) -> None:
        self._engine = kept_engine(known.table, known.unit, ROWS)
        self.asked: list[Reading] = []

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        self._engine.prepare(readings)

    def exact(self, readings: Sequence[Reading]) -> Any:
        self.asked += readings
        return self._engine.exact(readings)

    def found(self, readings: Sequence[Reading]) -> Any:
        self.asked += readings
        return self._engine.found(readings)

    def close(self) -> None:
        self._engine.close()


class Written:
    """Nothing is made of noisy integers."""

    def made(self, noisy: Any) -> Any:
        return noisy

    def text(self, kept: Any) -> str:
        return repr(kept)

    def read(self, text: str) -> Any:
        return text

    def final_cost(self, number: int, kept: Any) -> None:
        return None


def plan_of(known: Study, text: str = COUNT, **named: Any) -> Any:
    return make_batch(
        known, [request_of(text, known.table)], price_of(**(named or {"epsilon": 1})), known.allowed
    )


def priced_of(known: Study, text: str = COUNT, **named: Any) -> Priced:
    plan = plan_of(known, text, **named)
    return price(plan.measurement, known.protection, Label(plan.texts, plan.detail))


@pytest.fixture
def known() -> Study:
    return study()


@pytest.fixture
def engine(known: Study) -> Counting:
    return Counting(known)


@pytest.fixture
def ledger(known: Study) -> MemoryLedger:
    return MemoryLedger.of(known)


# The two attacks -------------------------------------------------------------------------------------------


def test_a_measurement_of_ones_own_that_costs_nothing_is_refused(known: Study, ledger: MemoryLedger) -> None:
    """Mutant: ``price`` that takes any class with the right methods."""

    @dataclass(frozen=True)
    class Exactly(NoisyQueries):
        def due(self, protection: Any) -> Due:
            return Due(1, 0)

        def release(self, source: Any, bits: Any) -> Any:
            return list(source.exact())

    with pytest.raises(TypeError, match="not one whose cost is proved"):
        price(Exactly(plan_of(known).measurement.queries), known.protection, Label(("q",), "d"))
    assert ledger.count() == 0


def test_a_monitor_reads_nothing_that_was_not_paid_for(
    known: Study, ledger: MemoryLedger, engine: Counting
) -> None:
    """Mutants: ``Monitor.check`` without the reach; ``one_cell`` that does not check."""
    cheap = Sparse(1, Fraction(100), Fraction(100), sensitivity=1, monotone=True)
    paid = charge(ledger, price(Monitor(cheap), known.protection, Label(("a monitor",), "[]")))
    comparisons = Comparisons(paid, Data(engine), SystemBits())
    far, bins = (
        plan_of(known, "SELECT SUM(age) FROM people"),
        plan_of(known, "SELECT region, COUNT(*) FROM people GROUP BY region"),
    )

    def asked() -> Asked:
        return Asked(0, 10, {})

    for reading in (*far.readings, *bins.readings):
        with pytest.raises(InvalidRequest):
            comparisons.compare(reading, 1, asked)
        with pytest.raises(InvalidRequest):
            Data(engine).one_cell(paid, reading)
        with pytest.raises(TypeError, match="not paid for"):
            Data(engine).exact(paid, [reading])
    (count,) = plan_of(known).readings
    for factor in (0, -1, 2, True):
        with pytest.raises(InvalidRequest, match="farther than was paid for"):
            comparisons.compare(count, factor, asked)
    assert engine.asked == []
    assert comparisons.compare(count, 1, asked) is not None
    assert "offset" not in str(comparisons.notes())


# Forgeries -------------------------------------------------------------------------------------------------


def forged(value: Any) -> list[Callable[[], Any]]:
    """Looks the same, and is not what the kernel made."""
    kind = type(value)
    fields = {name: getattr(value, name) for name in kind.__dataclass_fields__}
    return [lambda: kind(**fields), lambda: replace(value)]


def test_what_the_kernel_did_not_make_is_refused_at_once(
    known: Study, ledger: MemoryLedger, engine: Counting
) -> None:
    """Mutants: ``require`` that looks at the class alone; each call of it left out."""
    priced = priced_of(known)
    for make in forged(priced):
        with pytest.raises(TypeError, match="a Priced is needed that the kernel made"):
            charge(ledger, make())
        with pytest.raises(TypeError, match="a Priced is needed"):
            resume(ledger, make(), ledger.receipt(1))  # type: ignore[arg-type]
    assert ledger.count() == 0
    paid, data = charge(ledger, priced), Data(engine)
    uses: list[Callable[[Paid], Any]] = [
        lambda one: release(one, data, SystemBits(), Written()),
        lambda one: data.exact(one, priced.readings),
        lambda one: data.found(one),
        lambda one: data.one_cell(one, priced.readings[0]),
        lambda one: Comparisons(one, data, SystemBits()),
        lambda one: list(PaidData(one, data).exact()),
    ]
    for make, use in itertools.product(forged(paid), uses):
        with pytest.raises(TypeError, match="a Paid is needed that the kernel made"):
            use(make())
    with pytest.raises(TypeError, match="a Paid is needed"):
        data.exact(priced, priced.readings)  # type: ignore[arg-type]  # the kernel made it, but as a Priced
    with pytest.raises(TypeError, match="a Priced is needed"):
        charge(ledger, paid)  # type: ignore[arg-type]
    assert engine.asked == []
    released = release(paid, data, SystemBits(), Written())
    assert type(released) is Released
    assert len(engine.asked) == 1


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_the_kernel_made_is_not_copied(known: Study, ledger: MemoryLedger, how: Any) -> None:
    priced = priced_of(known)
    for value in (priced, charge(ledger, priced)):
        with pytest.raises(TypeError, match="cannot be copied"):
            how(value)


def test_what_the_kernel_made_is_not_changed(known: Study, ledger: MemoryLedger) -> None:
    priced = priced_of(known)
    with pytest.raises((FrozenInstanceError, AttributeError)):
        priced.due = Due(1, 0)  # type: ignore[misc]
    with pytest.raises((FrozenInstanceError, AttributeError)):
        charge(ledger, priced).priced = priced  # type: ignore[misc]


# Receipts --------------------------------------------------------------------------------------------------


def test_a_receipt_pays_for_its_own_release_alone(known: Study, ledger: MemoryLedger) -> None:
    """Mutants: ``_is_for`` without each of its parts."""
    priced = priced_of(known)
    receipt = charge(ledger, priced).receipt
    assert resume(ledger, priced, receipt).receipt == receipt
    label = priced.label
    others = [
        priced_of(known, epsilon=2),
        priced_of(known, "SELECT COUNT(*) FROM people WHERE age > 16"),
        price(priced.measurement, known.protection, replace(label, detail="[]")),
        price(priced.measurement, known.protection, replace(label, texts=("another",))),
    ]
    for other in others:
        with pytest.raises(LedgerCorrupt, match="did not pay for this"):
            resume(ledger, other, receipt)
    whole = order_of(ledger, priced)
    assert resume(ledger, priced, ledger.charge(whole).receipt)
    wrong = (
        {"amount": whole.amount - 1},
        {"subject": replace(whole.subject, kind="batch")},
        {"subject": replace(whole.subject, measures=("Mean",))},
    )
    for change in wrong:
        with pytest.raises(LedgerCorrupt, match="did not pay for this"):
            resume(ledger, priced, ledger.charge(replace(whole, **change)).receipt)


def test_a_receipt_of_another_ledger_pays_for_nothing(known: Study, ledger: MemoryLedger) -> None:
    priced = priced_of(known)
    elsewhere = charge(MemoryLedger.of(known), priced).receipt
    with pytest.raises(LedgerCorrupt, match="not one of this ledger"):
        resume(ledger, priced, elsewhere)
    charge(ledger, priced)
    with pytest.raises(LedgerCorrupt, match="not one of this ledger"):
        resume(ledger, priced, elsewhere)


def test_a_release_reads_what_was_paid_for_and_nothing_more(
    known: Study, ledger: MemoryLedger, engine: Counting
) -> None:
    """Mutants: ``_check_paid`` left out; ``refines`` that says yes."""
    paid, data = charge(ledger, priced_of(known)), Data(engine)
    others = [
        *plan_of(known, "SELECT COUNT(*) FROM people").readings,
        *plan_of(known, "SELECT MEDIAN(age) FROM people").readings,
    ]
    for reading in others:
        with pytest.raises(TypeError, match="not paid for") as refused:
            data.exact(paid, [reading])
        assert "age" not in str(refused.value)
        with pytest.raises(TypeError, match="not paid for"):
            PaidData(paid, data).again(reading)
    assert engine.asked == []


# Plans that lie --------------------------------------------------------------------------------------------


def lying(plan: Any, **changed: Any) -> NoisyQueries:
    """A measurement whose first reading says something else of itself."""
    (query,) = plan.measurement.queries
    first, *rest = query.parts
    return NoisyQueries((replace(query, parts=(replace(first, **changed), *rest)),))


def moved_by(part: Any, **changed: Any) -> Any:
    return replace(part.reading, sensitivity=replace(part.reading.sensitivity, **changed))


def test_a_reading_that_says_less_than_the_truth_is_refused(known: Study, ledger: MemoryLedger) -> None:
    """Mutants: ``check_reading`` without each of the facts that it compares."""
    protection = known.protection
    for text in ("SELECT SUM(age) FROM people", "SELECT region, AVG(age) FROM people GROUP BY region"):
        plan = plan_of(known, text)
        (part,) = plan.measurement.queries[0].parts
        narrow = tuple((0, 1) for _ in part.reading.sensitivity.boxes)
        lies: list[dict[str, Any]] = [
            {"boxes": narrow},
            {"cells": part.reading.sensitivity.cells + 1},
            {"adjacency": "replace-one"},
            {"rows": 2},
            {"touched": 2},
            {"curved": 1},
        ]
        for lie in lies:
            with pytest.raises(InvalidRequest, match="moved farther by one unit"):
                price(lying(plan, reading=moved_by(part, **lie)), protection, Label(("q",), "d"))
    assert ledger.count() == 0


def test_noise_of_ones_own_is_refused(known: Study) -> None:
    """Mutant: ``check_noisy`` that takes subclasses, which may draw less than they cost."""

    class Silent(GaussianNoise):
        def release(self, exact: Any, bits: Any) -> Any:
            return exact

    plan = plan_of(known)
    (part,) = plan.measurement.queries[0].parts
    with pytest.raises(InvalidRequest, match="not of a kind whose cost is proved"):
        price(lying(plan, mechanism=Silent(part.mechanism.scales)), known.protection, Label(("q",), "d"))


def test_a_search_pays_for_each_of_its_comparisons(known: Study) -> None:
    plan = plan_of(known, "SELECT MEDIAN(age) FROM people")
    (part,) = plan.measurement.queries[0].parts
    with pytest.raises(InvalidRequest, match="as often as it compares"):
        price(lying(plan, times=part.times - 1), known.protection, Label(("q",), "d"))


def test_groups_are_discovered_with_the_delta_of_the_study() -> None:
    """Mutants: ``GroupDiscovery.check`` without each of its parts."""
    known = study(discovery_delta=Fraction(1, 10**10))
    plan = plan_of(known, "SELECT town, COUNT(*) FROM people GROUP BY town")
    (query,) = plan.measurement.queries
    found = query.discovery
    lies = [
        replace(found, failure=2 * found.failure),
        replace(found, counted=replace(found.counted, times=2)),
        replace(found, number=replace(found.number, times=2)),
        replace(found, number=replace(found.number, reading=moved_by(found.number, boxes=((0, 0),)))),
    ]
    for lie in lies:
        measurement = NoisyQueries((replace(query, discovery=lie),))
        with pytest.raises(InvalidRequest):
            price(measurement, known.protection, Label(("q",), "d"))
    two = NoisyQueries((query, query))
    with pytest.raises(InvalidRequest, match="asked alone"):
        price(two, known.protection, Label(("q",), "d"))


def test_which_part_of_the_units_is_read_follows_from_the_receipt() -> None:
    known = split(3)
    plan = plan_of(known, "SELECT COUNT(*) FROM people")
    (part,) = plan.measurement.queries[0].parts
    with pytest.raises(InvalidRequest, match="follows from the receipt"):
        price(lying(plan, reading=replace(part.reading, part=1)), known.protection, Label(("q",), "d"))


def test_where_units_are_split_what_was_spent_is_read_at_the_charge() -> None:
    """Mutant: ``order_of`` that takes the amount of the plan, which was made of what an analyst has left."""
    known = split(5)
    ledger = MemoryLedger.of(known)
    small, large = (priced_of(known, epsilon=epsilon) for epsilon in ("0.5", "1"))
    charge(ledger, small)
    assert ledger.spent() == small.due.amount
    charge(ledger, large)
    assert ledger.spent() == large.due.amount
    charge(ledger, small)
    assert ledger.spent() == large.due.amount + 1  # the least that a charge can be


def test_a_curator_releases_through_the_kernel(known: Study, engine: Counting, ledger: MemoryLedger) -> None:
    with Curator(known, engine, ledger) as curator:
        answer = curator.ask(COUNT, epsilon=1)
        assert answer.cost.units == priced_of(known).due.amount
