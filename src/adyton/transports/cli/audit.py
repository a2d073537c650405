"""adyton audit: try to refute a claim of privacy, ours or all of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.kernel.exact import rational
from adyton.transports.terminal import Json, progress, show, whole, write_file

Name = Annotated[str | None, typer.Argument(help="A mechanism; --list shows them.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="Audit everything; takes a few minutes.")]
List = Annotated[bool, typer.Option("--list", help="List the mechanisms.")]
Epsilon = Annotated[str, typer.Option(help="What the mechanism is calibrated to.", metavar="E")]
Delta = Annotated[str, typer.Option(help="For those that need one.", metavar="D")]
Samples = Annotated[str, typer.Option(help="Outputs on each of two neighboring inputs.", metavar="N")]
Confidence = Annotated[str, typer.Option(help="Confidence of the lower bound.", metavar="C")]

Write = Annotated[
    Path | None, typer.Option(help="With --all: write what was found to this page.", metavar="FILE")
]


def audit(
    name: Name = None,
    everything: All = False,
    listed: List = False,
    epsilon: Epsilon = "1",
    delta: Delta = "0.01",
    samples: Samples = "200000",
    confidence: Confidence = "0.999",
    write: Write = None,
    as_json: Json = False,
) -> None:
    """Try to refute a claim of privacy by sampling. Exit code 1: it was refuted."""

    def make() -> Any:
        from adyton.audit.cases.catalogue import CATALOGUE, target_of
        from adyton.audit.report import AuditContents, audit_named, run

        if sum((name is not None, everything, listed)) > 1:
            raise InvalidRequest("give one of: the name of a mechanism, --all, --list")
        if write is not None and not everything:
            raise InvalidRequest("--write goes with --all: the page is about everything")
        if name is None and not everything:
            return AuditContents()
        target, count, level = target_of(epsilon, delta), whole(samples, "--samples"), _level(confidence)
        with progress("auditing", 1.0) as on_step:
            made: Any
            if name is None:
                made = run(CATALOGUE, target, count, level, on_step)
            else:
                made = audit_named(name, target, count, level, on_step)
        if write is not None:
            from adyton.audit.page import page

            write_file(write, page(made, level))
        return made

    found = show(make, as_json)
    if (name is not None or everything) and found.refuted:
        raise typer.Exit(1)


def _level(text: str) -> float:
    level = float(rational(text, "confidence"))
    if not 0.5 <= level < 1:
        raise InvalidRequest(f"confidence must be at least 0.5 and below 1, not {text}")
    return level
