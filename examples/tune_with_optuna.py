"""Optuna tunes on a hidden test set, and the score of its winner is still right.

Handwritten digits, bundled with scikit-learn.  An optimiser looks at every score before it tries the next
model, and that is what spoils a test set.  The holdout gives as many scores as it was made for, and its
intervals hold simultaneously for all of them, so also for the best.  Needs: pip install optuna scikit-learn
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import optuna
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from adyton.holdout import Holdout, Score

TRIALS = 12


def tune(folder: Path, seed: int = 0) -> tuple[optuna.Study, Score]:
    """The study, and the certified score of its best trial."""
    rows, digits = load_digits(return_X_y=True)
    hidden = np.random.default_rng(seed).permutation(len(rows)) >= 400
    train_rows, train_digits, test_rows = rows[~hidden], digits[~hidden], rows[hidden]
    with Holdout.create(
        folder / "digits.toml", labels=digits[hidden], scores=TRIALS, confidence="0.95"
    ) as holdout:

        def objective(trial: optuna.Trial) -> float:
            model = SVC(
                C=trial.suggest_float("C", 1e-3, 1e3, log=True),
                gamma=trial.suggest_float("gamma", 1e-6, 1e-1, log=True),
            ).fit(train_rows, train_digits)
            score = holdout.score(model.predict(test_rows))
            trial.set_user_attr("receipt", score.number)
            return float(score)

        sampler = optuna.samplers.TPESampler(seed=seed)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.optimize(objective, n_trials=holdout.budget().scores_left)
        receipts = {score.number: score for score in holdout.scores()}
        return study, receipts[study.best_trial.user_attrs["receipt"]]


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        study, best = tune(Path(folder))
    for trial in study.trials:
        settings = ", ".join(f"{name} {value:.3g}" for name, value in trial.params.items())
        print(f"{trial.value:.3f}  {settings}")
    assert best.interval is not None  # the method 'gaussian' certifies every score
    low, high = best.interval.low, best.interval.high
    print(f"\nThe best has {best.value:.3f}; on digits nobody has seen, from {low:.3f} to {high:.3f}.")


if __name__ == "__main__":
    main()
