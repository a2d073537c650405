"""The ledger of a study in the format of today: what an old receipt says, and what validity pays for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from adyton.errors import InvalidRequest
from adyton.ledger import Anchor, Mark, SqliteLedger
from adyton.ledger.anchor import anchor_at
from adyton.ledger.anchored import compare
from adyton.ledger.base import same_limit
from adyton.ledger.older.format_1 import OldLedger, OldReceipt
from adyton.ledger.older.upgrading import ForValidity, Upgraded, upgrade_file
from adyton.mechanisms import GaussianNoise
from adyton.planning.keys import NUMBER_OF_KEYS
from adyton.streams.plan import machine_in, of_validity
from adyton.study import Study


def upgrade(study: Study) -> Upgraded:
    """Converts the ledger of a study, and writes its anchor anew if it had seen nothing else."""
    if not isinstance(study.ledger, Path):
        raise InvalidRequest("this study has no ledger in a file")
    anchor = anchor_at(study.anchor) if study.anchor is not None else None
    done = upgrade_file(study.ledger, partial(paid_by, study.filter_name), _check(study, anchor))
    if anchor is not None:
        with closing(SqliteLedger(study.ledger)) as ledger:
            ledger.mark(lambda mark, _: anchor.write(mark))
    return done


def _check(study: Study, anchor: Anchor | None) -> Callable[[OldLedger, Mark], None]:
    def check(old: OldLedger, mark: Mark) -> None:
        header = old.header
        known = (header.study, header.filter_name) == (study.fingerprint, study.filter_name)
        if not known or not same_limit(header.limit, study.allowed):
            raise InvalidRequest("this ledger belongs to another study: it was made for other public facts")
        kept = anchor.read() if anchor is not None else None
        if anchor is not None and kept is None and mark.receipts:
            raise InvalidRequest(f"the anchor {anchor.name} is missing: put it back first")
        if anchor is not None and kept is not None:
            compare(anchor, kept, mark, old.receipt)

    return check


def paid_by(filter_name: str, receipt: OldReceipt) -> ForValidity:
    """As new orders are charged; what cannot be told from an old receipt counts as not proved."""
    if filter_name == "pure":
        return ForValidity(receipt.radius)
    machine = machine_in(receipt.question, receipt.detail)
    if machine is None:
        return ForValidity(receipt.radius, unproved=not _is_gaussian(receipt.detail))
    return ForValidity(*of_validity(filter_name, machine))


def _is_gaussian(detail: str) -> bool:
    """Whether all noise is Gaussian and no keys were found."""
    try:
        parts = [(part[0], part[1]) for part in json.loads(detail)]
    except (ValueError, TypeError, KeyError, IndexError):
        return False
    return all(name != NUMBER_OF_KEYS and mechanism == GaussianNoise.name for name, mechanism in parts)
