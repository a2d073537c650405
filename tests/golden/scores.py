"""What is asked of the golden holdouts: scores, comparisons and choices, by each method and metric."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from adyton.holdout import Auto, Gaussian, Holdout, Leaderboard, Slices, SparseValidate, Thresholdout
from adyton.holdout.methods.options import FreeLadder, GuessAndCheck, Ladder, Rounding, Split
from golden.ledgers import Story, Tale

ITEMS = 4000
ROW = np.arange(ITEMS)
LABELS = ROW * ROW * 13 % 97 % 3
YES = LABELS % 2


def guesses(seed: int, wrong: int) -> np.ndarray:
    """Right but for one in so many items."""
    return np.where((ROW * 31 + seed) % wrong == 0, (LABELS + 1) % 3, LABELS)


Acts = Callable[[Story, Holdout], None]


def holdout(story: Story, acts: Acts, **words: Any) -> None:
    with Holdout.create(story.folder / "h.toml", **({"labels": LABELS} | words)) as made:
        story.tell(made.budget)
        acts(story, made)
        story.tell(made.budget)
        story.tell(lambda: made.verify().receipts)
        story.keep(made.ledger)


def scored(story: Story, made: Holdout, guess: str | None = None, times: int = 6) -> None:
    """Good and bad ones, one of them again, one by a name, one that is none."""
    words: dict[str, Any] = {} if guess is None else {"guess": guess}
    for seed in range(times):
        story.tell(partial(made.score, guesses(seed, 3 + seed), **words))
    story.tell(partial(made.score, guesses(0, 3), **words))
    story.tell(partial(made.score, guesses(1, 9), by="ana", **words))
    story.tell(partial(made.score, [1, 2], **words))
    story.tell(made.scores)


def ended(story: Story, made: Holdout) -> None:
    """A comparison, choices, a leaderboard, and a last score."""
    first, second = guesses(1, 4), guesses(2, 9)
    for one, other in ((first, second), (second, first)):
        story.tell(partial(made.compare, one, other))
    named = {f"wrong {n}": guesses(n, n) for n in (3, 5, 8)}
    story.tell(lambda: made.best_of(named))
    story.tell(lambda: made.best_of(named, scores=3))
    with Leaderboard(story.folder / "h.toml") as board:
        story.tell(partial(board.submit, "ann", first))
        story.tell(partial(board.submit, "bob", second, name="small"))
        story.tell(board.standings)
    story.tell(lambda: made.close_with(second))
    story.tell(lambda: made.score(first))


def measured(story: Story, made: Holdout, probable: bool = True) -> None:
    """Predictions that are numbers."""
    for share in (0.2, 0.5, 0.9):
        story.tell(partial(made.score, np.where(YES, share, 1 - share if probable else 0.0)))


SCORES: dict[str, Tale] = {
    "holdout gaussian": partial(holdout, acts=scored, tolerance="0.1"),
    "holdout gaussian ending": partial(holdout, acts=ended, tolerance="0.1"),
    "holdout gaussian anytime": partial(holdout, acts=scored, tolerance="0.1", method=Gaussian(anytime=True)),
    "holdout gaussian expected": partial(holdout, acts=scored, tolerance="0.1", method=Gaussian(expected="0.9", noise="decreasing")),
    "holdout auto": partial(holdout, acts=scored, tolerance="0.1", method=Auto()),
    "holdout slices": partial(holdout, acts=scored, tolerance="0.2", method=Slices((ROW % 3).tolist())),
    "holdout thresholdout": partial(
        holdout, acts=partial(scored, guess="0.6"), scores=20, method=Thresholdout(overfits=4, threshold="0.04", scale="0.01")
    ),
    "holdout guess and check": partial(holdout, acts=partial(scored, guess="0.75"), tolerance="0.1", method=GuessAndCheck()),
    "holdout sparse validate": partial(
        holdout, acts=partial(scored, guess="0.6"), tolerance="0.2", scores=9, method=SparseValidate(rejections=3)
    ),
    "holdout ladder": partial(holdout, acts=scored, scores=20, method=Ladder()),
    "holdout free ladder": partial(holdout, acts=scored, scores=20, method=FreeLadder()),
    "holdout split": partial(holdout, acts=partial(scored, times=2), scores=3, method=Split()),
    "holdout rounding": partial(holdout, acts=partial(scored, times=2), scores=3, method=Rounding()),
    "holdout brier": partial(holdout, acts=measured, labels=YES, metric="brier", tolerance="0.2"),
    "holdout log loss": partial(holdout, acts=measured, labels=YES, metric="log_loss", error_high=5, tolerance="0.5"),
    "holdout auc": partial(holdout, acts=measured, labels=YES, metric="auc", tolerance="0.2"),
    "holdout balanced": partial(holdout, acts=scored, metric="balanced_accuracy", tolerance="0.3"),
    "holdout rmse": partial(holdout, acts=partial(measured, probable=False), labels=YES, metric="rmse", low=0, high=2, tolerance="0.5"),
    "holdout weighted": partial(holdout, acts=scored, weights=1 + ROW % 4, tolerance="0.15"),
}  # fmt: skip
