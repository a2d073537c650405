"""The holdout as its owner and its users meet it: files, charges, repeats, refusals, crashes, several processes."""

from __future__ import annotations

import copy
import errno
import hashlib
import json
import pickle
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adyton.errors import InvalidRequest, LedgerCorrupt, ScoresRefused
from adyton.holdout import (
    Auto,
    FreeLadder,
    Gaussian,
    GuessAndCheck,
    Holdout,
    Ladder,
    Leaderboard,
    Method,
    Rounding,
    SparseValidate,
    Split,
    Thresholdout,
)
from adyton.holdout.methods.baselines import RoundingPlan
from adyton.holdout.metrics import METRICS, check_predictions, metric_named
from adyton.kernel.ledger import SqliteLedger
from support.processes import APART
from support.randomness import Seeded

N = 20_000
CANARY = 8_675_309


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def labels(rng: np.random.Generator) -> np.ndarray:
    made = rng.integers(0, 3, N)
    made[7] = CANARY
    return made


@pytest.fixture
def holdout(tmp_path: Path, labels: np.ndarray) -> Holdout:
    return Holdout.create(tmp_path / "h.toml", labels=labels, tolerance="0.05", bits=Seeded(1))


def some(labels: np.ndarray, rng: np.random.Generator, share: float = 0.7) -> np.ndarray:
    return np.where(rng.random(N) < share, labels, 5)


# Scores ----------------------------------------------------------------------------------------------------


def test_a_score_is_near_and_says_how_near(
    holdout: Holdout, labels: np.ndarray, rng: np.random.Generator
) -> None:
    planned = holdout.budget().scores_left
    assert planned is not None
    assert planned > 30
    guess = some(labels, rng)
    score = holdout.score(guess)
    exact = float((guess == labels).mean())
    assert score.value != exact
    assert score.interval.low < exact < score.interval.high
    assert 0.025 < score.value - score.interval.low <= 0.05
    assert (score.number, score.scores_left, score.repeated, score.said) == (1, planned - 1, False, "score")
    assert "HOLDOUT-SCORES" in score.certificate.theorems
    assert str(holdout.budget()) == f"{planned - 1} scores left at ±0.05, 95 %"
    assert json.loads(json.dumps(score.to_json()))["scores_left"] == planned - 1
    assert "population" in str(score)
    assert "<strong>" in holdout.budget()._repr_html_()


def test_the_same_predictions_again_are_free_and_get_the_same_answer(
    holdout: Holdout, labels: np.ndarray, rng: np.random.Generator, tmp_path: Path
) -> None:
    guess = some(labels, rng)
    first = holdout.score(guess)
    again = [holdout.score(guess), holdout.score(guess.tolist()), holdout.score(guess.astype(float))]
    with Holdout.open(tmp_path / "h.toml") as other:
        again.append(other.score(guess.astype(np.int32)))
    for score in again:
        assert (score.value, score.repeated, score.number, score.scores_left) == (
            first.value,
            True,
            1,
            first.scores_left,
        )
    assert holdout.verify().receipts == 1


def test_all_planned_scores_and_not_one_more(tmp_path: Path) -> None:
    with Holdout.create(tmp_path / "h.toml", items=1000, metric="scores", scores=5) as holdout:
        for i in range(5):
            assert holdout.score(np.full(1000, i / 10)).scores_left == 4 - i
        with pytest.raises(ScoresRefused, match="all 5 scores") as refused:
            holdout.score(np.ones(1000))
        assert refused.value.facts["counted_in"] == "scores"
        assert holdout.score(np.full(1000, 0.1)).repeated  # what was paid for stays
        assert holdout.verify().receipts == 5


def test_a_crash_after_the_charge_loses_nothing_that_was_paid_for(
    holdout: Holdout, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> str:
        raise KeyboardInterrupt

    left = holdout.budget().scores_left
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedger, "remember", crash)
        with pytest.raises(KeyboardInterrupt):
            holdout.score(labels)
    assert holdout.budget().scores_left == left - 1
    score = holdout.score(labels)  # the same again is read for the receipt that was charged
    assert score.repeated
    assert (score.number, holdout.budget().scores_left) == (1, left - 1)


