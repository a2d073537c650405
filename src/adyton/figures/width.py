"""How far off an answer may be, against the share that it counts: by plans, by splitting, by an attack."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from adyton.figures.curves import ChartAxis, ChartLine, curves_figure
from adyton.figures.drawing import Figure
from adyton.kernel.exact.special import special
from adyton.validity.binomial import exact_width
from adyton.validity.plans.expected import Expected
from adyton.validity.plans.noise_plan import Noise
from adyton.validity.plans.plans import within
from adyton.validity.splitting import exact_splitting_width

SHARES = tuple(
    Fraction(share) for share in ("0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5")
)
_PLANS: tuple[tuple[Noise, bool], ...] = (("constant", True), ("decreasing", True), ("constant", False))
"""Noise, and whether all other queries are expected to be as rare: in the order of ``Widths``."""


@dataclass(frozen=True, slots=True)
class Widths:
    """At each of ``SHARES``; None where nothing is certified."""

    alike: tuple[float | None, ...]
    decreasing: tuple[float | None, ...]
    alone: tuple[float | None, ...]
    split: tuple[float | None, ...]
    fixed: tuple[float | None, ...]
    attack: tuple[float | None, ...]


def curves(
    rows: int, queries: int, confidence: Fraction, on_step: Callable[[], None] = lambda: None
) -> Widths:
    failure, found = 1 - confidence, []
    for share in SHARES:
        plans = [
            within(rows, queries, failure, noise, Expected.of(share=share, alike=alike))
            for noise, alike in _PLANS
        ]
        split = exact_splitting_width(rows, queries, failure, share)
        fixed = exact_width(rows, failure / queries, share)
        same, attack = plans[0], None
        if same:
            attack = attacked(rows, queries, same.scale_of(1), float(share), float(failure))
        tolerances = [own.tolerance if own else None for own in plans]
        found.append((*tolerances, split, fixed, attack))
        on_step()
    return Widths(*zip(*found, strict=True))


def attacked(rows: int, queries: int, scale: float, share: float, failure: float) -> float:
    """How far off the last answer of an attack is, or more, in a part ``failure`` of its runs.

    All but the last query are random ones of this share; their answers vote, each by its distance from the
    share, and the last query asks for the rows that the vote favours most.  A computation in floats, not a
    guarantee.
    """
    variance, normal = share * (1 - share), special()
    gained = math.sqrt((queries - 1) * variance) / (rows * math.sqrt(scale**2 + variance / rows))
    overfit = float(normal.ndtr(gained + normal.ndtri(share))) - share
    return overfit - float(normal.ndtri(failure)) * math.sqrt(scale**2 + variance / rows)


def figure(found: Widths, rows: int, queries: int, confidence: Fraction) -> Figure:
    """Needs the extra ``plot`` to be drawn."""
    shares = [float(share) for share in SHARES]
    named = (
        ("adyton, decreasing noise, all as rare", found.decreasing),
        ("adyton, constant noise, all as rare", found.alike),
        ("adyton, constant noise, others may be anything", found.alone),
        ("sample splitting, exact", found.split),
        ("all queries fixed in advance, exact, no noise", found.fixed),
    )
    lines = [ChartLine(name, shares, list(y), strong=place == 0) for place, (name, y) in enumerate(named)]
    chance = f"{float(100 * (1 - confidence)):.12g} %"
    limit = ChartLine(
        f"an attack is off by more in {chance} of its runs", shares, list(found.attack), limit=True
    )
    return curves_figure(
        f"How far off a share may be: {queries:,} adaptive queries, {rows:,} rows, "
        f"{float(100 * confidence):.12g} % confidence",
        ChartAxis("share that a query counts", log=True),
        ChartAxis("half-width", log=True),
        [*lines, limit],
        "adyton plan; shares as expected, the attack on constant noise, docs/how-to/plan-a-study.md",
    )
