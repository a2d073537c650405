"""Reading the labels of a holdout from its scores: rules, or predictions, that differ in one item after the other.

Exact scores of rules of a class reveal every label, and are given to those alone who confirm that.  With noise the
same scores are worth little more than guessing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.errors import InvalidRequest
from adyton.holdout import Boxes, Gaussian, Holdout, LinearSeparators, Thresholds
from adyton.transports.cli.app import app
from support.randomness import SeededByHash
from support.servers import AS_MODULE

ITEMS = 60
RNG = np.random.default_rng(1)
POINTS, LABELS = np.sort(RNG.normal(size=ITEMS)), RNG.integers(0, 2, ITEMS)
CUTS = [POINTS[0] - 1, *POINTS]
RULES: dict[str, tuple[Any, Callable[[float], dict[str, Any]]]] = {
    "thresholds": (Thresholds(), lambda cut: {"column": 0, "above": cut}),
    "boxes": (Boxes(), lambda cut: {"low": [np.nextafter(cut, np.inf)], "high": [None]}),
    "linear": (LinearSeparators(), lambda cut: {"weights": [1], "intercept": -cut}),
}


def revealed(values: list[float]) -> np.ndarray:
    """Each rule says no to one item more than the one before: the score falls where the label of that item is 1."""
    return (np.diff(values) < 0).astype(int)


@pytest.mark.parametrize("name", RULES)
def test_one_exact_score_more_than_items_reveals_every_label(name: str, tmp_path: Path) -> None:
    """So it is true what the owner has to confirm.  Mutant: scores of a class have noise, or an end."""
    kind, rule = RULES[name]
    with Holdout.create(
        tmp_path / "h.toml",
        labels=LABELS,
        features=POINTS,
        hypothesis_class=kind,
        scores_reveal_labels=True,
    ) as holdout:
        assert "reveal every label" in " ".join(
            str(holdout.budget().sheet().text()).replace("│", " ").split()
        )
        values = [holdout.score(rule(cut)).value for cut in CUTS]
        assert (revealed(values) == LABELS).all()
        assert holdout.verify().receipts == len(values) == ITEMS + 1
        assert holdout.budget().scores_left is None


@pytest.mark.parametrize("seed", range(3))
def test_noisy_scores_of_the_same_do_not(seed: int, tmp_path: Path) -> None:
    """Noise has a standard deviation of six items, so each guess is right with a chance of at most 0.55.

    Of 60 such guesses 48 or more are right with probability below 1e-4.  Mutant: no noise.
    """
    with Holdout.create(
        tmp_path / "h.toml", labels=LABELS, scores=ITEMS + 1, bits=SeededByHash(seed)
    ) as holdout:
        values = [holdout.score((cut < POINTS).astype(int)).value for cut in CUTS]
        assert (revealed(values) == LABELS).sum() < 48
        assert holdout.budget().scores_left == 0  # and there is an end


def test_a_class_with_noisy_scores_needs_no_confirmation(tmp_path: Path) -> None:
    """Where noise comes nearer than the class.  Mutant: it is the class that has to be confirmed."""
    rng = np.random.default_rng(2)
    points, labels = np.sort(rng.normal(size=2000)), rng.integers(0, 2, 2000)
    with Holdout.create(
        tmp_path / "h.toml",
        labels=labels,
        features=points,
        hypothesis_class="thresholds",
        tolerance="0.05",
        bits=SeededByHash(1),
    ) as holdout:
        assert holdout.budget().method == "gaussian"
        assert "reveal" not in holdout.budget().sheet().text()
        exact = float(((points > 0) == labels).mean())
        assert holdout.score({"column": 0, "above": 0}).value != exact


CREATE = ("holdout", "create", "h.toml", "--labels", "y.npy", "--features", "x.npy")
WORDS = {"labels": LABELS, "features": POINTS, "hypothesis_class": Thresholds()}


def test_nothing_reveals_labels_before_somebody_says_so(tmp_path: Path) -> None:
    """Mutant: the confirmation has a default, or any value confirms."""
    for said, why in (
        ({}, "scores_reveal_labels=True"),
        ({"scores_reveal_labels": False}, "give a tolerance: scores then have noise"),
        ({"scores_reveal_labels": 1}, "True or False"),
        ({"scores_reveal_labels": "yes"}, "True or False"),
    ):
        with pytest.raises(InvalidRequest, match=why):
            Holdout.create(tmp_path / "h.toml", **WORDS, **said)
    with pytest.raises(InvalidRequest, match="goes with a hypothesis_class"):
        Holdout.create(
            tmp_path / "h.toml", labels=LABELS, scores=2, method=Gaussian(), scores_reveal_labels=True
        )
    assert not list(tmp_path.iterdir())


def test_the_command_says_so_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: a program is taken for a person, and no answer for yes."""
    monkeypatch.chdir(tmp_path)
    np.save("y.npy", LABELS)
    np.save("x.npy", POINTS[:, None])
    words = [*CREATE, "--hypothesis-class", "thresholds"]
    for more in ([], ["--json"]):
        done = CliRunner().invoke(app, [*words, *more], input="y\n")
        assert done.exit_code == 2
        said = done.output.replace("\n", " ")
        assert "--scores-reveal-labels" in said
        assert "leave out --hypothesis-class" in said
        assert "scores_reveal_labels" not in said
    other = [*words[:5], "--scores", "3", "--scores-reveal-labels"]
    assert "goes with --hypothesis-class" in CliRunner().invoke(app, other).output
    assert not list(tmp_path.glob("h.*"))
    done = CliRunner().invoke(app, [*words, "--scores-reveal-labels"])
    assert done.exit_code == 0
    assert "reveal every label" in " ".join(done.output.split())


@pytest.mark.parametrize(("typed", "made"), [(b"n\n", False), (b"\n", False), (b"y\n", True)])
def test_a_person_at_a_terminal_is_asked(typed: bytes, made: bool, tmp_path: Path) -> None:
    """Mutant: whatever is typed makes it, or just pressing return does."""
    np.save(tmp_path / "y.npy", LABELS)
    np.save(tmp_path / "x.npy", POINTS[:, None])
    words = [*CREATE, "--hypothesis-class", "thresholds"]
    terminal, end = os.openpty()
    try:
        asked = subprocess.Popen(
            [sys.executable, *AS_MODULE, *words], stdin=end, stdout=end, stderr=end, cwd=tmp_path
        )
        os.close(end)
        said = b""
        while b"]:" not in said:
            said += os.read(terminal, 1000)
        os.write(terminal, typed)
        assert (asked.wait(60) == 0) is made
    finally:
        os.close(terminal)
    assert b"can show every label" in b" ".join(said.split())
    assert (tmp_path / "h.toml").exists() is made
