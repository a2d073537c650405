"""A ledger in tables that only grow, whatever database keeps them: SQLite here, Postgres elsewhere.

A charge is one transaction: lock, look at the last receipt, append, flush to the disk.  It is reported only
after the transaction has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.exact import decimal_text
from adyton.kernel.ledger.base import (
    Charged,
    First,
    Keep,
    Ledger,
    Mark,
    Totals,
    Verification,
    charged_before,
    documented,
    next_receipt,
    now,
    same_budget,
    totals_after,
)
from adyton.kernel.ledger.links import Header, Order, Receipt, fresh_secret, key_of, query_digest
from adyton.kernel.ledger.marks import mark_of
from adyton.kernel.ledger.replaying import replay
from adyton.kernel.ledger.stored.checking import (
    check_answers,
    check_notes,
    check_since,
    cost_in,
    differing_facts,
)
from adyton.kernel.ledger.stored.notes import add_note, count_notes, read_notes
from adyton.kernel.ledger.stored.restoring import (
    refuse_if_restored,
    restored_at,
    restoring_order,
    skipped_numbers,
)
from adyton.kernel.ledger.stored.store import Connection, Store
from adyton.kernel.ledger.stored.tables import (
    PAGE,
    Kept,
    add_answer,
    append,
    check_newest,
    check_unanswered,
    count_unanswered,
    find,
    find_kept,
    find_kind,
    find_last,
    find_request,
    last_of_name,
    newest_unanswered,
    page_after,
    read_answer,
    read_closing,
    read_header,
    refuse_if_closed,
    refuse_if_not_awaited,
    stored_cost,
    write_closing,
)
from adyton.kernel.ledger.subjects import Kind
from adyton.kernel.ledger.texts import LARGEST_NUMBER, check_index, check_number, check_text
from adyton.kernel.ledger.validity import FinalCost

_WAY_OUT = (
    "undo what was changed in the study file, go on under corrected facts (adyton amend), "
    "or start a new study"
)
Found = TypeVar("Found", Receipt, Kept)
Opened = TypeVar("Opened", bound="StoredLedger")


@documented
class StoredLedger(Ledger):
    """The contract of ``Ledger`` over a store: all rules, and none about how rows are kept."""

    def __init__(self, store: Store) -> None:
        """Reads the header and checks what is newest; without that the store is let go of."""
        self.store = store
        try:
            with store.read(one_moment=True) as connection:
                self._header = read_header(connection)
                last = find(connection, "true ORDER BY number DESC LIMIT 1")
                if last is not None:
                    check_since(connection, self.header, None, last)
                check_newest(connection, last.number if last else 0)
                self._seen: Receipt | None = last
        except BaseException:
            store.close()
            raise

    @property
    def header(self) -> Header:
        return self._header

    def close(self) -> None:
        self.store.close()

    def left(self, spent: int) -> int:
        """No name has a share of its own here."""
        return self.header.budget - spent

    def charge(self, order: Order, first: First | None = None) -> Charged:
        with self.store.lock() as connection:
            if order.request is not None:
                earlier = find_request(connection, order.request, order.by)
                if earlier is not None:
                    return charged_before(earlier, order)
            refuse_if_closed(connection)
            receipt = self._next(connection, order)
            if first is not None:
                first(receipt)
            append(connection, receipt)
        self._seen = receipt
        return Charged(receipt, fresh=True)

    def remember(self, number: int, answer: str, radius: int | None = None, level: int = 0) -> str:
        check_number(number)
        check_text(answer, "an answer")
        # Durable before it is shown: if a shown answer could be lost, its receipt could release a second one.
        with self.store.lock() as connection:
            kept = _paid(find_kept(connection, number), number)
            receipt = kept.receipt
            final = FinalCost.checked(radius, level, receipt.order.radius)
            if kept.answer is not None:
                return kept.answer
            if kept.may_be_closed:
                refuse_if_closed(connection)
                refuse_if_restored(connection, number)
            refuse_if_not_awaited(kept)
            add_answer(connection, receipt, key_of(receipt.order), answer, final)
        return answer

    def recall(self, number: int) -> str | None:
        check_number(number)
        with self.store.read() as connection:
            receipt = find(connection, "number = ?", number)
            return read_answer(connection, receipt) if receipt else None

    def final_cost(self, number: int) -> FinalCost:
        check_number(number)
        with self.store.read() as connection:
            receipt = _paid(find(connection, "number = ?", number), number)
            return stored_cost(connection, receipt) or FinalCost(receipt.order.radius)

    def annotate(self, number: int, index: int, text: str) -> bool:
        check_number(number)
        check_index(index)
        check_text(text, "a note")
        with self.store.lock() as connection:
            receipt = _paid(find(connection, "number = ?", number), number)
            refuse_if_closed(connection)
            refuse_if_restored(connection, number)
            return add_note(connection, receipt, index, text)

    def notes(self, number: int, first: int = 0) -> list[str]:
        check_number(number)
        check_index(first)
        with self.store.read() as connection:
            receipt = find(connection, "number = ?", number)
            return read_notes(connection, receipt, first) if receipt else []

    def receipt(self, number: int) -> Receipt | None:
        check_number(number)
        with self.store.read() as connection:
            return find(connection, "number = ?", number)

    def repeated(self, query: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        newest = "SELECT number FROM answers WHERE query = ? ORDER BY number DESC LIMIT 1"
        with self.store.read() as connection:
            row = connection.execute(newest, (query_digest(query, detail, amount),)).fetchone()
            receipt = find(connection, "number = ?", row[0]) if row else None
            answer = read_answer(connection, receipt) if receipt else None
        if receipt is None or answer is None:
            return None
        # The index is not part of the chain: believe the receipt, not the row that led to it.
        order = receipt.order
        if (order.query, order.detail, order.amount) != (query, detail, amount):
            raise LedgerCorrupt(f"answer {receipt.number} of the ledger is filed under another query")
        return receipt, answer

    def unanswered(self, query: str, detail: str, amount: int) -> Receipt | None:
        with self.store.read() as connection:
            number = newest_unanswered(connection, query_digest(query, detail, amount))
            receipt = find(connection, "number = ?", number) if number is not None else None
            if receipt is None or read_answer(connection, receipt) is not None:
                return None
            if receipt.number < restored_at(connection):
                return None  # it may have been answered, and the copy that was put back has forgotten it
        order = receipt.order  # believe the receipt, as above
        if (order.query, order.detail, order.amount) != (query, detail, amount):
            raise LedgerCorrupt(f"receipt {receipt.number} of the ledger is filed under another query")
        return receipt

    def requested(self, request: str, by: str | None = None) -> Receipt | None:
        with self.store.read() as connection:
            return find_request(connection, request, by)

    def totals(self) -> Totals:
        with self.store.read() as connection:
            last, final = find_last(connection)
        if last != self._seen:  # others have charged: what they wrote is checked
            with self.store.read(one_moment=True) as connection:
                last, final = self._last(connection)
        return totals_after(last, final)

    def spent_by(self, by: str | None) -> int:
        with self.store.read() as connection:
            last = last_of_name(connection, by, LARGEST_NUMBER)
            return last.spent_by if last else 0

    def head(self) -> str:
        last = self._newest()
        return last.digest if last else self.header.digest

    def find(
        self,
        kind: Kind | None = None,
        key: str | None = None,
        *,
        after: int = 0,
        below: int | None = None,
        most: int | None = None,
    ) -> list[Receipt]:
        with self.store.read() as connection:
            return find_kind(connection, kind, key, after, below, LARGEST_NUMBER if most is None else most)

    def receipts(self) -> Iterator[Receipt]:
        # Page by page, so that a slow reader holds no lock; what is append-only cannot change in between.
        number = 0
        while page := self._page(number):
            yield from page
            number = page[-1].number

    def verify(self, head: str | None = None) -> Verification:
        with self.store.read() as connection:
            if read_header(connection) != self.header:
                raise LedgerCorrupt("the header of the ledger was exchanged")
            self.store.check(connection)
            check_unanswered(connection, 0)
        found = replay(self.header, self.receipts(), head, final=partial(cost_in, self.store))
        check_answers(self.store)
        check_notes(self.store)
        self._newest()  # also compares with the last receipt that this process has seen
        return found

    def closing(self) -> list[str]:
        """Nothing while it is open; then why it was closed; and a second text when that was carried out."""
        with self.store.read() as connection:
            return read_closing(connection)

    def close_for_good(self, say: Callable[[Receipt | None], str]) -> list[str]:
        """Nothing is charged, answered or noted from now on; ``say`` gets the last receipt and tells why."""
        with self.store.lock() as connection:
            if not read_closing(connection):
                write_closing(connection, say(self._last(connection)[0]))
            return read_closing(connection)

    def restore(self, kept: Mark) -> Receipt:
        """Goes on with a copy that was put back, after all that its checkpoint has seen (``restoring``)."""
        with self.store.lock() as connection:
            refuse_if_closed(connection)
            mark, totals = self._mark_of(connection), totals_after(*self._last(connection))
            receipt = self._next(connection, restoring_order(self.header, kept, mark, totals))
            append(connection, receipt)
            connection.append("restored", (receipt.number, receipt.number - totals.receipts - 1))
        self._newest()
        return receipt

    def carried_out(self, text: str) -> None:
        """That another ledger goes on where this one was closed."""
        with self.store.lock() as connection:
            if len(read_closing(connection)) == 1:
                write_closing(connection, text)

    def mark(self, keep: Keep | None = None) -> Mark:
        with self.store.read(one_moment=True) if keep is None else self.store.lock() as connection:
            mark = self._mark_of(connection)
            if keep is not None:
                keep(mark, partial(find, connection, "number = ?"))
            return mark

    def _mark_of(self, connection: Connection) -> Mark:
        last, _ = self._last(connection)
        first = find(connection, "true ORDER BY number LIMIT 1")
        asked = last.number - first.number + 1 - skipped_numbers(connection) if last and first else 0
        answers, closed = asked - count_unanswered(connection), bool(read_closing(connection))
        return mark_of(self.header, last, answers, count_notes(connection), closed=closed)

    def _next(self, connection: Connection, order: Order) -> Receipt:
        """Looks at the last receipt, at whether it is answered, and at the last one of this name: no more."""
        last, final = self._last(connection)
        own = last
        if last is not None and last.order.by != order.by:
            own = last_of_name(connection, order.by, last.number)
        return next_receipt(
            self.header, last, order, now(), final=final, last_of_name=own, secret=fresh_secret()
        )

    def _newest(self) -> Receipt | None:
        with self.store.read(one_moment=True) as connection:  # of one moment: between two others may charge
            return self._last(connection)[0]

    def _last(self, connection: Connection) -> tuple[Receipt | None, FinalCost]:
        """The last receipt, its digest computed anew, and its final cost; what this process saw earlier must
        still be there.
        """
        last, final = find_last(connection)
        seen = self._seen
        if seen not in (None, last) and find(connection, "number = ?", seen.number) != seen:
            raise LedgerCorrupt("the ledger was rolled back while it was in use; nothing was answered")
        if last is not None and last is not seen and last != seen:
            check_since(connection, self.header, seen, last)
        self._seen = last
        return last, final

    def _page(self, after: int) -> list[Receipt]:
        with self.store.read() as connection:
            return page_after(connection, after, PAGE)


def _paid(found: Found | None, number: int) -> Found:
    if found is None:
        raise InvalidRequest(f"there is no receipt {number}")
    return found


def owned(ledger: Opened, ours: Header, facts: Mapping[str, str] | None) -> Opened:
    """The ledger; closed, and InvalidRequest with what differs, unless it belongs to this very study."""
    try:
        differences = _differences(ledger, ours, facts)
        if differences:
            raise InvalidRequest(
                f"the ledger {ledger.store.name} does not belong to this study: "
                f"it was made for {' and for '.join(differences)}"
            )
    except BaseException:
        ledger.close()
        raise
    return ledger


def _differences(ledger: StoredLedger, ours: Header, facts: Mapping[str, str] | None) -> list[str]:
    theirs = ledger.header
    if theirs.study != ours.study:
        with ledger.store.read() as connection:
            which = differing_facts(connection, facts)
        return [f"other public facts ({which}); {_WAY_OUT}"]
    found = []
    if theirs.accounting != ours.accounting:
        found.append(f"accounting {theirs.accounting}, not {ours.accounting}")
    if not same_budget(theirs.budget, ours.budget):
        found.append(f"budget {decimal_text(theirs.budget)}, not {decimal_text(ours.budget)}")
    return found
