"""Ledgers with their heads: fixed sequences of orders, through the real curators and holdouts, in a world that stands still.

Salts, the secrets of receipts and moments are fixed by ``still``, so heads are those of the product, with nothing
normalized.  An entry is a receipt, what one act said, or the head; ``STORIES`` has the acts of each ledger.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adyton.errors import CuratorError
from adyton.kernel.ledger import Ledger
from adyton.kernel.ledger.validity import FinalCost
from golden.held import Entry, digest, shortened
from golden.still import still

REFUSED = "refused"


@dataclass
class Story:
    """A ledger, what was done with it, and a folder that is its own."""

    folder: Path
    acts: list[Any] = field(default_factory=list)
    kept: dict[str, Any] = field(default_factory=dict)

    def tell(self, act: Callable[[], Any]) -> Any:
        """What ``act`` says, or why it is refused, is held; the first is returned."""
        try:
            said = act()
        except CuratorError as refused:
            self.acts.append(_refusal(refused))
            return None
        self.acts.append(_as_json(said))
        return said

    def keep(self, ledger: Ledger, name: str = "ledger") -> None:
        """What stands in the ledger by now; before it is closed."""
        answered = {
            r.number: (ledger.final_cost(r.number), ledger.recall(r.number), ledger.notes(r.number))
            for r in ledger.receipts()
        }
        self.kept[name] = (
            [(receipt, *answered[receipt.number]) for receipt in ledger.receipts()],
            ledger.head(),
            ledger.header,
        )


def _refusal(refused: CuratorError) -> dict[str, Any]:
    return {REFUSED: refused.to_json()}


def _as_json(said: Any) -> Any:
    if isinstance(said, list | tuple):
        return [_as_json(one) for one in said]
    return said.to_json() if hasattr(said, "to_json") else repr(said)


Tale = Callable[[Story], None]


def ledgers(stories: dict[str, Tale], part: slice = slice(None)) -> Callable[[], Iterator[Entry]]:
    def entries() -> Iterator[Entry]:
        for name in list(stories)[part]:
            yield from _entries(name, stories[name])

    return entries


def _entries(name: str, tale: Tale) -> Iterator[Entry]:
    before = Path.cwd()
    with TemporaryDirectory() as folder, still(name):
        story = Story(Path(folder))
        os.chdir(folder)
        try:
            tale(story)
        finally:
            os.chdir(before)
    for number, act in enumerate(story.acts, start=1):
        held = act if isinstance(act, dict) and REFUSED in act else digest(act)
        yield Entry(f"{name}: act {number}", held, act)
    for title, (receipts, head, header) in story.kept.items():
        for receipt, final, answer, notes in receipts:
            yield _receipt(f"{name}: {title} {receipt.number}", receipt, final, answer, notes)
        held = {
            "accounting": header.accounting,
            "budget": header.budget,
            "study": header.study[:20],
            "head": head,
        }
        yield Entry(f"{name}: {title} head", held)


def _receipt(name: str, receipt: Any, final: FinalCost, answer: str | None, notes: list[str]) -> Entry:
    order = receipt.order
    whole = {
        "subject": order.subject.to_json(),
        "query": order.query,
        "detail": order.detail,
        "by": [order.by, receipt.spent_by, receipt.budget_share, order.request],
        "amount": [order.amount, receipt.spent],
        "radius": [order.radius, receipt.final_radius, receipt.final_level, receipt.spent_radius],
        "final": list(final),
        "validity": order.validity.to_json(),
        "pure": [order.pure, receipt.spent_pure],
        "unproved": [order.unproved, receipt.unproved],
        "answer": answer,
        "notes": notes,
        "digest": receipt.digest,
    }
    short = {
        "answer": shortened(answer or "", 100),
        "digest": receipt.digest[:12],
        "notes": [shortened(one, 60) for one in notes],
    }
    return Entry(
        name,
        {**whole, "query": shortened(order.query), "detail": shortened(order.detail), **short},
        whole,
    )
