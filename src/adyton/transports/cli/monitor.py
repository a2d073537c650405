"""adyton monitor: watch many numbers for one price, until some were found above their threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.monitors.answer import MonitorAnswers
from adyton.transports.places import Opened, StudyPlace, shown
from adyton.transports.queries_file import check_asked, read_compared
from adyton.transports.terminal import Json, Preview, Request, Share, one_price, whole

Number = Annotated[
    str,
    typer.Argument(help="Its number, as list shows it.", metavar="NUMBER", show_default=False),
]
OneOrAll = Annotated[
    str | None,
    typer.Argument(help="All answers of this one.", metavar="NUMBER", show_default=False),
]
Positives = Annotated[
    str,
    typer.Option(help="Halt after so many answers above a threshold.", metavar="N", show_default=False),
]
Of = Annotated[
    str,
    typer.Option(
        help="What it may be fed with: counts; sums, which takes both; means, which takes these, sums of "
        "numbers of any sign, averages and proportions.",
        metavar="KIND",
    ),
]
Numeric = Annotated[
    bool, typer.Option("--numeric", help="Each answer above also has a noisy value, from the same price.")
]
Refresh = Annotated[
    bool | None,
    typer.Option(
        "--refresh/--keep",
        help="Draw the noise of the threshold anew after each answer above, or keep it; or what is quieter.",
        show_default=False,
    ),
]
Epsilon = Annotated[str | None, typer.Option(help="Price: epsilon of the whole monitor.", metavar="E")]
Sql = Annotated[
    str | None,
    typer.Argument(help="One COUNT, SUM, AVG or PROPORTION, without groups; or --file.", show_default=False),
]
Above = Annotated[
    str | None,
    typer.Option(help="The threshold: is the number above it? Of a file, where it names none.", metavar="T"),
]
Queries = Annotated[
    Path | None,
    typer.Option(
        help='Several queries, fed in their order: SQL with semicolons, or a JSON list of {"query": '
        '"SELECT ...", "above": 100}; - is standard input.',
        metavar="FILE",
    ),
]
Dialect = Annotated[
    str | None,
    typer.Option(help="The database in whose SQL it is written; or as the study file says.", metavar="NAME"),
]


def open_monitor(
    study: StudyPlace,
    positives: Positives,
    of: Of = "counts",
    numeric: Numeric = False,
    refresh: Refresh = None,
    epsilon: Epsilon = None,
    share: Share = None,
    request: Request = None,
    preview: Preview = False,
    as_json: Json = False,
) -> None:
    """Pay for a monitor now; whatever is fed into it later costs nothing.

    For example: adyton monitor open people.toml --positives 3 --of sums --epsilon 0.5
    """
    words: dict[str, Any] = {"of": of, "numeric": numeric, "refresh": refresh}

    def make(curator: Opened) -> Any:
        price = one_price(epsilon, share)
        many = whole(positives, "--positives")
        if preview:
            return curator.preview_monitor(positives=many, **words, **price)
        return curator.open_monitor(positives=many, request=request, **words, **price).budget()

    shown(study, make, as_json)


def feed(
    study: StudyPlace,
    number: Number,
    sql: Sql = None,
    above: Above = None,
    file: Queries = None,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Ask a monitor whether a number is above a threshold. Not above is free; above uses up a positive.

    For example: adyton monitor feed people.toml 1 "SELECT SUM(income) FROM people" --above 1e6
    """

    def make(curator: Opened) -> Any:
        check_asked(sql, file)
        monitor = curator.monitor(whole(number, "NUMBER"))
        if sql is not None:
            if above is None:
                raise InvalidRequest("each number is compared with a threshold: give one, as in --above 100")
            return monitor.feed(sql, above=above, dialect=dialect)
        return monitor.feed_many(read_compared(file or Path(), above), dialect=dialect)

    shown(study, make, as_json)


def list_monitors(study: StudyPlace, number: OneOrAll = None, as_json: Json = False) -> None:
    """Show every monitor of a study and how far it is, or all answers of one. Free, and reads no data."""

    def make(curator: Opened) -> Any:
        if number is None:
            return curator.monitors()
        monitor = curator.monitor(whole(number, "NUMBER"))
        return MonitorAnswers(monitor.answers(), monitor.budget())

    shown(study, make, as_json)


def close(study: StudyPlace, number: Number, as_json: Json = False) -> None:
    """End a monitor for good: it answers no more. What it cost stays spent."""
    shown(study, lambda curator: curator.monitor(whole(number, "NUMBER")).close(), as_json)


app = typer.Typer(
    help="Watch many numbers for one price, until some are found above a threshold.",
    no_args_is_help=True,
)
for name, command in (("open", open_monitor), ("feed", feed), ("list", list_monitors), ("close", close)):
    app.command(name)(command)
