"""The command line: studies and queries here, each other command in the file of its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton import __version__
from adyton.errors import InvalidRequest
from adyton.operations.studies import StudyOperations
from adyton.study import read_study
from adyton.transports.cli.accounting import calibrate, compose
from adyton.transports.cli.audit import audit
from adyton.transports.cli.holdout import app as holdout
from adyton.transports.cli.lab import lab
from adyton.transports.cli.monitor import app as monitor
from adyton.transports.cli.operation_commands import Arguments, add_commands, takes, takes_words
from adyton.transports.cli.owner.amend import amend
from adyton.transports.cli.owner.check import check
from adyton.transports.cli.owner.checkpoint import app as checkpoint
from adyton.transports.cli.owner.init import init
from adyton.transports.cli.owner.mock import mock
from adyton.transports.cli.owner.reserve import app as reserve
from adyton.transports.cli.owner.shared_budget import app as shared_budget
from adyton.transports.cli.p_value import p_value
from adyton.transports.cli.plan import plan
from adyton.transports.cli.pmw import app as pmw
from adyton.transports.cli.server.doctor import doctor
from adyton.transports.cli.server.mcp import mcp
from adyton.transports.cli.server.serve import serve
from adyton.transports.cli.server.token import app as token
from adyton.transports.cli.survey import survey
from adyton.transports.cli.synthesize import synthesize
from adyton.transports.figure_file import Figure, check_figure, write_figure
from adyton.transports.places import Asker, Opened, StudyPlace, file_of, opened, shown
from adyton.transports.queries_file import Batch, check_asked, numbered, read_queries
from adyton.transports.terminal import Csv, Json, StudyFile, run, whole_if_said

if TYPE_CHECKING:
    from adyton.certify import Answer
    from adyton.query.selecting import BestOf

app = typer.Typer(
    name="adyton",
    help="Query data you may not see. Every answer is private, and leaves a receipt.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback could show what was read
)

Sql = Annotated[
    str | None,
    typer.Argument(help="A query in SQL, see docs/reference/sql.md; or --file.", show_default=False),
]
Queries = Annotated[
    Path | None,
    typer.Option(
        help="Several queries, priced together and read in one go: SQL with semicolons, or a JSON "
        "list; - is standard input. With --json a list is printed.",
        metavar="FILE",
    ),
]
Best = Annotated[
    int | None,
    typer.Option(
        help="Only which of the queries in the file, or of the groups of one query, have the largest "
        "values, and so many of them.",
        metavar="NUMBER",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", help="Add amounts as the accounting counts them, mechanisms and theorems."),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"adyton {__version__}")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    return  # only the options of adyton itself; without a docstring its help is that of the app


app.command()(init)


@app.command()
@takes(StudyOperations.preview, but=("query",))
def preview(
    study: StudyPlace,
    *,
    sql: Sql = None,
    arguments: Arguments,
    file: Queries = None,
    best: Best = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Say what an answer would cost and how wide it would be. Reads nothing."""

    def make(curator: Opened) -> Any:
        words = arguments()
        match _one_or_several(sql, file, best):
            case list(queries):
                with numbered(curator, queries, words.get("dialect")):
                    return Batch(curator.preview_many(queries, **words))
            case query:
                return curator.preview(query, **words)

    shown(study, make, as_json, verbose=verbose)