def _score_many(path: str, seed: int, times: int) -> list[int]:
    rng, found = np.random.default_rng(seed), []
    with Holdout.open(path) as holdout:
        for _ in range(times):
            try:
                found.append(holdout.score(rng.random(1000)).number)
            except ScoresRefused:
                found.append(0)
    return found


def test_two_processes_never_overspend(tmp_path: Path) -> None:
    path = str(tmp_path / "h.toml")
    Holdout.create(path, items=1000, metric="scores", scores=6).close()
    with APART.Pool(2) as pool:
        numbers = pool.starmap(_score_many, [(path, 1, 5), (path, 2, 5)])
    flat = sorted(n for found in numbers for n in found)
    assert flat == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6]
    with Holdout.open(path) as holdout:
        assert holdout.budget().scores_left == 0


# What is kept, and what is not -----------------------------------------------------------------------------


def test_labels_are_kept_for_the_owner_alone_and_never_shown(holdout: Holdout, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "h.labels.npy").stat().st_mode) == 0o600
    shown = [repr(holdout), str(holdout), str(holdout.budget()), (tmp_path / "h.toml").read_text()]
    shown += [json.dumps(holdout.budget().to_json()), repr(holdout.facts)]
    assert not any(str(CANARY) in text for text in shown)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy, iter, list):
        with pytest.raises(InvalidRequest):
            copied(holdout)
    with pytest.raises(TypeError):
        vars(holdout)
    public = [name for name in dir(holdout) if not name.startswith("_")]
    for name in public:
        assert not isinstance(getattr(holdout, name), np.ndarray)


def test_no_error_holds_a_label(holdout: Holdout, labels: np.ndarray) -> None:
    wrong: list[Any] = [labels[:-1], labels + 0.5, ["a"] * N, np.full(N, np.nan), None, labels.reshape(2, -1)]
    for predictions in wrong:
        with pytest.raises(InvalidRequest) as refused:
            holdout.score(predictions)
        assert str(CANARY) not in str(refused.value)
    assert holdout.verify().receipts == 0


def test_nothing_is_overwritten_and_nothing_starts_again(tmp_path: Path, labels: np.ndarray) -> None:
    path = tmp_path / "h.toml"
    Holdout.create(path, labels=labels, tolerance="0.05").close()
    with pytest.raises(InvalidRequest, match="never overwritten"):
        Holdout.create(path, labels=labels, tolerance="0.05")
    path.unlink()
    with pytest.raises(InvalidRequest, match="never overwritten"):
        Holdout.create(path, labels=labels, tolerance="0.05")
    with pytest.raises(InvalidRequest, match="no holdout"):
        Holdout.open(path)


@pytest.mark.parametrize("part", ["facts", "labels", "ledger", "plan"])
def test_what_was_changed_is_refused(tmp_path: Path, labels: np.ndarray, part: str) -> None:
    path = tmp_path / "h.toml"
    Holdout.create(path, labels=labels, tolerance="0.05").close()
    text = path.read_text()
    match part:
        case "facts":
            path.write_text(text.replace("19/20", "18/20"))
        case "plan":
            path.write_text(text.replace("scores = ", "scores = 1"))
        case "labels":
            labels[3] += 1
            np.save(tmp_path / "h.labels.npy", labels)
        case _:
            (tmp_path / "h.ledger").unlink()
    with pytest.raises(InvalidRequest):
        Holdout.open(path)


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("scales = ", "scales = 1.5 #"),
        ("scales = ", "scales = [] #"),
        ("reach = ", "reach = 3 #"),
        ("counts = ", 'counts = "[1]" #'),
        ("scores = ", "scores = true #"),
        ("[gaussian]", "[other]"),
        ("[holdout]", "a = " + "[" * 5000),
        ("[holdout]", 'gaussian = "scores"\n[holdout]'),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, labels: np.ndarray, line: str, other: str) -> None:
    path = tmp_path / "h.toml"
    Holdout.create(path, labels=labels, tolerance="0.05").close()
    text = path.read_text().replace(line, other)
    path.write_text(text if "gaussian = " not in other else text.partition("[gaussian]")[0])
    with pytest.raises(InvalidRequest, match=r"h\.toml|section"):
        Holdout.open(path)


def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, labels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr("adyton.holdout.facts.os.fsync", full)
    with pytest.raises(InvalidRequest, match="cannot be written"):
        Holdout.create(tmp_path / "h.toml", labels=labels, tolerance="0.05")
    assert list(tmp_path.iterdir()) == []


