"""The plan of every method of a holdout, and the ends of its scores."""

# ruff: noqa: C408  (arguments are named as in a call)

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from adyton.holdout.measures import Measures
from adyton.holdout.methods import ladder, thresholdout
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.guess_and_check import first_step, most_wrong_guesses, query_failure
from adyton.holdout.methods.options import Aim, method_named
from adyton.holdout.methods.sparse_validate import validate_width
from certified import Certified, never_larger, never_smaller


def _frame(items: int, steps: int = 2) -> HoldoutSize:
    rounding = Fraction(0) if steps <= 2 else Fraction(1, 2 * steps)
    return HoldoutSize(items, steps, rounding, Fraction(1, 20))


@cache
def _plan(
    method: str,
    items: int,
    steps: int = 2,
    groups: int = 0,
    tolerance: Fraction | None = None,
    scores: int | None = None,
    **words: Any,
) -> Any:
    codes = np.repeat(np.arange(groups), items // groups) if groups else None
    return method_named(method, words, codes).plan(_frame(items, steps), Aim(tolerance, scores))


HOLDOUTS = tuple(
    dict(method=method, items=10_000, **wishes)
    for method, wishes in (
        ("gaussian", dict(tolerance="1/20")),
        ("gaussian", dict(tolerance="1/20", noise="decreasing")),
        ("gaussian", dict(tolerance="1/20", expected="9/10")),
        ("gaussian", dict(tolerance="1/20", anytime=True)),
        ("gaussian", dict(tolerance="1/20", steps=1024)),
        ("gaussian", dict(scores=50)),
        ("gaussian", dict(tolerance="1/10", groups=2)),
        ("split", dict(tolerance="1/20")),
        ("rounding", dict(tolerance="1/20")),
        ("auto", dict(tolerance="1/20")),
        ("auto", dict(scores=50)),
    )
)
STAGED = (
    dict(method="thresholdout", items=500_000, tolerance="1/10", scores=1000),
    dict(method="thresholdout", items=20_000, scores=1000, overfits=3, threshold="1/50", scale="1/500"),
    dict(method="ladder", items=4000, scores=1000),
    dict(method="ladder", items=4000, scores=1000, rung="1/100"),
    dict(method="sparse_validate", items=4000, tolerance="1/10", scores=1000, rejections=5),
)


def _ends(side: int, released: Fraction, number: int, **wants: Any) -> Fraction:
    made = _plan(**wants)
    return made.ends([round(released * made.frame.whole)], [number])[0][side]


def _radius(plan: Any) -> int:
    measures = Measures(plan)
    return measures.priced(measures.scored(""), "").due.radius


SIDES = tuple(dict(**wants, released="4/5", number=3) for wants in HOLDOUTS[:6])


HOLDOUT = (
    never_larger("holdout: scores", lambda **a: _plan(**a).scores, *HOLDOUTS),
    never_smaller("holdout: half-width", lambda **a: _plan(**a).half_width(), *HOLDOUTS, *STAGED),
    never_smaller("holdout: price", lambda **a: Measures(_plan(**a)).amount, *HOLDOUTS[:6], STAGED[0]),
    never_smaller("holdout: radius", lambda **a: _radius(_plan(**a)), *HOLDOUTS[:6]),
    never_larger("holdout: low end", lambda **a: _ends(0, **a), *SIDES),
    never_smaller("holdout: high end", lambda **a: _ends(1, **a), *SIDES),
    never_larger("holdout: overfits", lambda **a: _plan(**a).overfits, STAGED[0]),
    never_smaller("holdout: accept", lambda **a: json.loads(str(_plan(**a).settings()["accept"])), STAGED[4]),
    never_smaller(
        "thresholdout: width",
        lambda items, **a: thresholdout.width_of(_frame(items), **a),
        dict(items=20_000, overfits=5, queries=1000, threshold=800, scale=80.0),
    ),
    never_smaller(
        "ladder: width",
        lambda items, scores, rung: ladder.ladder_width(_frame(items), scores, rung),
        dict(items=4000, scores=100, rung=80),
    ),
    never_smaller(
        "sparse validate: width",
        lambda items, queries, rejections: validate_width(_frame(items), queries, rejections),
        dict(items=4000, queries=100, rejections=5),
    ),
    never_larger(
        "guess and check: failure of a query",
        query_failure,
        dict(failure="1/20", asked=12, failed=2, answers=400),
    ),
    never_larger(
        "guess and check: wrong guesses",
        lambda items, tolerance, queries, near: most_wrong_guesses(_frame(items), tolerance, queries, near),
        dict(items=4000, tolerance="1/10", queries=100, near="1/100"),
    ),
    never_smaller(
        "guess and check: first step",
        lambda items, tolerance: first_step(_frame(items), tolerance),
        dict(items=4000, tolerance="1/10"),
    ),
)

COMPUTATIONS: tuple[Certified, ...] = HOLDOUT
