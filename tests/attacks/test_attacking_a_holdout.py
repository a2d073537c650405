"""Attackers of a hidden test set at the certified number of scores, through the real holdout.

All labels are 1 and an attacker's models are coins, so that every submission is right with a chance that he knows.
He asks until no score is left, the last for what the scores before said is right too often here.  Each holdout may
fail with probability 1e-7; what is asked, and the noise, follow a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adyton.certify import Interval
from adyton.holdout import Gaussian, Holdout
from support.randomness import SeededByHash

ITEMS = 700
Claim = tuple[Interval, float, float]  # the interval, the value, the truth


def scored(holdout: Holdout, right: Any, share: float) -> Claim:
    found = holdout.score(right.astype(int))
    return found.interval, found.value, share


def compared(holdout: Holdout, one: Any, other: Any) -> Claim:
    """Two models that are equally good."""
    found = holdout.compare(one.astype(int), other.astype(int))
    return found.interval, found.value, 0.0


def coins(rng: np.random.Generator, share: float = 0.5) -> Any:
    return rng.random(ITEMS) < share


def top(votes: Any, everybody: Any, share: float) -> Any:
    """The items that are in the top share of the population."""
    return votes > np.quantile(everybody, 1 - share)


def vote(holdout: Holdout, left: int, rng: np.random.Generator, share: float) -> Iterator[Claim]:
    """Models of this share, weighed by their scores; then the items in the top share."""
    votes, everybody = np.zeros(ITEMS), np.zeros(60_000)
    for _ in range(left - 1):
        claim = scored(holdout, right := coins(rng, share), share)
        yield claim
        votes += (claim[1] - share) * right
        everybody += (claim[1] - share) * (rng.random(60_000) < share)
    yield scored(holdout, last := top(votes, everybody, share), share)
    assert last.mean() > share  # these items lean


def comparison(holdout: Holdout, left: int, rng: np.random.Generator, share: float) -> Iterator[Claim]:
    """Which of two models is better, again and again; then all that was better against all that was worse."""
    votes = np.zeros(ITEMS)
    for _ in range(left - 1):
        one, other = coins(rng, share), coins(rng, share)
        claim = compared(holdout, one, other)
        yield claim
        votes += claim[1] * (one.astype(int) - other.astype(int))
    best = votes + rng.normal(0, 1e-9, ITEMS) > 0
    yield compared(holdout, best, ~best)
    assert best.mean() > 0.5


def weights(holdout: Holdout, left: int, rng: np.random.Generator, share: float) -> Iterator[Claim]:
    """Multiplicative weights on forty random models: submits mixtures, then what did well."""
    models, heavy = rng.random((40, ITEMS)) < 0.5, np.ones(40)
    for _ in range(left - 1):
        signs = np.sign(rng.normal(0, 1, 40))
        chosen = (heavy * signs) @ (2.0 * models - 1) > 0
        claim = scored(holdout, chosen, 0.5)
        yield claim
        heavy *= np.exp(4 * (claim[1] - 0.5) * signs)
    yield scored(holdout, np.log(heavy) @ (2.0 * models - 1) > 0, 0.5)


ATTACKS = {
    "vote": (vote, 0.5, {}),
    "vote, top 5 %": (vote, 0.05, {"expected": "0.05"}),
    "vote, top 1 %": (vote, 0.01, {"expected": "0.01"}),
    "vote, decreasing": (vote, 0.5, {"noise": "decreasing"}),
    "vote, anytime": (vote, 0.5, {"anytime": True}),
    "comparison": (comparison, 0.5, {}),
    "comparison, decreasing": (comparison, 0.5, {"noise": "decreasing"}),
    "multiplicative weights": (weights, 0.5, {}),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_theorem_HOLDOUT_SCORES_no_attack_at_the_certified_number(name: str, tmp_path: Path) -> None:
    attack, share, wish = ATTACKS[name]
    made = {"tolerance": "0.25", "confidence": "0.9999999", "method": Gaussian(**wish)}
    with Holdout.create(
        tmp_path / "h.toml", labels=np.ones(ITEMS, dtype=int), bits=SeededByHash(3), **made
    ) as holdout:
        left = holdout.budget().scores_left
        assert left is not None
        claims = list(attack(holdout, left, np.random.default_rng(4), share))
        assert holdout.budget().scores_left == 0
    errors = [
        abs(truth - value) / max(1e-9, (i.high - value if truth > value else value - i.low))
        for i, value, truth in claims
    ]
    print(f"{name}: {left} scores, largest error over half-width {max(errors):.2f}, last {errors[-1]:.2f}")
    assert all(interval.low <= truth <= interval.high for interval, _, truth in claims)
