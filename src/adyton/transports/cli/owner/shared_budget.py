"""adyton shared-budget: what several studies of the same persons may spend together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.ledgers.shared_budget import SharedBudget
from adyton.transports.terminal import Head, Json, run, show

if TYPE_CHECKING:  # loaded by the commands: others need not wait for it
    from adyton.ledgers.shared_budget.report import SharedBudgetReport

File = Annotated[Path, typer.Argument(help="The shared budget, e.g. hospital.ledger.", show_default=False)]
Epsilon = Annotated[
    str, typer.Option(help="Budget for all studies together.", metavar="E", show_default=False)
]
Delta = Annotated[str, typer.Option(help="Budget for all studies together.", metavar="D", show_default=False)]
Accounting = Annotated[
    str, typer.Option("--accounting", help="gdp, zcdp or pure, as in every study.", metavar="F")
]
Unit = Annotated[str, typer.Option(help="Who is protected: person or row.", metavar="U")]
Adjacency = Annotated[str, typer.Option(help="replace-one or add-remove.", metavar="N")]
Rows = Annotated[
    str,
    typer.Option(
        help="What the studies read: the same rows, related ones (data of the same persons), or unrelated "
        "ones. Population intervals count all studies, unless they are unrelated.",
        metavar="R",
    ),
]
DiscoveryDelta = Annotated[str, typer.Option(help="Part of delta for discovered groups.", metavar="D")]
Confidence = Annotated[
    str | None,
    typer.Option(help="With rows same: simultaneous for all studies, e.g. 0.95.", metavar="C"),
]
Stability = Annotated[
    str | None, typer.Option(help="With rows same and accounting pure: validity.stability.", metavar="M")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Add amounts as the accounting counts them.")]


def create(
    file: File,
    epsilon: Epsilon,
    delta: Delta,
    accounting: Accounting = "gdp",
    unit: Unit = "person",
    adjacency: Adjacency = "replace-one",
    rows: Rows = "related",
    discovery_delta: DiscoveryDelta = "0",
    confidence: Confidence = None,
    stability: Stability = None,
    as_json: Json = False,
) -> None:
    """Write a new shared budget. What it says never changes.

    Example: adyton shared-budget create hospital.ledger --epsilon 2 --delta 1e-9, then in each study file
    [privacy] shared_budget = "hospital.ledger".
    """

    def make() -> SharedBudgetReport:
        with SharedBudget.create(
            file,
            epsilon=epsilon,
            delta=delta,
            accounting=accounting,
            unit=unit,  # type: ignore[arg-type]  # checked by the shared budget, as the next two
            adjacency=adjacency,  # type: ignore[arg-type]
            rows=rows,  # type: ignore[arg-type]
            discovery_delta=discovery_delta,
            confidence=confidence,
            stability=stability,
        ) as shared_budget:
            return shared_budget.report()

    show(make, as_json)


def report(file: File, verbose: Verbose = False, as_json: Json = False) -> None:
    """Show what each study has spent of what all of them may spend together."""

    def make() -> SharedBudgetReport:
        with SharedBudget(file) as shared_budget:
            return shared_budget.report()

    show(make, as_json, verbose=verbose)


def verify(file: File, head: Head = None, as_json: Json = False) -> None:
    """Replay the shared budget: is the chain intact, and the total within the budget?"""

    def work() -> dict[str, Any]:
        with SharedBudget(file) as shared_budget:
            found = shared_budget.verify(head)
        return {"ok": True, "receipts": found.receipts, "head": found.head}

    done = run(work, as_json)
    if not as_json:
        many = f"{done['receipts']} charge{'' if done['receipts'] == 1 else 's'} of all studies"
        typer.echo(f"{many}: the chain is intact, the total within the budget.")
        typer.echo(f"Head: {done['head']}")


app = typer.Typer(help="Share one budget between several studies of the same persons.", no_args_is_help=True)
app.command()(create)
app.command("show")(report)
app.command()(verify)
