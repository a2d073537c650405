"""adyton init: a first study file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from adyton.errors import InvalidRequest
from adyton.kernel.privacy import ADJACENCIES, Adjacency
from adyton.query.description import DictionaryName
from adyton.setup.drafting import DraftOptions, draft_study
from adyton.study import FILL_IN
from adyton.transports.terminal import (
    Json,
    can_be_asked,
    confirmed,
    run,
    whole,
    whole_if_said,
    write_file,
)

_UNASKED = {
    "gdp": "better for many queries; --queries N compares for yours",
    "pure": "the one whose delta is 0",
}


Data = Annotated[Path, typer.Argument(help="A Parquet or CSV file.", show_default=False)]
Epsilon = Annotated[str, typer.Option(help="The most that may ever be learned about one unit.")]
Delta = Annotated[str, typer.Option(help="Below 1/rows; 0 with --accounting pure.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Study file to write; beside the data unless given.")
]
Person = Annotated[str | None, typer.Option(help="Column that identifies a person.")]
RowsPerPerson = Annotated[str, typer.Option(help="At most this many rows of a person count.")]
AdjacencyOption = Annotated[str, typer.Option(help="replace-one (size public) or add-remove.")]
Rows = Annotated[str | None, typer.Option(help="Number of rows, or persons, if you want to say it.")]
Lines = Annotated[
    str | None,
    typer.Option(help="With several rows per person: about how many rows count, all persons together."),
]
Name = Annotated[str | None, typer.Option(help="Name of the table in queries.")]
Accounting = Annotated[
    str | None, typer.Option("--accounting", help="gdp, zcdp or pure; gdp unless --queries says better.")
]
Queries = Annotated[
    str | None, typer.Option(help="How many you expect: drafts the accounting with less noise.", metavar="N")
]
DictionaryOption = Annotated[
    str | None,
    typer.Option(
        "--dictionary",
        help="schema: you assert that nothing in the file is chosen by looking at the rows; or universal.",
    ),
]
Public = Annotated[bool, typer.Option("--public", help="The file is public: take bounds and values from it.")]
Metadata = Annotated[
    Path | None,
    typer.Option(help="Another file, which is public: take bounds and values of its columns from it."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing study file.")]


def init(
    data: Data,
    epsilon: Epsilon,
    delta: Delta,
    output: Output = None,
    person: Person = None,
    rows_per_person: RowsPerPerson = "1",
    adjacency: AdjacencyOption = "replace-one",
    rows: Rows = None,
    lines: Lines = None,
    name: Name = None,
    accounting: Accounting = None,
    queries: Queries = None,
    dictionary: DictionaryOption = None,
    public: Public = False,
    metadata: Metadata = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a first study file from column names and types. Its values are never read, unless --public."""

    def work() -> dict[str, Any]:
        study_file = _new_file(data, output, force)
        wishes = DraftOptions(
            epsilon,
            delta,
            _adjacency(adjacency),
            person,
            whole(rows_per_person, "--rows-per-person"),
            whole_if_said(rows, "--rows"),
            whole_if_said(lines, "--lines"),
            name,
            accounting,
            public,
            metadata,
            whole_if_said(queries, "--queries"),
            _dictionary(dictionary, public, as_json),
        ).decided()
        write_file(study_file, text := draft_study(data, wishes, study_file))
        return {
            "study": str(study_file),
            "to_fill_in": text.count(f'"{FILL_IN}"'),
            "columns": [{"name": name, "to_fill_in": number} for name, number in _by_column(text).items()],
            "accounting": wishes.accounting,
            "why": wishes.why or ("as named" if accounting else _UNASKED[wishes.accounting or "gdp"]),
        }

    done = run(work, as_json)
    if not as_json:
        _say(done)


def _new_file(data: Path, output: Path | None, force: bool) -> Path:
    if not data.is_file():
        raise InvalidRequest(f"there is no data file {str(data)!r}")
    study_file = output or data.with_suffix(".toml")
    if study_file.exists() and not force:
        raise InvalidRequest(f"{study_file} exists already; choose another -o, or --force")
    return study_file


def _adjacency(text: str) -> Adjacency:
    if text not in ADJACENCIES:
        raise InvalidRequest(f"adjacency must be one of {', '.join(ADJACENCIES)}, not {text!r}")
    return text


_LOOKED = (
    "Will you fill in bounds and lists of values without looking at these rows, from public knowledge alone? "
    "Then intervals for the population are narrower."
)


def _dictionary(named: str | None, public: bool, as_json: bool) -> DictionaryName:
    """As the owner says; a person is asked.  What is taken from the rows was not written without them."""
    if named not in (None, *get_args(DictionaryName)):
        raise InvalidRequest(f"--dictionary is schema or universal, not {named!r}")
    if public and named == "schema":
        raise InvalidRequest("--public takes bounds and values from the rows: --dictionary is universal then")
    if public or named == "universal":
        return "universal"
    if named is None and can_be_asked(as_json) and not confirmed(_LOOKED, as_json):
        return "universal"
    return "schema"


def _by_column(text: str) -> dict[str, int]:
    """How many entries of each column are left to fill in."""
    columns = tomllib.loads(text).get("columns", {})
    return {name: list(column.values()).count(FILL_IN) for name, column in columns.items()}


def _say(done: dict[str, Any]) -> None:
    left, by_column = done["to_fill_in"], {one["name"]: one["to_fill_in"] for one in done["columns"]}
    many = f"{len(by_column)} column{'' if len(by_column) == 1 else 's'}"
    typer.echo(f"Wrote {done['study']} with {many}. Delete the columns that no query needs.")
    typer.echo(f"Accounting {done['accounting']}: {done['why']}.")
    entries, it = ("1 entry still says", "it") if left == 1 else (f"{left} entries still say", "them")
    to_do = f"{entries} {FILL_IN!r}. Set {it} from public knowledge, never from the data."
    typer.echo(to_do if left else "It is complete.")
    if left > sum(by_column.values()):
        typer.echo(f"{left - sum(by_column.values())} in [table]")
    for number in sorted({*by_column.values()} - {0}, reverse=True):
        names = ", ".join(name for name, open_ in by_column.items() if open_ == number)
        typer.echo(f"{number} in {names}")
