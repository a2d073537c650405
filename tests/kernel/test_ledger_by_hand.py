"""A ledger whose rows somebody changed, past its own guards: what is found when it is opened, used and verified."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from adyton.errors import Forbidden, InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger import Header, MemoryLedger, Order
from adyton.kernel.ledger.links import Receipt, query_digest
from adyton.kernel.ledger.memory import MemoryStore
from adyton.kernel.ledger.stored import checking, tables
from adyton.kernel.ledger.stored.ledger import StoredLedger, owned
from adyton.kernel.ledger.stored.schema import SQLITE
from adyton.kernel.ledger.stored.sqlite import Appending, opened
from adyton.kernel.ledger.stored.store import Connection
from adyton.kernel.ledger.validity import FinalCost

HEADER = Header("study", "gdp", 1000, "salt")


def order(number: int, by: str | None = None, radius: int = 5) -> Order:
    return Order(f"q{number}", "{}", 7, radius, by=by)


def filled() -> MemoryLedger:
    ledger = MemoryLedger(HEADER)
    fill(ledger)
    return ledger


def fill(ledger: MemoryLedger) -> None:
    """Four receipts, two of them with answers and two with notes."""
    for number in range(1, 5):
        ledger.charge(order(number, "ana" if number == 2 else None))
    ledger.remember(1, "first", 3)
    ledger.remember(2, "second")
    for number, index in ((3, 0), (3, 1), (4, 0)):
        assert ledger.annotate(number, index, f"note {number} {index}")


def change(ledger: MemoryLedger, *statements: str) -> None:
    """As somebody who can write to the file."""
    with ledger.store.read() as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)


def opened_again(ledger: MemoryLedger) -> StoredLedger:
    tables._READ_BEFORE.clear()
    return StoredLedger(ledger.store)


OTHER = replace(HEADER, study="other")
CHANGES = [
    "UPDATE answers SET answer = 'third' WHERE number = 1",
    "UPDATE answers SET answer = 'third' WHERE number = 2",
    "UPDATE answers SET radius = '2' WHERE number = 1",
    "UPDATE answers SET level = '1' WHERE number = 1",
    "UPDATE answers SET radius = 'x' WHERE number = 1",
    "UPDATE answers SET content = 'x' WHERE number = 2",
    "UPDATE answers SET digest = 'x' WHERE number = 2",
    "DELETE FROM answers WHERE number = 1",
    "INSERT INTO unanswered VALUES (1, 'x')",
    "DELETE FROM unanswered WHERE number = 3",
    "DELETE FROM unanswered WHERE number = 4",
    "UPDATE notes SET text = 'changed' WHERE number = 3 AND place = 0",
    "UPDATE notes SET text = 'changed' WHERE number = 4",
    "UPDATE notes SET digest = 'x' WHERE number = 3 AND place = 1",
    "UPDATE notes SET place = 2 WHERE number = 3 AND place = 1",
    "DELETE FROM notes WHERE number = 3 AND place = 0",
    "UPDATE header SET study = 'other'",
    f"UPDATE header SET study = 'other', digest = '{OTHER.digest}'",
    "UPDATE header SET budget = 'x'",
    "UPDATE receipts SET kind = 'query' WHERE number = 2",
    "UPDATE receipts SET look_up = 'x' WHERE number = 2",
    "UPDATE receipts SET amount = '6' WHERE number = 2",
    "UPDATE receipts SET spent = '1' WHERE number = 3",
    "UPDATE receipts SET unproved = 1 WHERE number = 3",
    "UPDATE receipts SET name = 'ben' WHERE number = 2",
    "UPDATE receipts SET subject = '{}' WHERE number = 4",
    "UPDATE receipts SET digest = 'x' WHERE number = 4",
    "DELETE FROM receipts WHERE number = 2",
    "DELETE FROM receipts WHERE number = 4",
    "DELETE FROM receipts WHERE number = 1",
]


@pytest.mark.parametrize("statement", CHANGES)
def test_whatever_is_changed_is_found(statement: str) -> None:
    """Mutants: each comparison of what is stored, when a ledger is opened and when it is verified."""
    ledger = filled()
    assert opened_again(ledger).verify().receipts == 4
    with ledger.store.read() as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
    change(ledger, statement)
    for look in (lambda: opened_again(ledger), ledger.verify):
        tables._READ_BEFORE.clear()
        with pytest.raises(LedgerCorrupt):
            look()


@pytest.mark.parametrize("page", [1, 2])
def test_what_lies_before_the_checkpoint_is_for_verify(monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    """Mutants: another checkpoint; a page of answers that is left out."""
    for module in (tables, checking):
        monkeypatch.setattr(module, "CHECKPOINT", 2)
        monkeypatch.setattr(module, "PAGE", page, raising=False)
    for number in range(1, 8):
        changed = MemoryLedger(HEADER)
        for one in range(1, 8):
            changed.charge(order(one))
            changed.remember(one, f"answer {one}")
        assert opened_again(changed).verify().receipts == 7
        change(changed, f"UPDATE receipts SET spent = '1' WHERE number = {number}")
        seen = number == 1 or number >= 5  # of the header, the checkpoint and what follows it
        if seen:
            with pytest.raises(LedgerCorrupt):
                opened_again(changed)
        else:
            opened_again(changed)
        with pytest.raises(LedgerCorrupt):
            changed.verify()
        answers = MemoryLedger(HEADER)
        for one in range(1, 8):
            answers.charge(order(one))
            answers.remember(one, f"answer {one}")
        change(answers, f"UPDATE answers SET answer = 'x' WHERE number = {number}")
        with pytest.raises(LedgerCorrupt):
            answers.verify()
        if number >= 6:
            with pytest.raises(LedgerCorrupt):
                opened_again(answers)
        else:
            opened_again(answers)
    for statement in (
        "UPDATE header SET study = 'other'",
        f"UPDATE header SET study = 'other', digest = '{OTHER.digest}'",
    ):
        for receipts in (0, 3, 6):
            changed = MemoryLedger(HEADER)
            for one in range(receipts):
                changed.charge(order(one))
                assert changed.annotate(one + 1, 0, "note")
            assert opened_again(changed).count() == receipts
            change(changed, statement)
            if receipts or "digest" not in statement:
                with pytest.raises(LedgerCorrupt, match="header"):
                    opened_again(changed)
    late = MemoryLedger(HEADER)
    for one in range(1, 3):
        late.charge(order(one))
    other = beside(late)
    for one in range(3, 9):
        other.charge(order(one))
    assert late.totals().receipts == 8  # more than the checkpoint were written by others
    missing = MemoryLedger(HEADER)
    for one in range(1, 8):
        missing.charge(order(one))
    change(missing, "DELETE FROM unanswered WHERE number = 4", "DELETE FROM receipts WHERE number = 4")
    opened_again(missing)
    change(missing, "DELETE FROM unanswered WHERE number = 5", "DELETE FROM receipts WHERE number = 5")
    with pytest.raises(LedgerCorrupt):
        opened_again(missing)


def test_a_header_is_that_of_the_first_receipt() -> None:
    """Mutant: a header that is compared with itself alone."""
    ledger = filled()
    with ledger.store.read() as connection:
        assert tables.read_header(connection) == HEADER
    change(ledger, f"UPDATE header SET study = 'other', digest = '{OTHER.digest}'")
    with ledger.store.read() as connection, pytest.raises(LedgerCorrupt, match="header of the ledger was"):
        tables.read_header(connection)


def test_what_was_checked_and_did_not_change_is_not_checked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: what was written or read that is forgotten, or kept for good; a column that is read otherwise."""
    checked: list[int] = []
    usual = tables._checked_receipt

    def noted(row: Any) -> Receipt:
        checked.append(row[0])
        return usual(row)

    monkeypatch.setattr(tables, "_checked_receipt", noted)
    monkeypatch.setattr(tables, "_MOST_KEPT", 2)
    tables._READ_BEFORE.clear()
    ledger = MemoryLedger(HEADER)
    for number in (1, 2, 3):
        ledger.charge(order(number))
    checked.clear()
    for number, anew in ((3, []), (2, []), (1, [1]), (1, []), (2, [2]), (1, []), (2, [])):
        ledger.receipt(number)
        assert (checked, len(tables._READ_BEFORE)) == (anew, 2)
        checked.clear()
    written = ledger.charge(replace(order(4), unproved=True)).receipt
    checked.clear()
    tables._READ_BEFORE.clear()
    assert (ledger.receipt(4), checked, written.unproved) == (written, [4], 1)


