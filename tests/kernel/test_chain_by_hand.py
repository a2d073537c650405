"""The links of the ledger's chain, worked out by hand: digests, totals, caps, budgets, borders of every check."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from adyton.errors import BudgetRefused, Forbidden, InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger import MemoryLedger, base, links, marks, texts, validity
from adyton.kernel.ledger.links import Cap, Header, Order, Receipt
from adyton.kernel.ledger.replaying import replay, replay_open
from adyton.kernel.ledger.stored.restoring import restoring_order
from adyton.kernel.ledger.subjects import ReceiptSubject, subject_from
from adyton.kernel.ledger.validity import FinalCost, ValidityRecord
from adyton.refusals import refusal_of
from refusing import refused

HEADER = Header("study", "gdp", 100, "salt")
HEAD = "ab" * 32
LARGEST = 10**100


def order(amount: int = 7, radius: int = 5, **more: Any) -> Order:
    return Order("count", "{}", amount, radius, **more)


def after(
    last: Receipt | None,
    wanted: Order,
    final: FinalCost | None = None,
    of_name: Receipt | None = None,
    header: Header = HEADER,
) -> Receipt:
    full = FinalCost(last.order.radius if last else 0)
    return base.next_receipt(
        header, last, wanted, "then", final=final or full, last_of_name=of_name, secret="secret"
    )


def chain(*orders: Order, header: Header = HEADER) -> list[Receipt]:
    made: list[Receipt] = []
    for one in orders:
        own = next((r for r in reversed(made) if r.order.by == one.by), None)
        made.append(after(made[-1] if made else None, one, None, own, header))
    return made


# What may stand in an order --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (lambda v: texts.check_amount(v, "it", 0), (0, 1, LARGEST), (-1, LARGEST + 1, True, 1.0, "1", None)),
        (lambda v: texts.check_amount(v, "it", 1), (1, 2), (0, -1)),
        (texts.check_number, (1, 2, 2**63 - 1), (0, -1, 2**63, True, 1.0)),
        (texts.check_index, (0, 1, 2**63 - 1), (-1, 2**63, False, 0.0)),
        (texts.check_head, (None, HEAD), (HEAD[1:], HEAD + "a", HEAD.upper(), 7, "")),
        (texts.check_name, (None, "a", "a" * 200), ("", "a" * 201, "a\n", 7, b"a")),
        (lambda v: texts.check_text(v, "it"), ("", "\u00e9", "\n"), ("\0", "a\0", "\ud800", None, 7, b"a")),
        (lambda v: order(amount=v), (1, LARGEST), (0, LARGEST + 1, True)),
        (lambda v: order(radius=v), (0, LARGEST), (-1, LARGEST + 1)),
        (lambda v: order(pure=v), (0, LARGEST), (-1, LARGEST + 1)),
        (lambda v: order(budget_share=v), (None, 0, LARGEST), (-1, LARGEST + 1)),
        (lambda v: order(unproved=v), (True, False), (0, 1, None)),
        (lambda v: order(by=v), (None, "ana"), ("", "a" * 201)),
        (lambda v: order(request=v), (None, "r"), ("", "a" * 201)),
        (lambda v: order(subject=v), (ReceiptSubject("note"),), ("note", None)),
        (lambda v: order(validity=v), (ValidityRecord(),), (None, {})),
        (lambda v: Order(v, "{}", 1, 0), ("", "q"), ("\0", None)),
        (lambda v: Order("q", v, 1, 0), ("", "d"), ("\0", None)),
        (lambda v: order(radius=5, validity=ValidityRecord(((1, v),))), (0, 4, 5), (6, -1)),
        (lambda v: Cap(radius=v), (None, 0, LARGEST), (-1, LARGEST + 1)),
        (lambda v: Cap(queries=v), (None, 0, LARGEST), (-1, LARGEST + 1)),
        (lambda v: Header("s", "gdp", v, ""), (1, LARGEST), (0, -1, LARGEST + 1)),
        (lambda v: Header("s", v, 1, ""), ("gdp", "zcdp", "pure"), ("", "laplace")),
        (lambda v: Header(v, "gdp", 1, ""), ("", "s"), (None, "\0")),
        (lambda v: Header("s", "gdp", 1, v), ("", "s"), (None, "\0")),
        (lambda v: ValidityRecord(((v, 1),)), (1, 2**63 - 1), (0, 2**63, True)),
        (lambda v: ValidityRecord(coded_nats=v), (0, LARGEST), (-1, LARGEST + 1)),
        (lambda v: ValidityRecord(units=v), (None, 0, 2**63 - 1), (-1, 2**63)),
        (lambda v: ValidityRecord(law=v), (1, 2), (0, 2**63)),
        (lambda v: ValidityRecord(blocks=v), (None, (0, 0), (0, 3), (3, 3)), ((-1, 0), (3, 2))),
        (lambda v: FinalCost.checked(v, 0, 5), (None, 0, 4, 5), (-1, 6, True)),
        (lambda v: FinalCost.checked(3, v, 5), (0, LARGEST), (-1, LARGEST + 1)),
    ],
)  # fmt: skip
def test_each_border_of_an_order_is_where_it_is(
    check: Callable[[Any], object], good: tuple[Any, ...], bad: tuple[Any, ...]
) -> None:
    """Mutants: every check removed, and every border moved by one."""
    assert [refused(lambda value=value: check(value)) for value in good] == [False] * len(good)
    assert [refused(lambda value=value: check(value)) for value in bad] == [True] * len(bad)


def test_the_facts_of_a_receipt_are_those_of_its_kind() -> None:
    """Mutants: each condition of a subject left out or turned round."""
    ledgers: dict[str, Any] = {"receipts": 1, "head": "h"}
    queries = ("query", "batch", "workload", "choice", "marginals", "pmw")
    for kind in sorted(set(ReceiptSubject.__init__.__globals__["KINDS"])):
        plain = kind not in ("carried", "restored")
        assert refused(lambda kind=kind: ReceiptSubject(kind)) != plain
        assert refused(lambda kind=kind: ReceiptSubject(kind, **ledgers)) == plain
        assert refused(lambda kind=kind: ReceiptSubject(kind, began="b", **ledgers)) == (kind != "carried")
        for facts in ({"texts": ("q",)}, {"table": "t"}, {"measures": ("Count",)}):
            assert refused(lambda kind=kind, facts=facts: ReceiptSubject(kind, **facts)) == (
                kind not in queries
            )
        assert refused(lambda kind=kind: ReceiptSubject(kind, receipts=1))
        assert refused(lambda kind=kind: ReceiptSubject(kind, head="h"))
        counts_all = refused(lambda kind=kind: ReceiptSubject(kind, table="t", counts_all=True))
        assert counts_all == (kind != "query")
    wrong: tuple[dict[str, Any], ...] = (
        {"receipts": 0, "head": "h"},
        {"receipts": -1, "head": "h"},
        {"receipts": 2**63, "head": "h"},
        {"receipts": True, "head": "h"},
        {"receipts": 1},
        {"receipts": 1, "began": "b"},
        {"head": "h"},
        {"receipts": 1, "head": "\0"},
        {"receipts": 1, "head": "h", "began": "\0"},
        {"receipts": 1, "head": "h", "table": "t"},
    )
    assert all(refused(lambda facts=facts: ReceiptSubject("carried", **facts)) for facts in wrong)
    assert refused(lambda: ReceiptSubject("stream"))  # type: ignore[arg-type]
    assert ReceiptSubject("restored", receipts=2**63 - 1, head="h").receipts == 2**63 - 1
    for facts in ({"counts_all": True}, {"counts_all": 1, "table": "t"}, {"texts": ("\0",)}, {"table": "\0"}):
        assert refused(lambda facts=facts: ReceiptSubject("query", **facts))  # type: ignore[arg-type]
    assert refused(lambda: ReceiptSubject("query", measures=("\0",)))
    keys = [
        ReceiptSubject("query", (), "t", ("Count",), counts_all=True).key,
        ReceiptSubject("query", (), "t", ("Count", "Variance")).key,
        ReceiptSubject("query", (), "t", ("Count", "Mean")).key,
        ReceiptSubject("query", (), None, ("Count",)).key,
    ]
    assert keys == ["all units of t", "spread", "Count, Mean of t", None]
    known = ReceiptSubject("query", ("q", "r"), "\u00e9", ("Count",))
    assert known.text == '{"kind":"query","texts":["q","r"],"table":"\u00e9","measures":["Count"]}'
    assert subject_from(known.text) == known
    for text in (known.text.replace(":", ": ", 1), known.text.replace('"texts":["q","r"]', '"texts":[]')):
        with pytest.raises(ValueError, match="written down"):
            subject_from(text)


def test_a_record_for_validity_is_read_as_it_was_written() -> None:
    """Mutants: another part, another separator, a record that is not compared with its text."""
    record = ValidityRecord(((3, 10**30), (1, 0)), 12, 400, 2, (5, 9))
    expected = (
        '{"gaussian":[[3,"1000000000000"],[1,"0"]],"coded_nats":"0.000000000000000012",'
        '"units":400,"law":2,"blocks":[5,9]}'
    )
    assert record.text == expected
    assert validity.validity_from(expected) == record
    assert record.linear_radius(10**30 + 9) == 9
    assert ValidityRecord((), 0, None, 1, None) == validity.NOTHING_KNOWN
    assert validity.validity_from(validity.NOTHING_KNOWN.text).blocks is None
    for text in (expected.replace("[5,9]", "[5,9,9]"), expected.replace(":2,", ": 2,"), "{}", "[]"):
        with pytest.raises((ValueError, TypeError, KeyError)):
            validity.validity_from(text)
    assert FinalCost.checked(None, 9, 5) == FinalCost.checked(5, 9, 5) == (5, 0) == FinalCost(5)
    assert FinalCost.checked(4, 9, 5) == (4, 9)


# Digests ---------------------------------------------------------------------------------------------------


def digest(kind: str, *fields: object) -> str:
    return hashlib.sha256(json.dumps(["adyton", 1, kind, *fields]).encode()).hexdigest()


def test_every_fact_of_a_receipt_is_in_its_digest() -> None:
    """Mutants: a fact left out, two exchanged, another format."""
    share = order(by="ana", request="r", budget_share=50, pure=3, unproved=True)
    first, second = chain(order(), share)
    assert HEADER.digest == digest("header", "study", "gdp", 100, "salt") == first.previous
    assert (HEADER.open.accounting, HEADER.open.budget, HEADER.open.digest) == ("gdp", 100, HEADER.digest)
    subject, record = share.subject.text, share.validity.text
    sealed = digest("sealed", "secret", "ana", 7, 50, subject, "count", "{}", "r")
    opened = (2, 7, 5, 3, 1, record, 5, 0, 14, 10, 3, "then", first.digest, sealed)
    assert second.digest == digest("receipt", *opened)
    assert second.sealed == second.open.sealed == sealed
    final = FinalCost(4, 2)
    assert links.answer_digest(second, final, "content") == digest("answer", second.digest, 4, 2, "content")
    assert links.note_digest(second, 3, "text") == digest("note", second.digest, 3, "text")
    assert links.key_of(share) == links.query_digest("count", "{}", 7) == digest("query", "count", "{}", 7)
    for length in (0, 1, 2**16 - 1, 2**16, 2**16 + 1, 2**17 + 5):
        text = ("\u00e9xyz" * (length // 4 + 1))[:length]
        assert links.text_digest(text) == hashlib.sha256(text.encode()).hexdigest()
    one, other = links.fresh_secret(), links.fresh_secret()
    assert (len(one), one != other, len(Header.fresh("s", "gdp", 1).salt)) == (32, True, 32)
    assert (order().texts, order(subject=ReceiptSubject("batch", ("a", "b"))).texts) == (
        ("count",),
        ("a", "b"),
    )


# The next receipt ------------------------------------------------------------------------------------------


def test_the_totals_of_a_receipt_are_sums() -> None:
    """Mutants: a sign, a total that is not taken over, a final radius that is not put in its place."""
    first = after(None, order(10, 8, pure=2, unproved=True, by="ana", budget_share=30))
    assert (first.number, first.spent, first.spent_radius, first.spent_pure) == (1, 10, 8, 2)
    assert (first.unproved, first.spent_by, first.budget_share) == (1, 10, 30)
    assert (first.final_radius, first.final_level, first.asked_at, first.secret) == (0, 0, "then", "secret")
    assert first.order == order(10, 8, pure=2, unproved=True, by="ana")
    assert (first.order.cap, first.order.budget_share) == (None, None)
    second = after(first, order(20, 4, pure=5), FinalCost(3, 2))
    assert (second.number, second.spent, second.spent_radius, second.spent_pure) == (2, 30, 7, 7)
    assert (second.unproved, second.spent_by, second.final_radius, second.final_level) == (1, 20, 3, 2)
    assert second.previous == first.digest
    third = after(second, order(1, 0, by="ana"), FinalCost(4), first)
    assert (third.spent_by, third.spent_radius, third.spent, third.unproved) == (11, 7, 31, 1)
    assert base.totals_after(second, FinalCost(1)) == base.Totals(2, 30, 4, 7, 1)
    assert base.totals_after(None, FinalCost(0)) == base.Totals(0, 0, 0, 0, 0) == base.Totals()


def test_a_receipt_goes_on_where_a_ledger_ended() -> None:
    """Mutants: another number, a carried receipt in the middle, a loss that is none."""
    (carried,) = chain(order(subject=ReceiptSubject("carried", receipts=41, head="h")))
    assert carried.number == 42
    first, second = chain(order(), order())
    lost = order(subject=ReceiptSubject("restored", receipts=9, head="h"))
    assert after(second, lost).number == 10
    assert after(second, replace(lost, subject=ReceiptSubject("restored", receipts=2, head="h"))).number == 3
    for wrong in (
        order(subject=ReceiptSubject("carried", receipts=41, head="h")),
        order(subject=ReceiptSubject("restored", receipts=1, head="h")),
    ):
        with pytest.raises(InvalidRequest):
            after(second, wrong)
    for last, final in ((first, FinalCost(6)), (first, FinalCost(-1)), (None, FinalCost(1))):
        with pytest.raises(LedgerCorrupt, match="larger final radius"):
            after(last, order(), final)
    with pytest.raises(LedgerCorrupt, match="another name"):
        after(first, order(by="ana"), None, first)


def facts_of(work: Callable[[], object]) -> tuple[Any, ...]:
    with pytest.raises(BudgetRefused) as found:
        work()
    told = refusal_of(found.value)
    assert told is not None
    return told.whose, told.by, told.requested, told.spent, told.budget, told.largest


def units(number: int) -> str:
    """In units of 10**-18."""
    return f"0.{number:018d}".rstrip("0").rstrip(".")


def test_a_budget_a_share_and_a_cap_are_kept_to_the_unit() -> None:
    """Mutants: a border moved by one, another total, another largest amount."""
    (first,) = chain(order(60, 5, by="ana"))
    assert after(first, order(40, 5)).spent == 100
    assert facts_of(lambda: after(first, order(41))) == ("study", None, *map(units, (41, 60, 100, 40)))
    share = order(11, 0, by="ana", budget_share=70)
    assert after(first, replace(share, amount=10), None, first).spent_by == 70
    found = facts_of(lambda: after(first, share, None, first))
    assert found == ("analyst", "ana", *map(units, (11, 60, 70, 10)))
    found = facts_of(lambda: after(first, replace(share, budget_share=50), None, first))
    assert found[-1] == units(0)
    wide = replace(HEADER, budget=75)
    (first,) = chain(order(60, 5, by="ana"), header=wide)
    other = order(15, 0, by="ben", budget_share=14)
    assert facts_of(lambda: after(first, other, header=wide)) == (
        "analyst",
        "ben",
        *map(units, (15, 0, 14, 14)),
    )
    nobody = facts_of(lambda: after(first, replace(other, by=None), header=wide))
    assert nobody[:2] == ("analyst", "nobody named")
    capped = order(1, 7, cap=Cap(radius=12))
    assert after(first, capped, header=wide).spent_radius == 12
    found = facts_of(lambda: after(first, replace(capped, radius=8), header=wide))
    assert found == ("plan", None, *map(units, (8, 5, 12, 7)))
    found = facts_of(lambda: after(first, replace(capped, radius=8, cap=Cap(radius=3)), header=wide))
    assert found[-1] == units(0)
    assert after(first, order(1, 7, cap=Cap(queries=2)), header=wide).number == 2
    found = facts_of(lambda: after(first, order(1, 7, cap=Cap(queries=1)), header=wide))
    assert found == ("plan", None, "1", "1", "1", "0")
    assert after(first, order(1, 7, cap=Cap()), header=wide).number == 2
    base.check_first(HEADER, order(100))
    with pytest.raises(BudgetRefused):
        base.check_first(HEADER, order(101))


def test_small_rules_of_a_ledger() -> None:
    """Mutants: a border of notes, of budgets that differ by a rounding, of requests that are used again."""
    (first,) = chain(order(request="r"))
    assert base.charged_before(first, order(request="r", budget_share=9, cap=Cap(1))).fresh is False
    with pytest.raises(InvalidRequest, match="already used"):
        base.charged_before(first, order(8, request="r"))
    assert [base.is_next_note(first, index, 2) for index in (0, 1, 2)] == [False, False, True]
    with pytest.raises(LedgerCorrupt):
        base.is_next_note(first, 3, 2)
    million = 10**12
    assert [base.same_budget(million + off, million) for off in (0, 10**6, -(10**6), 10**6 + 1, -(10**6) - 1)] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_gaussian_numbers_have_no_larger_radius_than_their_charge() -> None:
    """Mutants: another border, or none."""
    for radius, numbers in ((5, ((1, 5),)), (5, ((1, 2), (3, 3)))):
        assert order(7, radius, validity=ValidityRecord(numbers)).linear_radius == 0
        with pytest.raises(InvalidRequest, match="larger radius"):
            order(7, radius - 1, validity=ValidityRecord(numbers))


# Ledgers in front of others --------------------------------------------------------------------------------


class Shared(base.InFront, base.WithSharedBudget):
    """A ledger whose shared budget counts in numbers of its own."""

    closed = began_shared_budget = False

    def counted(self, receipt: Receipt) -> Receipt:
        return replace(receipt, number=receipt.number + 10)

    def counted_totals(self) -> base.Totals:
        return base.Totals(50)

    def all_counted(self) -> Iterator[Receipt]:
        return map(self.counted, self.receipts())

    def place(self, number: int | None) -> int:
        return 100 + (number or 0)

    def left_in_shared_budget(self, receipt: Receipt | None) -> int:
        return 3 if receipt is None else 2

    def close(self) -> None:
        self.closed = True


def test_validity_goes_by_a_shared_budget_where_there_is_one() -> None:
    """Mutants: the other ledger's number, total, place or rest."""
    ledger = MemoryLedger(HEADER)
    first = ledger.charge(order()).receipt
    shared = Shared(ledger)
    front = base.InFront(shared)
    assert [base.with_shared_budget(one) for one in (ledger, base.InFront(ledger), front)] == [
        None,
        None,
        shared,
    ]
    assert [base.counted(one, first).number for one in (ledger, front)] == [1, 11]
    assert [base.counted_number(one, number) for one in (ledger, front) for number in (1, 9)] == [1, 9, 11, 9]
    assert [base.counted_totals(one).receipts for one in (ledger, front)] == [1, 50]
    assert [[r.number for r in base.all_counted(one)] for one in (ledger, front)] == [[1], [11]]
    assert [base.place_of(one, 1) for one in (ledger, front)] == [1, 101]
    assert [base.next_place(one) for one in (ledger, front)] == [2, 100]
    assert [base.least_left(one, left) for one in (ledger, front) for left in (5, 1)] == [5, 1, 3, 1]
    assert [base.least_left(one, 5, first) for one in (ledger, front)] == [5, 2]
    front.close()
    assert shared.closed


