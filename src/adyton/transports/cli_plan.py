"""adyton plan: before anything is asked, how many questions, how exact, from how many rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.errors import InvalidRequest
from adyton.show import Sheet, Shown
from adyton.transports.figure_file import Figure, check_figure, write_figure
from adyton.transports.terminal import Json, show, whole

Rows = Annotated[str | None, typer.Option(help="Number of rows (or persons).", metavar="N")]
Tolerance = Annotated[str | None, typer.Option(help="Half-width for values in 0..1, e.g. 0.05.", metavar="T")]
Questions = Annotated[str | None, typer.Option(help="Number of adaptive questions.", metavar="K")]
Confidence = Annotated[str, typer.Option(help="For all questions at once.")]
_USUAL_ROWS = 100_000  # shown where no method can say how many are needed


def register(app: typer.Typer) -> None:
    app.command()(plan)


def plan(
    rows: Rows = None,
    tolerance: Tolerance = None,
    questions: Questions = None,
    confidence: Confidence = "0.95",
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Compare all methods that certify adaptive questions. Give two of rows, tolerance and questions."""

    def make() -> _Plan:
        from adyton.validity.planner import plan as compare

        check_figure(figure)
        made = compare(
            rows=None if rows is None else whole(rows, "--rows"),
            tolerance=tolerance,
            confidence=confidence,
            questions=None if questions is None else whole(questions, "--questions"),
        )
        if figure is not None:
            _draw(figure, made)
        return _Plan(made)

    show(make, as_json)


class _Plan(Shown):
    """A plan as a table and as JSON."""

    def __init__(self, plan: Any) -> None:
        from adyton.lab.holdout_plans import special_methods

        self._plan = plan
        self._special = special_methods(plan)

    def to_json(self) -> dict[str, Any]:
        general = self._plan.to_json()
        methods = general["methods"] + [special.to_json() for special in self._special]
        return {**general, "methods": methods, "attack_limit": self._plan.attack_limit()}

    def sheet(self, verbose: bool = False) -> Sheet:
        from adyton.validity.planner import in_words

        plan = self._plan
        rows = tuple(
            (
                ("> " if option.method == plan.recommended else "") + option.method,
                in_words(option.value, up=True),
                in_words(option.scale),
                option.theorem,
            )
            for option in plan.options
        )
        rows += tuple(
            (s.method, in_words(s.value, up=True), in_words(s.scale), s.theorem) for s in self._special
        )
        notes = [f"Recommended: {plan.recommended or 'none: no method certifies anything here'}."]
        if plan.recommended == "hinge":
            notes.append(
                "A study takes it from [validity]: questions and tolerance; then its questions need no price."
            )
        limit = plan.attack_limit()
        if limit is not None:
            notes.append(
                f"With {limit:,} questions a known attack breaks this tolerance, whatever the noise."
            )
        notes += [f"{special.method}: if {special.applies}." for special in self._special if special.value]
        return Sheet(plan.title, ("method", plan.wanted, "noise scale", "theorem"), rows, tuple(notes))


def _draw(path: Path, plan: Any) -> None:
    from rich.console import Console
    from rich.progress import Progress

    from adyton.lab.plan_figure import curves, rows_around
    from adyton.lab.plan_figure import figure as drawn

    if plan.tolerance is None:
        raise InvalidRequest("the figure shows questions against rows, so it needs --tolerance")
    needed = [option.value for option in plan.options if option.value]
    rows = rows_around(plan.rows or min(needed, default=_USUAL_ROWS))
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("planning", total=len(rows))
        found = curves(plan.tolerance, plan.confidence, rows, on_step=lambda: progress.advance(task))
    write_figure(drawn(found, plan.tolerance, plan.confidence), path)