def test_a_changed_receipt_is_noticed(tmp_path: Path, labels: np.ndarray) -> None:
    holdout = Holdout.create(tmp_path / "h.toml", labels=labels, tolerance="0.05")
    holdout.score(labels)
    head = holdout.budget().head
    holdout.score(labels + 1)
    assert holdout.verify(head).receipts == 2
    with pytest.raises(LedgerCorrupt):
        holdout.verify("0" * 64)
    with pytest.raises(InvalidRequest, match="a head has 64 hexadecimal digits"):
        holdout.verify(head[:12])


# Metrics ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["f1", "roc_auc", "mape", "acuracy", "nothing", 3, None])
def test_a_metric_without_a_theorem_is_refused_by_name(name: object) -> None:
    with pytest.raises(InvalidRequest, match=str(name)):
        metric_named(name)


@pytest.mark.parametrize("name", ["f1_macro", "perplexity", "pr_auc", "median_absolute_error", "R2"])
def test_a_metric_that_is_no_average_is_not_taken_for_one(name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{name} .* no theorem here certifies it"):
        metric_named(name)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("neg_mean_squared_error", "squared_error"),
        ("mae", "absolute_error"),
        ("neg_brier_score", "brier"),
        ("roc_auc", "auc"),
        ("neg_root_mean_squared_error", "rmse"),
        ("neg_log_loss", "log_loss"),
    ],
)
def test_a_metric_under_another_name_is_named(name: str, ours: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{name}.*did you mean '{ours}'"):
        metric_named(name)


@pytest.mark.parametrize(
    ("low", "high"),
    [("1e16", "10000000000000000.5"), ("1e16", "10000000000000003"), (10**9, "1000000000.0001")],
)
def test_bounds_that_floats_cannot_tell_apart_are_refused(low: Any, high: str, tmp_path: Path) -> None:
    """An error would be a share of a range that is not the one that was written, or of nothing at all."""
    with pytest.raises(InvalidRequest, match="too close"):
        Holdout.create(
            tmp_path / "h.toml", labels=np.ones(9), metric="absolute_error", scores=1, low=low, high=high
        )


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_the_mean_of_its_items(name: str, tmp_path: Path, rng: np.random.Generator) -> None:
    """Seeded noise; an error of more than the half-width would be a 1 in 10,000 event and is not there."""
    n = 50_000
    kinds: dict[str, tuple[dict[str, Any], np.ndarray, np.ndarray]] = {}
    classes, shares, reals = rng.integers(0, 2, n), rng.random(n), rng.normal(0, 3, n)
    kinds["accuracy"] = ({"labels": classes}, shares > 0.4, (shares > 0.4) == classes)
    kinds["scores"] = ({"items": n}, shares, shares)
    kinds["brier"] = ({"labels": classes}, shares, (shares - classes) ** 2)
    error = np.abs(np.clip(reals, -4, 4) - np.clip(reals[::-1], -4, 4))
    bounds = {"labels": reals, "low": -4, "high": "4"}
    kinds["absolute_error"] = (bounds, reals[::-1], error)
    kinds["squared_error"] = (bounds, reals[::-1], error**2)
    residual = {"labels": reals, "error_high": "2.5"}
    kinds["rmse"] = (residual, reals + shares, np.sqrt(np.mean(shares**2)))
    kinds["log_loss"] = (
        {"labels": classes, "error_high": 3},
        shares,
        np.minimum(-np.log(np.where(classes == 1, shares, 1 - shares)), 3),
    )
    rare = (shares < 0.1).astype(int)
    kinds["balanced_accuracy"] = ({"labels": rare}, shares < 0.05, 0.75)
    ranked = np.stack([classes + 2, np.where(shares < 0.8, classes, 7)], axis=1)
    kinds["top_k"] = ({"labels": classes, "top": 2}, ranked, shares < 0.8)
    pairs = np.mean(shares[classes == 1][:20_000] > shares[classes == 0][:20_000])
    kinds["auc"] = ({"labels": classes}, shares, pairs)
    given, predictions, per_item = kinds[name]
    with Holdout.create(tmp_path / "m.toml", metric=name, scores=3, bits=Seeded(2), **given) as holdout:
        score = holdout.score(predictions)
        assert abs(score.value - np.mean(per_item)) < score.value - score.interval.low
        assert score.interval.low < np.mean(per_item) < score.interval.high
        assert holdout.score(predictions).repeated
        assert holdout.facts.metric.greater_is_better is (
            name in ("accuracy", "scores", "auc", "balanced_accuracy", "top_k")
        )


def test_texts_are_labels_too(tmp_path: Path) -> None:
    truth = np.array(["cat", "dog", "κύων", "a much longer name"] * 500)
    with Holdout.create(tmp_path / "t.toml", labels=list(truth), scores=2, bits=Seeded(3)) as holdout:
        assert holdout.score(truth.astype(object)).value > 0.85
        assert holdout.score(list(truth)).repeated
        for wrong in (np.arange(2000), np.arange(2000.0)):
            with pytest.raises(InvalidRequest, match="strings"):
                holdout.score(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        np.full(100, 1.0000001),
        np.full(100, -1e-300),
        np.full(100, np.nan),
        np.full(100, np.inf),
        np.full(99, 0.5),
        np.full((100, 1), 0.5),
        np.full(100, 0.5 + 0j),
        ["x"] * 100,
        [None] * 100,
        [0.5] * 99 + ["x"],
        np.full(100, "2020-01-01", dtype="datetime64[D]"),
        0.5,
        {},
        b"0" * 100,
    ],
    ids=range(14),
)
def test_bad_predictions_are_refused_free_of_charge(tmp_path: Path, wrong: object) -> None:
    with Holdout.create(tmp_path / "b.toml", items=100, metric="scores", scores=1) as holdout:
        with pytest.raises(InvalidRequest):
            holdout.score(wrong)
        with pytest.raises(InvalidRequest, match="no guess"):
            holdout.score(np.ones(100), guess=0.5)
        assert holdout.budget().scores_left == 1


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"metric": "scores"}, "how many items"),
        ({"items": 10, "labels": [1]}, "needs labels"),
        ({"labels": [1, 2], "tolerance": "0.02"}, "certify no score"),
        ({"labels": [1, 2]}, "give a tolerance"),
        ({"labels": [1, 2], "tolerance": 1}, "below 1"),
        ({"labels": [1, 2], "tolerance": 0.1, "confidence": 1}, "confidence"),
        ({"labels": [1, 2], "scores": 2, "tolerance": "0.1"}, "certified within"),
        ({"labels": [1, 2], "scores": 0}, "scores"),
        ({"labels": [1, 2], "scores": 1, "low": 3}, "no bounds"),
        ({"labels": [1.5, 2], "scores": 1}, "whole numbers"),
        ({"labels": [1, 3], "scores": 1, "metric": "brier"}, "0 or 1"),
        ({"labels": [1, 2], "scores": 1, "metric": "absolute_error"}, "low and high"),
        ({"labels": [1, 2], "scores": 1, "metric": "absolute_error", "low": 2, "high": 2}, "below high"),
        ({"labels": [1, 2], "scores": 1, "method": "gaussian"}, "a method is an object"),
        ({"labels": [1, 2], "method": Thresholdout(), "tolerance": "0.1"}, "certify 0 overfits"),
        ({"labels": [1, 2], "method": GuessAndCheck(), "tolerance": "0.1"}, "certify no answer"),
        ({"labels": [1, 2], "method": GuessAndCheck(), "tolerance": "0.1", "scores": 3}, "takes no scores"),
        ({"labels": [1, 2], "method": Ladder()}, "how many scores"),
        ({"labels": [1, 2], "method": Split(), "tolerance": "0.1"}, "certify no score"),
        ({"labels": [1, 2], "method": Gaussian(anytime=True)}, "tolerance"),
    ],
)
def test_wishes_that_cannot_be_met_leave_nothing_behind(
    tmp_path: Path, wish: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidRequest, match=says):
        Holdout.create(tmp_path / "w.toml", **wish)
    assert not list(tmp_path.iterdir())


