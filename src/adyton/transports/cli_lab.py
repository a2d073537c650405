"""adyton lab: attacks and worked examples, each number beside the expected one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.certify import json_text
from adyton.errors import CuratorError, InvalidRequest

Name = Annotated[str | None, typer.Argument(help="What to show; without it, the list.", show_default=False)]
List = Annotated[bool, typer.Option("--list", help="List everything that the lab can show.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
Figure = Annotated[
    Path | None, typer.Option(help="Also write the figure to this HTML file (extra: plot).", metavar="FILE")
]


def register(app: typer.Typer) -> None:
    app.command()(lab)


def lab(name: Name = None, listed: List = False, as_json: Json = False, figure: Figure = None) -> None:
    """Show an attack or a worked example. Exit code 1: a number is not as expected."""
    try:
        shown = _list() if name is None or listed else _report(name)
        if figure is not None:
            _draw(shown, figure)
    except CuratorError as error:
        _say(error.to_json() if as_json else None, f"adyton: {error.message}", err=not as_json)
        raise typer.Exit(error.exit_code) from None
    _show(shown, as_json)
    if not getattr(shown, "agrees", True):
        raise typer.Exit(1)


def _list() -> Any:
    from adyton.lab import EXPERIMENTS
    from adyton.show import Sheet, Shown

    class Contents(Shown):
        def sheet(self) -> Sheet:
            rows = tuple((topic.name, topic.title, ", ".join(topic.seeds)) for topic in EXPERIMENTS)
            notes = ("adyton lab NAME shows one of them.",)
            return Sheet("The lab", ("name", "what it shows", "seeds"), rows, notes, left_aligned=3)

        def to_json(self) -> dict[str, Any]:
            return {
                "entries": [{"name": t.name, "title": t.title, "seeds": list(t.seeds)} for t in EXPERIMENTS]
            }

    return Contents()


def _report(name: str) -> Any:
    import numpy as np

    from adyton.lab import run
    from adyton.noise import SystemBits

    return run(name, SystemBits(), np.random.default_rng())


def _draw(shown: Any, path: Path) -> None:
    if not hasattr(shown, "figure"):
        raise InvalidRequest("the list has no figure: name one of its entries")
    drawn = shown.figure()
    try:
        drawn.write_html(path)
    except OSError:
        raise InvalidRequest(f"{path} cannot be written") from None


def _show(shown: Any, as_json: bool) -> None:
    if as_json:
        _say(shown.to_json(), "")
        return
    from rich.console import Console

    Console().print(shown)


def _say(as_json: dict[str, Any] | None, text: str, *, err: bool = False) -> None:
    typer.echo(text if as_json is None else json_text(as_json), err=err)
