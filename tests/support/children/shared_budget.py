"""What other processes do with a shared budget: they load a ledger and nothing else, because there are many of them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from adyton.errors import PrivacyRefused
from adyton.kernel.ledger import Ledger, Order
from adyton.ledgers.on_demand import LedgerOnDemand
from adyton.ledgers.shared_budget import SharedBudget, SharedBudgetLedger
from adyton.ledgers.shared_budget.file import Entrant


def ledger_on_disk(folder: Path, name: str, *, limit: int = 10**18) -> SharedBudgetLedger:
    """The ledger of a study ``name``, in ``folder`` with its shared budget, without a study."""
    fingerprint = name.encode().hex().ljust(64, "0")[:64]
    path = folder / f"{name}.ledger"
    own: Ledger = LedgerOnDemand(path, study=fingerprint, accounting="gdp", budget=limit)
    return SharedBudgetLedger(
        own, SharedBudget(folder / "shared_budget.ledger"), Entrant(name, fingerprint, 100)
    )


def charge_until_refused(folder: Path, name: str, amount: int, start: Barrier) -> None:
    """In a process of its own: charges ``amount`` until the shared budget refuses, and writes down how often it did."""
    accepted = 0
    with closing(ledger_on_disk(folder, name)) as ledger:
        start.wait(120)
        while fits(ledger, Order(str(os.getpid()), "[]", amount, 3)):
            accepted += 1
    (folder / f"{name}-{os.getpid()}.accepted").write_text(str(accepted))


def fits(ledger: Ledger, order: Order) -> bool:
    try:
        ledger.charge(order)
    except PrivacyRefused as refusal:
        if refusal.facts.get("shared_budget") != "shared_budget.ledger":
            raise
        return False
    return True


def order(what: str = "count", amount: int = 7, detail: str = "[]") -> Order:
    return Order(what, detail, amount, 3)


def kill_between(folders: Sequence[Path], orders: Sequence[Order]) -> None:
    """A child for each: the shared budget is on the disk, and the child gone before the ledger of its study is."""
    enter = SharedBudget.enter

    def dying(self: SharedBudget, *arguments: Any) -> Any:
        enter(self, *arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    SharedBudget.enter = dying  # type: ignore[method-assign]
    for folder, wanted in zip(folders, orders, strict=True):
        child = os.fork()
        if child == 0:
            ledger_on_disk(folder, "one").charge(wanted)
            os._exit(0)
        if os.waitpid(child, 0)[1] != signal.SIGKILL:
            raise AssertionError("it was not killed")


def fork_and_charge(folder: Path) -> None:
    """Two threads charge two studies, while the process forks again and again."""
    ledgers = [ledger_on_disk(folder, name) for name in ("one", "two")]

    def charge(ledger: SharedBudgetLedger) -> None:
        for number in range(30):
            ledger.charge(order(str(number), 1))

    threads = [threading.Thread(target=charge, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
