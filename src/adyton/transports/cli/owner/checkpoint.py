"""``adyton checkpoint``: what the checkpoint of a study has seen, and how a copy of its ledger goes on."""

from __future__ import annotations

from typing import Any

import typer

from adyton.curator.opening import accept_copy, show_checkpoint
from adyton.kernel.exact import decimal_text
from adyton.kernel.ledger.marks import mark_told
from adyton.transports.terminal import Json, StudyFile, run

app = typer.Typer(help="The checkpoint of a ledger: show it, or go on with a copy.", no_args_is_help=True)


@app.command()
def show(study: StudyFile, as_json: Json = False) -> None:
    """Say how far the ledger was when the checkpoint was written, and how far it is."""
    done = run(lambda: show_checkpoint(study), as_json)
    if as_json:
        return
    kept, mark = done["checkpoint"], done["ledger"]
    typer.echo(f"Checkpoint: {'there is none' if kept is None else _counted(kept)}.")
    typer.echo(f"Ledger: {_counted(mark)}.")
    if done["behind"]:
        typer.echo(
            "The ledger is behind its checkpoint: nothing is answered until it is put right. Put the right "
            "file back, or go on with this copy: adyton checkpoint accept."
        )


@app.command()
def accept(study: StudyFile, as_json: Json = False) -> None:
    """Go on with a copy of the ledger that was put back. What it has lost is charged, as one receipt.

    For example: adyton checkpoint accept people.toml
    """

    def work() -> dict[str, Any]:
        kept, receipt = accept_copy(study)
        return {
            "checkpoint": mark_told(kept),
            "receipt": receipt.number,
            "charged": decimal_text(receipt.order.amount),
        }

    done = run(work, as_json)
    if not as_json:
        typer.echo(
            f"Receipt {done['receipt']} charges what the copy had lost: {done['charged']}, as the accounting "
            "counts it; adyton receipts shows it as a share of the budget."
        )
        typer.echo("Monitors and PMW of before are over, and so are receipts without an answer.")


def _counted(mark: dict[str, Any]) -> str:
    receipts, answers = mark["receipts"], mark["answers"]
    return f"{receipts:,} receipt{'s' * (receipts != 1)}, {answers:,} answer{'s' * (answers != 1)}"
