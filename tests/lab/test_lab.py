"""The lab: every number beside its expectation, and the reports as people and programs meet them."""

from __future__ import annotations

import html
import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.errors import InvalidRequest
from adyton.figures.sources import BASSI
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.noise import rounded_gaussian, two_sided_geometric
from adyton.kernel.privacy import PureCost
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.sparse import sparse as sparse_machine
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse as Sparse_
from adyton.kernel.special.mechanisms.workloads.measured import GaussianMeasured
from adyton.kernel.special.scores import NoisyScore
from adyton.lab import EXPERIMENTS, Chart, ChartLine, LabFinding, LabReport, Topic, run
from adyton.lab.adaptivity import forking_paths, p_values
from adyton.lab.attacks import float_bits
from adyton.lab.attacks.differencing import chance_of_best_guess, exact_guess
from adyton.lab.choices import broken
from adyton.lab.choices.broken import ABOVE, BELOW, BrokenSparse, RepeatedQuery
from adyton.lab.choices.noisy_max import log_chance
from adyton.lab.measuring import composition, gaussian_calibration
from adyton.lab.measuring.laplace_error import mean_error, variance
from adyton.noise_intervals import laws
from adyton.noise_intervals import sparse as sparse_noise
from adyton.noise_intervals.laws import gaussian_pmf, geometric_pmf, geometric_tail
from adyton.query.description import Dictionary
from adyton.textbook.mwem import Mwem
from adyton.textbook.noisy_max import NoisyMax
from adyton.textbook.rounding import RoundedMeans
from adyton.transports.cli import lab as cli_lab
from adyton.transports.cli.app import app
from adyton.validity import methods
from support.randomness import Seeded, in_bulk
from support.tries import LONG

NAMES = [topic.name for topic in EXPERIMENTS]
Planted = tuple[Any, str, Any]  # what is replaced where, as monkeypatch takes it


@cache
def report_of(name: str) -> LabReport:
    return run(name, Seeded(11), np.random.default_rng(11))


# Every entry -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_as_expected_and_the_report_shows_itself(name: str) -> None:
    report = report_of(name)
    wrong = [finding for finding in report.findings if not finding.agrees]
    assert wrong == []
    assert any(finding.expected is not None for finding in report.findings)
    printed_wide = report.sheet().text(width=200)
    for finding in report.findings:
        assert finding.what in printed_wide or len(finding.what) > 60
    assert html.escape(report.topic.title) in report._repr_html_()
    printed = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert printed["agrees"] is True
    assert len(printed["findings"]) == len(report.findings)


@pytest.mark.parametrize("name", NAMES)
def test_every_report_draws_itself(name: str) -> None:
    report = report_of(name)
    figure = report.figure()
    assert figure.headers[1:] == tuple(line.name for line in report.chart.lines)
    drawn = {point["curve"] for points in figure.data.values() for point in points}
    assert drawn == {line.name for line in report.chart.lines}
    for line in report.chart.lines:
        assert len(line.x) == len(line.y) > 1
        assert all(math.isfinite(value) for value in (*line.x, *line.y))


def test_names_and_titles_are_different() -> None:
    assert len(set(NAMES)) == len({topic.title for topic in EXPERIMENTS}) == len(EXPERIMENTS)


def test_an_unknown_name_is_refused_with_a_hint() -> None:
    with pytest.raises(InvalidRequest, match="did you mean 'hair'"):
        report_of("hare")


# Reports ---------------------------------------------------------------------------------------------------

TOPIC = Topic("probe", (BASSI,), "A probe", story="Nobody does nothing.")
CHART = Chart("x", "y", (ChartLine("a", (1, 2), (3.0, 4.0)),), ("x",))


@pytest.mark.parametrize(
    ("found", "expected", "tolerance", "agrees"),
    [
        (1, 1, 0, True),
        (1.1, 1, 0.2, True),
        (1.3, 1, 0.2, False),
        (5, None, 0, True),
        (math.inf, math.inf, 0, True),
        (math.nan, 1, 9, False),
        (math.inf, 1, 9, False),
    ],
)
def test_law_a_finding_agrees_within_its_tolerance(
    found: float, expected: float | None, tolerance: float, agrees: bool
) -> None:
    finding = LabFinding("probe", found, expected, tolerance)
    assert finding.agrees is agrees
    assert LabReport(TOPIC, (finding,), (), CHART).agrees is agrees
    assert ("NO" in str(LabReport(TOPIC, (finding,), (), CHART))) is not agrees


