"""The headline picture: how many adaptive questions each method certifies, against the number of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.figures.curves import Axis, Line, curves_figure
from adyton.figures.drawing import Figure
from adyton.validity.planner import plan
from adyton.validity.plans.noise_plan import MOST

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
    "max-information": "max-information or privacy",
    "forking paths": "yes or no, paths counted",
    "stability": "stability, expectation",
}
_ON_ANOTHER = {"rounding, counted", "dp-generalizes", "description length"}  # within a few per cent
_BEYOND = {"fixed questions"}  # exponentially many, far above the picture


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
    rows_of = zip(*((*p.routes, *p.options) for p in plans), strict=True)
    certified = {
        own[0].method: tuple(int(option.value or 0) for option in own)
        for own in rows_of
        if not own[0].shares and own[0].method not in _ON_ANOTHER | _BEYOND
    }
    constant = tuple(p.attack_limit() for p in plans)
    return Curves(rows, certified, constant, tuple(p.decreasing_attack_limit() for p in plans))


def figure(found: Curves, tolerance: Fraction, confidence: Fraction) -> Figure:
    """Needs the extra ``plot`` to be drawn."""
    promise = f"within ±{float(tolerance):g}, all at once with {float(100 * confidence):.12g} % confidence"
    certified = [
        Line(_NAMES.get(name, name), found.rows, [q or None for q in questions], strong=name == _BEST)
        for name, questions in reversed(found.certified.items())
    ]
    attacks = [
        Line("attack on constant noise", found.rows, list(found.attack), limit=True),
        Line("attack on decreasing noise", found.rows, list(found.decreasing_attack), limit=True),
    ]
    return curves_figure(
        f"Adaptive questions certified {promise}",
        Axis("number of rows", log=True),
        Axis("number of adaptive questions", log=True),
        [*certified, *attacks],
        "adyton plan; each method by its theorem, docs/how-to/plan-a-study.md. Questions that are fixed in "
        "advance: exponentially many, above the picture",
    )
