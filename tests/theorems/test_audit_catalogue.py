"""A fast part of ``make audit``: every mechanism of the catalogue, few samples, and the shape of what is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.audit import audit
from adyton.audit.cases import catalogue
from adyton.audit.cases.catalogue import CATALOGUE, entry_named, target_of
from adyton.audit.outputs import read
from adyton.audit.page import page
from adyton.audit.report import AuditReport, audit_named, try_one
from adyton.errors import InvalidRequest
from adyton.transports.cli.app import app
from support.randomness import SeededByHash
from support.tries import often

TARGET = target_of()  # its tables are loaded once
KEYS = ["mechanism", "claim", "lower_bound", "samples", "confidence", "verdict", "power", "event"]


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda e: e.name)
def test_A1_no_claim_of_the_catalogue_is_refuted(entry: object) -> None:
    """The first pair of each mechanism, the one that hurts; ``make audit`` tries all of them with more samples."""
    for trial in islice(entry.trials(replace(TARGET, bits=SeededByHash(1))), often(1, 2)):  # type: ignore[attr-defined]
        tried = try_one(trial, 6000, 0.999)
        assert not tried.refuted, tried.verdict
        assert tried.verdict.claim.epsilon == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_A1_the_lower_bound_comes_near_the_claim(name: str) -> None:
    """So the pairs are the ones that hurt, and the audit is not merely weak."""
    found = audit_named(name, target_of(bits=SeededByHash(2)), 20_000, 0.999)
    assert not found.refuted
    assert found.lower_bound > (0.85 if name == "laplace" else 0.5)
    assert found.mechanism == name


def test_A1_so_it_does_for_queries() -> None:
    """For every one of the first five, and not only for the worst of them."""
    for trial in islice(entry_named("gdp-queries").trials(target_of(bits=SeededByHash(2))), 5):
        found = try_one(trial, 40_000, 0.999)
        assert not found.refuted
        assert found.verdict.lower_bound > 0.5, trial.title


def test_a_verdict_as_json_has_the_stated_keys() -> None:
    rng = np.random.Generator(np.random.Philox(3))
    found = audit(lambda x, n: x + rng.integers(0, 9, n), (0, 1), (0.5, 0.2), samples=2000, name="mine")
    assert list(found.to_json()) == KEYS
    assert found.to_json()["claim"] == {"epsilon": 0.5, "delta": 0.2}
    assert json.loads(json.dumps(found.to_json()))["verdict"] in ("consistent", "refuted")
    assert "Audit of mine" in str(found)


@pytest.mark.parametrize(
    "outputs",
    [
        lambda x, n: [f"text {x} {i % 3}" for i in range(n)],
        lambda x, n: [bool(x) or i % 2 == 0 for i in range(n)],
        lambda x, n: [(i % 3, "a" * (i % 2 + x)) for i in range(n)],
        lambda x, n: [None if i % 2 else (1.5, float("nan"))[i % 4 // 2] for i in range(n)],
        lambda x, n: [np.arange(i % 3 + x) for i in range(n)],
        lambda x, n: [{"a": i % 5, "b": {"c": x}} for i in range(n)],
        lambda x, n: [{i % 4, "x"} for i in range(n)],
        lambda x, n: [10**30 + x + i % 5 for i in range(n)],
        lambda x, n: [[(), (1,), (1, (2, "z"))][i % 3] for i in range(n)],
        lambda x, n: np.array([float("inf"), -1.0, float("nan"), 2.0])[np.arange(n) % 4],
        lambda x, n: np.zeros((n, 2, 2)) + x,
        lambda x, n: [1, True, 1.0, "1"] * (n // 4),
    ],
)
def test_every_kind_of_output_can_be_audited(outputs: object) -> None:
    found = audit(outputs, (0, 1), 1.0, samples=400)  # type: ignore[arg-type]
    assert found.lower_bound >= 0


def test_outputs_of_different_types_are_told_apart() -> None:
    """1 and True are equal in Python and different outputs all the same."""
    kinds = {0: [1] * 2000, 1: [True] * 2000}
    assert audit(lambda x, n: kinds[x], (0, 1), 1.0, samples=2000).refuted
    first, second = read([1, None], [True, 2.5])
    assert first.columns[0].labels is not None
    assert (first.columns[0].labels > 0).tolist() == [False, True]
    assert second.columns[0].numbers[1] == 2.5


def test_one_output_at_a_time_or_many() -> None:
    rng = np.random.Generator(np.random.Philox(4))
    seen: list[float] = []
    one = audit(lambda x: x + int(rng.integers(0, 9)), (0, 1), 1.0, samples=400, on_progress=seen.append)
    assert one.samples == 400
    assert seen == sorted(seen)
    assert len(seen) > 100
    with pytest.raises(InvalidRequest, match="must return 400 outputs"):
        audit(lambda x, n: [x], (0, 1), 1.0, samples=400)
    with pytest.raises(InvalidRequest, match="at least 400 samples"):
        audit(lambda x: x, (0, 1), 1.0, samples=10)


@pytest.mark.parametrize("claim", ["1", None, (1, 2, 3), -1, (1, 1), float("nan")])
def test_a_claim_that_is_none_is_refused(claim: object) -> None:
    with pytest.raises(InvalidRequest, match="claim"):
        audit(lambda x, n: np.zeros(n), (0, 1), claim, samples=400)


# The commands ------------------------------------------------------------------------------------------------


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["audit", *words])
    return done.exit_code, done.output


def test_the_command_audits_one_mechanism() -> None:
    code, text = run("laplace", "--epsilon", "1", "--samples", "4000", "--json")
    found = json.loads(text)
    assert code == 0
    assert list(found) == KEYS
    assert found["mechanism"] == "laplace"
    assert found["claim"]["epsilon"] == pytest.approx(1)
    assert found["samples"] == 4000
    code, text = run("gaussian", "--samples", "2000")
    assert code == 0
    assert "epsilon is at least" in text


def test_the_command_lists_and_refuses() -> None:
    code, text = run("--list", "--json")
    assert code == 0
    names = {m["name"] for m in json.loads(text)["mechanisms"]}
    assert {"geometric", "gaussian", "exponential", "permute-and-flip", "noisy-max", "quantile"} <= names
    for words in (
        ["nothing"],
        ["laplace", "--all"],
        ["laplace", "--epsilon", "-1"],
        ["laplace", "--samples", "x"],
        ["laplace", "--confidence", "1"],
        ["laplace", "--write", "audit.md"],
        ["gaussian", "--delta", "0"],
    ):
        code, text = run(*words, "--json")
        assert code == 2, words
        assert json.loads(text)["error"]["kind"] == "invalid_request"


def test_a_refuted_claim_has_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    from adyton.kernel.mechanisms import GeometricNoise

    honest = GeometricNoise.release
    monkeypatch.setattr(
        GeometricNoise,
        "release",
        lambda self, exact, bits: honest(GeometricNoise(tuple(s / 2 for s in self.scales)), exact, bits),
    )
    code, text = run("geometric", "--samples", "4000", "--json")
    assert code == 1
    assert json.loads(text)["verdict"] == "refuted"


def test_the_page_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "audit.md"
    with monkeypatch.context() as patch:
        patch.setattr(catalogue, "CATALOGUE", [entry_named("randomized-response")])
        code, _ = run("--all", "--samples", "2000", "--write", str(target))
    assert code == 0
    text = target.read_text(encoding="utf-8")
    assert "| randomized-response, 2 categories | replace-one | 1 |" in text
    assert "none of them refuted" in text
    trials = islice(entry_named("gdp-queries").trials(target_of(bits=SeededByHash(5))), 1)
    report = AuditReport(tuple(try_one(trial, 2000, 0.999) for trial in trials))
    for part in ("trade-off curve", "## Replay", "No samples at all"):
        assert part in page(report, 0.999)
