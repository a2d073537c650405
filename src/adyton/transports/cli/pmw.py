"""adyton pmw: very many counts of few people for one price, from a public guess that learns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.curator import Curator
from adyton.transports.cli.monitor import Number, OneOrAll
from adyton.transports.cli.operation_commands import Arguments, takes_words
from adyton.transports.cli.synthesize import bins_of
from adyton.transports.places import shown
from adyton.transports.queries_file import check_asked, read_queries
from adyton.transports.terminal import Json, Preview, StudyFile, whole

Columns = Annotated[
    str,
    typer.Option(help="What queries may be about, separated by commas.", metavar="NAMES", show_default=False),
]
Queries = Annotated[str, typer.Option(help="How many there may be.", metavar="N", show_default=False)]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        help="How many bins a number or date has, or where each but the first begins, as "
        "age=18/65,income=20.",
        metavar="BINS",
    ),
]
Tolerance = Annotated[
    str | None,
    typer.Option(help="Refuse if a guess that is wrong by more, of all units, could pass.", metavar="T"),
]
Sql = Annotated[
    str | None,
    typer.Argument(
        help="One COUNT, or PROPORTION of all rows, without groups; or --file.", show_default=False
    ),
]
File = Annotated[
    Path | None,
    typer.Option(
        help="Several queries, fed in their order: SQL with semicolons, or a JSON list of texts; "
        "- is standard input.",
        metavar="FILE",
    ),
]


@takes_words("epsilon", "share", "expected_rows", "request")
def open_pmw(
    study: StudyFile,
    columns: Columns,
    queries: Queries,
    *,
    bins: Bins = None,
    tolerance: Tolerance = None,
    arguments: Arguments,
    preview: Preview = False,
    as_json: Json = False,
) -> None:
    """Pay for private multiplicative weights (PMW) now; what is fed later costs nothing.

    Refused, free of charge, where noise of its own for each answer would be better.
    For example: adyton pmw open people.toml --columns region,smoker,age --bins age=20 --queries 10000
    --share 0.5
    """

    def make(curator: Curator) -> Any:
        words = arguments()
        words |= {"queries": whole(queries, "--queries"), "bins": bins_of(bins), "tolerance": tolerance}
        names = [name.strip() for name in columns.split(",")]
        if preview:
            words.pop("request", None)
            return curator.preview_pmw(names, **words)
        return curator.open_pmw(names, **words).budget()

    shown(study, make, as_json)


@takes_words("dialect")
def feed(
    study: StudyFile,
    number: Number,
    *,
    sql: Sql = None,
    file: File = None,
    arguments: Arguments,
    as_json: Json = False,
) -> None:
    """Ask PMW for a count: guessed, or measured with noise where the guess is found wrong.

    For example: adyton pmw feed people.toml 1 "SELECT COUNT(*) FROM people WHERE smoker"
    """

    def make(curator: Curator) -> Any:
        check_asked(sql, file)
        pmw = curator.pmw(whole(number, "NUMBER"))
        if sql is not None:
            return pmw.feed(sql, **arguments())
        return pmw.feed_many(read_queries(file or Path()), **arguments())

    shown(study, make, as_json)


def list_pmw(study: StudyFile, number: OneOrAll = None, as_json: Json = False) -> None:
    """Show every PMW run of a study and how far it is, or all answers of one. Free, and reads no data.

    For example: adyton pmw list people.toml
    """

    def make(curator: Curator) -> Any:
        from adyton.monitors.pmw.answer import PmwAnswers

        if number is None:
            return curator.opened_pmw()
        pmw = curator.pmw(whole(number, "NUMBER"))
        return PmwAnswers(pmw.answers(), pmw.budget())

    shown(study, make, as_json)


app = typer.Typer(
    help="Private multiplicative weights: ask very many counts of few people for one price, from a guess "
    "that learns.",
    no_args_is_help=True,
)
for name, command in (("open", open_pmw), ("feed", feed), ("list", list_pmw)):
    app.command(name)(command)
