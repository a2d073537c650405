"""The links of the chain: a header, then receipts, each with the digest of the one before it.

The digest of a receipt has two levels.  Number, amounts and totals are hashed in the open; who asked, and
what, only through a digest of their own, which is salted by a secret of this receipt.  So whoever has the
open parts can replay the whole chain, and reads nobody else's queries (``replay_open``).

A cap comes with an order: how much may have been charged, the order included, for it to make sense.  A
population interval is certified only up to some stability and some number of queries.  Whoever looks at
the totals first and charges afterwards can be overtaken in between, and then has paid for an answer without
an interval.  So the cap travels with the order, and the ledger looks at it in the transaction of the
charge.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from adyton.errors import BudgetRefused, InvalidRequest
from adyton.kernel.exact import decimal_text
from adyton.kernel.ledger.subjects import NOTE, Kind, ReceiptSubject
from adyton.kernel.ledger.texts import check_amount, check_label, check_name, check_text
from adyton.kernel.ledger.validity import NOTHING_KNOWN, FinalCost, ValidityRecord
from adyton.refusals import Refusal, refused

RADIUS, QUERIES = "mu0²", "queries"
FORMAT = 1
ACCOUNTING_NAMES = ("gdp", "zcdp", "pure")
_PIECE = 1 << 16  # characters that are hashed at a time; no second copy of a long answer is made


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that all radii may sum up to, and the highest number that the receipt may have; None: any."""

    radius: int | None = None
    queries: int | None = None

    def __post_init__(self) -> None:
        if self.radius is not None:
            check_amount(self.radius, "a cap on the radius", least=0)
        if self.queries is not None:
            check_amount(self.queries, "a cap on the number of queries", least=0)

    def check(self, queries: int, spent_radius: int, radius: int) -> None:
        """Refuses one more charge of ``radius`` after that many queries and that much spent."""
        if self.queries is not None and queries >= self.queries:
            raise _refusal(QUERIES, "1", str(queries), str(self.queries), "0")
        if self.radius is not None and spent_radius + radius > self.radius:
            left = max(self.radius - spent_radius, 0)
            requested, spent, most, largest = map(decimal_text, (radius, spent_radius, self.radius, left))
            raise _refusal(RADIUS, requested, spent, most, largest)


def _refusal(counted_in: str, requested: str, spent: str, budget: str, largest: str) -> BudgetRefused:
    return refused(
        Refusal(
            whose="plan",
            counted_in=counted_in,
            requested=requested,
            spent=spent,
            budget=budget,
            largest=largest,
        )
    )


@dataclass(frozen=True, slots=True)
class Header:
    """The first link, written once: whose ledger this is and what may be spent, for ever."""

    study: str
    accounting: str
    budget: int
    salt: str

    def __post_init__(self) -> None:
        check_text(self.study, "the fingerprint of the study")
        check_text(self.salt, "the salt of the ledger")
        if self.accounting not in ACCOUNTING_NAMES:
            raise InvalidRequest(
                f"accounting is one of {', '.join(ACCOUNTING_NAMES)}, not {self.accounting!r}"
            )
        check_amount(self.budget, "the budget", least=1)

    @classmethod
    def fresh(cls, study: str, accounting: str, budget: int) -> Header:
        """A header with a salt of its own, so that no two ledgers ever share a head."""
        return cls(study, accounting, budget, fresh_secret())

    @property
    def digest(self) -> str:
        return _digest("header", self.study, self.accounting, self.budget, self.salt)

    @property
    def open(self) -> OpenHeader:
        """The part that everybody may see."""
        return OpenHeader(self.accounting, self.budget, self.digest)