def test_what_stands_in_front_asks_what_is_behind() -> None:
    """Mutants: another default on the way."""
    ledger = MemoryLedger(HEADER)
    front = base.InFront(ledger)
    first = front.charge(order()).receipt
    assert (front.annotate(1, 0, "a"), front.notes(1), front.notes(1, 1)) == (True, ["a"], [])
    assert (front.remember(1, "x", 3), front.final_cost(1), front.recall(1)) == ("x", FinalCost(3), "x")
    assert front.find() == [first] == front.find("note") == list(front.receipts())
    assert (front.find(after=1), front.find(below=1), front.find(most=0)) == ([], [], [])
    assert (front.left(7), front.spent(), front.spent_radius(), front.spent_by(None)) == (93, 7, 3, 7)
    assert (front.name, front.most_at_once, front.charges_left()) == (None, None, None)
    assert not base.Mark("a", 0, "a", 0, 0, 0, 0, 0, 0).closed


# Marks and copies ------------------------------------------------------------------------------------------


def test_a_mark_says_how_far_a_ledger_is() -> None:
    """Mutants: another field, a mark that is behind in one thing alone."""
    _, second = chain(order(10, 8, pure=2, unproved=True), order(20, 4, pure=5))
    none = marks.mark_of(HEADER, None, 0, 0)
    assert none == base.Mark(HEADER.digest, 0, HEADER.digest, 0, 0, 0, 0, 0, 0, False)
    mark = marks.mark_of(HEADER, second, 1, 3, closed=True)
    assert mark == base.Mark(HEADER.digest, 2, second.digest, 1, 3, 30, 12, 7, 1, True)
    told = {"receipts": 2, "answers": 1, "notes": 3, "head": second.digest, "spent": units(30)}
    assert (marks.mark_told(None), marks.mark_told(mark)) == (None, told)
    for moved in itertools.product((-1, 0, 1), repeat=3):
        names = ("receipts", "answers", "notes")
        kept = replace(mark, **{n: getattr(mark, n) + by for n, by in zip(names, moved, strict=True)})
        assert marks.is_behind(mark, kept) == (1 in moved)


