"""A study that is served: opened once, used by many names, each on its own account.

Everything that goes out is an object of docs/reference/json.md.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from adyton.curator import Curator, open_study
from adyton.curator.dummy import dummy_of
from adyton.curator.receipts import header_told, link_told, receipt_told
from adyton.errors import InvalidRequest, NotFound
from adyton.exact import decimal_text
from adyton.ledger import Header, Ledger, MemoryLedger, Receipt
from adyton.service.facts import facts_told
from adyton.service.grid import Reading
from adyton.service.identity import Identity
from adyton.service.named_ledger import NamedLedger
from adyton.service.roles import Action, may
from adyton.service.tokens import Tokens
from adyton.streams.stream import Stream
from adyton.study import Study

_MOST_NAMES = 32  # whose curators are kept, with their newest answers, which may be large
PAGE = 500
READING: ContextVar[Reading | None] = ContextVar("the request that is being answered", default=None)
Words = Mapping[str, Any]  # a price, and what else is said of a question


class ServedStudy:
    """One study file.  Its data is loaded and its ledger replayed before anybody can ask."""

    def __init__(self, path: str | Path, **limits: Any) -> None:
        self.path = Path(path)
        self.name = self.path.stem
        self.tokens = Tokens(self.path)
        self._curator = open_study(self.path, **limits)
        self._by_name: OrderedDict[Identity, Curator] = OrderedDict()
        self._dummy: Curator | None = None
        self._lock = threading.Lock()

    def load(self) -> None:
        """What is wrong with data or ledger is the operator's to know, before the first request."""
        self._curator.verify()
        self._curator.prepare()

    def close(self) -> None:
        self._curator.close()
        self.tokens.close()

    # What may be known by everybody who may look.

    @property
    def study(self) -> Study:
        return self._curator.study

    def facts(self) -> dict[str, Any]:
        return facts_told(self.name, self._curator.study)

    def statement(self, who: Identity) -> dict[str, Any]:
        """Of all together, and of the own part; the parts of others for those who may see them."""
        curator = self._for(who)
        told = curator.statement().to_json()
        own = {"by": who.name, **self._part(who.name, who.sub_limit(self._header.limit))}
        if may(who.role, Action.ALL_RECEIPTS):
            return {**told, "own": own, "by_name": self._by_everybody()}
        return {**told, "own": own}

    # Questions.

    def preview(self, who: Identity, questions: Sequence[str], words: Words) -> list[dict[str, Any]]:
        return [one.to_json() for one in self._for(who).preview_many(questions, **words)]

    def ask(self, who: Identity, questions: Sequence[str], words: Words) -> list[Any]:
        return self._for(who).ask_many(questions, **words)

    def try_out(self, questions: Sequence[str], words: Words) -> list[Any]:
        """On made-up rows, with a ledger that is thrown away: free, and nobody's account."""
        with self._lock:
            if self._dummy is None:
                self._dummy = dummy_of(self._curator.study)
            dummy = self._dummy
        return dummy.through(_emptied, _nothing).ask_many(questions, **words)

    def last_look(self, who: Identity, alpha: Any, p_value: Any) -> dict[str, Any]:
        return self._for(who).last_look(alpha, p_value).to_json()

    def suggest_bounds(self, who: Identity, column: str, words: Words) -> dict[str, Any]:
        return self._for(who).suggest_bounds(column, **words).to_json()

    # Streams, which belong to whoever opened them.

    def open_stream(self, who: Identity, words: Words) -> dict[str, Any]:
        return self._for(who).open_stream(**words).statement().to_json()

    def preview_stream(self, who: Identity, words: Words) -> dict[str, Any]:
        return self._for(who).preview_stream(**words).to_json()

    def feed(self, who: Identity, number: int, question: str, words: Words) -> dict[str, Any]:
        return self._stream(who, number).feed(question, **words).to_json()

    def close_stream(self, who: Identity, number: int) -> dict[str, Any]:
        return self._stream(who, number).close().to_json()

    def stream(self, who: Identity, number: int) -> dict[str, Any]:
        stream = self._stream(who, number)
        return {**stream.statement().to_json(), "answers": [one.to_json() for one in stream.answers()]}

    # The chain.

    def receipts(self, who: Identity, after: int = 0) -> dict[str, Any]:
        """One page: the open part of every link, and of the own receipts, or of all, everything."""
        everything = may(who.role, Action.ALL_RECEIPTS)
        page, following = self._page(after)
        shown = [r for r in page if everything or r.order.by == who.name]
        return {
            "filter": self._header.filter_name,
            "header": header_told(self._header),
            "links": [link_told(r.open) for r in page],
            "receipts": [receipt_told(r) for r in shown],
            "next": following,
        }

    def verify(self, head: str | None) -> dict[str, Any]:
        found = self._curator.verify(head)
        return {"ok": True, "receipts": found.receipts, "head": found.head}

    # How a name uses the study.

    @property
    def _ledger(self) -> Ledger:
        return self._curator.ledger

    @property
    def _header(self) -> Header:
        return self._ledger.header

    def _for(self, who: Identity) -> Curator:
        with self._lock:
            curator = self._by_name.pop(who, None)
            if curator is None:
                curator = self._curator.through(lambda ledger: NamedLedger(ledger, who, reads, shows), reads)
            self._by_name[who] = curator
            if len(self._by_name) > _MOST_NAMES:
                self._by_name.popitem(last=False)
            return curator

    def _stream(self, who: Identity, number: int) -> Stream:
        receipt = self._ledger.receipt(number) if number > 0 else None
        if receipt is None or receipt.order.by != who.name:
            raise NotFound
        return self._for(who).stream(number)

    def _page(self, after: int) -> tuple[list[Receipt], int | None]:
        """Some receipts, and after which number others may follow: a restored ledger has lost numbers."""
        if after < 0:
            raise InvalidRequest("receipts are listed from a number on, at least 0")
        newest = self._ledger.count()
        last = min(after + PAGE, newest)
        found = (self._ledger.receipt(number) for number in range(after + 1, last + 1))
        return [receipt for receipt in found if receipt is not None], last if last < newest else None

    def _part(self, name: str, sub_limit: int | None) -> dict[str, Any]:
        spent = self._ledger.spent_by(name)
        left = None if sub_limit is None else max(0, sub_limit - spent)
        return {
            "spent": decimal_text(spent),
            "limit": None if sub_limit is None else decimal_text(sub_limit),
            "left": None if left is None else decimal_text(left),
        }

    def _by_everybody(self) -> dict[str, Any]:
        """Names that have a token, and what each has spent."""
        limits = {
            known.identity.name: known.identity.sub_limit(self._header.limit) for known in self.tokens.all()
        }
        return {name: self._part(name, sub_limit) for name, sub_limit in limits.items()}


def _emptied(ledger: Ledger) -> Ledger:
    """The same limit, and nothing spent of it."""
    header = ledger.header
    return MemoryLedger(Header.fresh(header.study, header.filter_name, header.limit))


def _nothing() -> None:
    """Made-up rows may take as long as they like."""


def reads() -> None:
    """The request that this thread works on is about to read data."""
    reading = READING.get()
    if reading is not None:
        reading.reads()


def shows() -> None:
    """What the request that this thread works on has read is about to be seen."""
    reading = READING.get()
    if reading is not None:
        reading.shows()
