"""adyton holdout close and adyton holdout best: the last score, and a choice among models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adyton.errors import InvalidRequest
from adyton.transports.terminal import Json, show, whole

if TYPE_CHECKING:  # loaded by the commands: others need not wait for it
    from adyton.holdout import Choice, Score

File = Annotated[Path, typer.Argument(help="The file of the holdout, e.g. holdout.toml.", show_default=False)]
Predictions = Annotated[
    Path,
    typer.Argument(
        help="As for score: predictions, or .json with a rule of the class of this holdout.",
        show_default=False,
    ),
]
Models = Annotated[
    list[Path],
    typer.Argument(help="One file for each model; its name is that of the file.", show_default=False),
]
Column = Annotated[str | None, typer.Option(help="Which column, if there are several.", metavar="NAME")]
Cost = Annotated[
    str, typer.Option("--scores", help="What the choice may cost: more scores, a better choice.", metavar="K")
]


def close(file: File, predictions: Predictions, column: Column = None, as_json: Json = False) -> None:
    """Give the last score, exact, and score nothing ever after.

    For example: adyton holdout close holdout.toml best.npy
    """
    scores: list[Score] = []

    def make() -> Score:
        from adyton.holdout import Holdout
        from adyton.holdout.classes.files import read_submitted

        with Holdout.open(file) as holdout:
            scores.append(holdout.close_with(read_submitted(predictions, column)))
        return scores[0]

    show(make, as_json, paid=lambda: scores[0].number if scores else None)


def best(
    file: File, models: Models, column: Column = None, scores: Cost = "1", as_json: Json = False
) -> None:
    """Choose the best of several models, for the price of one score whatever their number.

    For example: adyton holdout best holdout.toml small.npy large.npy
    """
    choices: list[Choice] = []

    def make() -> Choice:
        from adyton.holdout import Holdout
        from adyton.holdout.classes.files import read_submitted

        names = [path.stem for path in models]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InvalidRequest(f"two files have the same name {twice[0]!r}, by which models are known")
        with Holdout.open(file) as holdout:
            sent = {path.stem: read_submitted(path, column) for path in models}
            choices.append(holdout.best_of(sent, scores=whole(scores, "--scores")))
        return choices[0]

    show(make, as_json, paid=lambda: choices[0].number if choices else None)
