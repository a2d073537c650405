"""Earlier answers to a query, at whatever price: what is released is released, so to show it is free."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from adyton.certify import Answer
from adyton.curator.tables import Asking, table_of
from adyton.planning.recorded import recorded_batch
from adyton.query.canonical import canonical_text
from adyton.query.request import Request

if TYPE_CHECKING:
    from adyton.curator.curator import Curator


def answered_before(curator: Curator, query: Asking, dialect: str | None = None) -> Answer | None:
    """The newest answer to this very query, at any price; None if there is none.

    Claim:    free: nothing is read and nothing charged.
    Assumes:  the ledger holds what was released, as it was released.
    Source:   post-processing of what was released.  Theorem: POST-PROCESSING.
    """
    asked = table_of(curator._requests.of(query, dialect=dialect or curator.study.dialect))
    if not isinstance(asked, Request):
        return None
    ledger = curator.ledger
    for number in curator._asked.earlier.numbers(canonical_text(asked.query)):
        receipt, stored = ledger.receipt(number), ledger.recall(number)
        if receipt is None or stored is None:
            continue
        batch = recorded_batch(curator.study, [asked], receipt.order)
        if batch is not None:
            release = curator._release_of(batch)
            (answer,) = curator._certify(batch, receipt, partial(release.written.read, stored), repeated=True)
            return answer
    return None