@app.command()
@takes(StudyOperations.ask, but=("query",))
def ask(
    study: StudyPlace,
    *,
    sql: Sql = None,
    arguments: Arguments,
    file: Queries = None,
    best: Best = None,
    mock: Annotated[
        bool, typer.Option("--mock", help="Try it on made-up rows: free of charge, no data is touched.")
    ] = False,
    figure: Figure = None,
    verbose: Verbose = False,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """Ask a query: charge first, then read, then answer.

    For example: adyton ask people.toml "SELECT COUNT(*) FROM people" --within 60
    or, of a server: adyton ask https://host/people "SELECT COUNT(*) FROM people" --within 60
    """

    def make(curator: Asker) -> Any:
        words = arguments()
        check_figure(figure)
        match _one_or_several(sql, file, best):
            case list(queries):
                if figure is not None:
                    raise InvalidRequest("a figure is that of one query: ask it without --file")
                with numbered(curator, queries, words.get("dialect")):
                    return Batch(curator.ask_many(queries, **words))
            case query:
                return _drawn(curator.ask(query, **words), figure)

    shown(study, make, as_json, mock=mock, as_csv=as_csv, verbose=verbose)


@app.command()
@takes_words("dialect")
def derive(
    study: StudyFile,
    sql: Annotated[str, typer.Argument(help="A count that an earlier batch determines.", metavar="SQL")],
    *,
    arguments: Arguments,
    verbose: Verbose = False,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """Answer from what was measured together before. Reads nothing.

    For example: adyton derive people.toml "SELECT COUNT(*) FROM people WHERE age > 65"
    """

    shown(study, lambda curator: curator.derive(sql, **arguments()), as_json, as_csv=as_csv, verbose=verbose)


@app.command()
@takes(StudyOperations.budget)
def budget(
    study: StudyPlace,
    odometer: Annotated[
        bool, typer.Option("--odometer", help="Add a running epsilon that holds whenever you stop.")
    ] = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Show the guarantee, what was spent of it and what is left."""
    shown(study, lambda curator: curator.budget(), as_json, odometer=odometer, verbose=verbose)


@app.command()
@takes(StudyOperations.receipts, but=("after", "last"))
def receipts(
    study: StudyPlace,
    last: Annotated[
        str | None,
        typer.Option(help="How many of the newest receipts: 60 unless given, all with --json.", metavar="N"),
    ] = None,
    before: Annotated[
        str | None, typer.Option(help="Only those before the receipt with this number.", metavar="NUMBER")
    ] = None,
    figure: Figure = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """List what was charged, the newest last; a figure shows what was left after each.

    For example: adyton receipts people.toml --figure left.svg
    """

    def make(curator: Opened) -> Any:
        check_figure(figure)
        most, end = whole_if_said(last, "--last"), whole_if_said(before, "--before")
        for name, number in (("--last", most), ("--before", end)):
            if number is not None and number < 1:
                raise InvalidRequest(f"{name} must be 1 or more, not {number}")
        found = curator.receipts()
        if figure is not None:
            from adyton.figures.budget import burn_down

            write_figure(burn_down(found.to_json(), curator.budget().to_json()), figure)
        return found.newest(most or (len(found) if as_json and found else None), end)

    shown(study, make, as_json, verbose=verbose, command=True)


@app.command()
@takes(StudyOperations.verify)
def verify(
    study: StudyPlace,
    *,
    arguments: Arguments,
    amended: Annotated[
        Path | None,
        typer.Option(help="The study file that this one amends: is what it spent carried?", metavar="FILE"),
    ] = None,
    write_checkpoint: Annotated[
        bool,
        typer.Option("--write-checkpoint", help="Accept the ledger as it is: write its checkpoint anew."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Replay the ledger: is the chain intact, and the total within the budget?"""

    def work() -> dict[str, Any]:
        from adyton.curator.opening import write_checkpoint as write
        from adyton.setup.amending import check_amended

        before = write(file_of(study, "writing a checkpoint"))[0] if write_checkpoint else None
        with opened(study) as curator:
            found, shared = curator.verify(**arguments()), curator.budget().shared_budget
        if amended is not None:
            check_amended(read_study(amended), read_study(file_of(study, "looking into an amended study")))
        replaced = {"checkpoint_before": before.receipts if before else None} if write_checkpoint else {}
        both = (
            {"shared_budget": {"name": shared.name, "charges": shared.charges}} if shared is not None else {}
        )
        return {"ok": True, "receipts": found.receipts, "head": found.head, **replaced, **both}

    done = run(work, as_json)
    if not as_json:
        found = done["receipts"]
        if not found:
            typer.echo("Nothing was charged yet.")
        else:
            typer.echo(
                f"{found} receipt{'s' if found > 1 else ''}: the chain is intact, "
                "the total within the budget."
            )
            typer.echo(f"Head: {done['head']}")
        if (shared := done.get("shared_budget")) is not None:
            typer.echo(f"The shared budget {shared['name']} is intact and has every receipt of this study.")
        if amended is not None:
            typer.echo(f"What {amended.name} had spent is carried in the first receipt.")
        if write_checkpoint:
            before = done["checkpoint_before"]
            typer.echo(f"The checkpoint was written; {_seen(before)}.")


def _drawn(answer: Answer, figure: Path | None) -> Answer:
    if figure is not None:
        from adyton.figures.answers import figure_of

        write_figure(figure_of(answer), figure)
    return answer


def _seen(receipts: int | None) -> str:
    return "there was none" if receipts is None else f"the one before had seen {receipts} receipts"


def _one_or_several(sql: str | None, file: Path | None, best: int | None) -> str | BestOf | list[str]:
    """A query, several, or the largest of several: of all in a file, or of the groups of one."""
    check_asked(sql, file)
    queries = [sql] if sql is not None else read_queries(file or Path())
    if best is not None:
        from adyton.query.selecting import best_of

        return best_of(queries, best)
    return sql if sql is not None else queries


_OF_A_STUDY = (check, amend, synthesize, p_value, mock)
_OTHERS = (compose, calibrate, audit, lab, plan, serve, mcp, doctor)
for command in _OF_A_STUDY + _OTHERS:
    app.command(command.__name__.replace("_", "-"))(command)
app.add_typer(holdout, name="holdout")
app.add_typer(token, name="token")
app.add_typer(checkpoint, name="checkpoint")
app.add_typer(monitor, name="monitor")
app.add_typer(pmw, name="pmw")
app.add_typer(survey, name="survey")
app.add_typer(reserve, name="reserve")
app.add_typer(shared_budget, name="shared-budget")
add_commands({"study": app, "server": app, "holdout": holdout, "monitor": monitor, "token": token})


if __name__ == "__main__":
    from adyton.transports.cli.entry import main

    main()