def test_what_was_lost_becomes_one_receipt() -> None:
    """Mutants: another difference, less than nothing, a copy that is not behind."""
    mark = base.Mark(HEADER.digest, 2, HEAD, 2, 0, 30, 12, 7, 1)
    kept = replace(mark, receipts=5, spent=41, spent_radius=20, spent_pure=9, unproved=2)
    found = restoring_order(HEADER, kept, mark, base.Totals(2, 30, 12, 7, 1))
    assert (found.amount, found.radius, found.pure, found.unproved) == (11, 8, 2, True)
    assert found.subject == ReceiptSubject("restored", receipts=5, head=HEAD)
    assert json.loads(found.detail) == {"receipts": 5}
    further = restoring_order(HEADER, replace(mark, answers=3), mark, base.Totals(2, 31, 13, 8, 1))
    assert (further.amount, further.radius, further.pure, further.unproved) == (1, 0, 0, False)
    assert further.subject.receipts == 2
    later = restoring_order(HEADER, replace(mark, receipts=1, notes=1), mark, base.Totals(2, 30, 12, 7, 1))
    assert later.subject.receipts == 2
    for wrong in (replace(kept, ledger=HEAD), replace(kept, closed=True), mark):
        with pytest.raises(InvalidRequest):
            restoring_order(HEADER, wrong, mark, base.Totals(2, 30, 12, 7, 1))


