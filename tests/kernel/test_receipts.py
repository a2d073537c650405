"""What a receipt pays for, once: charged again, found again, opened again, and read in pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from test_seam import COUNT, ROWS, Counting, Written, plan_of, priced_of, split, study

from adyton.errors import EngineFailed, Forbidden, InvalidRequest, LedgerCorrupt
from adyton.kernel import data as reading_of
from adyton.kernel.data import Data, PaidData, Unobserved
from adyton.kernel.genuine import require
from adyton.kernel.ledger import MemoryLedger, Order
from adyton.kernel.ledger.subjects import ReceiptSubject
from adyton.kernel.ledger.validity import FinalCost
from adyton.kernel.noise import SystemBits
from adyton.kernel.noisy import NoisyQueries, NoisyQuery, still_due
from adyton.kernel.paid import Paid, charge, order_of, record, reopen, resume
from adyton.kernel.price import Label, price
from adyton.kernel.release import Released, release
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse
from adyton.kernel.special.monitor import Monitor
from adyton.study import Study
from support.curators import kept_engine

SUM = "SELECT SUM(age) FROM people"
BY_REGION = "SELECT region, COUNT(*) FROM people GROUP BY region"


class Watched(Unobserved):
    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    def prepares(self, readings: Sequence[Reading]) -> None:
        self.seen.append(("prepares", len(readings)))

    def reads(self, readings: Sequence[Reading], *, groups: bool) -> None:
        self.seen.append(("reads", groups))

    def releases(self, number: int) -> None:
        self.seen.append(("releases", number))


class Opened(Counting):
    """An engine that is ready, for the units of the study as they are split."""

    def __init__(self, known: Study) -> None:
        super().__init__(known)
        self._engine = kept_engine(known.table, known.protection.unit, ROWS)
        self.prepare()


# Once ------------------------------------------------------------------------------------------------------


def test_a_reading_is_read_again_as_it_was_paid_for() -> None:
    """Mutant: another of the readings that were read."""
    known = study()
    paid = charge(MemoryLedger.of(known), priced_of(known))
    source = PaidData(paid, Data(Opened(known)))
    (reading,) = paid.priced.readings
    assert (
        [list(cells) for cells in source.again(reading)]
        == [[3]]
        == [list(cells) for columns in source.exact() for cells in columns]
    )


def test_a_receipt_that_has_an_answer_gives_that_one_again() -> None:
    """Mutants: ``resume`` that says it was charged just now; ``release`` that reads again."""
    known = study()
    ledger, engine, priced = MemoryLedger.of(known), Opened(known), priced_of(known)
    paid = charge(ledger, priced)
    assert paid.fresh
    first = release(paid, Data(engine), SystemBits(), Written())
    stored = ledger.recall(paid.receipt.number)
    again = resume(ledger, priced, paid.receipt)
    assert not again.fresh
    assert release(again, Data(engine), SystemBits(), Written()).read() == stored
    assert repr(first.read()) == stored
    assert len(engine.asked) == 1


def test_the_final_cost_is_stored_with_the_answer() -> None:
    """Mutant: a release that keeps the answer alone."""

    class Cheaper(Written):
        def final_cost(self, number: int, kept: Any) -> Any:
            return FinalCost(1, number + 4)

    known = study()
    ledger = MemoryLedger.of(known)
    paid = charge(ledger, priced_of(known))
    release(paid, Data(Opened(known)), SystemBits(), Cheaper())
    assert ledger.final_cost(1) == FinalCost(1, 5)


def test_a_receipt_names_the_texts_of_several_queries_and_what_counts_all() -> None:
    """Mutants: two texts that are not named, a first of two readings that is taken for all."""
    known = study()
    everybody, some = (
        plan_of(known, text).measurement.queries[0].parts[0]
        for text in ("SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM people WHERE age > 15")
    )

    def subject(*queries: tuple[Any, ...]) -> ReceiptSubject:
        texts = tuple("ab"[: len(queries)])
        measurement = NoisyQueries(tuple(NoisyQuery(parts) for parts in queries))
        return price(measurement, known.protection, Label(texts, "d")).subject

    for queries, said in (
        ([(everybody,)], ("query", (), True)),
        ([(some,)], ("query", (), False)),
        ([(everybody, some)], ("query", (), False)),
        ([(everybody, everybody)], ("query", (), False)),
        ([(everybody,), (some,)], ("batch", ("a", "b"), False)),
    ):
        found = subject(*queries)
        assert (found.kind, found.texts, found.counts_all) == said


def test_a_release_is_the_kernel_s_own() -> None:
    """Mutants: ``release`` that marks nothing as its own; that gives a stored answer to a forged receipt."""
    known = study()
    ledger, engine, priced = MemoryLedger.of(known), Opened(known), priced_of(known)
    paid = charge(ledger, priced)
    first = release(paid, Data(engine), SystemBits(), Written())
    stored = release(resume(ledger, priced, paid.receipt), Data(engine), SystemBits(), Written())
    for released in (first, stored):
        assert require(released, Released) is released
    forged = Paid(priced, ledger, paid.receipt, fresh=False)
    with pytest.raises(TypeError, match="a Paid is needed that the kernel made"):
        release(forged, Data(engine), SystemBits(), Written())
    assert first.paid is paid


def test_who_comes_second_gets_the_answer_of_the_first() -> None:
    """Two processes draw noise for one receipt.  Mutant: ``release`` that shows what it drew itself."""
    known = study()
    ledger, engine, priced = MemoryLedger.of(known), Opened(known), priced_of(known)
    paid = charge(ledger, priced)

    class Overtaken(Unobserved):
        def releases(self, number: int) -> None:
            ledger.remember(number, "the first")

    watch = Overtaken()
    assert release(paid, Data(engine, watch), SystemBits(), Written()).read() == "the first"


def test_what_cannot_be_kept_says_how_to_go_on() -> None:
    known = study()
    ledger, engine = MemoryLedger.of(known), Opened(known)
    paid = charge(ledger, priced_of(known))

    def broken(number: int, text: str) -> str:
        raise LedgerCorrupt("the disk is full")

    ledger.remember = broken  # type: ignore[method-assign, assignment]
    with pytest.raises(LedgerCorrupt, match="the disk is full; receipt 1 is paid for: ask the same again"):
        release(paid, Data(engine), SystemBits(), Written())


def test_what_comparisons_paid_for_is_over_where_a_copy_was_put_back() -> None:
    """Mutant: ``reopen`` without the look at the ledger."""
    known = study()
    ledger, priced = MemoryLedger.of(known), priced_of(known)
    paid = charge(ledger, priced)
    assert reopen(ledger, priced, paid.receipt).receipt == paid.receipt
    charged = record(
        ledger, Order("restored", "{}", 1, 0, subject=ReceiptSubject("restored", receipts=3, head="0" * 64))
    )
    assert charged.fresh
    with pytest.raises(Forbidden, match="receipt 1 paid for is over"):
        reopen(ledger, priced, paid.receipt)


# A study that splits its units -----------------------------------------------------------------------------


def test_the_same_request_id_is_charged_once_where_units_are_split() -> None:
    """Mutants: ``order_of`` that does not look for the request, or takes the amount of any other query."""
    known = split(5)
    ledger = MemoryLedger.of(known)
    small, large = priced_of(known, epsilon="0.5"), priced_of(known, epsilon=1)
    first = charge(ledger, small, "an id")
    assert charge(ledger, small, "an id").receipt == first.receipt
    assert not charge(ledger, small, "an id").fresh
    charge(ledger, large)
    assert charge(ledger, small, "an id").receipt == first.receipt
    with pytest.raises(InvalidRequest, match="an id"):
        charge(ledger, large, "an id")
    assert charge(ledger, small).receipt.order.amount == 1
    assert ledger.count() == 3
    cheap = Order(large.label.query, large.label.detail, 1, large.due.radius, "another id")
    other = MemoryLedger.of(known)
    record(other, cheap)
    with pytest.raises(InvalidRequest, match="another id"):
        charge(other, large, "another id")


def test_two_parts_are_a_split() -> None:
    """Mutant: ``Priced.split`` of more."""
    assert priced_of(split(2)).split
    assert not priced_of(study()).split


def test_a_receipt_of_a_split_study_pays_for_what_was_spent_by_then() -> None:
    """Mutants: ``_is_for`` that compares amounts there, or totals elsewhere, or takes less than enough."""
    known = split(5)
    ledger = MemoryLedger.of(known)
    large, small = priced_of(known, epsilon=1), priced_of(known, epsilon="0.5")
    charge(ledger, large)
    cheap = charge(ledger, small)
    assert cheap.receipt.order.amount == 1
    assert resume(ledger, small, cheap.receipt).receipt == cheap.receipt
    other = MemoryLedger.of(known)
    too_little = record(other, replace(order_of(other, small), amount=small.due.amount - 1)).receipt
    with pytest.raises(LedgerCorrupt, match="did not pay for this"):
        resume(other, small, too_little)
    enough = record(other, replace(order_of(other, small), amount=1)).receipt
    assert resume(other, small, enough).receipt == enough


@pytest.mark.parametrize(
    ("due", "spent", "charged"), [(10, 0, 10), (10, 7, 3), (10, 9, 1), (10, 10, 1), (10, 99, 1)]
)
def test_a_charge_is_at_least_one_unit(due: int, spent: int, charged: int) -> None:
    assert still_due(due, spent) == charged


def test_a_release_reads_the_part_of_its_receipt() -> None:
    """Mutants: ``_own_part`` of all units, or of another receipt."""
    known, whole = split(5), study()
    engine = Opened(known)
    ledger = MemoryLedger.of(known)
    charge(ledger, priced_of(known))
    second = charge(ledger, priced_of(known, "SELECT COUNT(*) FROM people"))
    list(PaidData(second, Data(engine)).exact())
    assert [reading.part for reading in engine.asked] == [2]
    plain, unsplit = Opened(whole), charge(MemoryLedger.of(whole), priced_of(whole))
    list(PaidData(unsplit, Data(plain)).exact())
    assert [reading.part for reading in plain.asked] == [None]
    assert plain.asked[0] is unsplit.priced.readings[0]


# Reading ---------------------------------------------------------------------------------------------------


def test_who_watches_is_told_of_everything_in_order() -> None:
    """Mutants: each call of the observer left out, or with another word."""
    known = study(discovery_delta=Fraction(1, 10**10))
    watch = Watched()
    data = Data(Opened(known), watch)
    paid = charge(MemoryLedger.of(known), priced_of(known))
    data.prepare(paid.priced.readings)
    release(paid, data, SystemBits(), Written())
    assert watch.seen == [("prepares", 1), ("reads", False), ("releases", 1)]
    watch.seen.clear()
    towns = charge(
        MemoryLedger.of(known), priced_of(known, "SELECT town, COUNT(*) FROM people GROUP BY town")
    )
    release(towns, data, SystemBits(), Written())
    assert watch.seen == [("reads", True), ("releases", 1)]


def test_as_much_is_read_at_once_as_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: ``_together`` that forgets a reading, counts cells as coordinates, or starts too late."""
    known = study()
    queries = [
        plan_of(known, text).measurement.queries[0] for text in (COUNT, SUM, BY_REGION, BY_REGION, COUNT)
    ]
    measurement = NoisyQueries(tuple(queries))
    priced = price(measurement, known.protection, Label(("q",), "d"))
    paid, calls = charge(MemoryLedger.of(known), priced), list[list[Reading]]()
    sizes = [1, 1, 2, 2, 1]

    class Kept(Opened):
        def exact(self, readings: Sequence[Reading]) -> Any:
            calls.append(list(readings))
            return super().exact(readings)

    for most, expected in [
        (100, [5]),
        (4, [3, 2]),
        (3, [2, 1, 2]),
        (2, [2, 1, 1, 1]),
        (1, [1] * 5),
        (0, [1] * 5),
    ]:
        monkeypatch.setattr(reading_of, "_AT_ONCE", most)
        calls.clear()
        found = list(PaidData(paid, Data(Kept(known))).exact())
        assert [len(columns[0]) for columns in found] == sizes
        assert [len(some) for some in calls] == expected
        assert [one for some in calls for one in some] == list(priced.readings)
    average = plan_of(known, "SELECT AVG(age) FROM people").measurement.queries[0]
    pairs = price(NoisyQueries((average, average)), known.protection, Label(("q",), "d"))
    monkeypatch.setattr(reading_of, "_AT_ONCE", 3)
    calls.clear()
    list(PaidData(charge(MemoryLedger.of(known), pairs), Data(Kept(known))).exact())
    assert [len(some) for some in calls] == [1, 1]


