"""adyton lab: attacks and worked examples, each number beside the expected one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from adyton.errors import InvalidRequest
from adyton.kernel.noise import SystemBits
from adyton.transports.figure_file import Figure, check_figure, write_figure
from adyton.transports.terminal import Json, show

if TYPE_CHECKING:  # the lab takes 0.05 s to load, which other commands need not wait for
    from adyton.lab import LabContents, LabReport

Name = Annotated[str | None, typer.Argument(help="What to show; without it, the list.", show_default=False)]
List = Annotated[bool, typer.Option("--list", help="List everything that the lab can show.")]


def lab(name: Name = None, listed: List = False, figure: Figure = None, as_json: Json = False) -> None:
    """Show an attack or a worked example. Exit code 1: a number is not as expected."""

    def make() -> LabReport | LabContents:
        if name is None or listed:
            from adyton.lab import LabContents

            if figure is not None:
                raise InvalidRequest("the list has no figure: name one of its entries")
            return LabContents()
        check_figure(figure)
        report = _report(name)
        if figure is not None:
            write_figure(report.figure(), figure)
        return report

    found = show(make, as_json)
    if name is not None and not listed and not found.agrees:
        raise typer.Exit(1)


def _report(name: str) -> LabReport:
    from adyton.lab import run

    return run(name, SystemBits(), np.random.default_rng())