def beside(ledger: MemoryLedger) -> MemoryLedger:
    """Another process with the same file."""
    other = object.__new__(MemoryLedger)
    other.__dict__.update(ledger.__dict__)
    return other


def test_what_others_wrote_is_checked_before_it_is_built_on() -> None:
    """Mutants: receipts of others that are believed, a ledger that was rolled back while it was in use."""
    ledger = filled()
    other = beside(ledger)
    for number in (5, 6):
        other.charge(order(number))
    assert (ledger.totals().receipts, ledger.totals().spent, ledger.head()) == (6, 42, other.head())
    for number in (7, 8):
        other.charge(order(number))
    change(ledger, "UPDATE receipts SET spent = '1' WHERE number = 7")
    tables._READ_BEFORE.clear()
    for use in (ledger.totals, lambda: ledger.charge(order(9)), ledger.head, ledger.mark):
        with pytest.raises(LedgerCorrupt):
            use()
    rolled = filled()
    change(
        rolled,
        "DELETE FROM notes WHERE number = 4",
        "DELETE FROM unanswered WHERE number = 4",
        "DELETE FROM receipts WHERE number = 4",
    )
    for use in (rolled.totals, lambda: rolled.charge(order(9)), rolled.head, rolled.verify):
        with pytest.raises(LedgerCorrupt, match="rolled back"):
            use()


