"""scikit-learn's searches on a holdout that runs out of scores: they fail loudly, before they name a winner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, ParameterGrid, PredefinedSplit, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from adyton.errors import InvalidRequest, ScoresRefused
from adyton.holdout import Holdout, Slices

ROWS, TRUTH = load_digits(return_X_y=True)
TRAIN = np.arange(len(ROWS)) < 900
HIDDEN = np.where(TRAIN, TRUTH, 0)  # what is in y for the holdout's rows is not looked at
SPLIT = PredefinedSplit(np.where(TRAIN, -1, 0))
GRID = {"max_depth": [1, 2, 3, 12]}  # the best comes last


class Tree(DecisionTreeClassifier):  # type: ignore[misc]
    fitted = 0

    def fit(self, *given: Any, **named: Any) -> Any:
        Tree.fitted += 1
        return super().fit(*given, **named)


@pytest.fixture
def holdout(tmp_path: Path) -> Any:
    """Two scores, for a search over four models."""
    Tree.fitted = 0
    with Holdout.create(tmp_path / "digits.toml", labels=TRUTH[~TRAIN], scores=2) as made:
        yield made


def search(scorer: Any, **words: Any) -> GridSearchCV:
    return GridSearchCV(Tree(random_state=0), GRID, scoring=scorer, cv=SPLIT, refit=False, **words)


def test_a_search_as_documented_fails_when_scores_run_out(holdout: Holdout) -> None:
    """Mutant: ``Scorer.__call__`` that catches ScoresRefused and returns NaN; it names depth 1 or 2 the winner."""
    wanted = search(holdout.scorer(), error_score="raise")
    with pytest.raises(ScoresRefused, match="used up") as refused:
        wanted.fit(ROWS, HIDDEN)
    assert not hasattr(wanted, "best_params_")
    assert refused.value.facts["counted_in"] == "scores"
    assert holdout.budget().scores_left == 0


def test_a_scorer_refuses_more_candidates_than_scores_before_the_first_fit(holdout: Holdout) -> None:
    """Mutant: no ``check_candidates``."""
    with pytest.raises(ScoresRefused, match="4 candidates need as many scores") as refused:
        search(holdout.scorer(candidates=len(ParameterGrid(GRID))), error_score="raise").fit(ROWS, HIDDEN)
    assert (refused.value.facts["requested"], refused.value.facts["largest"]) == ("4", "2")
    assert (Tree.fitted, holdout.budget().scores_left) == (0, 2)
    assert holdout.scorer(candidates=2)
    for wrong in (0, -1, 1.0, True, "2"):
        with pytest.raises(InvalidRequest, match="candidates"):
            holdout.scorer(candidates=wrong)  # type: ignore[arg-type]


def test_a_search_that_fits_its_scores_has_no_nan(tmp_path: Path) -> None:
    with Holdout.create(tmp_path / "d.toml", labels=TRUTH[~TRAIN], scores=4) as holdout:
        wanted = search(holdout.scorer(candidates=4), error_score="raise").fit(ROWS, HIDDEN)
        assert np.isfinite(wanted.cv_results_["mean_test_score"]).all()
        assert holdout.budget().scores_left == 0
        with pytest.raises(ScoresRefused):
            holdout.scorer(candidates=1)
        assert holdout.scorer(candidates=None)  # what was scored before is still free


@pytest.mark.parametrize("cv", [3, PredefinedSplit(np.arange(len(ROWS)) % 2)])
def test_folds_are_refused_free_of_charge_and_the_way_out_is_named(holdout: Holdout, cv: Any) -> None:
    """Mutant: no ``_check_length``: the refusal of ``score`` knows nothing of folds."""
    with pytest.raises(
        InvalidRequest, match=r"PredefinedSplit\(\[-1\] \* rows_to_train_on \+ \[0\] \* 897\)"
    ):
        cross_val_score(Tree(max_depth=2), ROWS, HIDDEN, scoring=holdout.scorer(), cv=cv, error_score="raise")
    with pytest.warns(UserWarning, match="PredefinedSplit"):  # and where errors become NaN, in the warning
        found = cross_val_score(Tree(max_depth=2), ROWS, HIDDEN, scoring=holdout.scorer(), cv=cv)
    assert np.isnan(found).all()
    assert holdout.budget().scores_left == 2


def test_a_metric_by_the_name_of_scikit_learn_is_led_to_ours(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no metric 'roc_auc'; did you mean 'auc'"):
        Holdout.create(tmp_path / "d.toml", labels=TRUTH % 2, metric="roc_auc", scores=2)


# What is public and made of the labels -----------------------------------------------------------------------


def balanced(labels: np.ndarray) -> np.ndarray:
    return len(labels) / np.bincount(labels)[labels]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("what", ["weights", "groups"])
def test_what_gives_the_labels_away_is_pointed_out_to_the_owner(tmp_path: Path, what: str) -> None:
    """Mutant: no ``warn_of_labels``.  Weights and groups that have nothing to do with labels pass in silence."""
    labels, innocent = TRUTH % 3, np.arange(len(TRUTH)) % 4 + 1

    def given(values: np.ndarray) -> dict[str, Any]:
        return {"weights": values} if what == "weights" else {"method": Slices(values)}

    guilty: Any = balanced(labels) if what == "weights" else np.array(["x", "y", "z"])[labels]
    with pytest.warns(UserWarning, match=f"the {what} look as if they were made from the labels"):
        Holdout.create(tmp_path / "guilty.toml", labels=labels, scores=2, **given(guilty)).close()
    Holdout.create(tmp_path / "innocent.toml", labels=labels, scores=2, **given(innocent)).close()
    Holdout.create(tmp_path / "same.toml", labels=labels, scores=2, weights=np.ones(len(labels))).close()