def test_a_copy_goes_on_after_all_that_was_lost() -> None:
    """Mutants: a number that is used again, what was open before and is answered again."""
    whole, copy = MemoryLedger(HEADER), MemoryLedger(HEADER)
    for _ in range(3):
        whole.charge(order())
    copy.charge(order())
    whole.remember(2, "x")
    receipt = copy.restore(whole.mark())
    assert (receipt.number, receipt.spent, copy.mark().answers, copy.mark().receipts) == (4, 21, 0, 4)
    for late in (lambda: copy.remember(1, "y"), lambda: copy.annotate(1, 0, "y")):
        with pytest.raises(Forbidden):
            late()
    assert copy.unanswered("count", "{}", 7) is None
    assert copy.annotate(4, 0, "z")
    assert copy.remember(4, "z") == "z"
    assert copy.charge(order()).receipt.number == 5
    assert copy.unanswered("count", "{}", 7).number == 5  # type: ignore[union-attr]
    again = copy.restore(replace(whole.mark(), receipts=7, head=HEAD, spent=60))
    assert (again.number, again.spent, copy.mark().answers) == (8, 60, 1)
    assert copy.unanswered("count", "{}", 7) is None
    assert copy.verify().receipts == 8
    with copy.store.read() as connection:
        assert connection.execute("SELECT number, skipped FROM restored").fetchall() == [(4, 2), (8, 2)]
        for change in (
            "DELETE FROM restored",
            "UPDATE restored SET skipped = 0",
            "REPLACE INTO restored VALUES (4, 0)",
        ):
            with pytest.raises(sqlite3.Error, match="append only"):
                connection.execute(change)


