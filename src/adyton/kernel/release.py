"""From a charge to what is released: read, add noise, keep it durably, and only then show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from adyton.errors import LedgerCorrupt
from adyton.kernel.data import Data, PaidData
from adyton.kernel.genuine import OnlyHere, made_here, require
from adyton.kernel.ledger.validity import FinalCost
from adyton.kernel.noise import Bits
from adyton.kernel.paid import Paid

_Kept = TypeVar("_Kept")


class Written(Protocol[_Kept]):
    """How what was released is written into the ledger and read back."""

    def made(self, noisy: Any) -> _Kept:
        """From the noisy integers."""
        ...

    def text(self, kept: _Kept) -> str: ...

    def read(self, text: str) -> _Kept: ...

    def final_cost(self, number: int, kept: _Kept) -> FinalCost | None:
        """The final validity cost, now that it is known what was released; None: what was charged."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Released(OnlyHere, Generic[_Kept]):
    """What was released for one charge, as it is kept in the ledger.  Made by ``release`` alone."""

    paid: Paid
    read: Callable[[], _Kept]


def release(paid: Paid, data: Data, bits: Bits, written: Written[_Kept]) -> Released[_Kept]:
    """What the receipt paid for: one answer, kept durably before anybody sees it; the first one wins.

    Claim:    however often it is read for one receipt, at most one noisy answer is released.
    Assumes:  whether a reading is cut off by a crash, an interrupt or the engine, or is overtaken by
              another one, depends on no row and on no noise.
    Source:   derived here.  Theorem: ONE-ANSWER.
    """
    ledger, number = require(paid, Paid).ledger, paid.receipt.number
    stored = None if paid.fresh else ledger.recall(number)
    if stored is not None:
        return made_here(Released(paid, partial(written.read, stored)))
    noisy = paid.priced.measurement.release(PaidData(paid, data), bits)  # the only line that sees exact ones
    data.observer.releases(number)
    kept = written.made(noisy)
    text = written.text(kept)
    try:
        stored = ledger.remember(number, text, *(written.final_cost(number, kept) or ()))
    except LedgerCorrupt as fault:
        raise LedgerCorrupt(f"{fault.message}; receipt {number} is paid for: ask the same again") from None
    return made_here(Released(paid, (lambda: kept) if stored == text else partial(written.read, stored)))
