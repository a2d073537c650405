"""adyton check: a study file beside its data, for the owner."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from adyton.certify.checked import StudyCheck
from adyton.setup.checking import check_study
from adyton.transports.terminal import Json, StudyFile, show

_SURPRISING = 1  # exit code


def check(
    study: StudyFile,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Price at which keys of text columns are looked for; by default a tenth of the study's."
        ),
    ] = None,
    allow: Annotated[
        str,
        typer.Option(
            help="Share of the rows that may be odd in one way without being reported.", metavar="S"
        ),
    ] = "0",
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Show values and keys of the data as well.")
    ] = False,
    as_json: Json = False,
) -> None:
    """For the owner, not private: compare a study file with its data. Charges nothing, writes nothing.

    Exits with code 1 if something would surprise an analyst who believes the study file.
    """

    def make() -> StudyCheck:
        return check_study(
            study, epsilon=epsilon, allow=allow, show_values=show_values, said=_say_what_is_read
        )

    if not show(make, as_json).ok:
        raise typer.Exit(_SURPRISING)


def _say_what_is_read(what: str) -> None:
    """Large data takes a while; only somebody who watches wants to know."""
    if sys.stderr.isatty():
        typer.echo(f"{what} ...", err=True)
