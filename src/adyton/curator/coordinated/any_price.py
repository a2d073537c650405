"""Earlier answers to a question, at whatever price: what is released is released, so to show it is free."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from adyton.certify import Answer
from adyton.curator.tables import Asking, table_of
from adyton.planning.recorded import recorded_batch
from adyton.query.request import Request
from adyton.query.text import question_text

if TYPE_CHECKING:
    from adyton.curator.curator import Curator
    from adyton.ledger import Ledger


class EarlierAnswers:
    """The receipts of each question.  Only those that are new since the last look are read."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._lock = ledger, threading.Lock()
        self._looked_at = 0
        self._numbers: dict[str, list[int]] = {}

    def numbers(self, text: str) -> list[int]:
        """Newest first."""
        with self._lock:
            newest = self._ledger.count()
            for number in range(self._looked_at + 1, newest + 1):
                receipt = self._ledger.receipt(number)
                if receipt is not None:
                    self._numbers.setdefault(receipt.order.question, []).append(number)
            self._looked_at = newest
            return self._numbers.get(text, [])[::-1]


def answered_before(
    curator: Curator, earlier: EarlierAnswers, question: Asking, dialect: str | None = None
) -> Answer | None:
    """The newest answer to this very question, at any price; None if there is none.

    Claim:    free: nothing is read and nothing charged.
    Assumes:  the ledger holds what was released, as it was released.
    Source:   post-processing of what was released.  Theorem: POST-PROCESSING.
    """
    asked = table_of(curator._requests.of(question, dialect=dialect or curator.study.dialect))
    if not isinstance(asked, Request):
        return None
    ledger = curator.ledger
    for number in earlier.numbers(question_text(asked.question)):
        receipt, stored = ledger.receipt(number), ledger.recall(number)
        if receipt is None or stored is None:
            continue
        batch = recorded_batch(curator.study, [asked], receipt.order)
        if batch is not None:
            release = curator._release_of(batch)
            (answer,) = curator._certify(batch, receipt, partial(release.read, stored), repeated=True)
            return answer
    return None