# Replaying -------------------------------------------------------------------------------------------------


def test_a_chain_is_replayed_from_any_link() -> None:
    """Mutants: a head that is never compared, a total or a name that is not looked up."""
    made = chain(order(), order(by="ana"), order(3, 2), order(by="ana"))
    full = {receipt.number: FinalCost(receipt.order.radius) for receipt in made}
    heads = [HEADER.digest, *(receipt.digest for receipt in made)]
    for head in (None, *heads):
        found = replay(HEADER, made, head, final=full.get)
        assert (found.receipts, found.head, found.spent) == (4, heads[-1], 24)
    with pytest.raises(LedgerCorrupt, match="expected head"):
        replay(HEADER, made, HEAD, final=full.get)
    none = replay(HEADER, [], None, final=full.get)
    assert (none.receipts, none.head, none.spent) == (0, HEADER.digest, 0)
    names = {None: made[0], "ana": made[1]}
    again = replay(
        HEADER, made[2:], made[1].digest, made[1], final=full.get, of_name={None: made[0], **names}.get
    )
    assert (again.receipts, again.spent) == (4, 24)
    with pytest.raises(LedgerCorrupt):
        replay(HEADER, made[2:], made[0].digest, made[1], final=full.get, of_name=names.get)
    for wrong in (HEAD[1:], HEAD.upper()):
        with pytest.raises(InvalidRequest):
            replay(HEADER, made, wrong, final=full.get)
        with pytest.raises(InvalidRequest):
            replay_open(HEADER, [receipt.open for receipt in made], wrong)
    with pytest.raises(LedgerCorrupt):
        replay(HEADER, made[1:], None, final=full.get)
    with pytest.raises(LedgerCorrupt):
        replay(HEADER, [made[0], made[0]], None, final=full.get)


