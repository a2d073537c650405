"""How a command does its work: people get a table, programs one JSON object, and errors an exit code."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from adyton.certify import json_text
from adyton.errors import CuratorError, InvalidRequest

_Done = TypeVar("_Done")
_TOO_MANY = 10**18  # for anything that is counted here
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
Csv = Annotated[
    bool,
    typer.Option("--csv", help="Print comma-separated values; cost, receipt and notes go to standard error."),
]


def run(work: Callable[[], _Done], as_json: bool) -> _Done:
    """Do the work; print its JSON, or the error's, and leave with the error's code."""
    try:
        done = work()
    except CuratorError as error:
        leave(error, as_json)
    if as_json:
        typer.echo(json_text(done))
    return done


def show(make: Callable[[], Any], as_json: bool, drawn: Callable[[Any], Any] = lambda made: made) -> None:
    """Print what ``make`` makes: what has ``to_json`` and what rich can draw, as ``drawn``."""

    def work() -> Any:
        made = make()
        if not as_json:
            from rich.console import Console

            Console().print(drawn(made))
        return made.to_json()

    run(work, as_json)


def show_csv(make: Callable[[], Any], as_json: bool) -> None:
    """Print answers as comma-separated values; what else there is to say goes to standard error."""

    def work() -> Any:
        if as_json:
            raise InvalidRequest("give either --json or --csv")
        return make()

    made = run(work, as_json)
    typer.echo(made.to_csv(), nl=False)
    for answer in getattr(made, "answers", [made]):
        for note in answer.notes():
            typer.echo(note, err=True)


def leave(error: CuratorError, as_json: bool) -> NoReturn:
    if as_json:
        typer.echo(json_text(error.to_json()))
    else:
        typer.echo(f"adyton: {error.message}", err=True)
    raise typer.Exit(error.exit_code) from None


def whole(text: str, option: str) -> int:
    """Read here and not by the parser of options, so that --json also covers the errors.

    100000, 100_000, 100,000 and 1e5 are one number; 1.5 is none.
    """
    number = _number(text)
    if number is None or number != int(number):
        raise InvalidRequest(f"{option} must be a whole number, such as 1000 or 1e3, not {text[:40]!r}")
    return int(number)


def _number(text: str) -> Decimal | None:
    grouped = re.fullmatch(r"[+-]?[0-9]{1,3}([,_][0-9]{3}){1,5}", text)
    plain = re.fullmatch(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?([eE]\+?[0-9]{1,2})?", text)
    number = Decimal(re.sub("[,_]", "", text)) if grouped or plain else None
    return number if number is not None and abs(number) < _TOO_MANY else None
