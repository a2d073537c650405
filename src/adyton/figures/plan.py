"""The headline picture: how many adaptive questions each method certifies, against the number of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from adyton.figures.look import Axis, Curve
from adyton.figures.look import figure as drawn_in_style
from adyton.validity.planner import plan
from adyton.validity.plans.plans import MOST

_POINTS = 7  # two a decade
_BEST = "subset, decreasing"
_NAMES = {
    _BEST: "adyton, decreasing noise",
    "subset": "adyton, constant noise",
    "hinge": "adyton, centred hinge",
    "split": "sample splitting",
    "rounding": "rounded answers",
    "laplace": "Laplace + 6 epsilon",
    "jlnrss": "Jung et al. 2020",
    "rrsstw": "Rogers et al. 2020",
}


@dataclass(frozen=True, slots=True)
class Curves:
    """For every method, and for the strongest attack known on both kinds of plan, the questions at each
    number of rows."""

    rows: tuple[int, ...]
    certified: dict[str, tuple[int, ...]]
    attack: tuple[int | None, ...]
    decreasing_attack: tuple[int | None, ...]


def rows_around(rows: int) -> tuple[int, ...]:
    """Three decades, from the one before that of ``rows`` on."""
    first = min(max(len(str(rows)) - 2, 0), len(str(MOST)) - 1 - _POINTS // 2)
    return tuple(round(10 ** (first + i / 2)) for i in range(_POINTS))


def curves(
    tolerance: Fraction,
    confidence: Fraction,
    rows: tuple[int, ...],
    on_step: Callable[[], None] = lambda: None,
) -> Curves:
    plans = []
    for n in rows:
        plans.append(plan(rows=n, tolerance=tolerance, confidence=confidence))
        on_step()
    certified = {
        option.method: tuple(_questions(p.options[i].value) for p in plans)
        for i, option in enumerate(plans[0].options)
        if not option.shares
    }
    constant = tuple(p.attack_limit() for p in plans)
    return Curves(rows, certified, constant, tuple(p.decreasing_attack_limit() for p in plans))


def figure(found: Curves, tolerance: Fraction, confidence: Fraction) -> Any:
    """A plotly figure.  plotly is an extra: pip install 'adyton[plot]'."""
    promise = f"within ±{float(tolerance):g}, all at once with {float(100 * confidence):.12g} % confidence"
    certified = [
        Curve(_NAMES.get(name, name), found.rows, [q or None for q in questions], strong=name == _BEST)
        for name, questions in reversed(found.certified.items())
    ]
    attacks = [
        Curve("an attack breaks constant noise", found.rows, list(found.attack), limit=True),
        Curve("an attack breaks decreasing noise", found.rows, list(found.decreasing_attack), limit=True),
    ]
    return drawn_in_style(
        f"Adaptive questions certified {promise}",
        Axis("number of rows", log=True),
        Axis("number of adaptive questions", log=True),
        [*certified, *attacks],
        "adyton plan; each method by its theorem, docs/how-to/plan-a-study.md",
    )


def _questions(value: int | float | None) -> int:
    return int(value) if value else 0
