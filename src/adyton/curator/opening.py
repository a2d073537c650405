"""Opening a study: the file, the engine and the ledger, put together."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Unpack

from adyton.curator.curator import Curator
from adyton.engines.choosing import EngineLimits, engine_for
from adyton.engines.loaded import JoinMember
from adyton.engines.multi_table import Engines
from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.kernel.engine import Engine
from adyton.kernel.ledger import Ledger, Mark, MemoryLedger, Receipt
from adyton.kernel.ledger.base import WithSharedBudget
from adyton.kernel.ledger.marks import is_behind, mark_told
from adyton.ledgers.checkpoint import Checkpoint, checkpoint_at
from adyton.ledgers.checkpointed import CheckpointedLedger
from adyton.ledgers.on_demand import LedgerOnDemand
from adyton.study import Study, named_facts, read_study


def open_study(
    study: str | Path | Study,
    *,
    data: Any = None,
    ledger: Ledger | None = None,
    **limits: Unpack[EngineLimits],
) -> Curator:
    """A curator for a study file, or for a Study made in Python.

    ``data`` takes the place of the study's source: a pandas, polars or Arrow table, a Spark frame, the path
    of a file, or postgresql://HOST/DATABASE/TABLE; for a study with several private tables, a dict of them by
    name.  ``limits`` are for the engine: ``timeout`` for all, more for some.  The ledger is the file beside
    the study file; a Study without a file gets one that lasts as long as the process.

    >>> with adyton.open(study, data=people) as curator:
    ...     print(len(curator.ask(adyton.count(by="region"), within=100)))
    2
    """
    known = study if isinstance(study, Study) else read_study(study)
    sources = sources_of(known, data)
    opened = with_shared_budget(known, ledger or _ledger_of(known))
    return Curator(_described(known, opened), engine_of(known, sources, limits), opened)


def _described(study: Study, ledger: Ledger) -> Study:
    """With the descriptions that were fixed in advance: the ledger knows what came first."""
    if study.dictionary is None:
        return study
    first = next(ledger.receipts(), None)  # what is carried has a number that goes on
    amended = first is not None and first.order.kind == "carried"
    own = not isinstance(ledger, WithSharedBudget) or ledger.began_shared_budget
    return study.after_its_first_receipt(amended=amended, described=own) if amended or not own else study


def sources_of(study: Study, data: Any) -> dict[str, Any]:
    """Where each private table lies, by its name."""
    declared = {study.table.name: study.source, **{one.table.name: one.source for one in study.further}}
    given = data if isinstance(data, dict) else {study.table.name: data}
    unknown = next((name for name in given if name not in declared), None)
    if unknown is not None:
        raise InvalidRequest(f"data has no table {unknown!r} to fill; there are: {', '.join(declared)}")
    sources = {name: declared[name] if given.get(name) is None else given[name] for name in declared}
    missing = next((name for name, source in sources.items() if source is None), None)
    if missing is not None:
        which = f" for table {missing!r}" if study.further else ""
        raise InvalidRequest(f"this study has no source{which}: give data = a table or the path of a file")
    return sources


def engine_of(study: Study, sources: dict[str, Any], limits: EngineLimits | None = None) -> Engine:
    """Whatever reads the private tables of ``study``, which lie at ``sources``."""
    own, *further = (JoinMember(table, study.unit_of(table), sources[table.name]) for table in study.tables)
    if not further:
        return engine_for(own.table, own.unit, own.source, study.fingerprint, limits or {})
    return Engines((own, *further), study.fingerprint, limits or {})


def with_shared_budget(study: Study, ledger: Ledger) -> Ledger:
    """The ledger of a study as it is, or with the shared budget that the study shares with others."""
    if study.shared_budget is None:
        return ledger
    from adyton.ledgers.shared_budget import joined

    try:
        return joined(ledger, study, study.shared_budget)
    except BaseException:
        ledger.close()
        raise


def _ledger_of(study: Study) -> Ledger:
    if study.ledger is None:
        return MemoryLedger.of(study)
    ledger = _ledger_file(study, study.ledger)
    if study.checkpoint is None:
        return ledger
    try:
        return CheckpointedLedger(ledger, checkpoint_at(study.checkpoint))
    except BaseException:
        ledger.close()
        raise


def _ledger_file(study: Study, place: Path | str) -> LedgerOnDemand:
    return LedgerOnDemand(
        place,
        study=study.fingerprint,
        accounting=study.accounting,
        budget=study.allowed,
        facts=named_facts(study),
    )


def write_checkpoint(study: str | Path) -> tuple[Mark | None, Mark]:
    """Replays the ledger and writes a checkpoint that was lost or damaged anew: the old one and the new
    one.
    """
    ledger, checkpoint = _checkpointed(read_study(study))
    with closing(ledger):
        if not ledger.verify().receipts:
            raise InvalidRequest("nothing was charged yet: the first charge writes the checkpoint")
        try:
            before = checkpoint.read()
        except LedgerCorrupt:
            before = None
        if before is not None and before.ledger == ledger.header.digest and is_behind(ledger.mark(), before):
            raise InvalidRequest(
                "the ledger is behind its checkpoint, and what was spent since would be given back: go on "
                "with this copy, with all that was spent: adyton checkpoint accept STUDY"
            )
        return before, ledger.mark(lambda mark, _: checkpoint.write(mark))


def show_checkpoint(study: str | Path) -> dict[str, Any]:
    """What the checkpoint has seen, how far the ledger is, and whether that is less: as JSON."""
    ledger, checkpoint = _checkpointed(read_study(study))
    with closing(ledger):
        kept, mark = checkpoint.read(), ledger.mark()
    behind = kept is not None and (kept.ledger != mark.ledger or is_behind(mark, kept))
    return {"checkpoint": mark_told(kept), "ledger": mark_told(mark), "behind": behind}


def accept_copy(study: str | Path) -> tuple[Mark, Receipt]:
    """Goes on with a copy of the ledger that was put back: what it has lost is charged, as one receipt."""
    known = read_study(study)
    ledger, checkpoint = _checkpointed(known)
    with closing(ledger):
        kept = checkpoint.read()
        if kept is None:
            raise InvalidRequest("there is no checkpoint: nobody knows what the copy has lost")
        ledger.verify()
        if known.shared_budget is not None and kept.ledger == ledger.header.digest:
            from adyton.ledgers.shared_budget.joining import check_lost

            check_lost(known, known.shared_budget, ledger, kept)
        receipt = ledger.restore(kept)
        ledger.mark(lambda mark, _: checkpoint.write(mark))
    return kept, receipt


def _checkpointed(known: Study) -> tuple[LedgerOnDemand, Checkpoint]:
    if known.ledger is None or known.checkpoint is None:
        raise InvalidRequest(
            "this study has no checkpoint: write [ledger] checkpoint = FILE into the study file"
        )
    checkpoint = checkpoint_at(known.checkpoint)
    return _ledger_file(known, known.ledger), checkpoint
