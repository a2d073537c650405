"""adyton p-value: how small a p-value must be after the rows have been queried."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from adyton.curator import open_study
from adyton.errors import InvalidRequest
from adyton.operations.studies import StudyOperations
from adyton.transports.cli.operation_commands import Arguments, takes
from adyton.transports.places import StudyPlace, file_of, opened
from adyton.transports.terminal import Json, show

Alpha = Annotated[str, typer.Option(help="Level of the test.", metavar="A")]
Publish = Annotated[
    bool,
    typer.Option(
        "--publish",
        help="Record that the result is published: later answers have intervals by description alone.",
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Add the theorem, and what the others that apply would say.")
]


@takes(StudyOperations.last_look, but=("alpha",))
def p_value(
    study: StudyPlace,
    *,
    alpha: Alpha = "0.05",
    arguments: Arguments,
    publish: Publish = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Say how small a p-value on the rows must be, after all that was asked, to be called significant.

    The answers so far may have led to the very test, so its own p-value is too small to be believed as it is.
    Several theorems may say how much; the best one is taken, and named.  If you say with --query what the
    test is about, a simple test has a threshold that no query makes smaller.

    Example: adyton p-value people.toml --p 0.0001 --query "SELECT AVG(income) FROM people" --null 35000
    """

    def make() -> Any:
        words = arguments()
        p = words.get("p_value")
        if publish and p is None:
            raise InvalidRequest("--publish records a result: give it with --p")
        if publish and p:
            with open_study(file_of(study, "recording a published test")) as curator:
                said = curator.last_look(alpha, **words)
                return replace(said, published=curator.publish_test(p).number)
        with opened(study) as asker:
            return asker.last_look(alpha, **words)

    show(make, as_json, verbose=verbose)
