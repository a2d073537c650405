"""adyton plan: before anything is asked, how many questions, how exact, from how many rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from adyton.show import Sheet, Shown
from adyton.transports.figure_file import Figure, check_figure, write_figure
from adyton.transports.terminal import Json, progress, show, whole

Rows = Annotated[str | None, typer.Option(help="Number of rows (or persons).", metavar="N")]
Tolerance = Annotated[str | None, typer.Option(help="Half-width for values in 0..1, e.g. 0.05.", metavar="T")]
Questions = Annotated[str | None, typer.Option(help="Number of adaptive questions.", metavar="K")]
ExpectShare = Annotated[
    str | None,
    typer.Option(help="Plan for shares of about this size. Promises nothing.", metavar="P"),
]
Spread = Annotated[
    str | None,
    typer.Option(help="Plan for this standard deviation, as a part of the range.", metavar="S"),
]
Group = Annotated[str | None, typer.Option(help="Plan for means over this share of the rows.", metavar="G")]
Confidence = Annotated[str, typer.Option(help="For all questions at once.")]
MOST = 10**15  # as far as a planner looks
HypothesisClass = Annotated[
    str,
    typer.Option(
        help="A class that all questions are from: thresholds:1, boxes:2, linear:3.", metavar="NAME"
    ),
]
_USUAL_ROWS = 100_000  # shown where no method can say how many are needed


def plan(
    rows: Rows = None,
    tolerance: Tolerance = None,
    questions: Questions = None,
    confidence: Confidence = "0.95",
    expect_share: ExpectShare = None,
    spread: Spread = None,
    group: Group = None,
    hypothesis_class: HypothesisClass = "thresholds:1",
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Compare all methods that certify adaptive questions. Give two of rows, tolerance and questions.

    For example: adyton plan --rows 100,000 --tolerance 0.05
    """

    def make() -> _Plan:
        from adyton.validity.planner import plan as compare

        check_figure(figure)
        made = compare(
            rows=None if rows is None else whole(rows, "--rows"),
            tolerance=tolerance,
            confidence=confidence,
            questions=None if questions is None else whole(questions, "--questions"),
            expect_share=expect_share,
            spread=spread,
            group=group,
        )
        if figure is not None:
            _draw(figure, made)
        return _Plan(made, hypothesis_class)

    show(make, as_json)


class _Plan(Shown):
    """A plan as a table and as JSON."""

    def __init__(self, plan: Any, rules: str) -> None:
        from adyton.holdout.classes.planning import class_method
        from adyton.holdout.planner import special_methods
        from adyton.validity.classes.growth import RuleClass

        self._plan = plan
        of_a_class = RuleClass.named(rules)
        special = [] if plan.expected.group else [*special_methods(plan), class_method(plan, of_a_class)]
        self._special = special

    def to_json(self) -> dict[str, Any]:
        general = self._plan.to_json()
        methods = general["methods"] + [special.to_json() for special in self._special]
        limits = {
            "attack_limit": self._plan.attack_limit(),
            "decreasing_attack_limit": self._plan.decreasing_attack_limit(),
        }
        return {**general, "methods": methods, **limits}

    def sheet(self, verbose: bool = False) -> Sheet:
        from adyton.validity.planner import in_words

        plan = self._plan
        rows = tuple(
            (
                ("> " if option.method == plan.recommended else "") + option.method,
                in_words(option.value, up=True),
                option.noise,
                option.theorem,
            )
            for option in (*plan.options, *plan.routes)
        )
        rows += tuple(
            (s.method, _many(s.value, in_words), in_words(s.scale), s.theorem) for s in self._special
        )
        notes = [f"Recommended: {plan.recommended or 'none: no method certifies anything here'}."]
        notes += _in_a_study(plan)
        notes += _not_noisy(plan)
        notes += _if_shares(plan) + _expected(plan) + _limits(plan)
        conditional = (*plan.routes, *self._special)
        notes += [f"{one.method}: if {one.applies}." for one in conditional if one.value]
        return Sheet(plan.title, ("method", plan.wanted, "noise scale", "theorem"), rows, tuple(notes))


def _many(value: Any, in_words: Any) -> str:
    return "any number" if value == MOST else str(in_words(value, up=True))


def _in_a_study(plan: Any) -> list[str]:
    if not (plan.recommended or "").startswith("subset"):
        return []
    noise = "decreasing" if "decreasing" in plan.recommended else "constant"
    return [
        f'A study takes it from [validity]: questions, tolerance and noise = "{noise}"; then its questions '
        f"need no price."
    ]


def _not_noisy(plan: Any) -> list[str]:
    beyond = [option.method for option in (*plan.options, *plan.routes) if option.value == MOST]
    notes = [f"{name}: {MOST:,} is as far as is looked." for name in beyond]
    if plan.expected.group is not None:
        return notes
    return [
        *notes,
        'split and rounding need no noise for validity; in a study, [validity] method = "split" or "rounding"'
        " adds what privacy needs. They are better than subset at prices that leave little noise.",
    ]


def _if_shares(plan: Any) -> list[str]:
    best = plan.recommended_for_shares
    if best == plan.recommended:
        return []
    return [f"If all questions are shares, which are means of values 0 and 1, {best} is better."]


def _expected(plan: Any) -> list[str]:
    if not plan.expected:
        return []
    notes = [
        "What is expected chooses the noise and promises nothing: if a question turns out otherwise, its "
        "interval in a study is wider, never wrong.",
        "alike: if all questions are as expected, and not only the one that is looked at.",
    ]
    if plan.expected.group is not None:
        notes.append("The noise is that of the sum over the group; its count has twice as much.")
    return notes


def _limits(plan: Any) -> list[str]:
    """Of attacks, which do not know what is expected."""
    constant, decreasing = plan.attack_limit(), plan.decreasing_attack_limit()
    if plan.expected or constant is None or decreasing is None:
        return []
    return [
        f"With {constant:,} questions a known attack breaks this tolerance, whatever the noise, if it is "
        f"the same for all; with {decreasing:,} if it decreases as the attack gains."
    ]


def _draw(path: Path, plan: Any) -> None:
    if plan.tolerance is None:
        _draw_widths(path, plan)
        return
    from adyton.figures.plan import curves, rows_around
    from adyton.figures.plan import figure as drawn

    needed = [option.value for option in plan.options if option.value]
    rows = rows_around(plan.rows or min(needed, default=_USUAL_ROWS))
    with progress("planning", len(rows)) as advance:
        found = curves(plan.tolerance, plan.confidence, rows, on_step=advance)
    write_figure(drawn(found, plan.tolerance, plan.confidence), path)


def _draw_widths(path: Path, plan: Any) -> None:
    from adyton.figures.width import SHARES, curves
    from adyton.figures.width import figure as drawn

    with progress("planning", len(SHARES)) as advance:
        found = curves(plan.rows, plan.questions, plan.confidence, on_step=advance)
    write_figure(drawn(found, plan.rows, plan.questions, plan.confidence), path)
