"""The chain: a header, then receipts, each holding the digest of the one before it and the totals so far.

Every rule lives here once: what may be charged, what is refused, what follows what.  A back end only stores.
The last receipt alone decides whether the next charge fits, so a charge costs the same whatever the history.

Whoever can write to the storage can also compute a new chain from the first link to the last.  To notice
that, or a restored backup, keep an anchor somewhere else (``AnchoredLedger``), or a head for ``verify``.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from adyton.errors import BudgetRefused, InvalidRequest, LedgerCorrupt
from adyton.exact import decimal_text
from adyton.ledger.cap import Cap
from adyton.ledger.carried import receipts_carried
from adyton.ledger.checks import check_amount, check_request, check_text

FORMAT = 1
CURRENCIES = ("gdp", "zcdp", "pure")
_PLAIN_TEXT = "text:"  # before the digest of an answer that was hashed as it is
_PIECE = 1 << 16  # characters that are hashed at a time; no second copy of a long answer is made


@dataclass(frozen=True, slots=True)
class Header:
    """The first link, written once: whose ledger this is and what may be spent, for ever."""

    study: str
    currency: str
    limit: int
    salt: str

    def __post_init__(self) -> None:
        check_text(self.study, "the fingerprint of the study")
        check_text(self.salt, "the salt of the ledger")
        if self.currency not in CURRENCIES:
            raise InvalidRequest(f"a currency is one of {', '.join(CURRENCIES)}, not {self.currency!r}")
        check_amount(self.limit, "the limit", least=1)

    @classmethod
    def fresh(cls, study: str, currency: str, limit: int) -> Header:
        """A header with a salt of its own, so that no two ledgers ever share a head."""
        return cls(study, currency, limit, secrets.token_hex(16))

    @property
    def digest(self) -> str:
        return _digest("header", self.study, self.currency, self.limit, self.salt)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be charged.  An order that could give budget back cannot be made at all.

    ``cap`` is a condition of the charge and no part of what is charged: it is neither stored nor compared,
    so that a retry finds its receipt although the cap has been reached since.
    """

    question: str
    detail: str
    amount: int
    radius: int
    request: str | None = None
    cap: Cap | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_text(self.question, "the question")
        check_text(self.detail, "the detail of a charge")
        check_amount(self.amount, "the amount of a charge", least=1)
        check_amount(self.radius, "the radius of a charge", least=0)
        check_request(self.request)


@dataclass(frozen=True, slots=True)
class Receipt:
    """One link of the chain.  The totals include this order."""

    number: int
    order: Order
    spent: int
    spent_radius: int
    asked_at: str
    previous: str

    @property
    def digest(self) -> str:
        order = self.order
        return _digest(
            "receipt",
            self.previous,
            self.number,
            order.question,
            order.detail,
            order.amount,
            order.radius,
            order.request,
            self.spent,
            self.spent_radius,
            self.asked_at,
        )


@dataclass(frozen=True, slots=True)
class Charged:
    """``fresh`` is False if the request id had been charged before, for the same order."""

    receipt: Receipt
    fresh: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """What a full replay found."""

    receipts: int
    head: str
    spent: int


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a ledger is.  All but its head can only grow, so a mark kept elsewhere shows a rollback."""

    ledger: str  # the digest of its header
    receipts: int
    head: str
    answers: int
    notes: int
    spent: int
    spent_radius: int
    closed: bool = False  # for good: the study goes on elsewhere


Keep = Callable[[Mark, Callable[[int], "Receipt | None"]], None]  # the mark, and how to look up a receipt


class Ledger(Protocol):
    """Append and read.  No update, no delete, no refund."""

    @property
    def header(self) -> Header: ...

    def charge(self, order: Order) -> Charged:
        """Check the limit and the order's cap and append, in one step.  A refusal leaves no trace."""
        ...

    def remember(self, number: int, answer: str) -> str:
        """Keep the answer that a receipt paid for, durably.  The first one wins and is returned."""
        ...

    def recall(self, number: int) -> str | None: ...

    def annotate(self, number: int, index: int, text: str) -> bool:
        """Append note ``index`` to a receipt if it is the next one, durably; False if another was first."""
        ...

    def notes(self, number: int, first: int = 0) -> list[str]:
        """The notes of a receipt, from note ``first`` on.  They may be secret; receipts never show them."""
        ...

    def repeated(self, question: str, detail: str, amount: int) -> tuple[Receipt, str] | None:
        """The newest answer already given to this very question at this price."""
        ...

    def unanswered(self, question: str, detail: str, amount: int) -> Receipt | None:
        """The newest receipt that paid for this very question at this price and has no answer yet."""
        ...

    def requested(self, request: str) -> Receipt | None:
        """The receipt that this request id was charged under."""
        ...

    def receipt(self, number: int) -> Receipt | None: ...

    def spent(self) -> int: ...

    def spent_radius(self) -> int: ...

    def head(self) -> str:
        """The digest of the newest link: keep it elsewhere to notice a rollback."""
        ...

    def count(self) -> int: ...

    def receipts(self) -> Iterator[Receipt]: ...

    def verify(self, expected_head: str | None = None) -> Verification:
        """Replay everything; ``expected_head`` must be the digest of some link."""
        ...

    def mark(self, keep: Keep | None = None) -> Mark:
        """How far the ledger is; ``keep`` is called with it while nobody else can write to the ledger."""
        ...

    def close(self) -> None: ...


