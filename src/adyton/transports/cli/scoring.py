"""adyton holdout score, compare, best, submit, leaderboard and close: what predictions are worth, and who is
better, or only seems to be.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.operations.holdouts import HoldoutOperations
from adyton.operations.results import printable
from adyton.show import Sheet
from adyton.transports.cli.operation_commands import Arguments, in_place, takes
from adyton.transports.places import HoldoutPlace, opened_holdout, opened_leaderboard
from adyton.transports.terminal import Json, show

File = Annotated[Path, typer.Argument(help="The file of the holdout, e.g. holdout.toml.", show_default=False)]
Predictions = Annotated[
    Path,
    typer.Argument(
        help="One value per item: .npy, .csv, .parquet or .jsonl. For top_k a row of them: .npy or .jsonl. "
        "For a hypothesis class .json with a rule.",
        show_default=False,
    ),
]
Values = Annotated[
    Path,
    typer.Argument(help="One value per item: .npy, .csv, .parquet or .jsonl.", show_default=False),
]
Last = Annotated[
    Path,
    typer.Argument(
        help="As for score: predictions, or .json with a rule of the class of this holdout.",
        show_default=False,
    ),
]
First = Annotated[Path, typer.Argument(help="Predictions of the first model.", show_default=False)]
Second = Annotated[Path, typer.Argument(help="Predictions of the second model.", show_default=False)]
Models = Annotated[
    list[Path],
    typer.Argument(help="One file for each model; its name is that of the file.", show_default=False),
]
Entrant = Annotated[
    str,
    typer.Argument(
        help="Who sends it, as the leaderboard shows; on a server the name of the token.",
        metavar="ENTRANT",
        show_default=False,
    ),
]
Column = Annotated[str | None, typer.Option(help="Which column, if there are several.", metavar="NAME")]
SecondColumn = Annotated[
    str | None, typer.Option(help="The column of the second model, if not --column.", metavar="NAME")
]


@takes(HoldoutOperations.score, only=("guess",))
def score(
    file: HoldoutPlace,
    predictions: Predictions,
    *,
    column: Column = None,
    arguments: Arguments,
    as_json: Json = False,
) -> None:
    """Score predictions. The same ones again are free."""

    def make(holdout: Any) -> Any:
        from adyton.holdout.classes.files import read_submitted

        return holdout.score(read_submitted(predictions, column), **arguments())

    _shown(opened_holdout, file, make, as_json)


@takes(HoldoutOperations.compare, only=())
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

    def make(holdout: Any) -> Any:
        from adyton.holdout.files import read_values

        return holdout.compare(read_values(first, column), read_values(second, second_column or column))

    _shown(opened_holdout, file, make, as_json)


@takes(HoldoutOperations.best_of, only=("scores",))
def best(
    file: HoldoutPlace, models: Models, *, column: Column = None, arguments: Arguments, as_json: Json = False
) -> None:
    """Choose the best of several models, for the price of one score whatever their number.

    For example: adyton holdout best holdout.toml small.npy large.npy
    """

    def make(holdout: Any) -> Any:
        from adyton.holdout.classes.files import read_submitted

        names = [path.stem for path in models]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InvalidRequest(f"two files have the same name {twice[0]!r}, by which models are known")
        sent = {path.stem: read_submitted(path, column) for path in models}
        return holdout.best_of(sent, **arguments())

    _shown(opened_holdout, file, make, as_json)


@takes(HoldoutOperations.submit, only=("name", "guess"))
def submit(
    file: HoldoutPlace,
    entrant: Entrant,
    predictions: Values,
    *,
    column: Column = None,
    arguments: Arguments,
    as_json: Json = False,
) -> None:
    """Score predictions for the leaderboard, as a model of an entrant. The same ones again are free, and
    count for who sent them first.

    For example: adyton holdout submit holdout.toml ann ours.csv --column guess --name small

    or, on a server, where the entrant is the name of your token:
    adyton holdout submit https://host/holdout ann ours.csv --name small
    """

    def make(board: Any) -> Any:
        from adyton.holdout.files import read_values

        return board.submit(entrant, read_values(predictions, column), **arguments())

    _shown(opened_leaderboard, file, make, as_json)


@takes(HoldoutOperations.close_with, only=())
def close(file: HoldoutPlace, predictions: Last, column: Column = None, as_json: Json = False) -> None:
    """Give the last score, exact, and score nothing ever after. On a server owners alone may do so.

    For example: adyton holdout close holdout.toml best.npy
    """

    def make(holdout: Any) -> Any:
        from adyton.holdout.classes.files import read_submitted

        return holdout.close_with(read_submitted(predictions, column))

    _shown(opened_holdout, file, make, as_json)


def scores(file: HoldoutPlace, as_json: Json = False) -> None:
    """List every score so far. On a server the own ones; for owners and auditors all. Free of charge."""
    show(lambda: in_place(opened_holdout, file, lambda holdout: printable(holdout.scores())), as_json)


@takes(HoldoutOperations.standings, only=())
def leaderboard(file: HoldoutPlace, as_json: Json = False) -> None:
    """Show who is ahead beyond doubt, and who is tied.

    Rank 3 means that two models are better on the population; models that the intervals do not separate are
    tied.
    """

    def make() -> Standings:
        with opened_leaderboard(file) as board:
            return Standings(board.to_json(), board.sheet())

    show(make, as_json)


@dataclass(frozen=True, slots=True)
class Standings:
    """A leaderboard as it was when it was looked at."""

    entries: dict[str, Any]
    drawn: Sheet

    def to_json(self) -> dict[str, Any]:
        return self.entries

    def sheet(self) -> Sheet:
        return self.drawn


def _shown(
    opened: Callable[[Any], AbstractContextManager[Any]],
    place: str | Path,
    make: Callable[[Any], Any],
    as_json: bool,
) -> None:
    """Print what ``make`` gets of a holdout; once it is there, Ctrl-C says by which receipt it was paid."""
    found: list[Any] = []

    def work() -> Any:
        with opened(place) as holdout:
            found.append(make(holdout))
        return found[0]

    show(work, as_json, paid=lambda: found[0].number if found else None)