# Comparisons and the other methods -------------------------------------------------------------------------


def test_theorem_PAIRED_COMPARISON_says_better_worse_or_cannot_tell(
    holdout: Holdout, labels: np.ndarray, rng: np.random.Generator
) -> None:
    good, bad, other = some(labels, rng, 0.9), some(labels, rng, 0.6), some(labels, rng, 0.9)
    won = holdout.compare(good, bad)
    assert won.verdict == "better"
    assert won.interval.low < 0.3 < won.interval.high
    differ = float(np.mean(good != bad))
    assert 0 < won.interval.high - won.interval.low <= 2 * differ
    assert won.interval.high <= differ
    assert any("disagree as often as" in said for said in won.certificate.assumptions)
    lost = holdout.compare(bad, good)
    assert (lost.verdict, lost.value, lost.repeated) == ("worse", -won.value, True)
    assert holdout.compare(good, other).verdict == "cannot tell"
    assert holdout.verify().receipts == 2
    with pytest.raises(InvalidRequest, match="neither is better"):
        holdout.compare(good, good)
    assert holdout.verify().receipts == 2
    assert "verdict" in str(won)
    assert won.to_json()["verdict"] == "better"


def test_theorem_PAIRED_COMPARISON_has_twice_the_noise_of_a_score(tmp_path: Path) -> None:
    """400 comparisons of models that are alike: their spread, within 6 of its standard deviations (18 %)."""
    with Holdout.create(
        tmp_path / "p.toml", items=500, metric="scores", scores=400, bits=Seeded(5)
    ) as holdout:
        sigma = json.loads(holdout.facts.settings["scales"])[0] / (500 * 2**15)
        found = [holdout.compare(np.full(500, j / 500), np.full(500, j / 500 + 2**-15)) for j in range(400)]
        raw = np.array([c.value for c in found])
        inside = np.abs(raw) < 1
        assert inside.mean() > 0.5 or sigma > 0.5
        spread = np.median(np.abs(raw)) / 0.6745
        assert 0.75 < spread / (2 * sigma) < 1.25