def test_a_final_cost_is_that_of_an_answer() -> None:
    """Mutants: a cost that is not compared, the full one refused."""
    first = after(None, order(10, 8))
    second = after(first, order(1, 0), FinalCost(3, 2), first)
    for stored, good in (
        (FinalCost(3, 2), True),
        (FinalCost(3, 1), False),
        (FinalCost(8), False),
        (None, False),
    ):
        if good:
            assert replay(HEADER, [first, second], None, final=lambda _, s=stored: s).spent == 11
        else:
            with pytest.raises(LedgerCorrupt):
                replay(HEADER, [first, second], None, final=lambda _, s=stored: s)
    in_full = after(first, order(1, 0), None, first)
    assert replay(HEADER, [first, in_full], None, final=lambda _: FinalCost(3, 2)).spent == 11


WRONG: tuple[dict[str, Any], ...] = (
    {"amount": 0}, {"amount": 7.0}, {"radius": -1}, {"pure": -1}, {"final_radius": -1}, {"final_level": -1},
    {"number": 0}, {"number": 1}, {"spent": 101}, {"spent": 13}, {"spent_radius": 9}, {"spent_pure": 4},
    {"previous": HEAD}, {"unproved": 3}, {"unproved": 0}, {"final_radius": 6}, {"final_radius": 4},
    {"final_radius": 5, "final_level": 1}, {"validity": ValidityRecord(((1, 6),))},
)  # fmt: skip


