"""adyton mock: rows to look at and to try queries on, made up from public facts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from adyton.transports.places import StudyPlace, public_study
from adyton.transports.terminal import Force, Json, TableFile, run, whole_if_said

Rows = Annotated[
    str | None,
    typer.Option(help="Rows, or persons; as many as the study declares unless given.", metavar="N"),
]


def mock(
    study: StudyPlace, output: TableFile, rows: Rows = None, force: Force = False, as_json: Json = False
) -> None:
    """Write a table like the study's, made up from public facts alone. The real data is never touched."""

    def work() -> dict[str, Any]:
        from adyton.curator.mock_file import write_mock

        units = whole_if_said(rows, "--rows")
        written = write_mock(public_study(study), output, units, overwrite=force)
        return {"mock": True, "files": [str(path) for path in written]}

    done = run(work, as_json)
    if not as_json:
        typer.echo(f"Wrote {' and '.join(done['files'])}: made up from public facts, about nobody.")
        typer.echo("To ask queries of it: adyton ask STUDY SQL --mock")
