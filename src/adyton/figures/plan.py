"""The headline picture: how many adaptive queries each method certifies, against the number of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.figures.curves import ChartAxis, ChartLine, curves_figure
from adyton.figures.drawing import Figure
from adyton.validity.methods import LONG, SHORT, described
from adyton.validity.planner import plan
from adyton.validity.plans.noise_plan import MOST

_POINTS = 11  # two a decade
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
_BEYOND = {"fixed queries"}  # exponentially many, far above the picture
_OF_ONE_LENGTH = {SHORT.name, LONG.name}  # any number of them, from some number of rows on


@dataclass(frozen=True, slots=True)
class Curves:
    """For every method, and for the strongest attack known on both kinds of plan, the queries at each
    number of rows.

    ``described``: from so many rows on so many queries, all that have at most the logarithm of this number in
    nats; at numbers of rows of their own, because it grows exponentially.  ``short``: from so many rows on
    all with at most 12 nats.
    """

    rows: tuple[int, ...]
    certified: dict[str, tuple[int, ...]]
    attack: tuple[int | None, ...]
    decreasing_attack: tuple[int | None, ...]
    described: tuple[tuple[int, int], ...]
    short: int | None


def rows_around(rows: int) -> tuple[int, ...]:
    """Five decades, from the third before that of ``rows`` on: described queries begin with fewer."""
    first = min(max(len(str(rows)) - 4, 0), len(str(MOST)) - 1 - _POINTS // 2)
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
        if not own[0].shares and own[0].method not in _ON_ANOTHER | _BEYOND | _OF_ONE_LENGTH
    }
    constant = tuple(p.attack_limit() for p in plans)
    decreasing = tuple(p.decreasing_attack_limit() for p in plans)
    most = max((q or 0 for column in (*certified.values(), constant, decreasing) for q in column), default=0)
    short = SHORT.rows(1, tolerance, 1 - confidence).value
    return Curves(
        rows,
        certified,
        constant,
        decreasing,
        _described(tolerance, 1 - confidence, rows, most),
        int(short) if short else None,
    )


def _described(
    tolerance: Fraction, failure: Fraction, rows: tuple[int, ...], most: int
) -> tuple[tuple[int, int], ...]:
    """Powers of ten up to ``most``, each at the fewest rows from which so many queries are certified."""
    found = []
    for power in range(len(str(most)) + 1):
        needed = described(power * math.log(10)).rows(1, tolerance, failure).value
        if needed and rows[0] <= needed <= rows[-1]:
            found.append((int(needed), 10**power))
    return tuple(found)


def figure(found: Curves, tolerance: Fraction, confidence: Fraction) -> Figure:
    """Needs the extra ``plot`` to be drawn."""
    certainty = f"within ±{float(tolerance):g}, with simultaneous {float(100 * confidence):.12g} % confidence"
    certified = [
        ChartLine(_NAMES.get(name, name), found.rows, [q or None for q in queries], strong=name == _BEST)
        for name, queries in reversed(found.certified.items())
    ]
    described = ChartLine(
        "adyton, described queries", [n for n, _ in found.described], [q for _, q in found.described]
    )
    attacks = [
        ChartLine("attack on constant noise", found.rows, list(found.attack), limit=True),
        ChartLine("attack on decreasing noise", found.rows, list(found.decreasing_attack), limit=True),
    ]
    return curves_figure(
        f"Adaptive queries certified {certainty}",
        ChartAxis("number of rows", log=True),
        ChartAxis("number of adaptive queries", log=True),
        [*([described] if len(described.x) > 1 else []), *certified, *attacks],
        "adyton plan; each method by its theorem, docs/how-to/plan-a-study.md. Described queries: all of at "
        f"most ln(number) nats, whatever else is asked{_from(found)}. Queries that are fixed in advance: "
        "about as many",
    )


def _from(found: Curves) -> str:
    return (
        ""
        if found.short is None
        else f"; those of 12 nats from {found.short:,} rows on, as often as you like"
    )
