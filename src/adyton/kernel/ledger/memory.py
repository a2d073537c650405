"""Ledgers that store nothing themselves: in memory, in front of another one, stored by the first charge."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.ledger.base import (
    Charged,
    First,
    FromTotals,
    Keep,
    Mark,
    Totals,
    Verification,
    charged_before,
    documented,
    is_next_note,
    next_receipt,
    now,
    totals_after,
)
from adyton.kernel.ledger.links import (
    Header,
    Order,
    Receipt,
    fresh_secret,
    key_of,
    note_digest,
    query_digest,
)
from adyton.kernel.ledger.marks import mark_of
from adyton.kernel.ledger.replaying import replay
from adyton.kernel.ledger.texts import (
    check_index,
    check_number,
    check_settled,
    check_text,
    counts_all,
)

if TYPE_CHECKING:
    pass


class Owner(Protocol):
    """What a ledger has to know of a study; a ``Study`` is one."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def accounting(self) -> str: ...
    @property
    def allowed(self) -> int: ...


@documented
class MemoryLedger(FromTotals):
    """The contract of ``Ledger`` over a list, for tests and notebooks: gone with the process.

    >>> ledger = MemoryLedger.of(study)
    >>> with adyton.open(study, data=people, ledger=ledger) as asked:
    ...     _ = asked.ask("SELECT COUNT(*) FROM people", within=100)
    >>> ledger.count()
    1
    """

    def __init__(self, header: Header) -> None:
        self.header = header
        self._receipts: list[Receipt] = []
        self._counting: list[Receipt] = []
        self._by_request: dict[tuple[str | None, str | None], Receipt] = {}
        self._last_of_name: dict[str | None, Receipt] = {}
        self._answers: dict[int, str] = {}
        self._settled: dict[int, int] = {}
        self._newest: dict[str, int] = {}
        self._unanswered: dict[str, list[int]] = {}
        self._notes: dict[int, list[tuple[str, str]]] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    @classmethod
    def of(cls, study: Owner) -> MemoryLedger:
        """An empty ledger that belongs to this study."""
        return cls(Header.fresh(study.fingerprint, study.accounting, study.allowed))

    def charge(self, order: Order, first: First | None = None) -> Charged:
        with self._alone():
            earlier = self._by_request.get((order.by, order.request))
            if earlier is not None:
                return charged_before(earlier, order)
            receipt = next_receipt(
                self.header,
                self._last(),
                order,
                now(),
                settled=self._settled_last(),
                last_of_name=self._last_of_name.get(order.by),
                secret=fresh_secret(),
            )
            if first is not None:
                first(receipt)
            self._receipts.append(receipt)
            self._last_of_name[order.by] = receipt
            if counts_all(order.query):
                self._counting.append(receipt)
            if order.request is not None:
                self._by_request[order.by, order.request] = receipt
            self._unanswered.setdefault(key_of(order), []).append(receipt.number)
            return Charged(receipt, fresh=True)

    def remember(self, number: int, answer: str, radius: int | None = None) -> str:
        check_number(number)
        check_text(answer, "an answer")
        with self._alone():
            order = self._paid(number).order
            radius = check_settled(radius, order.radius)
            if number not in self._answers:
                key = key_of(order)
                self._answers[number], self._settled[number] = answer, radius
                self._newest[key] = max(number, self._newest.get(key, 0))
                self._unanswered[key].remove(number)
            return self._answers[number]

    def recall(self, number: int) -> str | None:
        check_number(number)
        with self._alone():
            return self._answers.get(number)

    def settled(self, number: int) -> int:
        check_number(number)
        with self._alone():
            return self._settled.get(number, self._paid(number).order.radius)

    def annotate(self, number: int, index: int, text: str) -> bool:
        check_number(number)
        check_index(index)
        check_text(text, "a note")
        with self._alone():
            receipt, written = self._paid(number), self._notes.setdefault(number, [])
            if not is_next_note(receipt, index, len(written)):
                return False
            written.append((text, note_digest(receipt, index, text)))
            return True

    def notes(self, number: int, first: int = 0) -> list[str]:
        check_number(number)
        check_index(first)
        with self._alone():
            return [text for text, _ in self._notes.get(number, [])[first:]]

    def receipt(self, number: int) -> Receipt | None:
        check_number(number)
        with self._alone():
            return self._found(number)

    def repeated(self, query: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        with self._alone():
            number = self._newest.get(query_digest(query, detail, amount))
            return None if number is None else (self._paid(number), self._answers[number])

    def unanswered(self, query: str, detail: str, amount: int) -> Receipt | None:
        with self._alone():
            numbers = self._unanswered.get(query_digest(query, detail, amount))
            return self._paid(numbers[-1]) if numbers else None

    def requested(self, request: str, by: str | None = None) -> Receipt | None:
        with self._alone():
            return self._by_request.get((by, request))

    def totals(self) -> Totals:
        with self._alone():
            return totals_after(self._last(), self._settled_last())

    def spent_by(self, by: str | None) -> int:
        with self._alone():
            last = self._last_of_name.get(by)
            return last.spent_by if last else 0

    def head(self) -> str:
        with self._alone():
            last = self._last()
            return last.digest if last else self.header.digest

    def receipts(self) -> Iterator[Receipt]:
        with self._alone():
            return iter(tuple(self._receipts))

    def mentioning(self, words: Sequence[str], after: int) -> list[Receipt]:
        with self._alone():
            newest = self._receipts[-1].number if self._receipts else 0
            newer = self._receipts[max(len(self._receipts) - (newest - after), 0) :] if newest > after else []
        return [receipt for receipt in newer if any(word in receipt.order.query for word in words)]

    def counting(self, start: str, end: str, after: int, below: int) -> Receipt | None:
        with self._alone():
            for receipt in reversed(self._counting):
                text = receipt.order.query
                if after < receipt.number < below and text.startswith(start) and text.endswith(end):
                    return receipt
        return None

    def verify(self, head: str | None = None) -> Verification:
        found = replay(self.header, self.receipts(), head, settled=self._settled.get)
        with self._alone():
            for number, written in self._notes.items():
                for index, (text, digest) in enumerate(written):
                    if note_digest(self._paid(number), index, text) != digest:
                        raise LedgerCorrupt(f"note {index} of receipt {number} was changed")
        return found

    def mark(self, keep: Keep | None = None) -> Mark:
        with self._alone():
            notes = sum(map(len, self._notes.values()))
            mark = mark_of(self.header, self._last(), len(self._answers), notes)
            if keep is not None:
                keep(mark, self._found)
            return mark

    def close(self) -> None:
        """Nothing to close."""

    def _found(self, number: int) -> Receipt | None:
        place = number - self._receipts[0].number if self._receipts else -1
        return self._receipts[place] if 0 <= place < len(self._receipts) else None

    def _paid(self, number: int) -> Receipt:
        receipt = self._found(number)
        if receipt is None:
            raise InvalidRequest(f"there is no receipt {number}")
        return receipt

    def _settled_last(self) -> int:
        last = self._last()
        return self._settled.get(last.number, last.order.radius) if last else 0

    def _last(self) -> Receipt | None:
        return self._receipts[-1] if self._receipts else None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        # A forked child has a copy of the list: both copies would spend the same budget.
        if os.getpid() != self._process:
            raise LedgerCorrupt("a ledger in memory does not cross a fork; nothing was answered")
        with self._lock:
            yield