def test_a_loss_is_better_when_it_is_less(tmp_path: Path) -> None:
    truth = np.arange(20_000) % 2
    with Holdout.create(
        tmp_path / "l.toml", labels=truth, metric="brier", tolerance="0.1", bits=Seeded(6)
    ) as holdout:
        assert holdout.compare(truth, 1 - truth).verdict == "better"


@pytest.mark.parametrize(
    ("method", "wish", "guess"),
    [
        (Thresholdout(overfits=2, threshold="0.1", scale="0.0001"), {"scores": 50}, "0.1"),
        (GuessAndCheck(), {"tolerance": "0.05"}, "0.1"),
        (SparseValidate(rejections=2), {"tolerance": "0.05", "scores": 50}, "0.1"),
        (Ladder(), {"scores": 3}, None),
        (FreeLadder(), {"scores": 3}, None),
    ],
)
def test_staged_methods_keep_their_state_across_a_restart(
    tmp_path: Path,
    labels: np.ndarray,
    rng: np.random.Generator,
    method: Method,
    wish: dict[str, Any],
    guess: str | None,
) -> None:
    path = tmp_path / "s.toml"
    Holdout.create(path, labels=labels, method=method, **wish).close()
    first = some(labels, rng)
    with Holdout.open(path) as holdout:
        said = holdout.score(first, guess=guess)
        left = holdout.budget().scores_left
        notes = SqliteLedger(tmp_path / "s.ledger").notes(1)
    with Holdout.open(path) as again:
        assert SqliteLedger(tmp_path / "s.ledger").notes(1) == notes  # the noise of the threshold among them
        repeat = again.score(first, guess=guess)
        assert (repeat.value, repeat.said, repeat.repeated) == (said.value, said.said, True)
        assert again.budget().scores_left == left
        assert again.budget().scores == 1
        assert again.verify().receipts == 1
        for _ in range(200):
            try:
                again.score(some(labels, rng, 0.8), guess=guess)
            except ScoresRefused:
                break
        else:
            pytest.fail("it never ends")
        assert again.score(first, guess=guess).repeated
    with Holdout.open(path) as over, pytest.raises(ScoresRefused, match="nothing was charged"):
        over.score(labels, guess=guess)