def test_millions_of_integers_are_read_at_once() -> None:
    assert reading_of._AT_ONCE == 4_194_304


def test_a_broken_engine_says_nothing_of_its_rows(caplog: pytest.LogCaptureFixture) -> None:
    """Nor does whoever reads for it.  Mutants: ``_sealed`` and ``prepare`` that let the error through."""
    known = study()

    class Broken(Counting):
        def exact(self, readings: Sequence[Reading]) -> Any:
            raise ValueError("row 7 is 'Ada'")

        def found(self, readings: Sequence[Reading]) -> Any:
            raise ValueError("row 7 is 'Ada'")

        def prepare(self, readings: Sequence[Reading] = ()) -> None:
            raise ValueError("row 7 is 'Ada'")

    data, paid = Data(Broken(known)), charge(MemoryLedger.of(known), priced_of(known))
    for use in (lambda: data.exact(paid, paid.priced.readings), lambda: data.found(paid)):
        with pytest.raises(EngineFailed) as failed:
            use()
        assert "Ada" not in str(failed.value)
        assert failed.value.__cause__ is None
        assert re.search(r"reference [0-9a-f]{12}\)", str(failed.value))
    with pytest.raises(Exception, match="ValueError") as refused:
        data.prepare()
    assert "Ada" not in str(refused.value)
    assert "Ada" not in caplog.text
    assert caplog.text.count("the engine failed with ValueError") == 2