def test_an_answer_is_found_by_what_was_asked() -> None:
    """Mutants: an index that is believed, a number that is not checked, an answer of nobody."""
    ledger = filled()
    assert ledger.repeated("q1", "{}", 7)[1] == "first"  # type: ignore[index]
    assert [
        ledger.repeated("q3", "{}", 7),
        ledger.repeated("q9", "{}", 7),
        ledger.unanswered("q1", "{}", 7),
    ] == [None] * 3
    assert ledger.unanswered("q3", "{}", 7).number == 3  # type: ignore[union-attr]
    assert (ledger.spent_by(None), ledger.spent_by("ana"), ledger.spent_by("ben")) == (21, 7, 0)
    assert (ledger.final_cost(1), ledger.final_cost(2), ledger.final_cost(3)) == (
        FinalCost(3),
        FinalCost(5),
        FinalCost(5),
    )
    assert (ledger.recall(1), ledger.recall(3), ledger.recall(9), ledger.notes(9)) == (
        "first",
        None,
        None,
        [],
    )
    assert (ledger.notes(3), ledger.notes(3, 1)) == (["note 3 0", "note 3 1"], ["note 3 1"])
    assert [r.number for r in ledger.find(after=0)] == [4, 3, 2, 1] == [r.number for r in ledger.find()]
    for bad in (
        lambda: ledger.recall(0),
        lambda: ledger.notes(0),
        lambda: ledger.notes(1, -1),
        lambda: ledger.receipt(0),
        lambda: ledger.final_cost(0),
    ):
        with pytest.raises(InvalidRequest, match="whole number"):
            bad()
    for unpaid in (
        lambda: ledger.final_cost(9),
        lambda: ledger.remember(9, "x"),
        lambda: ledger.annotate(9, 0, "x"),
    ):
        with pytest.raises(InvalidRequest, match="no receipt 9"):
            unpaid()
    assert ledger.remember(1, "another", 4) == "first"
    restored = MemoryLedger(HEADER)
    of_copy = restored.restore(replace(ledger.mark(), spent=90))
    found = restored.unanswered(of_copy.order.query, of_copy.order.detail, of_copy.order.amount)
    assert found == of_copy
    change(ledger, f"INSERT INTO unanswered VALUES (1, '{query_digest('q1', '{}', 7)}')")
    assert ledger.unanswered("q1", "{}", 7) is None
    lost = query_digest("q8", "{}", 7)
    change(
        ledger,
        f"UPDATE answers SET query = '{lost}' WHERE number = 1",
        f"UPDATE unanswered SET query = '{lost}' WHERE number = 3",
    )
    for look in (ledger.repeated, ledger.unanswered):
        with pytest.raises(LedgerCorrupt, match="filed under another query"):
            look("q8", "{}", 7)
    change(ledger, "DELETE FROM unanswered WHERE number = 4")
    with pytest.raises(LedgerCorrupt, match="was removed"):
        ledger.remember(4, "x")


class NotingStore(MemoryStore):
    """Counts what it is asked for."""

    alone = closed = 0
    damaged = False
    moments = 0

    def read(self, *, one_moment: bool = False) -> AbstractContextManager[Appending]:
        self.moments += one_moment
        return super().read(one_moment=one_moment)

    def lock(self) -> AbstractContextManager[Appending]:
        self.alone += 1
        return super().lock()

    def check(self, connection: Connection) -> None:
        super().check(connection)
        if self.damaged:
            raise LedgerCorrupt("damaged")

    def close(self) -> None:
        self.closed += 1


class Noting(MemoryLedger):
    store: NotingStore

    def __init__(self, header: Header) -> None:
        StoredLedger.__init__(self, NotingStore(header))