@pytest.mark.parametrize(
    ("method", "wish"),
    [
        (Thresholdout(overfits=9, threshold="0.01", scale="0.01"), {}),
        (GuessAndCheck(), {"tolerance": "0.1"}),
        (Ladder(), {"scores": 9}),
        (FreeLadder(), {"scores": 9}),
    ],
)
def test_a_kept_head_notices_that_staged_answers_were_taken_back(
    tmp_path: Path, labels: np.ndarray, method: Method, wish: dict[str, Any]
) -> None:
    """Answers are linked like receipts: an old copy of the ledger would give the budget of overfits back."""
    path, guess = tmp_path / "h.toml", None if isinstance(method, Ladder | FreeLadder) else "0.9"
    with Holdout.create(path, labels=labels, method=method, **wish) as holdout:
        before = holdout.budget().head
        first = holdout.score(labels + 1, guess=guess)
    old = (tmp_path / "h.ledger").read_bytes()
    with Holdout.open(path) as holdout:
        second = holdout.score(labels, guess=guess)
        assert before == first.receipt.previous
        assert first.receipt.digest == second.receipt.previous
        assert second.receipt.digest == holdout.budget().head == holdout.verify().head
        for kept in (before, first.receipt.digest, second.receipt.digest):
            assert holdout.verify(kept).head == second.receipt.digest
        assert holdout.verify().receipts == holdout.budget().scores == 2
        with pytest.raises(LedgerCorrupt, match="rolled back"):
            holdout.verify("0" * 64)
    (tmp_path / "h.ledger").write_bytes(old)
    with Holdout.open(path) as holdout:
        assert holdout.score(labels + 1, guess=guess).receipt == first.receipt
        with pytest.raises(LedgerCorrupt, match="rolled back"):
            holdout.verify(second.receipt.digest)


def test_the_link_of_a_staged_answer_holds_nothing_that_was_not_said(
    tmp_path: Path, labels: np.ndarray
) -> None:
    """Anybody who asked can compute it; a digest of the noisy threshold could be tried out."""
    method = Thresholdout(overfits=9, threshold="0.5", scale="0.001")
    with Holdout.create(tmp_path / "h.toml", labels=labels, method=method) as holdout:
        said = holdout.score(labels, guess="0.9")
        link = [said.receipt.previous, f"{digest_of_whole(labels)} 9/10", "training", "9/10", None]
    assert said.said == "training"
    assert said.receipt.digest == hashlib.sha256(json.dumps(link).encode()).hexdigest()


def digest_of_whole(labels: np.ndarray) -> str:
    return check_predictions(metric_named("accuracy"), "whole", labels.size, labels).digest


def test_a_staged_method_needs_its_guess_and_others_take_none(tmp_path: Path, labels: np.ndarray) -> None:
    with Holdout.create(
        tmp_path / "g.toml", labels=labels, method=GuessAndCheck(), tolerance="0.1"
    ) as holdout:
        with pytest.raises(InvalidRequest, match="needs a guess"):
            holdout.score(labels)
        with pytest.raises(InvalidRequest, match="from 0 to 1"):
            holdout.score(labels, guess=1.5)
        assert holdout.score(labels, guess=1).value == 1
        with pytest.raises(InvalidRequest, match="gaussian"):
            holdout.compare(labels, labels)
    ladder = Holdout.create(tmp_path / "l.toml", labels=labels, method=Ladder(), scores=3)
    with ladder, pytest.raises(InvalidRequest, match="no guess"):
        ladder.score(labels, guess=1)


def test_two_objects_of_one_staged_holdout_share_its_state(tmp_path: Path, labels: np.ndarray) -> None:
    path = tmp_path / "s.toml"
    wish = {"method": SparseValidate(rejections=3), "tolerance": "0.05", "scores": 50}
    with Holdout.create(path, labels=labels, **wish) as one, Holdout.open(path) as two:
        assert one.score(labels, guess=0).said == "no"
        assert two.score(labels, guess="0.5").said == "no"
        assert one.score(labels, guess="0.4").said == "no"
        for holdout in (one, two):
            assert holdout.score(labels, guess=0).repeated
            with pytest.raises(ScoresRefused):
                holdout.score(labels, guess=1)


def test_thresholdout_without_a_certificate_says_so(tmp_path: Path, labels: np.ndarray) -> None:
    method = Thresholdout(overfits=500, threshold="0.01", scale="0.01")
    with Holdout.create(tmp_path / "u.toml", labels=labels, method=method, scores=1000) as holdout:
        score = holdout.score(labels, guess=1)
        assert score.interval is None
        assert score.certificate.theorems == ("THRESHOLDOUT-PRIVACY",)
        assert "without a certified interval" in str(holdout.budget())