def test_one_cell_is_read_of_comparisons_alone() -> None:
    """Mutants: ``one_cell`` for any receipt; without ``prepare``; of another place of the answer."""
    known, watch = study(), Watched()
    data = Data(Opened(known), watch)
    (count,) = plan_of(known).readings
    with pytest.raises(TypeError, match="did not pay for comparisons"):
        data.one_cell(charge(MemoryLedger.of(known), priced_of(known)), count)
    sparse = Sparse(1, Fraction(100), Fraction(100), sensitivity=1, monotone=True)
    monitor = price(Monitor(sparse), known.protection, Label(("a monitor",), "[]"))
    assert data.one_cell(charge(MemoryLedger.of(known), monitor), count) == [3]
    assert watch.seen == [("prepares", 1), ("reads", False)]


def test_a_search_reads_again_inside_its_own_bins_alone() -> None:
    """Mutants: ``refines`` and ``_refines`` without each part of the comparison."""
    known = study()
    measurement = plan_of(known, "SELECT region, MEDIAN(age) FROM people GROUP BY region").measurement
    own = measurement.readings[0]
    assert measurement.refines(replace(own, by=(*own.by[:-1], own.by[-1])))
    others = plan_of(known, "SELECT PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY age) FROM people").readings
    lies: list[dict[str, Any]] = [
        {"measure": others[0].measure},
        {"by": own.by[1:]},
        {"coordinates": own.coordinates * 2},
        {"table": None},
        {"kept": (0,)},
    ]
    for lie in lies:
        assert not measurement.refines(replace(own, **lie))
    counts = plan_of(known, BY_REGION).measurement
    assert not counts.refines(counts.readings[0])
