"""adyton reserve: units that no query reads, and the tests that are made on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.transports.terminal import Force, Json, StudyFile, TableFile, progress, show

app = typer.Typer(help="Tests on units that no query reads: one needs no correction, several share alpha.")

Tests = Annotated[
    list[str],
    typer.Option("--test", help="What will be tested, in words; once for each test.", metavar="WORDS"),
]
Alpha = Annotated[str, typer.Option(help="Level of all tests together.", metavar="A")]
TableName = Annotated[
    str | None, typer.Option("--table", help="Another private table of the study.", metavar="NAME")
]
PValues = Annotated[
    list[str],
    typer.Argument(help="The p-value of each test, in the order in which they were named.", metavar="P..."),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Also the theorem.")]


@app.command("show")
def show_reserve(study: StudyFile, verbose: Verbose = False, as_json: Json = False) -> None:
    """Say how large the reserve is, and what it was opened for. Reads no data."""
    _look(study, [], verbose, as_json)


@app.command("open")
def open_reserve(
    study: StudyFile,
    tests: Tests,
    output: TableFile,
    alpha: Alpha = "0.05",
    table: TableName = None,
    force: Force = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Name the tests, once and for all, and write the rows of the reserve to a file for them.

    adyton reserve open trial.toml --test "the treated are well more often" -o reserved.parquet

    The ledger keeps the tests before a row is written, and no other can be added afterwards. The same
    command again writes the same rows. The file is not private: it is for the owner.
    """

    def make() -> Any:
        from adyton.setup.reserve import open_reserve as opened

        with progress("reading the reserve"):
            return opened(study, tests, alpha=alpha, to=output, table=table, overwrite=force)

    show(make, as_json, verbose=verbose)


@app.command("judge")
def judge(study: StudyFile, p_values: PValues, verbose: Verbose = False, as_json: Json = False) -> None:
    """Say which of the tests are significant, by their p-values, at the level that was fixed.

    adyton reserve judge trial.toml 0.003
    """
    _look(study, p_values, verbose, as_json)


def _look(study: Path, p_values: list[str], verbose: bool, as_json: bool) -> None:
    def make() -> Any:
        from adyton.setup.reserve import look_at_reserve

        return look_at_reserve(study, p_values)

    show(make, as_json, verbose=verbose)