@pytest.mark.parametrize("method", [Split(), Rounding(), Auto()])
def test_baselines_answer_within_their_widths(
    tmp_path: Path, labels: np.ndarray, rng: np.random.Generator, method: Method
) -> None:
    with Holdout.create(tmp_path / "b.toml", labels=labels, method=method, tolerance="0.05") as holdout:
        for _ in range(3):
            score = holdout.score(some(labels, rng))
            assert score.interval.low <= 0.7 <= score.interval.high
        assert holdout.facts.method == ("gaussian" if method == Auto() else method.name)
        assumed = " ".join(score.certificate.assumptions)
        assert ("order of the items" in assumed) is (method == Split())
        assert holdout.budget().scores_left == holdout.facts.settings["scores"] - 3


def test_split_uses_every_item_once(tmp_path: Path) -> None:
    with Holdout.create(
        tmp_path / "f.toml", items=1000, metric="scores", method=Split(), scores=4
    ) as holdout:
        for j in range(4):
            only = np.zeros(1000)
            only[j * 250 : (j + 1) * 250] = 1
            assert holdout.score(only).value == 1


def test_rounding_answers_the_middle_of_a_cell(tmp_path: Path) -> None:
    with Holdout.create(
        tmp_path / "r.toml", items=10_000, metric="scores", method=Rounding(), scores=8
    ) as holdout:
        cells = RoundingPlan(holdout.facts.frame, 8).cells
        for share in (0.0, 0.37, 1.0):
            cell = min(int(share * cells), cells - 1)
            assert holdout.score(np.full(10_000, share)).value == pytest.approx((cell + 0.5) / cells)


def test_early_scores_are_sharper_when_widths_are_anytime(tmp_path: Path, labels: np.ndarray) -> None:
    with Holdout.create(
        tmp_path / "a.toml", labels=labels, tolerance="0.1", method=Gaussian(anytime=True)
    ) as holdout:
        first, second = holdout.score(labels), holdout.score(labels + 1)
        assert first.interval.high - first.interval.low < 0.1
        assert second.interval.high >= 0
        assert "HOLDOUT-SCORES" in first.certificate.theorems
        assert holdout.budget().half_width <= 0.1
    assert Fraction(Holdout.open(tmp_path / "a.toml").facts.tolerance) == Fraction(1, 10)


# Leaderboards and scikit-learn -----------------------------------------------------------------------------


def test_a_leaderboard_ranks_whom_the_intervals_separate(
    tmp_path: Path, labels: np.ndarray, rng: np.random.Generator
) -> None:
    path = tmp_path / "b.toml"
    Holdout.create(path, labels=labels, tolerance="0.05", bits=Seeded(9)).close()
    with Leaderboard(path) as board:
        for name, share in (("ann", 0.9), ("bob", 0.9), ("cid", 0.5), ("ann", 0.2)):
            board.submit(name, some(labels, rng, share))
        for name in ("", "a\nb", "x" * 81, None):
            with pytest.raises(InvalidRequest, match="name"):
                board.submit(name, labels)
    with Leaderboard(path) as board:  # names and scores are in the ledger
        standings = board.standings()
        assert [(e.rank, e.tied) for e in standings] == [(1, True), (1, True), (3, False)]
        assert {e.entrant: e.submissions for e in standings} == {"ann": 2, "bob": 1, "cid": 1}
        assert "1 (tied)" in str(board)
        assert board.to_json()["entries"][2]["entrant"] == "cid"


def test_predictions_sent_again_belong_to_who_sent_them_first(tmp_path: Path, labels: np.ndarray) -> None:
    path = tmp_path / "b.toml"
    Holdout.create(path, labels=labels, tolerance="0.05").close()
    with Leaderboard(path) as board:
        board.submit("ann", labels)
        assert board.submit("bob", labels).repeated
        assert [e.entrant for e in board.standings()] == ["ann"]


def test_of_losses_the_least_leads(tmp_path: Path) -> None:
    truth = np.arange(20_000) % 2
    Holdout.create(tmp_path / "b.toml", labels=truth, metric="brier", tolerance="0.05").close()
    with Leaderboard(tmp_path / "b.toml") as board:
        board.submit("wrong", 1 - truth)
        board.submit("right", truth)
        assert [(e.rank, e.entrant) for e in board.standings()] == [(1, "right"), (2, "wrong")]


