"""adyton synthesize: a table of made-up rows that is like the private one, for a part of the budget."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.curator import open_study
from adyton.errors import InvalidRequest
from adyton.query.conditions.atoms import Bins as BinsOfColumns
from adyton.transports.cli.operation_commands import Arguments, takes_words
from adyton.transports.figure_file import Figure, check_figure, write_figure
from adyton.transports.terminal import Force, Json, Preview, StudyFile, show, whole, whole_if_said

Columns = Annotated[
    str, typer.Option(help="Columns of the table, separated by commas.", metavar="NAMES", show_default=False)
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="File to write: .parquet or .csv.", show_default=False)
]
Rows = Annotated[
    str | None, typer.Option(help="Rows to draw; as many as the private table has unless given.", metavar="N")
]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        help="How many bins a number or date has, or where each but the first begins, as "
        "age=18/65,income=20; 16 each.",
        metavar="BINS",
    ),
]
_DAY = re.compile(r"\d+-\d+-\d+")  # any other edge is a number, such as -1e-5
Ways = Annotated[str | None, typer.Option(help="Measure marginals of up to so many columns; 3.", metavar="N")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Also the theorems.")]


@takes_words("epsilon", "share")
def synthesize(
    study: StudyFile,
    columns: Columns,
    *,
    output: Output = None,
    rows: Rows = None,
    bins: Bins = None,
    ways: Ways = None,
    arguments: Arguments,
    figure: Figure = None,
    preview: Preview = False,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Spend a part of the budget on a synthetic table: made-up rows that are like the private ones.

    Marginals are chosen privately, where the guess is still far off, and measured with noise. The rows are
    drawn from what was measured. The same again at the same --epsilon is free, also with other --rows.
    """

    def make() -> Any:
        from adyton.curator.mock_file import check_output, write_table
        from adyton.synthesis.result import MADE

        named = arguments()
        check_figure(figure)
        with open_study(study) as curator:
            if output is not None:
                check_output(curator.study, output, overwrite=force)
            names = [name.strip() for name in columns.split(",")]
            named |= {"bins": bins_of(bins), "ways": whole_if_said(ways, "--ways")}
            if preview:
                return curator.preview_synthesis(names, **named)
            made = curator.synthesize(names, rows=whole_if_said(rows, "--rows"), **named)
        if output is not None:
            write_table(made.columns, output, MADE)
        if figure is not None:
            from adyton.figures.synthesis import figure as drawn

            write_figure(drawn(made), figure)
        return made

    show(make, as_json, verbose=verbose)
    if output is None and not preview:
        typer.echo(
            "No file was written: the same again with -o FILE, at the same --epsilon, is free.", err=True
        )


def bins_of(given: list[str] | None) -> dict[str, BinsOfColumns]:
    """How many each column has, or where each but the first begins; with commas, or one option for each."""
    found: dict[str, BinsOfColumns] = {}
    for piece in ",".join(given).split(",") if given else ():
        name, equals, places = (part.strip() for part in piece.partition("="))
        if not equals or not name:
            raise InvalidRequest(f"--bins is name=number or name=18/65,..., not {piece[:100]!r}")
        if name in found:
            raise InvalidRequest(f"--bins names {name[:100]!r} twice")
        edges = [edge.strip() for edge in places.split("/") if edge.strip()]
        found[name] = [_edge(e) for e in edges] if "/" in places else whole(places, f"--bins of {name}")
    return found


def _edge(text: str) -> str | date:
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else text
    except ValueError:
        raise InvalidRequest(f"--bins has {text[:100]!r}: a day is written as 2026-12-31") from None