def test_a_ledger_that_was_closed_for_good_takes_nothing() -> None:
    """Mutants: each refusal left out, a second closing that says something, a mark that does not."""
    ledger, said = Noting(HEADER), list[Receipt | None]()
    fill(ledger)

    def say(last: Receipt | None) -> str:
        said.append(last)
        return "amended"

    ledger.carried_out("too early")
    assert (ledger.closing(), ledger.mark().closed) == ([], False)
    assert ledger.close_for_good(say) == ["amended"] == ledger.close_for_good(say)
    assert [one and one.number for one in said] == [4]
    late: tuple[Callable[[], Any], ...] = (
        lambda: ledger.charge(order(9)), lambda: ledger.remember(3, "x"), lambda: ledger.annotate(3, 2, "x"),
        lambda: ledger.restore(replace(ledger.mark(), receipts=9)),
    )  # fmt: skip
    for use in late:
        with pytest.raises(Forbidden, match="amended"):
            use()
    for _ in range(2):
        ledger.carried_out("carried")
    assert ledger.closing() == ["amended", "carried"]
    assert (ledger.mark().closed, ledger.remember(1, "x"), ledger.verify().receipts) == (True, "first", 4)
    with ledger.store.read() as connection:
        assert [n for (n,) in connection.execute("SELECT number FROM closed ORDER BY number")] == [1, 2]
    before = ledger.store.alone
    ledger.mark()
    assert ledger.store.alone == before
    ledger.mark(lambda mark, look: None)
    assert ledger.store.alone == before + 1
    ledger.store.damaged = True
    with pytest.raises(LedgerCorrupt, match="damaged"):
        ledger.verify()
    kept: list[int] = []
    mark = ledger.mark(lambda mark, look: kept.append(look(2).number))  # type: ignore[union-attr,arg-type]
    assert (kept, mark.receipts, mark.answers, mark.notes) == ([2], 4, 2, 3)
    empty = MemoryLedger(HEADER).mark()
    assert (empty.receipts, empty.answers, empty.notes, empty.head) == (0, 0, 0, HEADER.digest)
    copy = MemoryLedger(HEADER)
    restored = copy.restore(replace(empty, receipts=3, spent=30))
    assert (copy.count(), copy._seen) == (4, restored)


def test_what_is_compared_is_of_one_moment() -> None:
    """Between two looks others may charge.  Mutants: looks of two moments."""
    ledger, other = Noting(HEADER), Noting(HEADER)
    fill(ledger)
    for look, moments in (
        (lambda: StoredLedger(ledger.store), 1),
        (ledger.mark, 1),
        (ledger.head, 1),
        (ledger.totals, 0),
        (lambda: ledger.recall(1), 0),
    ):
        before = ledger.store.moments
        look()  # type: ignore[no-untyped-call]
        assert ledger.store.moments == before + moments
    other.store, before = ledger.store, ledger.store.moments
    assert (other.totals().receipts, ledger.store.moments) == (4, before + 1)  # it had seen none of them


def test_a_ledger_of_another_study_is_closed_and_not_used() -> None:
    """Mutants: a difference that is not said, one too many that is; a ledger that stays open."""
    facts = {f"fact {k}": f"{k}" for k in range(9)}

    def refused(ours: Header, known: dict[str, str] | None, stored: object = None) -> str:
        ledger = Noting(HEADER)
        if stored is not None:
            change(
                ledger,
                f"INSERT INTO facts VALUES (1, '{stored if isinstance(stored, str) else json.dumps(stored)}')",
            )
        with pytest.raises(InvalidRequest) as found:
            owned(ledger, ours, known)
        assert ledger.store.closed == 1
        return str(found.value)

    with opened(":memory:") as connection:
        connection.executescript(SQLITE)
        tables.write_header(connection, HEADER, facts)
        assert (tables.read_header(connection), checking.stored_facts(connection)) == (HEADER, facts)
    ledger = Noting(HEADER)
    assert (owned(ledger, replace(HEADER, salt="x"), None), ledger.store.closed) == (ledger, 0)
    both = refused(replace(HEADER, accounting="pure", budget=999), None)
    assert "accounting gdp, not pure and for budget 0.000000000000001, not 0.000000000000000999" in both
    unknown = "it does not know which"
    assert unknown in refused(OTHER, facts)
    assert unknown in refused(OTHER, None, facts)
    assert unknown in refused(OTHER, facts, facts)
    for damaged in ("{", "[1]"):
        assert unknown in refused(OTHER, facts, damaged)
    for number, more in ((1, ""), (5, ""), (6, "; and 1 more"), (8, "; and 3 more")):
        changed = {**facts, **{f"fact {k}": "new" for k in range(number)}}
        named = "; ".join(f"fact {k}: {k} in the ledger, new here" for k in range(min(number, 5)))
        assert f"({named}{more})" in refused(OTHER, changed, facts)
    assert "(fact 8: 8 in the ledger, nothing here)" in refused(
        OTHER, {k: v for k, v in facts.items() if k != "fact 8"}, facts
    )