def test_whoever_sees_open_links_alone_replays_them_too() -> None:
    """Mutants: each total of a link, each of its borders, each check of the own receipts."""
    ana = order(by="ana", budget_share=20, pure=3)
    first, second, third = made = chain(order(unproved=True), ana, ana)
    opened = [receipt.open for receipt in made]
    found = replay_open(HEADER.open, opened, None, [second, third])
    assert (found.receipts, found.head, found.spent) == (3, third.digest, 21)
    assert (
        replay_open(HEADER, opened, HEADER.digest).spent
        == replay_open(HEADER, opened, first.digest).spent
        == 21
    )
    none = replay_open(HEADER, [])
    assert (none.receipts, none.head, none.spent) == (0, HEADER.digest, 0)
    for facts in WRONG:
        with pytest.raises(LedgerCorrupt):
            replay_open(HEADER, [opened[0], replace(opened[1], **facts)])
    for facts in (
        {"amount": 0, "spent": 0}, {"pure": -1, "spent_pure": -1}, {"number": 0}, {"final_level": 1},
        {"final_radius": 1},
    ):  # fmt: skip
        with pytest.raises(LedgerCorrupt):
            replay_open(HEADER, [replace(opened[0], **facts)])
    with pytest.raises(LedgerCorrupt, match="not in the chain"):
        replay_open(HEADER, opened[:2], None, [second, third])
    cheap = after(first, order(1, 0), FinalCost(4, 1))
    dearer = replace(opened[0], number=9)
    assert replay_open(HEADER, [opened[0], cheap.open]).spent == 8
    assert replay_open(HEADER, [dearer]).receipts == 9
    gap = replace(opened[1], number=9)
    assert replay_open(HEADER, [opened[0], gap]).receipts == 9
    exact = replace(opened[0], validity=ValidityRecord(((1, 5),)))
    assert replay_open(HEADER, [exact]).receipts == 1
    tight = replace(HEADER, budget=21)
    assert replay_open(tight, [r.open for r in chain(order(), ana, ana, header=tight)]).spent == 21
    with pytest.raises(LedgerCorrupt, match="does not follow"):
        replay_open(tight, [replace(chain(order(), header=tight)[0].open, amount=22, spent=22)])
    with pytest.raises(LedgerCorrupt, match="expected head"):
        replay_open(HEADER, opened, HEAD)
    for own in ([third], [first, third], [replace(second, secret="x")], [replace(second, spent_by=8), third]):
        with pytest.raises(LedgerCorrupt):
            replay_open(HEADER, opened, None, own)
    poor = replace(third, budget_share=13)
    with pytest.raises(LedgerCorrupt, match="not the one"):
        replay_open(HEADER, [*opened[:2], poor.open], None, [second, poor])
    even = replace(third, budget_share=14)
    assert replay_open(HEADER, [*opened[:2], even.open], None, [second, even]).spent == 21


