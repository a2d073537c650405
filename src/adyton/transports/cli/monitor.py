"""adyton monitor: watch many numbers for one price, until some were found above their threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.monitors.answer import MonitorAnswers
from adyton.operations.studies import MonitorOperations, StudyOperations
from adyton.transports.cli.operation_commands import Arguments, takes
from adyton.transports.places import Opened, StudyPlace, shown
from adyton.transports.queries_file import check_asked, read_compared
from adyton.transports.terminal import Json, Preview, whole

Number = Annotated[
    str,
    typer.Argument(help="Its number, as list shows it.", metavar="NUMBER", show_default=False),
]
OneOrAll = Annotated[
    str | None,
    typer.Argument(help="All answers of this one.", metavar="NUMBER", show_default=False),
]
Sql = Annotated[
    str | None,
    typer.Argument(help="One COUNT, SUM, AVG or PROPORTION, without groups; or --file.", show_default=False),
]
Queries = Annotated[
    Path | None,
    typer.Option(
        help='Several queries, fed in their order: SQL with semicolons, or a JSON list of {"query": '
        '"SELECT ...", "above": 100}; - is standard input.',
        metavar="FILE",
    ),
]


@takes(StudyOperations.open_monitor)
def open_monitor(
    study: StudyPlace, *, arguments: Arguments, preview: Preview = False, as_json: Json = False
) -> None:
    """Pay for a monitor now; whatever is fed into it later costs nothing.

    For example: adyton monitor open people.toml --positives 3 --of sums --epsilon 0.5
    """

    def make(curator: Opened) -> Any:
        words = arguments()
        if preview:
            words.pop("request", None)
            return curator.preview_monitor(**words)
        return curator.open_monitor(**words).budget()

    shown(study, make, as_json)


@takes(MonitorOperations.feed, but=("query",))
def feed(
    study: StudyPlace,
    number: Number,
    *,
    sql: Sql = None,
    arguments: Arguments,
    file: Queries = None,
    as_json: Json = False,
) -> None:
    """Ask a monitor whether a number is above a threshold. Not above is free; above uses up a positive.

    For example: adyton monitor feed people.toml 1 "SELECT SUM(income) FROM people" --above 1e6
    """

    def make(curator: Opened) -> Any:
        check_asked(sql, file)
        words, monitor = arguments(), curator.monitor(whole(number, "NUMBER"))
        if sql is not None:
            if "above" not in words:
                raise InvalidRequest("each number is compared with a threshold: give one, as in --above 100")
            return monitor.feed(sql, **words)
        return monitor.feed_many(read_compared(file or Path(), words.pop("above", None)), **words)

    shown(study, make, as_json)


@takes(MonitorOperations.answers)
def list_monitors(study: StudyPlace, number: OneOrAll = None, as_json: Json = False) -> None:
    """Show every monitor of a study and how far it is, or all answers of one. Reads no data."""

    def make(curator: Opened) -> Any:
        if number is None:
            return curator.monitors()
        monitor = curator.monitor(whole(number, "NUMBER"))
        return MonitorAnswers(monitor.answers(), monitor.budget())

    shown(study, make, as_json)


@takes(MonitorOperations.close)
def close(study: StudyPlace, number: Number, as_json: Json = False) -> None:
    """End a monitor for good: it answers no more. What it cost stays spent."""
    shown(study, lambda curator: curator.monitor(whole(number, "NUMBER")).close(), as_json)


app = typer.Typer(
    help="Watch many numbers for one price, until some are found above a threshold.", no_args_is_help=True
)
for name, command in (("open", open_monitor), ("feed", feed), ("list", list_monitors), ("close", close)):
    app.command(name)(command)
