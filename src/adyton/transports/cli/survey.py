"""adyton survey: everybody adds noise to their own answers, and the reports are counted."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.transports.terminal import Force, Json, run, show, whole, write_file

if TYPE_CHECKING:  # loaded by the commands: others need not wait for it
    from adyton.surveys import Survey

File = Annotated[Path, typer.Argument(help="The survey file, e.g. survey.toml.", show_default=False)]
Answers = Annotated[
    Path | None,
    typer.Argument(help="Answers, a person in each line: .csv. Or give --answer.", show_default=False),
]
Answer = Annotated[
    list[str] | None,
    typer.Option(help="One answer of one person, e.g. age=41; repeat it.", metavar="NAME=VALUE"),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="The .csv file of reports to write.", show_default=False)
]
Reports = Annotated[Path, typer.Argument(help="The reports of all people: .csv.", show_default=False)]
Confidence = Annotated[str, typer.Option(help="Confidence of all intervals together.", metavar="C")]
People = Annotated[str, typer.Option(help="How many people may answer.", metavar="N")]

survey = typer.Typer(
    no_args_is_help=True,
    help="Ask people who trust nobody: each adds noise to their own answers. "
    "Example: adyton survey randomize survey.toml --answer smokes=yes --answer age=41",
)


@survey.command()
def randomize(
    file: File,
    answers: Answers = None,
    answer: Answer = None,
    output: Output = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Add noise to answers, where they are: what comes out is all that may be sent.

    Once for each person. Every further report of the same answers costs that person the same again.
    """

    def work() -> Any:
        from adyton.surveys import read_survey

        read = read_survey(file)
        if (answers is None) == (not answer):
            raise InvalidRequest("give either a file of answers, or --answer NAME=VALUE for one person")
        if output is not None and output.exists() and not force:
            raise InvalidRequest(f"{output} exists: choose another name, or --force")
        people = [_one(answer or [])] if answers is None else _rows(answers)
        if not people:
            raise InvalidRequest("the file has no answers: one line for each person, after the names")
        made = read.randomize_all(people)
        if output is not None:
            write_file(output, _csv(read, made))
        elif not as_json:
            typer.echo(_csv(read, made), nl=False)
        return {"survey": read.fingerprint, "people": len(made), "reports": made if output is None else None}

    done = run(work, as_json)
    if output is not None and not as_json:
        typer.echo(f"Wrote {output}: {done['people']:,} report{'s' if done['people'] > 1 else ''}.")


@survey.command()
def estimate(file: File, reports: Reports, confidence: Confidence = "0.95", as_json: Json = False) -> None:
    """Say what the reports of all people tell together, with intervals.

    For example: adyton survey estimate survey.toml reports.csv
    """

    def make() -> Any:
        from adyton.surveys import read_survey

        return read_survey(file).estimate(_rows(reports), confidence)

    show(make, as_json)


@survey.command()
def preview(
    file: File, people: People = "1000", confidence: Confidence = "0.95", as_json: Json = False
) -> None:
    """Say how much noise everybody adds, and how wide intervals will be, before anybody is asked.

    For example: adyton survey preview survey.toml --people 5000
    """

    def make() -> Any:
        from adyton.surveys import read_survey
        from adyton.surveys.preview import preview_of

        return preview_of(read_survey(file), whole(people, "--people"), confidence)

    show(make, as_json)


def _one(said: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for piece in said:
        name, equals, value = piece.partition("=")
        if not equals or name in found:
            raise InvalidRequest("--answer is NAME=VALUE, once for each question")
        found[name] = value
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    """The lines of a file by the names in its first.  No error repeats what is in it."""
    if path.suffix.lower() != ".csv":
        raise InvalidRequest(
            f"{path.name} must be a .csv file whose first line has the names of the questions"
        )
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file, restkey="", strict=True)
            rows = [dict(line) for line in lines]
    except FileNotFoundError:
        raise InvalidRequest(f"there is no file {path.name!r}") from None
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InvalidRequest(f"{path.name} cannot be read as .csv in UTF-8") from None
    if any("" in row or None in row.values() for row in rows):
        raise InvalidRequest(
            f"a line of {path.name} does not have as many values as the first line has names"
        )
    return rows


def _csv(read: Survey, reports: list[dict[str, str | int]]) -> str:
    paper = io.StringIO()
    writer = csv.DictWriter(
        paper, ["survey", *(question.name for question in read.questions)], lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(reports)
    return paper.getvalue()