@dataclass(frozen=True, slots=True)
class OpenHeader:
    """A header for those who may not see whose ledger it is: of a holdout, where that would confirm guesses
    of the labels.  The digest is salted, so it confirms nothing.
    """

    accounting: str
    budget: int
    digest: str


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be charged.  An order that could give budget back cannot be made at all.

    ``radius`` is what validity pays for the Gaussian part, as mu0 squared (in a study that rounds, in
    bits); ``pure`` for the rest of what is released, as an epsilon for exchanging one unit; ``unproved``
    says that no theorem covers it, and ``validity`` what more is known.  ``subject`` says what it is for.
    ``by`` is who asks, None in process.  ``cap`` and ``budget_share``, which is the budget of that name, are
    conditions of the charge and no part of what is charged: they are not compared, so that a retry finds its
    receipt although they have been reached or changed since.
    """

    query: str
    detail: str
    amount: int
    radius: int
    request: str | None = None
    cap: Cap | None = field(default=None, compare=False)
    by: str | None = None
    pure: int = 0
    unproved: bool = False
    budget_share: int | None = field(default=None, compare=False)
    subject: ReceiptSubject = NOTE
    validity: ValidityRecord = NOTHING_KNOWN

    def __post_init__(self) -> None:
        check_text(self.query, "the query")
        check_text(self.detail, "the detail of a charge")
        check_amount(self.amount, "the amount of a charge", least=1)
        check_amount(self.radius, "the radius of a charge", least=0)
        check_amount(self.pure, "the pure part of a charge", least=0)
        if type(self.unproved) is not bool:
            raise InvalidRequest("unproved is True or False")
        check_label(self.request, "a request id")
        check_name(self.by)
        if self.budget_share is not None:
            check_amount(self.budget_share, "a budget share", least=0)
        if not isinstance(self.subject, ReceiptSubject) or not isinstance(self.validity, ValidityRecord):
            raise InvalidRequest("an order has a subject, and a record for validity")
        if self.linear_radius < 0:
            raise InvalidRequest("the Gaussian numbers of a charge have a larger radius than the charge")

    @property
    def kind(self) -> Kind:
        return self.subject.kind

    @property
    def texts(self) -> tuple[str, ...]:
        """The canonical text of each query."""
        return self.subject.texts or (self.query,)

    @property
    def linear_radius(self) -> int:
        """What of the radius is not that of Gaussian numbers."""
        return self.validity.linear_radius(self.radius)


def check_budgets(header: Header, spent: int, order: Order, spent_by: int) -> None:
    """Refuses what goes beyond the budget, or beyond the share of whoever asks."""
    left, share = header.budget - spent, order.budget_share
    if order.amount > left:
        raise _beyond(header, order.amount, spent, header.budget, left)
    if share is not None and spent_by + order.amount > share:
        left = max(min(left, share - spent_by), 0)
        raise _beyond(header, order.amount, spent_by, share, left, by=order.by or "nobody named")


def _beyond(
    header: Header, requested: int, spent: int, budget: int, largest: int, by: str | None = None
) -> BudgetRefused:
    """``by`` is whose budget share it was, if not the budget of all together."""
    return refused(
        Refusal(
            whose="study" if by is None else "analyst",
            by=by,
            counted_in=header.accounting,
            requested=decimal_text(requested),
            spent=decimal_text(spent),
            budget=decimal_text(budget),
            largest=decimal_text(largest),
        )
    )


@dataclass(frozen=True, slots=True)
class OpenLink:
    """What everybody may see of a receipt, and the digest of the rest: enough to replay the chain."""

    number: int
    amount: int
    radius: int
    pure: int
    unproved: int
    validity: ValidityRecord
    final_radius: int
    final_level: int
    spent: int
    spent_radius: int
    spent_pure: int
    asked_at: str
    previous: str
    sealed: str

    @property
    def digest(self) -> str:
        return _digest(
            "receipt",
            self.number,
            self.amount,
            self.radius,
            self.pure,
            self.unproved,
            self.validity.text,
            self.final_radius,
            self.final_level,
            self.spent,
            self.spent_radius,
            self.spent_pure,
            self.asked_at,
            self.previous,
            self.sealed,
        )


@dataclass(frozen=True)
class Receipt:
    """One link of the chain.  The totals include this order.

    ``final_radius`` is the final validity cost of the receipt before, 0 for the first: less than was charged,
    if its answer was there by then and said so; ``final_level``: how likely noise made that too little.
    ``spent_radius`` is the sum of all final radii before, and this order's own radius in full.  ``unproved``
    counts the orders that no theorem covers.  ``spent_by`` is the total of whoever asked, and
    ``budget_share`` was in force for that name.

    >>> answer = curator.ask("SELECT COUNT(*) FROM people", within=100)
    >>> (receipt,) = curator.receipts()
    >>> receipt.number, receipt.digest == answer.receipt.digest
    (1, True)
    """

    number: int
    order: Order
    spent: int
    spent_radius: int
    spent_pure: int
    unproved: int
    spent_by: int
    budget_share: int | None
    final_radius: int
    final_level: int
    asked_at: str
    previous: str
    secret: str

    @property
    def sealed(self) -> str:
        """The digest of what only the asker may see; the secret keeps it from being guessed."""
        order = self.order
        return _digest(
            "sealed",
            self.secret,
            order.by,
            self.spent_by,
            self.budget_share,
            order.subject.text,
            order.query,
            order.detail,
            order.request,
        )

    @property
    def open(self) -> OpenLink:
        """The part that everybody may see."""
        return OpenLink(
            number=self.number,
            amount=self.order.amount,
            radius=self.order.radius,
            pure=self.order.pure,
            unproved=self.unproved,
            validity=self.order.validity,
            final_radius=self.final_radius,
            final_level=self.final_level,
            spent=self.spent,
            spent_radius=self.spent_radius,
            spent_pure=self.spent_pure,
            asked_at=self.asked_at,
            previous=self.previous,
            sealed=self.sealed,
        )

    @cached_property
    def digest(self) -> str:
        """What the next receipt is chained to.  A charge, its answer and the next charge all need it."""
        return self.open.digest


def fresh_secret() -> str:
    return secrets.token_hex(16)


@lru_cache(maxsize=8)
def query_digest(query: str, detail: str, amount: int) -> str:
    """Under which two orders count as the same query at the same price.

    Who asks looks for earlier answers, charges and keeps the answer, and needs it each time.
    """
    return _digest("query", query, detail, amount)


def key_of(order: Order) -> str:
    return query_digest(order.query, order.detail, order.amount)


def text_digest(text: str) -> str:
    """Of the text as it is: an answer may be long, and to write it as JSON would take longer than hashing."""
    hashed = hashlib.sha256()
    for start in range(0, len(text), _PIECE):
        hashed.update(text[start : start + _PIECE].encode())
    return hashed.hexdigest()


def answer_digest(receipt: Receipt, final: FinalCost, content: str) -> str:
    """Ties an answer, by the digest ``content`` of its text, and its final cost to their receipt."""
    return _digest_of_answer(receipt.digest, final, content)


@lru_cache(maxsize=8)
def _digest_of_answer(receipt: str, final: FinalCost, content: str) -> str:
    """The next query looks at the newest answer twice."""
    return _digest("answer", receipt, *final, content)


def note_digest(receipt: Receipt, index: int, text: str) -> str:
    """Ties a note to its receipt and to its place among the notes."""
    return _digest("note", receipt.digest, index, text)


def _digest(kind: str, *fields: str | int | None) -> str:
    """SHA-256 of a JSON array: unlike joined text, no two lists of fields are written alike."""
    return hashlib.sha256(json.dumps(["adyton", FORMAT, kind, *fields]).encode()).hexdigest()