def test_without_altair_a_figure_is_refused_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for missing in ("altair", "vl_convert"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(InvalidRequest, match=r"adyton\[plot\]"):
                LabReport(TOPIC, (), (), CHART).figure().save("x.svg")


def test_the_axes_of_a_figure_are_those_of_its_chart() -> None:
    pytest.importorskip("altair", reason="figures need the extra 'plot'")
    described = LabReport(TOPIC, (), (), CHART).figure().vega_lite()
    encoded = described["vconcat"][0]["layer"][0]["layer"][0]["encoding"]
    assert (encoded["x"]["scale"]["type"], encoded["y"]["scale"].get("type")) == ("log", None)
    assert (encoded["x"]["axis"]["title"], encoded["y"]["axis"]["title"]) == ("x", "y")
    assert described["title"] == ["A probe"]


# The broken sparse vectors: their laws against enumeration and against samples -----------------------------

HALF = Fraction(1, 2)
ALL = [
    broken.late_sparse(HALF, 1),
    broken.corrected_sparse(HALF, 2),
    broken.algorithm_1(HALF, 2),
    broken.algorithm_2(HALF, 2),
    broken.algorithm_4(HALF, 2),
    broken.algorithm_5(HALF),
    broken.algorithm_6(HALF),
]


def possible(sparse: BrokenSparse, length: int) -> list[tuple[str, ...]]:
    """Every sequence of above and below that can come out of that many queries."""
    found = set()
    for outputs in product((ABOVE, BELOW), repeat=length):
        ends = [i for i, output in enumerate(outputs) if output == ABOVE]
        last = ends[sparse.most - 1] if sparse.most is not None and len(ends) >= sparse.most else length - 1
        found.add(outputs[: last + 1])
    return sorted(found)


def runs(queries: tuple[int, ...], outputs: tuple[str, ...]) -> list[RepeatedQuery]:
    return [RepeatedQuery(query, output) for query, output in zip(queries, outputs, strict=False)]


@pytest.mark.parametrize("sparse", ALL, ids=lambda s: s.name)
def test_the_chances_of_all_outputs_sum_to_one(sparse: BrokenSparse) -> None:
    queries = (1, -2, 0, 3)
    chances = [math.exp(sparse.log_chance(runs(queries, o), 1)) for o in possible(sparse, 4)]
    assert math.fsum(chances) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("sparse", ALL, ids=lambda s: s.name)
def test_what_is_released_has_the_stated_law(sparse: BrokenSparse, monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 runs; more than 6 standard deviations in any output would be a 2e-9 event, 2e-7 for all."""
    queries, bits, tries = (1, -2, 0), Seeded(5), 3_000
    monkeypatch.setattr(two_sided_geometric, "draw", in_bulk(two_sided_geometric.draw, bits))
    seen = Counter(tuple(sparse.release(queries, 1, bits)) for _ in range(tries))
    for outputs in possible(sparse, 3):
        chance = math.exp(sparse.log_chance(runs(queries, outputs), 1))
        assert abs(seen.pop(outputs, 0) - tries * chance) <= 6 * math.sqrt(tries * chance) + 6
    assert not seen


def test_a_told_value_has_the_stated_law() -> None:
    sparse, bits, tries = broken.algorithm_3(Fraction(1), 1), Seeded(6), 3_000
    seen = Counter(tuple(sparse.release((0, 1), 0, bits)) for _ in range(tries))
    for value in (-1, 0, 2):
        chance = math.exp(sparse.log_chance([RepeatedQuery(0, BELOW), RepeatedQuery(1, value)]))
        assert abs(seen[BELOW, value] - tries * chance) <= 6 * math.sqrt(tries * chance)


def test_after_the_last_positive_nothing_comes() -> None:
    once = broken.algorithm_1(HALF, 1)
    for late in (
        [RepeatedQuery(0, ABOVE), RepeatedQuery(0, BELOW)],
        [RepeatedQuery(0, ABOVE, 2)],
        [RepeatedQuery(0, ABOVE), RepeatedQuery(0, ABOVE)],
    ):
        assert once.log_chance(late) == -math.inf
        assert broken.late_sparse(HALF, 2).log_chance([RepeatedQuery(0, ABOVE)] * 3) > -math.inf
        assert broken.late_sparse(HALF, 2).log_chance([RepeatedQuery(0, ABOVE)] * 4) == -math.inf


def test_a_run_is_the_same_as_its_single_outputs() -> None:
    for sparse in (broken.algorithm_1(HALF, 3), broken.algorithm_6(HALF)):
        short = [RepeatedQuery(0, BELOW, 4), RepeatedQuery(2, ABOVE, 3)]
        long = [RepeatedQuery(0, BELOW)] * 4 + [RepeatedQuery(2, ABOVE)] * 3
        assert sparse.log_chance(short) == pytest.approx(sparse.log_chance(long), rel=1e-12)


@pytest.mark.parametrize("c", [1, 2])
def test_the_right_versions_keep_their_guarantee_on_every_small_pair(c: int) -> None:
    """All pairs of sequences of three queries that differ by at most 1 each, all outputs; the slide does not."""
    moves = list(product((-1, 0, 1), repeat=3))
    for make, keeps in (
        (broken.corrected_sparse, True),
        (broken.algorithm_1, True),
        (broken.algorithm_2, True),
        (broken.algorithm_4, False),
    ):
        sparse = make(Fraction(1), c)
        worst = 0.0
        for queries in ((0, 0, 0), (0, 0, -6), (-6, 0, -6), (3, -3, 0), (-9, -9, -9)):
            here = {o: sparse.log_chance(runs(queries, o)) for o in possible(sparse, 3)}
            for move in moves:
                there = tuple(q + m for q, m in zip(queries, move, strict=True))
                worst = max(worst, *(abs(here[o] - sparse.log_chance(runs(there, o))) for o in here))
        assert (worst <= 1 + 1e-9) is keeps


def test_log_below_is_the_law_of_the_noise() -> None:
    gaps = np.arange(-30, 31)
    exact = [math.log(1 - geometric_tail(2.5, int(g))) for g in gaps if g > 0]
    exact = [math.log(geometric_tail(2.5, int(1 - g))) for g in gaps if g <= 0] + exact
    assert broken.log_below(Fraction(5, 2), gaps) == pytest.approx(exact, rel=1e-10)
    assert broken.log_below(None, np.array([-1, 0, 1])).tolist() == [-math.inf, -math.inf, 0]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="one at a time"):
        broken.algorithm_2(HALF, 2).log_chance([RepeatedQuery(0, ABOVE, 2)])
    with pytest.raises(ValueError, match="same outputs"):
        broken.loss(broken.algorithm_6(HALF), [RepeatedQuery(0, ABOVE)], [RepeatedQuery(0, BELOW)])
    with pytest.raises(ValueError, match="impossible"):
        broken.loss(
            broken.corrected_sparse(HALF, 1),
            [RepeatedQuery(0, ABOVE), RepeatedQuery(0, BELOW)],
            [RepeatedQuery(1, ABOVE), RepeatedQuery(0, BELOW)],
        )
    with pytest.raises(ValueError, match="random output"):
        broken.algorithm_5(HALF).log_chance([RepeatedQuery(0, 3)])


# Other laws ------------------------------------------------------------------------------------------------


def test_exact_answers_name_bob() -> None:
    assert exact_guess() == 5


def test_the_winner_of_three_by_enumeration() -> None:
    scale, counts, reach = Fraction(1), (1, 0, 2), 40
    pmf = [geometric_pmf(1.0, z) for z in range(-reach, reach + 1)]
    noisy = [{count + z - reach: p for z, p in enumerate(pmf)} for count in counts]
    wins = sum(
        p * math.prod(sum(q for v, q in other.items() if v <= value) for other in noisy[1:])
        for value, p in noisy[0].items()
    )
    assert math.exp(log_chance(scale, counts[0], [(0, 1), (2, 1)])) == pytest.approx(wins, rel=1e-9)
    assert log_chance(scale, 0, [(0, 2)]) == pytest.approx(log_chance(scale, 0, [(0, 1), (0, 1)]), rel=1e-12)


def test_the_moments_of_the_noise_are_those_of_its_law() -> None:
    law = {z: geometric_pmf(3.0, z) for z in range(-200, 201)}
    assert mean_error(3.0) == pytest.approx(sum(abs(z) * p for z, p in law.items()), rel=1e-12)
    assert variance(3.0) == pytest.approx(sum(z * z * p for z, p in law.items()), rel=1e-12)


def test_the_best_guess_is_right_as_often_as_its_law_says() -> None:
    """By enumeration of both noises, for every Bob.  Mutant: differences beyond the ends are not counted."""
    sigma, reach = 2.0, 30
    law = {z: gaussian_pmf(sigma, z) for z in range(-reach, reach + 1)}
    right = sum(
        p * q
        for bob in range(6)
        for a, p in law.items()
        for b, q in law.items()
        if min(max(bob + a - b, 0), 5) == bob
    )
    assert chance_of_best_guess(sigma) == pytest.approx(right / 6, rel=1e-9)


# Entries run the product -----------------------------------------------------------------------------------


def _twice(owner: type, name: str) -> Planted:
    """The property is twice what it should be."""
    right = getattr(owner, name)
    return owner, name, property(lambda self: 2 * right.__get__(self))


def _half(owner: type, name: str) -> Planted:
    right = getattr(owner, name)
    return owner, name, property(lambda self: right.__get__(self) / 2)


def _quiet(module: ModuleType) -> Planted:
    """A sampler with a tenth of the noise that was asked for."""
    right = module.draw
    return module, "draw", lambda scale, count, bits: right(max(scale / 10, 0.05), count, bits)


def _without_noise(owner: type) -> Planted:
    return owner, "release", lambda self, exact, bits: [list(column) for column in exact]


def _told_best(owner: type) -> Planted:
    """A selection that tells the exact best."""
    return owner, "release", lambda self, scores, bits: self.candidates[int(np.argmax(scores))]


def _more(owner: object, name: str, factor: float) -> Planted:
    right = getattr(owner, name)
    return owner, name, lambda *words, **named: right(*words, **named) * factor


def _cheap_sparse() -> Planted:
    """A price that forgets the queries: the noise is then too small for what is said."""
    right = Sparse_.cost
    return Sparse_, "cost", lambda self: ComposedCost(((PureCost(right(self).pure / 2), 1),))


def _greedy_thresholdout() -> Planted:
    """No noise on the comparison."""
    return sparse_machine, "draw_one", lambda scale, bits: 0


SLOW = (
    "reconstruction",
    "holdout-boosting",
    "binary-representation",
    "forking-paths",
    "routes",
    "owner-looks",
)  # tried with ADYTON_LONG: seconds each


def _exact_batches() -> Planted:
    """A batch that is measured without noise."""
    release = lambda self, histogram, bits: self.strategy.measure(histogram) * self.steps  # noqa: E731
    return GaussianMeasured, "release", release


def _narrow_rounding() -> Planted:
    right = methods.rounding_width
    return methods, "rounding_width", lambda n, k, failure: right(2 * n, k, failure)


def _steep_noise() -> Planted:
    right = geometric_pmf
    return float_bits, "geometric_pmf", lambda scale, z: right(scale / 2, z)


PLANTED: dict[str, list[Callable[[], Planted]]] = {
    "hair": [lambda: _twice(ExponentialMechanism, "rate"), lambda: _told_best(ExponentialMechanism)],
    "price": [lambda: _half(ExponentialMechanism, "rate"), lambda: _told_best(ExponentialMechanism)],
    "candidates": [lambda: _twice(ExponentialMechanism, "rate"), lambda: _told_best(ExponentialMechanism)],
    "noisy-max": [lambda: _half(NoisyMax, "scale"), lambda: _told_best(NoisyMax)],
    "sparse-vectors": [_cheap_sparse, lambda: _more(sparse_noise, "scale_for", Fraction(1, 2))],
    "unrealistic": [lambda: _told_best(NoisyMax)],
    "p-values": [lambda: _told_best(NoisyMax), lambda: _more(p_values, "independent_rows_nats", 0.5)],
    "differencing": [lambda: _without_noise(GaussianNoise)],
    "averaging": [lambda: (rounded_gaussian, "draw", lambda sigma, count, bits: np.full(count, 9))],
    "laplace-error": [lambda: _quiet(two_sided_geometric)],
    "randomized-response": [lambda: (RandomizedResponse, "release", lambda self, values, bits: list(values))],
    "composition": [lambda: _more(composition.accounting_named("pure").__class__, "amount", 2)],
    "forking-paths": [lambda: _more(forking_paths, "forking_width", 0.25)],
    "holdout-science": [_greedy_thresholdout],
    "reconstruction": [_exact_batches],
    "coordinated": [lambda: _more(Mwem, "error", 1e-4)],
    "holdout-boosting": [
        lambda: (NoisyScore, "release", lambda self, source, bits: list(next(source.exact())[0]))
    ],
    "binary-representation": [lambda: (RoundedMeans, "release", lambda self, means: list(means))],
    "routes": [_narrow_rounding],
    "owner-looks": [
        lambda: (Dictionary, "_spelled", Dictionary._chosen),
        lambda: _more(Dictionary, "nats", 100),
    ],
    "gaussian-calibration": [lambda: _more(gaussian_calibration, "analytic_sigma", 0.9)],
    "two-hypotheses": [lambda: _more(laws, "geometric_tail", 0.5)],
    "sensitivities": [lambda: _more(Sensitivity, "l1_diameter", Fraction(1, 2))],
    "float-bits": [_steep_noise],
}


@pytest.mark.parametrize(
    ("name", "number"),
    [(name, i) for name, all_ in PLANTED.items() if LONG or name not in SLOW for i in range(len(all_))],
)
def test_a_fault_that_is_planted_in_the_product_changes_the_entry(
    name: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry with a mechanism of its own would go on as if nothing had happened."""
    assert report_of(name).agrees
    monkeypatch.setattr(*PLANTED[name][number]())
    assert not run(name, Seeded(11), np.random.default_rng(11)).agrees


def test_every_entry_has_one_sentence_of_story_that_comes_first() -> None:
    for topic in EXPERIMENTS:
        assert topic.story.endswith((".", "?")), topic.name
        assert topic.story[:-1].count(". ") == 0
        assert 60 <= len(topic.story) <= 240, topic.name


def test_shares_are_shown_in_per_cent_and_tolerances_beside_them() -> None:
    findings = (
        LabFinding("a share", 0.25, 0.2, 0.1, share=True),
        LabFinding("a number", 0.25, 0.25),
        LabFinding("nothing to agree with", 3.5),
    )
    rows = LabReport(TOPIC, findings, (), CHART).sheet().rows
    assert rows == (
        ("a share", "25 %", "20 %", "± 10 points", "yes"),
        ("a number", "0.25", "0.25", "equal", "yes"),
        ("nothing to agree with", "3.5", "", "", ""),
    )
    told = [finding.to_json() for finding in findings]
    assert [one["unit"] for one in told] == ["share", None, None]
    assert [one["tolerance"] for one in told] == [0.1, 1e-9, None]


# The command line ------------------------------------------------------------------------------------------


def test_the_list_names_everything() -> None:
    for words in (["lab"], ["lab", "--list"], ["lab", "hair", "--list"]):
        done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
        assert done.exit_code == 0
        assert all(name in done.stdout for name in NAMES)
    listed = json.loads(CliRunner().invoke(app, ["lab", "--json"]).stdout)
    assert [entry["name"] for entry in listed["entries"]] == NAMES


def test_an_entry_prints_itself_and_its_figure(tmp_path: Path) -> None:
    pytest.importorskip("altair", reason="figures need the extra 'plot'")
    page = tmp_path / "hair.svg"
    done = CliRunner().invoke(app, ["lab", "hair", "--figure", str(page)])
    assert done.exit_code == 0, done.output
    assert "1.981 %" in done.stdout
    assert "exponential mechanism, worst case" in page.read_text(encoding="utf-8")
    printed = json.loads(CliRunner().invoke(app, ["lab", "sparse-vectors", "--json"]).stdout)
    assert printed["agrees"] is True
    assert "infinity" in [finding["found"] for finding in printed["findings"]]


@pytest.mark.parametrize(
    "words", [["nothing"], ["--figure", "list.html"], ["hair", "--figure", "no/such/folder/hair.html"]]
)
def test_what_the_lab_cannot_do_is_refused(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["lab", *words])
    assert done.exit_code == 2
    assert "adyton:" in done.stderr
    as_json = CliRunner().invoke(app, ["lab", *words, "--json"])
    assert json.loads(as_json.stdout)["error"]["kind"] == "invalid_request"


def test_a_number_that_is_not_as_expected_sets_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = LabReport(TOPIC, (LabFinding("probe", 2, 1, 0),), (), CHART)
    monkeypatch.setattr(cli_lab, "_report", lambda name: wrong)
    assert CliRunner().invoke(app, ["lab", "probe"]).exit_code == 1