# What was released -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [255, 256, 257])
@pytest.mark.parametrize("bits", [1, 7, 8, 15, 16, 31, 32, 47, 48, 55, 56, 62, 63])
def test_many_cells_take_as_many_bytes_as_their_largest(count: int, bits: int) -> None:
    """Mutants: where long columns begin, how many bytes a sign needs, a byte of a neighbor."""
    size, most = bits // 8 + 1, 2**bits - 1
    column = [most, -most, 0, -1, 1] + [k % 3 - 1 for k in range(count - 5)]
    text = texts.many_to_text([texts.Stored([[column]])])
    told = json.loads(text)[0][0]
    assert list(texts.released_from_text(text)[0][0]) == column
    if count < 256:
        assert told == [str(z) for z in column]
        return
    octets = b"".join(z.to_bytes(size, "little", signed=True) for z in column)
    assert told == {"cells": count, "bytes": size, "base64": base64.b64encode(octets).decode()}
    long = told["base64"]
    for wrong in (
        {"cells": count + 1}, {"bytes": 0}, {"bytes": 9}, {"bytes": size % 8 + 1}, {"base64": "?"},
        {"bytes": 0, "base64": ""}, {"bytes": 9, "base64": base64.b64encode(bytes(9 * count)).decode()},
        {"base64": long[:4] + "\n" + long[4:]},
    ):  # fmt: skip
        with pytest.raises(LedgerCorrupt):
            texts.released_from_text(json.dumps([[told | wrong]]))


def test_whole_numbers_of_any_size_are_stored() -> None:
    """Mutants: digits that are cut off, keys that are lost, a batch of one that is none."""
    huge = [10**30] * 300
    one = texts.Stored([[huge, [1, 2]]], [["a", 3], ["b", -4]], -5)
    for many in ([one], [one, texts.Stored([[[7]]])]):
        text = texts.many_to_text(many)
        assert ("batch" in json.loads(text)) == (len(many) == 2)
        found = texts.many_from_text(text)
        assert [[list(map(list, part)) for part in own.released] for own in found] == [
            [list(map(list, part)) for part in own.released] for own in many
        ]
        assert [(own.keys, own.noisy_number) for own in found] == [(o.keys, o.noisy_number) for o in many]
    assert texts.Stored([[[7]]]).noisy_number == 0
    assert "\u00e9" in texts.many_to_text([texts.Stored([[[7]]], [["\u00e9"]], 1)])
    for text in ("", "{", "7", "{}", '{"keys":[]}', '[["a"]]', '{"batch":[7]}'):
        with pytest.raises(LedgerCorrupt):
            texts.many_from_text(text)
    for place, known in (("postgres://a", True), ("postgresql://a", True), ("a", False), (7, False)):
        assert texts.is_address(place) is known
