"""The first receipt of a study that goes on under corrected facts: it carries what the old ledger has spent.

Its number goes on where the old ledger ended.  Shares of delta for finding keys, and shares of the failure
probability, go by the number of a receipt: so none of them is used twice.
"""

from __future__ import annotations

import json

_CARRIED = "CARRIED FROM THE LEDGER WITH HEAD "


def carried_texts(head: str, receipts: int) -> tuple[str, str]:
    """The question and the detail of an order that carries so many receipts, up to this head."""
    return _CARRIED + head, json.dumps({"receipts": receipts})


def receipts_carried(question: str, detail: str) -> int:
    """How many receipts an order carries: 0 unless it has exactly the texts of one that carries some."""
    if not question.startswith(_CARRIED):
        return 0
    try:
        receipts = json.loads(detail)["receipts"]
    except (ValueError, TypeError, KeyError):
        return 0
    if type(receipts) is not int or receipts < 1:
        return 0
    texts = carried_texts(question.removeprefix(_CARRIED), receipts)
    return receipts if texts == (question, detail) else 0
