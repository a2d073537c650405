"""One charge that is read several times, through real curators and a ledger file.

The first reading is interrupted.  The next ones race: each is overtaken, before its answer is kept, by
another one that is shown first.  Then the query is asked once more.  An analyst sees all that is shown,
which together may lose no more than the one charge.  Each reading is made as if every cell were there as
often as there are samples, so that one run gives them all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adyton.audit.cases.queries import claim_of, mu_of
from adyton.audit.cases.queries_asked import QUERIES, study_of, tables_of
from adyton.audit.cases.trial import AuditTarget, Trial, for_each_accounting
from adyton.audit.replay import Replay, Trace, all_of, compare, run_both
from adyton.curator import Curator
from adyton.errors import Interrupted
from adyton.kernel.data import Unobserved
from adyton.kernel.measurement import Columns
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.kernel.sensitivity import Reading
from adyton.ledgers.on_demand import LedgerOnDemand
from adyton.study import Study

_CASE = QUERIES["count"]
_ASKED = _CASE.asked[0]
_RACING = (
    3  # readings; if each showed its own noise, the loss would be above the claim under every accounting
)


class _Often:
    """An engine that says what was read of a table, with every cell ``times`` times."""

    def __init__(self, exact: Sequence[Columns], times: int) -> None:
        self._exact, self._times = exact, times

    def prepare(self, readings: Sequence[Reading] = ()) -> None:
        pass

    def exact(self, readings: Sequence[Reading]) -> list[Columns]:
        return [[list(column) * self._times for column in columns] for columns in self._exact]

    def found(self, readings: Sequence[Reading]) -> Any:
        raise AssertionError("the groups of this query are declared")

    def close(self) -> None:
        pass


class _Then(Unobserved):
    """Something happens once the noise is drawn, and nothing of it is kept yet."""

    def __init__(self, happens: Callable[[], None]) -> None:
        self._happens = happens

    def releases(self, number: int) -> None:
        self._happens()


class _Bare(Curator):
    """Shows the noisy integers themselves; what else an answer has is made of them and of public facts."""

    def _certify(self, batch: Any, receipt: Any, read: Any, repeated: bool) -> Any:
        return read()


def _trials(accounting: str, target: AuditTarget) -> Iterator[Trial]:
    for adjacency in ADJACENCIES:
        yield _trial(accounting, adjacency, target)


def _trial(accounting: str, adjacency: Adjacency, target: AuditTarget) -> Trial:
    study, price = study_of(_CASE, adjacency, accounting, target), {"epsilon": target.epsilon}
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(_CASE, adjacency, Path(folder))
        runs = run_both(study, tables, _ASKED, target.bits, partial(_opened, target, price), price)
    amount = runs[0].public["receipts"][0][3]
    return Trial(
        f"{accounting} receipt",
        "read again",
        adjacency,
        partial(_shown, study, price, target.bits),
        (runs[0].exact, runs[1].exact),
        claim_of(study, amount),
        mu=mu_of(study, amount),
        replayed=_compared(*runs),
    )


def _opened(target: AuditTarget, price: Any, study: Study, data: Path) -> Curator:
    """A curator whose ledger has a receipt for the query, and no answer."""
    curator = target.tables.open(study, data)
    _cut_off(curator, price)
    return curator


def _cut_off(curator: Curator, price: Any) -> None:
    try:
        curator.observed(_Then(_interrupt)).ask(_ASKED, **price)
    except Interrupted:
        return
    raise AssertionError("an interrupt was not noticed")


def _interrupt() -> None:
    raise KeyboardInterrupt


def _compared(first: Trace, second: Trace) -> Replay:
    """Nothing may differ, and nobody pays twice."""
    paid = (f"{len(run.public['receipts'])} charges for one answer" for run in (first, second))
    faults = [fault for fault in dict.fromkeys(paid) if not fault.startswith("1 ")]
    return all_of([compare(first, second)], *faults)


def _shown(study: Study, price: Any, bits: Bits, exact: Sequence[Columns], n: int) -> npt.NDArray[np.int64]:
    """All that is shown for one receipt, n times: a row for each, with the numbers of each answer."""
    seen: list[Any] = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:

        def process() -> Curator:
            ledger = LedgerOnDemand(
                Path(folder) / "ledger.sqlite",
                study=study.fingerprint,
                accounting=study.accounting,
                budget=study.allowed,
            )
            return opened.enter_context(closing(_Bare(study, _Often(exact, n), ledger, bits)))

        def ask(curator: Curator) -> None:
            seen.append(curator.ask(_ASKED, **price))

        first, *racing = (process() for _ in range(1 + _RACING))
        _cut_off(first, price)
        fastest = racing.pop()
        for slower in reversed(racing):
            fastest = slower.observed(_Then(partial(ask, fastest)))
        ask(fastest)
        ask(first)
    numbers = [column for stored in seen for columns in stored.released for column in columns]
    return np.concatenate([np.array(column, np.int64).reshape(n, -1) for column in numbers], axis=1)


ENTRIES = for_each_accounting("read-again", "one charge that is read several times", _trials)