def test_a_method_without_a_list_has_no_leaderboard(tmp_path: Path, labels: np.ndarray) -> None:
    Holdout.create(tmp_path / "l.toml", labels=labels, method=GuessAndCheck(), tolerance="0.1").close()
    with pytest.raises(InvalidRequest, match="no list"):
        Leaderboard(tmp_path / "l.toml")


def test_theorem_LADDER_a_leaderboard_lists_those_who_led(
    tmp_path: Path, labels: np.ndarray, rng: np.random.Generator
) -> None:
    path = tmp_path / "l.toml"
    Holdout.create(path, labels=labels, method=Ladder(), scores=50).close()
    shares = {"ann": 0.3, "bob": 0.9, "cid": 0.5, "dan": 0.9001}
    with Leaderboard(path) as board:
        said = {name: board.submit(name, some(labels, rng, share)).said for name, share in shares.items()}
        board.submit("ann", some(labels, rng, 0.1))
    assert said == {"ann": "improved", "bob": "improved", "cid": "no improvement", "dan": "no improvement"}
    with Leaderboard(path) as board:
        first, second = board.standings()  # who never led is not listed: nothing was said about them
        assert (first.entrant, first.rank, first.submissions) == ("bob", 1, 1)
        assert (second.entrant, second.rank, second.submissions) == ("ann", 2, 2)
        assert first.interval.low < 0.9 < first.interval.high
        assert second.interval.low < 0.3 < second.interval.high
        assert board.submit("eve", labels).value > 0.9
        assert board.standings()[0].entrant == "eve"
        assert board.submit("fay", labels).repeated
        assert board.standings()[0].entrant == "eve"


class Model:
    """What scikit-learn's estimators look like from outside."""

    def __init__(self, predictions: np.ndarray) -> None:
        self._predictions = predictions

    def predict(self, rows: object) -> np.ndarray:
        return self._predictions

    def predict_proba(self, rows: object) -> np.ndarray:
        return np.stack([1 - self._predictions, self._predictions], axis=1)


def test_the_scorer_scores_what_a_model_predicts(holdout: Holdout, labels: np.ndarray) -> None:
    scorer = pickle.loads(pickle.dumps(holdout.scorer()))  # a path alone: worker processes open it themselves
    assert scorer(Model(labels), None, None) == holdout.score(labels).value > 0.9
    assert [score.number for score in holdout.scores()] == [1]
    assert str(CANARY) not in repr(scorer)
    with pytest.raises(InvalidRequest, match="predictions are needed"):
        scorer(Model(labels[:5]), None)


def test_the_scorer_of_a_loss_is_negative(tmp_path: Path) -> None:
    truth = np.arange(20_000) % 2
    with Holdout.create(tmp_path / "b.toml", labels=truth, metric="brier", tolerance="0.1") as holdout:
        assert holdout.scorer()(Model(1.0 - truth), None) < -0.8


def test_the_scorer_works_in_a_grid_search(tmp_path: Path) -> None:
    """Handwritten digits, bundled with scikit-learn; the labels of the holdout's rows are never given to it."""
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_digits
    from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_validate
    from sklearn.tree import DecisionTreeClassifier

    rows, truth = load_digits(return_X_y=True)
    train = np.arange(len(rows)) % 2 == 0
    Holdout.create(tmp_path / "d.toml", labels=truth[~train], scores=4, bits=Seeded(4)).close()
    hidden = np.where(train, truth, 0)  # what is in y for the holdout's rows is not looked at
    split = PredefinedSplit(np.where(train, -1, 0))
    with Holdout.open(tmp_path / "d.toml") as holdout:
        scorer = holdout.scorer()
        search = GridSearchCV(
            DecisionTreeClassifier(random_state=0),
            {"max_depth": [1, 12]},
            scoring=scorer,
            cv=split,
            refit=False,
        )
        search.fit(rows, hidden)
        assert len(search.cv_results_["mean_test_score"]) == 2
        assert holdout.budget().scores_left == 2
        tree = DecisionTreeClassifier(max_depth=5, random_state=0)
        found = cross_validate(tree, rows, hidden, scoring=scorer, cv=split)["test_score"]
        assert found[0] == holdout.scores()[-1].value
