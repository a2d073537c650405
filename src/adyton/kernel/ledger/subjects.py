"""What a receipt is for: one of a closed list of kinds, and the facts by which such a receipt is found again.

The text of a receipt is for people.  No code reads it: what code has to know is here, in fields of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal, get_args

from adyton.errors import InvalidRequest
from adyton.kernel.ledger.texts import LARGEST_NUMBER, check_text

Kind = Literal[
    "query",
    "batch",  # several queries, each with noise of its own
    "workload",  # several queries, measured by one strategy
    "choice",
    "marginals",
    "monitor",
    "pmw",
    "score",
    "comparison",
    "vote",  # a part of what a choice among models costs
    "last score",
    "holdout method",  # paid for at once
    "reserve opening",
    "published test",
    "carried",  # what an older ledger of the study has spent
    "restored",  # what a copy that was put back has lost
    "study charge",  # in a shared budget
    "note",
]
KINDS: frozenset[str] = frozenset(get_args(Kind))
SPREAD = "spread"  # the key of a receipt for values one of which is a variance
_SPREAD_MEASURE = "Variance"
_OF_QUERIES = frozenset({"query", "batch", "workload", "choice", "marginals", "pmw"})


@dataclass(frozen=True, slots=True)
class ReceiptSubject:
    """``texts``: of several queries, each canonical text.  ``measures``: the kinds of their values, in order
    of the alphabet; ``table``: what they read.  ``counts_all``: it counts all units of the table, with noise,
    and nothing else.  ``receipts`` and ``head``: how many another ledger has, or the last that is lost, and
    where that ended; ``began``: the digest of the header of the ledger that has receipt 1.
    """

    kind: Kind
    texts: tuple[str, ...] = ()
    table: str | None = None
    measures: tuple[str, ...] = ()
    counts_all: bool = False
    receipts: int = 0
    head: str | None = None
    began: str | None = None

    def __post_init__(self) -> None:
        of_queries = bool(self.texts or self.table is not None or self.measures or self.counts_all)
        of_ledgers = bool(self.receipts or self.head is not None or self.began is not None)
        fits = (
            self.kind in KINDS
            and type(self.receipts) is int
            and 0 <= self.receipts <= LARGEST_NUMBER
            and type(self.counts_all) is bool
            and (not of_queries or self.kind in _OF_QUERIES)
            and of_ledgers == (self.kind in ("carried", "restored"))
            and (not of_ledgers or (self.receipts > 0 and self.head is not None))
            and (self.began is None or self.kind == "carried")
            and (not self.counts_all or (self.kind == "query" and self.table is not None))
        )
        if not fits:
            raise InvalidRequest("a receipt is of a known kind, and has the facts of that kind alone")
        for text in (*self.texts, *self.measures, self.table, self.head, self.began):
            if text is not None:
                check_text(text, "a fact of a receipt")

    @property
    def key(self) -> str | None:
        """Under what receipts are looked up, together with their kind."""
        if self.counts_all and self.table is not None:
            return key_of_count(self.table)
        if _SPREAD_MEASURE in self.measures:
            return SPREAD
        return key_of_measures(self.measures, self.table) if self.table is not None else None

    @property
    def text(self) -> str:
        """Canonical JSON, as it is stored and hashed: what is not said is left out."""
        return _text_of(self)

    def to_json(self) -> dict[str, Any]:
        """The facts that there are, by name."""
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in known.items() if v}

    @classmethod
    def from_json(cls, known: dict[str, Any]) -> ReceiptSubject:
        """InvalidRequest, TypeError or ValueError where it is not one."""
        facts: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in known.items()}
        return cls(**facts)


NOTE = ReceiptSubject("note")


@lru_cache(maxsize=8)
def _text_of(subject: ReceiptSubject) -> str:
    return json.dumps(subject.to_json(), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=8)
def subject_from(text: str) -> ReceiptSubject:
    """ValueError, TypeError or InvalidRequest unless it is exactly how one is written down."""
    found = ReceiptSubject.from_json(json.loads(text))
    if found.text != text:
        raise ValueError("not how a subject is written down")
    return found


def key_of_count(table: str) -> str:
    """Of a receipt that counts all units of a table, and nothing else."""
    return f"all units of {table}"


def key_of_measures(measures: tuple[str, ...], table: str) -> str:
    """Of a receipt for values of these kinds alone, none of which is a variance."""
    return f"{', '.join(measures)} of {table}"
