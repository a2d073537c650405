"""An answer as a page shows it: a table of the first groups, what is said beside it, and where it can go."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.certify import Amount, Answer, Preview
from adyton.certify.answer import cost_notes
from adyton.certify.answer_table import MeasureColumn, legend
from adyton.certify.rows import NOTHING_KNOWN
from adyton.certify.values import key_text
from adyton.kernel.ledger import Receipt
from adyton.show import Sheet, in_short
from adyton.transports.pages.rendering import for_pages, segment

MOST = 200  # groups that a page shows; downloads have all


@dataclass(frozen=True, slots=True)
class ShownCharge:
    """What an answer cost, whoever paid for it: ``now`` if it was this very request."""

    number: int
    digest: str
    amount: Amount
    now: bool


def answer_table(answer: Answer) -> Sheet:
    """Value, noise interval and population interval in columns of their own, by name."""
    shown = answer.rows[:MOST]
    names = tuple(shown[0].keys) if shown else ()
    measured = [
        MeasureColumn(name, tuple(row.values[name] for row in shown), answer.known.get(name, NOTHING_KNOWN))
        for name in (shown[0].values if shown else ())
    ]
    headers, columns = list(names), []
    for one in measured:
        of = f"{one.name}: " if len(measured) > 1 else ""
        headers += [one.name, f"{of}noise interval"]
        columns += [one.answers(), one.noise()]
        if one.has_population:
            headers.append(f"{of}population interval")
            columns.append(one.population())
    keys = [tuple(map(key_text, row.keys.values())) for row in shown]
    rows = tuple((*key, *(column[i] for column in columns)) for i, key in enumerate(keys))
    notes = (*(legend("Noise interval:", measured) if measured else ()), *_on_rows(answer))
    hidden = len(answer.rows) - len(shown)
    title, said = in_short(answer.query), tuple(map(for_pages, notes))
    return Sheet(title, tuple(headers), rows, said, len(names), hidden=hidden)


def _on_rows(answer: Answer) -> list[str]:
    """What there is to say beside the values, without what the page says elsewhere: money and the receipt."""
    money = cost_notes(
        answer.cost, answer.spent, answer.left, answer.budget, answer.more, batch_size=answer.batch_size
    )
    elsewhere = (f"Receipt {answer.receipt.number}, ", "Free of charge: ")
    return [note for note in answer.notes() if note not in money and not note.startswith(elsewhere)]


def paid_for(answer: Answer, receipt: Receipt | None, name: str, request: str) -> ShownCharge | None:
    """None if nothing was.  A request id is known to one name alone."""
    if receipt is None:
        return None
    order = receipt.order
    amount = Amount(answer.spent.accounting, order.amount, answer.spent.of)
    return ShownCharge(receipt.number, receipt.digest, amount, (order.by, order.request) == (name, request))


def share_of_left(preview: Preview, left: int) -> Fraction | None:
    """Of what is left to whoever asks, what this would cost; None if nothing is left."""
    return Fraction(preview.cost.units, left) if left else None


def copies(url: str, study: str, sql: str, words: dict[str, Any]) -> dict[str, str]:
    """The same query for other programs.  The token is not in it."""
    price = ", ".join(f"{name}={value!r}" for name, value in words.items())
    body = json.dumps({"query": sql, **words}, ensure_ascii=False)
    quoted = body.replace("'", "'\\''")
    return {
        "SQL": sql,
        "Python": (
            "import os\nimport adyton\n\n"
            f"study = adyton.connect({url!r}, token=os.environ['ADYTON_TOKEN']).study({study!r})\n"
            f"print(study.ask({sql!r}{', ' if price else ''}{price}))"
        ),
        "curl": (
            'curl -H "Authorization: Bearer $ADYTON_TOKEN" -H "Content-Type: application/json" \\\n'
            f"     -d '{quoted}' \\\n     {url}/v1/studies/{segment(study)}/ask"
        ),
    }
