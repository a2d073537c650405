"""adyton upgrade-ledger: a ledger of an older format becomes one of today's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.study import read_study
from adyton.transports.terminal import Json, run

if TYPE_CHECKING:  # loaded by the command: others need not wait for it
    from adyton.ledger.older.upgrading import Upgraded

File = Annotated[Path, typer.Argument(help="The study file, or that of a holdout.", show_default=False)]


def upgrade_ledger(file: File, as_json: Json = False) -> None:
    """Convert a ledger of format 1: everything is verified and carried over, and the old file is kept."""

    def work() -> dict[str, Any]:
        done = _upgraded(file)
        return {
            "receipts": done.receipts,
            "old_head": done.old_head,
            "head": done.head,
            "kept": done.kept.name,
        }

    done = run(work, as_json)
    if not as_json:
        many = done["receipts"]
        typer.echo(f"{many} receipt{'' if many == 1 else 's'} converted, with all answers and notes.")
        typer.echo(f"Old head: {done['old_head']}")
        typer.echo(f"New head: {done['head']} (keep it where you kept the old one)")
        typer.echo(f"The old ledger is {done['kept']}, closed for good: keep it for auditors.")


def _upgraded(file: Path) -> Upgraded:
    from adyton.holdout.upgrading import is_holdout, upgrade_holdout

    if is_holdout(file):
        return upgrade_holdout(file)
    from adyton.setup.upgrading import upgrade

    return upgrade(read_study(file))
