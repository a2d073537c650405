"""adyton plan: before anything is asked, how many queries, how exact, from how many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from adyton.transports.figure_file import Figure, check_figure, write_figure
from adyton.transports.terminal import Json, progress, show, whole_if_said

if TYPE_CHECKING:  # loaded by the command: others need not wait for it
    from adyton.transports.all_methods import AllMethods

Rows = Annotated[str | None, typer.Option(help="Number of rows (or persons).", metavar="N")]
Tolerance = Annotated[str | None, typer.Option(help="Half-width for values in 0..1, e.g. 0.05.", metavar="T")]
Queries = Annotated[str | None, typer.Option(help="Number of adaptive queries.", metavar="K")]
ExpectShare = Annotated[
    str | None,
    typer.Option(help="Plan for shares of about this size. Guarantees nothing.", metavar="P"),
]
Spread = Annotated[
    str | None,
    typer.Option(help="Plan for this standard deviation, as a part of the range.", metavar="S"),
]
Group = Annotated[str | None, typer.Option(help="Plan for means over this share of the rows.", metavar="G")]
Confidence = Annotated[str, typer.Option(help="Simultaneous, for all queries.")]
HypothesisClass = Annotated[
    str,
    typer.Option(help="A class that all queries are from: thresholds:1, boxes:2, linear:3.", metavar="NAME"),
]


def plan(
    rows: Rows = None,
    tolerance: Tolerance = None,
    queries: Queries = None,
    confidence: Confidence = "0.95",
    expect_share: ExpectShare = None,
    spread: Spread = None,
    group: Group = None,
    hypothesis_class: HypothesisClass = "thresholds:1",
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Compare all methods that certify adaptive queries. Give two of rows, tolerance and queries.

    For example: adyton plan --rows 100,000 --tolerance 0.05
    """

    def make() -> AllMethods:
        from adyton.transports.all_methods import AllMethods
        from adyton.validity.planner import plan as compare

        check_figure(figure)
        made = compare(
            rows=whole_if_said(rows, "--rows"),
            tolerance=tolerance,
            confidence=confidence,
            queries=whole_if_said(queries, "--queries"),
            expect_share=expect_share,
            spread=spread,
            group=group,
        )
        found = AllMethods(made, hypothesis_class)
        if figure is not None:
            with progress("planning", found.steps) as advance:
                drawn = found.figure(advance)
            write_figure(drawn, figure)
        return found

    show(make, as_json)