def next_receipt(header: Header, last: Receipt | None, order: Order, asked_at: str) -> Receipt:
    """The receipt that follows ``last``, or a refusal: beyond the limit, or beyond the order's own cap."""
    carried = receipts_carried(order.question, order.detail)
    if carried and last is not None:
        raise InvalidRequest("only the first receipt of a ledger can carry what another one has spent")
    spent, spent_radius, number = (last.spent, last.spent_radius, last.number) if last else (0, 0, carried)
    if spent + order.amount > header.limit:
        raise _refusal(header, spent, order.amount)
    if order.cap is not None:
        order.cap.check(number, spent_radius, order.radius)
    return Receipt(
        number=number + 1,
        order=replace(order, cap=None),
        spent=spent + order.amount,
        spent_radius=spent_radius + order.radius,
        asked_at=asked_at,
        previous=last.digest if last else header.digest,
    )


def charged_before(earlier: Receipt, order: Order) -> Charged:
    """The same request id again: the same receipt for the same order, a refusal for any other."""
    if earlier.order != order:
        raise InvalidRequest(f"request id {order.request!r} was already used for another question")
    return Charged(earlier, fresh=False)


def replay(
    header: Header, receipts: Iterable[Receipt], expected_head: str | None, last: Receipt | None = None
) -> Verification:
    """Charge every order again, from the header or the receipt ``last`` on, and compare link by link."""
    head = last.digest if last else header.digest
    found = expected_head in (None, head)
    for receipt in receipts:
        if receipt != _due(header, last, receipt):
            raise LedgerCorrupt(f"receipt {receipt.number} of the ledger does not follow from the last one")
        last, head = receipt, receipt.digest
        found = found or head == expected_head
    if not found:
        raise LedgerCorrupt("the ledger was rolled back or exchanged: the expected head is not in its chain")
    return Verification(last.number if last else 0, head, last.spent if last else 0)


def _due(header: Header, last: Receipt | None, receipt: Receipt) -> Receipt | None:
    try:
        return next_receipt(header, last, receipt.order, receipt.asked_at)
    except (BudgetRefused, InvalidRequest):
        return None


def mark_of(header: Header, last: Receipt | None, answers: int, notes: int, *, closed: bool = False) -> Mark:
    if last is None:
        return Mark(header.digest, 0, header.digest, answers, notes, 0, 0, closed)
    return Mark(
        header.digest, last.number, last.digest, answers, notes, last.spent, last.spent_radius, closed
    )


def question_digest(question: str, detail: str, amount: int) -> str:
    """Under which two orders count as the same question at the same price."""
    return _digest("question", question, detail, amount)


def answer_digest(receipt: Receipt, answer: str) -> str:
    """Ties an answer to the receipt that paid for it.

    SHA-256 of a JSON array, as long for every receipt, and after it the text as it is: an answer may have
    millions of characters, and to write them as JSON takes longer than to hash them.
    """
    hashed = hashlib.sha256(json.dumps(["adyton", FORMAT, "text of an answer", receipt.digest]).encode())
    for start in range(0, len(answer), _PIECE):
        hashed.update(answer[start : start + _PIECE].encode())
    return _PLAIN_TEXT + hashed.hexdigest()


def is_answer_digest(digest: str, receipt: Receipt, answer: str) -> bool:
    """Whether ``digest`` is that of this answer.  Earlier versions hashed the answer as JSON too."""
    if digest.startswith(_PLAIN_TEXT):
        return digest == answer_digest(receipt, answer)
    return digest == _digest("answer", receipt.digest, answer)


def note_digest(receipt: Receipt, index: int, text: str) -> str:
    """Ties a note to its receipt and to its place among the notes."""
    return _digest("note", receipt.digest, index, text)


def is_next_note(receipt: Receipt, index: int, written: int) -> bool:
    """Whether ``index`` is the place after the ``written`` notes; beyond it, notes have been lost."""
    if index > written:
        raise LedgerCorrupt(f"receipt {receipt.number} of the ledger has lost notes; nothing was answered")
    return index == written


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _refusal(header: Header, spent: int, amount: int) -> BudgetRefused:
    facts = {
        "requested": decimal_text(amount),
        "spent": decimal_text(spent),
        "limit": decimal_text(header.limit),
        "largest": decimal_text(header.limit - spent),
        "currency": header.currency,
    }
    message = (
        "{requested} ({currency}) was requested, but {spent} of the limit {limit} is spent already; "
        "the largest charge that still fits is {largest}; nothing was charged"
    )
    return BudgetRefused(message.format(**facts), **facts)


def _digest(kind: str, *fields: str | int | None) -> str:
    """SHA-256 of a JSON array: unlike joined text, no two lists of fields are written alike."""
    return hashlib.sha256(json.dumps(["adyton", FORMAT, kind, *fields]).encode()).hexdigest()
