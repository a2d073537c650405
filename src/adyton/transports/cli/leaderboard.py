"""adyton holdout compare, submit and leaderboard: who is better, and who only seems to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.show import Sheet
from adyton.transports.places import HoldoutPlace, opened_holdout, opened_leaderboard
from adyton.transports.terminal import Json, show

if TYPE_CHECKING:  # loaded by the commands: others need not wait for it
    from adyton.holdout import Score
    from adyton.holdout.score import Comparison

File = Annotated[Path, typer.Argument(help="The file of the holdout, e.g. holdout.toml.", show_default=False)]
First = Annotated[Path, typer.Argument(help="Predictions of the first model.", show_default=False)]
Second = Annotated[Path, typer.Argument(help="Predictions of the second model.", show_default=False)]
Entrant = Annotated[
    str, typer.Argument(help="Who sends it, as the leaderboard shows.", metavar="NAME", show_default=False)
]
Predictions = Annotated[
    Path,
    typer.Argument(help="One value per item: .npy, .csv, .parquet or .jsonl.", show_default=False),
]
Column = Annotated[str | None, typer.Option(help="Which column, if there are several.", metavar="NAME")]
SecondColumn = Annotated[
    str | None, typer.Option(help="The column of the second model, if not --column.", metavar="NAME")
]
Guess = Annotated[
    str | None, typer.Option(help="The score you expect, e.g. on the training data.", metavar="G")
]


@dataclass(frozen=True, slots=True)
class Standings:
    """A leaderboard as it was when it was looked at."""

    entries: dict[str, Any]
    drawn: Sheet

    def to_json(self) -> dict[str, Any]:
        return self.entries


def compare(
    file: HoldoutPlace,
    first: First,
    second: Second,
    column: Column = None,
    second_column: SecondColumn = None,
    as_json: Json = False,
) -> None:
    """Say whether the first model is better than the second, for the price of one score.

    For example: adyton holdout compare holdout.toml ours.csv theirs.csv --column guess
    """
    made: list[Comparison] = []

    def make() -> Comparison:
        from adyton.holdout.files import read_values

        with opened_holdout(file) as holdout:
            values = read_values(first, column), read_values(second, second_column or column)
            made.append(holdout.compare(*values))
        return made[0]

    show(make, as_json, paid=lambda: made[0].number if made else None)


def submit(
    file: File,
    name: Entrant,
    predictions: Predictions,
    column: Column = None,
    guess: Guess = None,
    as_json: Json = False,
) -> None:
    """Score predictions under a name, for the leaderboard. The same ones again are free, and count for who
    sent them first.

    For example: adyton holdout submit holdout.toml ann ours.csv --column guess
    """
    scores: list[Score] = []

    def make() -> Score:
        from adyton.holdout.files import read_values
        from adyton.holdout.leaderboard import Leaderboard

        with Leaderboard(file) as board:
            scores.append(board.submit(name, read_values(predictions, column), guess=guess))
        return scores[0]

    show(make, as_json, paid=lambda: scores[0].number if scores else None)


def leaderboard(file: HoldoutPlace, as_json: Json = False) -> None:
    """Show who is ahead beyond doubt, and who is tied. Free.

    Rank 3 means that two are better on the population; whoever the intervals do not separate is tied.
    """

    def make() -> Any:
        with opened_leaderboard(file) as board:
            return Standings(board.to_json(), board.sheet())

    show(make, as_json, lambda made: made.drawn)
