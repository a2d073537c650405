"""A plan with all its methods, as a table, as JSON and as a figure: for the command and for the page.

General methods are compared by ``adyton.validity.planner``; those that need more than a table, such as a
training set, by the holdouts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adyton.documents import Document
from adyton.holdout.planner import Special, class_method, special_methods
from adyton.show import Sheet, Shown
from adyton.validity.classes.growth import RuleClass
from adyton.validity.planner import Option, PlanComparison, in_words
from adyton.validity.plans.noise_plan import MOST

if TYPE_CHECKING:
    from adyton.figures.drawing import Figure

_USUAL_ROWS = 100_000  # shown where no method can say how many are needed


class AllMethods(Shown, Document):
    """``rules`` names the class that all queries are from, for the method ``class``."""

    json_keys = (
        "rows=plan.rows? tolerance=plan.tolerance? queries=plan.queries? expected=plan.hopes? "
        "confidence=plan.confidence methods recommended=plan.recommended attack_limit "
        "decreasing_attack_limit"
    )
    plan: PlanComparison

    def __init__(self, plan: PlanComparison, rules: str = "thresholds:1") -> None:
        self.plan = plan
        of_a_class = RuleClass.named(rules)
        special = [] if plan.expected.group else [*special_methods(plan), class_method(plan, of_a_class)]
        self._special: list[Special] = special

    @property
    def methods(self) -> tuple[Option | Special, ...]:
        return *self.plan.methods, *self._special

    @property
    def attack_limit(self) -> int | None:
        return self.plan.attack_limit()

    @property
    def decreasing_attack_limit(self) -> int | None:
        return self.plan.decreasing_attack_limit()

    def sheet(self, verbose: bool = False) -> Sheet:
        plan = self.plan
        rows = tuple(
            (
                ("> " if option.method == plan.recommended else "") + option.method,
                option.offered,
                option.noise,
                option.theorem,
            )
            for option in (*plan.options, *plan.routes)
        )
        rows += tuple((s.method, _many(s.value), in_words(s.scale), s.theorem) for s in self._special)
        notes = [f"Recommended: {plan.recommended or 'none: no method certifies anything here'}."]
        notes += _in_a_study(plan)
        notes += _of_described(plan)
        notes += _not_noisy(plan)
        notes += _if_shares(plan) + _expected(plan) + _limits(plan)
        conditional: tuple[Option | Special, ...] = (*plan.routes, *self._special)
        notes += [f"{one.method}: if {one.applies}." for one in conditional if one.value]
        return Sheet(plan.title, ("method", plan.wanted, "noise scale", "theorem"), rows, tuple(notes))

    @property
    def steps(self) -> int:
        """Of drawing the figure, for whoever shows progress."""
        from adyton.figures.width import SHARES

        return len(SHARES) if self.plan.tolerance is None else len(self._rows)

    def figure(self, on_step: Callable[[], None] = lambda: None) -> Figure:
        """Queries that each method certifies, by the number of rows; or widths of shares, by their size."""
        from adyton.figures import plan as by_rows
        from adyton.figures import width as by_share

        plan = self.plan
        if plan.tolerance is not None:
            many = by_rows.curves(plan.tolerance, plan.confidence, self._rows, on_step=on_step)
            return by_rows.figure(many, plan.tolerance, plan.confidence)
        assert plan.rows is not None
        assert plan.queries is not None
        wide = by_share.curves(plan.rows, plan.queries, plan.confidence, on_step=on_step)
        return by_share.figure(wide, plan.rows, plan.queries, plan.confidence)

    @property
    def _rows(self) -> tuple[int, ...]:
        from adyton.figures.plan import rows_around

        needed = [int(option.value) for option in self.plan.options if option.value]
        return rows_around(self.plan.rows or min(needed, default=_USUAL_ROWS))

    @property
    def section(self) -> str | None:
        """[validity] of a study file that takes what is recommended; None if that is no plan of a study."""
        plan, noise = self.plan, _noise_of(self.plan)
        if noise is None:
            return None
        best = next(option.value for option in plan.options if option.method == plan.recommended)
        queries = plan.queries if plan.queries is not None else _fewer(best)
        tolerance = f"{float(plan.tolerance):g}" if plan.tolerance is not None else f"{_wider(best):g}"
        expected = {
            "share": plan.expected.share,
            "spread": plan.expected.spread,
            "group": plan.expected.group,
        }
        needed = [f"# for a table of at least {_more(best):,} rows"] if plan.rows is None else []
        lines = [
            *needed,
            "[validity]",
            "independent = true",
            f"confidence = {float(plan.confidence):g}",
            f"queries = {queries}",
            f"tolerance = {tolerance}",
            *(f"{name} = {float(value):g}" for name, value in expected.items() if value is not None),
            f'noise = "{noise}"',
        ]
        return "\n".join(lines)


def _fewer(queries: Any) -> int:
    """A study keeps a part of the failure for what is beyond its plan, so it supports some fewer."""
    return max(1, int(0.9 * queries))


def _more(rows: Any) -> int:
    return int(1.1 * rows) + 1


def _wider(tolerance: Any) -> float:
    return float(f"{1.05 * tolerance:.3g}")


def _many(value: Any) -> str:
    return "any number" if value == MOST else in_words(value, up=True)


def _noise_of(plan: PlanComparison) -> str | None:
    if not (plan.recommended or "").startswith("subset"):
        return None
    return "decreasing" if "decreasing" in (plan.recommended or "") else "constant"


def _in_a_study(plan: PlanComparison) -> list[str]:
    noise = _noise_of(plan)
    if noise is None:
        return []
    return [
        f'A study takes it from [validity]: queries, tolerance and noise = "{noise}"; then its queries '
        f"need no price."
    ]


def _of_described(plan: PlanComparison) -> list[str]:
    """Who reads ``subset`` must know that simple queries do not pay it."""
    if not any(option.unlimited and option.value for option in plan.routes):
        return []
    return [
        "subset is what a complicated query pays. A query with a short description has the width of "
        "described, whatever else is asked; previews say how many nats a query has."
    ]


def _not_noisy(plan: PlanComparison) -> list[str]:
    beyond = [o.method for o in (*plan.options, *plan.routes) if o.value == MOST and not o.unlimited]
    notes = [f"{name}: {MOST:,} is as far as is looked." for name in beyond]
    if plan.expected.group is not None:
        return notes
    return [
        *notes,
        'split and rounding need no noise for validity; in a study, [validity] method = "split" or "rounding"'
        " adds what privacy needs. They are better than subset at prices that leave little noise.",
    ]


def _if_shares(plan: PlanComparison) -> list[str]:
    best = plan.recommended_for_shares
    if best == plan.recommended:
        return []
    return [f"If all queries are shares, which are means of values 0 and 1, {best} is better."]


def _expected(plan: PlanComparison) -> list[str]:
    if not plan.expected:
        return []
    notes = [
        "What is expected chooses the noise and guarantees nothing: if a query turns out otherwise, its "
        "interval in a study is wider, never wrong.",
        "alike: if all queries are as expected, and not only the one that is looked at.",
    ]
    if plan.expected.group is not None:
        notes.append("The noise is that of the sum over the group; its count has twice as much.")
    return notes


def _limits(plan: PlanComparison) -> list[str]:
    """Of attacks, which do not know what is expected."""
    constant, decreasing = plan.attack_limit(), plan.decreasing_attack_limit()
    if plan.expected or constant is None or decreasing is None:
        return []
    return [
        f"With {constant:,} queries a known attack breaks this tolerance, whatever the noise, if it is "
        f"the same for all; with {decreasing:,} if it decreases as the attack gains."
    ]
