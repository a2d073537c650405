"""The ledger of a holdout in the format of today.  What was charged stays as it is."""

from __future__ import annotations

import tomllib
from pathlib import Path

from adyton.errors import InvalidRequest
from adyton.holdout.create import file_named
from adyton.holdout.facts import ledger_path, read_facts, read_labels
from adyton.ledger.base import Mark
from adyton.ledger.older.format_1 import OldLedger
from adyton.ledger.older.upgrading import ForValidity, Upgraded, upgrade_file


def is_holdout(path: Path) -> bool:
    try:
        return "holdout" in tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False  # whoever reads it as a study says what is wrong with it


def upgrade_holdout(path: str | Path) -> Upgraded:
    path = file_named(path)
    facts = read_facts(path)
    fingerprint = facts.fingerprint(read_labels(path, facts))

    def check(old: OldLedger, _: Mark) -> None:
        if old.header.study != fingerprint:
            raise InvalidRequest(f"{path.name}, its labels and its ledger do not belong together")

    return upgrade_file(ledger_path(path), lambda receipt: ForValidity(receipt.radius), check)
