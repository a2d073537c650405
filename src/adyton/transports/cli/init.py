"""adyton init: a first study file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.privacy import NEIGHBOURS
from adyton.setup.drafting import Wishes, draft_study
from adyton.study import FILL_IN
from adyton.transports.terminal import Json, run, whole

_UNASKED = {
    "gdp": "better for many questions; --questions N compares for yours",
    "pure": "the one whose delta is 0",
}


def register(app: typer.Typer) -> None:
    app.command()(init)


def init(
    data: Annotated[Path, typer.Argument(help="A Parquet or CSV file.", show_default=False)],
    epsilon: Annotated[str, typer.Option(help="The most that may ever be learned about one unit.")],
    delta: Annotated[str, typer.Option(help="Below 1/rows; 0 with --filter pure.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Study file to write; beside the data unless given.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="Column that identifies a person.")] = None,
    rows_per_person: Annotated[str, typer.Option(help="At most this many rows of a person count.")] = "1",
    neighbours: Annotated[str, typer.Option(help="replace (size public) or add-or-remove.")] = "replace",
    rows: Annotated[
        str | None, typer.Option(help="Number of rows, or persons, if you want to say it.")
    ] = None,
    lines: Annotated[
        str | None,
        typer.Option(help="With several rows per person: about how many rows count, all persons together."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the table in questions.")] = None,
    filter_name: Annotated[
        str | None, typer.Option("--filter", help="gdp, zcdp or pure; gdp unless --questions says better.")
    ] = None,
    questions: Annotated[
        str | None, typer.Option(help="How many you expect: drafts the filter with less noise.", metavar="N")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="The file is public: take bounds and values from it.")
    ] = False,
    metadata: Annotated[
        Path | None,
        typer.Option(help="Another file, which is public: take bounds and values of its columns from it."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing study file.")] = False,
    as_json: Json = False,
) -> None:
    """Write a first study file from column names and types. Its values are never read, unless --public."""

    def work() -> dict[str, Any]:
        if not data.is_file():
            raise InvalidRequest(f"there is no data file {str(data)!r}")
        study_file = output or data.with_suffix(".toml")
        if study_file.exists() and not force:
            raise InvalidRequest(f"{study_file} exists already; choose another -o, or --force")
        if neighbours not in NEIGHBOURS:
            raise InvalidRequest(f"neighbours must be one of {', '.join(NEIGHBOURS)}, not {neighbours!r}")
        wishes = Wishes(
            epsilon,
            delta,
            neighbours,
            person,
            whole(rows_per_person, "--rows-per-person"),
            None if rows is None else whole(rows, "--rows"),
            None if lines is None else whole(lines, "--lines"),
            name,
            filter_name,
            public,
            metadata,
            None if questions is None else whole(questions, "--questions"),
        ).decided()
        text = draft_study(data, wishes, study_file)
        _write(study_file, text)
        return {
            "study": str(study_file),
            "to_fill_in": text.count(f'"{FILL_IN}"'),
            "filter": wishes.filter,
            "why": wishes.why or ("as named" if filter_name else _UNASKED[wishes.filter or "gdp"]),
        }

    done = run(work, as_json)
    if not as_json:
        left = done["to_fill_in"]
        typer.echo(f"Wrote {done['study']}.")
        typer.echo(f"Filter {done['filter']}: {done['why']}.")
        entries = "1 entry still says" if left == 1 else f"{left} entries still say"
        typer.echo(
            f"{entries} {FILL_IN!r}. Set from public knowledge, never from the data."
            if left
            else "It is complete."
        )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        raise InvalidRequest(f"{path} cannot be written") from None
