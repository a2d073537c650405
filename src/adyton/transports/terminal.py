"""How a command does its work: people get a table, programs one JSON object, and errors an exit code."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from adyton.certify import json_text
from adyton.errors import CuratorError, InvalidRequest

_Done = TypeVar("_Done")
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]


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


def leave(error: CuratorError, as_json: bool) -> NoReturn:
    if as_json:
        typer.echo(json_text(error.to_json()))
    else:
        typer.echo(f"adyton: {error.message}", err=True)
    raise typer.Exit(error.exit_code) from None


def whole(text: str, option: str) -> int:
    """Read here and not by the parser of options, so that --json also covers the errors."""
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise InvalidRequest(f"{option} must be a whole number, not {text[:40]!r}")
    return int(text)
