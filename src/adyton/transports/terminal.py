"""How a command does its work: people get a table, programs one JSON object, and errors an exit code."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from adyton.certify import json_text
from adyton.errors import CuratorError, Interrupted, InvalidRequest
from adyton.refusals import message_of

_Done = TypeVar("_Done")
_TOO_MANY = 10**18  # for anything that is counted here

StudyFile = Annotated[Path, typer.Argument(help="The study file, e.g. people.toml.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
Csv = Annotated[
    bool,
    typer.Option("--csv", help="Print comma-separated values; cost, receipt and notes go to standard error."),
]
Preview = Annotated[bool, typer.Option("--preview", help="Only say what it would cost: free, reads nothing.")]
Head = Annotated[
    str | None, typer.Option(help="A head that you kept: it must be in the chain.", metavar="DIGEST")
]
TableFile = Annotated[
    Path, typer.Option("-o", "--output", help="File to write: .parquet or .csv.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


class ExplainedExit(SystemExit):
    """Left because of Ctrl-C, and what that means was said."""


def run(
    work: Callable[[], _Done],
    as_json: bool,
    paid: Callable[[], int | None] = lambda: None,
    told: Callable[[_Done], object] = lambda done: done,
) -> _Done:
    """Do the work; print its JSON, or the error's, and leave with the error's code.

    ``paid`` says after Ctrl-C which receipt the command has paid for by then.  ``told`` makes JSON of what
    was done.
    """
    try:
        done = work()
        if as_json:
            typer.echo(json_text(told(done)))
    except CuratorError as error:
        words = message_of(error, "terminal")
        _say(error.to_json(words), words, as_json)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt as stop:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would come in the middle of the sentence
        found = stop if isinstance(stop, Interrupted) else Interrupted(paid())
        said = {"kind": "interrupted", "message": found.message, "receipt": found.receipt}
        _say({"error": said}, found.message, as_json)
        raise ExplainedExit(130) from None
    return done


def _say(told: object, message: str, as_json: bool) -> None:
    if as_json:
        typer.echo(json_text(told))
    else:
        typer.echo(f"adyton: {message}", err=True)


def show(
    make: Callable[[], Any], as_json: bool, *, paid: Callable[[], int | None] = lambda: None, **how: bool
) -> Any:
    """Print what ``make`` makes, and return it: what has ``to_json`` and a sheet, which is drawn as ``how``
    says, such as ``verbose``.
    """

    def work() -> Any:
        made = make()
        if not as_json:
            from rich.console import Console

            Console().print(made.sheet(**how))
        return made

    return run(work, as_json, paid, lambda made: made.to_json())


def show_csv(make: Callable[[], Any], as_json: bool, paid: Callable[[], int | None]) -> None:
    """Print answers as comma-separated values; what else there is to say goes to standard error."""

    def work() -> None:
        if as_json:
            raise InvalidRequest("give either --json or --csv")
        made = make()
        typer.echo(made.to_csv(), nl=False)
        for answer in getattr(made, "answers", [made]):
            for note in answer.notes():
                typer.echo(note, err=True)

    run(work, as_json, paid)


@contextmanager
def progress(what: str, total: float | None = None) -> Iterator[Callable[..., None]]:
    """A bar on the error stream, if a person is watching.

    It is moved by what is yielded: one further, or as far as ``done``, perhaps under another name.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def step(name: str = what, done: float | None = None) -> None:
            bar.update(task, description=name, completed=bar.tasks[0].completed + 1 if done is None else done)

        yield step


def confirmed(query: str, as_json: bool) -> bool:
    """Whether a person at a terminal says yes.  Programs are not asked: for them it is no."""
    return can_be_asked(as_json) and typer.confirm(query, err=True)


def can_be_asked(as_json: bool) -> bool:
    """Whether a person is at the terminal."""
    return not as_json and sys.stdin.isatty() and sys.stderr.isatty()


def write_file(path: Path, content: str | bytes) -> None:
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError:
        raise InvalidRequest(f"{path} cannot be written") from None


def whole(text: str, option: str) -> int:
    """Read here and not by the parser of options, so that --json also covers the errors.

    100000, 100_000, 100,000 and 1e5 are one number; 1.5 is none.
    """
    number = _number(text)
    if number is None or number != int(number):
        raise InvalidRequest(f"{option} must be a whole number, such as 1000 or 1e3, not {text[:40]!r}")
    return int(number)


def whole_if_said(text: str | None, option: str) -> int | None:
    return None if text is None else whole(text, option)


def one_price(given: Container[str]) -> None:
    """Of what is paid for at once."""
    if ("epsilon" in given) == ("share" in given):
        raise InvalidRequest("give exactly one price: --epsilon or --share")


def _number(text: str) -> Decimal | None:
    grouped = re.fullmatch(r"[+-]?[0-9]{1,3}([,_][0-9]{3}){1,5}", text)
    plain = re.fullmatch(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?([eE]\+?[0-9]{1,2})?", text)
    number = Decimal(re.sub("[,_]", "", text)) if grouped or plain else None
    return number if number is not None and abs(number) < _TOO_MANY else None
