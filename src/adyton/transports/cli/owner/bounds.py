"""adyton suggest-bounds: where nearly all values of a column lie, for a part of the budget."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from adyton.transports.places import Opened, StudyPlace, shown
from adyton.transports.terminal import Json, Share, one_price, whole

ColumnName = Annotated[
    str,
    typer.Argument(
        help="An integer or real column; table.column for a further private table.", show_default=False
    ),
]
Epsilon = Annotated[str | None, typer.Option(help="Price: epsilon of this suggestion.", metavar="E")]
LowFraction = Annotated[
    str | None,
    typer.Option(
        help="Fraction of the values at or below the lower end: 0.005, or as many as noise makes necessary.",
        metavar="F",
    ),
]
HighFraction = Annotated[
    str | None,
    typer.Option(
        help="Fraction of the values at or below the upper end: 0.995, or as few as noise makes necessary.",
        metavar="F",
    ),
]
Where = Annotated[str | None, typer.Option(help="Only rows for which this is true.", metavar="CONDITION")]
ExpectedRows = Annotated[
    str | None, typer.Option(help="Rows you expect, so that the fractions suit the noise.", metavar="N")
]


def suggest_bounds(
    study: StudyPlace,
    column: ColumnName,
    epsilon: Epsilon = None,
    share: Share = None,
    low_fraction: LowFraction = None,
    high_fraction: HighFraction = None,
    where: Where = None,
    expected_rows: ExpectedRows = None,
    as_json: Json = False,
) -> None:
    """Spend a part of the budget to learn where a column's values lie, and what to write in queries.

    Declared bounds must be public knowledge, so they may be generous; noise grows with them. Clamp the column
    in queries to the bounds that are suggested here, e.g. AVG(CLAMP(income, 0, 150000)).
    """

    def make(curator: Opened) -> Any:
        named = one_price(epsilon, share)
        if expected_rows is not None:
            named["expected_rows"] = whole(expected_rows, "--expected-rows")
        named |= {"low_fraction": low_fraction, "high_fraction": high_fraction, "where": where}
        return curator.suggest_bounds(column, **named)

    shown(study, make, as_json)
