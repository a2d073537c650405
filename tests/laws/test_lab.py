"""The lab: every number beside its expectation, and the reports as people and programs meet them."""

from __future__ import annotations

import html
import json
import math
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from adyton.errors import InvalidRequest
from adyton.figures.sources import BASSI
from adyton.lab import EXPERIMENTS, Chart, Finding, Line, Report, Topic, run
from adyton.lab.choices import broken
from adyton.lab.choices.broken import ABOVE, BELOW, Run, Sparse
from adyton.lab.choices.choosing import exponential_law
from adyton.lab.choices.noisy_max import log_chance
from adyton.lab.differencing import exact_guess
from adyton.lab.laplace_error import mean_error, variance
from adyton.noise import two_sided_geometric
from adyton.transports.cli import lab as cli_lab
from adyton.transports.cli.app import app

NAMES = [topic.name for topic in EXPERIMENTS]


class Seeded:
    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(key=seed)

    def words(self, count: int) -> np.ndarray:
        return self._generator.random_raw(count)


@cache
def report_of(name: str) -> Report:
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
    assert [trace.name for trace in figure.data] == [line.name for line in report.chart.lines]
    for line in report.chart.lines:
        assert len(line.x) == len(line.y) > 1
        assert all(math.isfinite(value) for value in (*line.x, *line.y))


def test_names_and_titles_are_different() -> None:
    assert len(set(NAMES)) == len({topic.title for topic in EXPERIMENTS}) == len(EXPERIMENTS)


def test_an_unknown_name_is_refused_with_a_hint() -> None:
    with pytest.raises(InvalidRequest, match="did you mean 'hair'"):
        report_of("hare")


# Reports ---------------------------------------------------------------------------------------------------

TOPIC = Topic("probe", (BASSI,), "A probe")
CHART = Chart("x", "y", (Line("a", (1, 2), (3.0, 4.0)),), ("x",))


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
    finding = Finding("probe", found, expected, tolerance)
    assert finding.agrees is agrees
    assert Report(TOPIC, (finding,), (), CHART).agrees is agrees
    assert ("NO" in str(Report(TOPIC, (finding,), (), CHART))) is not agrees


def test_without_plotly_a_figure_is_refused_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(InvalidRequest, match=r"adyton\[plot\]"):
        Report(TOPIC, (), (), CHART).figure()


def test_the_axes_of_a_figure_are_those_of_its_chart() -> None:
    layout = Report(TOPIC, (), (), CHART).figure().layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", "linear")
    assert layout.title.text == "A probe"


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


def possible(sparse: Sparse, length: int) -> list[tuple[str, ...]]:
    """Every sequence of above and below that can come out of that many questions."""
    found = set()
    for outputs in product((ABOVE, BELOW), repeat=length):
        ends = [i for i, output in enumerate(outputs) if output == ABOVE]
        last = ends[sparse.most - 1] if sparse.most is not None and len(ends) >= sparse.most else length - 1
        found.add(outputs[: last + 1])
    return sorted(found)


def runs(questions: tuple[int, ...], outputs: tuple[str, ...]) -> list[Run]:
    return [Run(question, output) for question, output in zip(questions, outputs, strict=False)]


@pytest.mark.parametrize("sparse", ALL, ids=lambda s: s.name)
def test_the_chances_of_all_outputs_sum_to_one(sparse: Sparse) -> None:
    questions = (1, -2, 0, 3)
    chances = [math.exp(sparse.log_chance(runs(questions, o), 1)) for o in possible(sparse, 4)]
    assert math.fsum(chances) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("sparse", ALL, ids=lambda s: s.name)
def test_what_is_released_has_the_stated_law(sparse: Sparse) -> None:
    """3,000 runs; more than 6 standard deviations in any output would be a 2e-9 event, 2e-7 for all."""
    questions, bits, tries = (1, -2, 0), Seeded(5), 3_000
    seen = Counter(tuple(sparse.release(questions, 1, bits)) for _ in range(tries))
    for outputs in possible(sparse, 3):
        chance = math.exp(sparse.log_chance(runs(questions, outputs), 1))
        assert abs(seen.pop(outputs, 0) - tries * chance) <= 6 * math.sqrt(tries * chance) + 6
    assert not seen


def test_a_told_value_has_the_stated_law() -> None:
    sparse, bits, tries = broken.algorithm_3(Fraction(1), 1), Seeded(6), 3_000
    seen = Counter(tuple(sparse.release((0, 1), 0, bits)) for _ in range(tries))
    for value in (-1, 0, 2):
        chance = math.exp(sparse.log_chance([Run(0, BELOW), Run(1, value)]))
        assert abs(seen[BELOW, value] - tries * chance) <= 6 * math.sqrt(tries * chance)


def test_after_the_last_positive_nothing_comes() -> None:
    once = broken.algorithm_1(HALF, 1)
    for late in ([Run(0, ABOVE), Run(0, BELOW)], [Run(0, ABOVE, 2)], [Run(0, ABOVE), Run(0, ABOVE)]):
        assert once.log_chance(late) == -math.inf
        assert broken.late_sparse(HALF, 2).log_chance([Run(0, ABOVE)] * 3) > -math.inf
        assert broken.late_sparse(HALF, 2).log_chance([Run(0, ABOVE)] * 4) == -math.inf


def test_a_run_is_the_same_as_its_single_outputs() -> None:
    for sparse in (broken.algorithm_1(HALF, 3), broken.algorithm_6(HALF)):
        short = [Run(0, BELOW, 4), Run(2, ABOVE, 3)]
        long = [Run(0, BELOW)] * 4 + [Run(2, ABOVE)] * 3
        assert sparse.log_chance(short) == pytest.approx(sparse.log_chance(long), rel=1e-12)


@pytest.mark.parametrize("c", [1, 2])
def test_the_right_versions_keep_their_promise_on_every_small_pair(c: int) -> None:
    """All pairs of streams of three questions that differ by at most 1 each, all outputs; the slide does not."""
    moves = list(product((-1, 0, 1), repeat=3))
    for make, keeps in (
        (broken.corrected_sparse, True),
        (broken.algorithm_1, True),
        (broken.algorithm_2, True),
        (broken.algorithm_4, False),
    ):
        sparse = make(Fraction(1), c)
        worst = 0.0
        for questions in ((0, 0, 0), (0, 0, -6), (-6, 0, -6), (3, -3, 0), (-9, -9, -9)):
            here = {o: sparse.log_chance(runs(questions, o)) for o in possible(sparse, 3)}
            for move in moves:
                there = tuple(q + m for q, m in zip(questions, move, strict=True))
                worst = max(worst, *(abs(here[o] - sparse.log_chance(runs(there, o))) for o in here))
        assert (worst <= 1 + 1e-9) is keeps


def test_log_below_is_the_law_of_the_noise() -> None:
    gaps = np.arange(-30, 31)
    exact = [math.log(1 - two_sided_geometric.tail(2.5, int(g))) for g in gaps if g > 0]
    exact = [math.log(two_sided_geometric.tail(2.5, int(1 - g))) for g in gaps if g <= 0] + exact
    assert broken.log_below(Fraction(5, 2), gaps) == pytest.approx(exact, rel=1e-10)
    assert broken.log_below(None, np.array([-1, 0, 1])).tolist() == [-math.inf, -math.inf, 0]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="one at a time"):
        broken.algorithm_2(HALF, 2).log_chance([Run(0, ABOVE, 2)])
    with pytest.raises(ValueError, match="same outputs"):
        broken.loss(broken.algorithm_6(HALF), [Run(0, ABOVE)], [Run(0, BELOW)])
    with pytest.raises(ValueError, match="impossible"):
        broken.loss(
            broken.corrected_sparse(HALF, 1), [Run(0, ABOVE), Run(0, BELOW)], [Run(1, ABOVE), Run(0, BELOW)]
        )
    with pytest.raises(ValueError, match="random output"):
        broken.algorithm_5(HALF).log_chance([Run(0, 3)])


# Other laws ------------------------------------------------------------------------------------------------


def test_exact_answers_name_bob() -> None:
    assert exact_guess() == 5


def test_the_winner_of_three_by_enumeration() -> None:
    scale, counts, reach = Fraction(1), (1, 0, 2), 40
    pmf = [two_sided_geometric.pmf(1.0, z) for z in range(-reach, reach + 1)]
    noisy = [{count + z - reach: p for z, p in enumerate(pmf)} for count in counts]
    wins = sum(
        p * math.prod(sum(q for v, q in other.items() if v <= value) for other in noisy[1:])
        for value, p in noisy[0].items()
    )
    assert math.exp(log_chance(scale, counts[0], [(0, 1), (2, 1)])) == pytest.approx(wins, rel=1e-9)
    assert log_chance(scale, 0, [(0, 2)]) == pytest.approx(log_chance(scale, 0, [(0, 1), (0, 1)]), rel=1e-12)


def test_the_moments_of_the_noise_are_those_of_its_law() -> None:
    law = {z: two_sided_geometric.pmf(3.0, z) for z in range(-200, 201)}
    assert mean_error(3.0) == pytest.approx(sum(abs(z) * p for z, p in law.items()), rel=1e-12)
    assert variance(3.0) == pytest.approx(sum(z * z * p for z, p in law.items()), rel=1e-12)


def test_exponential_chances_do_not_overflow() -> None:
    assert exponential_law([10**6, 0], 1.0) == [1.0, 0.0]
    assert exponential_law([1, 1], 5.0) == [0.5, 0.5]


# The command line ------------------------------------------------------------------------------------------


def test_the_list_names_everything() -> None:
    for words in (["lab"], ["lab", "--list"], ["lab", "hair", "--list"]):
        done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
        assert done.exit_code == 0
        assert all(name in done.stdout for name in NAMES)
    listed = json.loads(CliRunner().invoke(app, ["lab", "--json"]).stdout)
    assert [entry["name"] for entry in listed["entries"]] == NAMES


def test_an_entry_prints_itself_and_its_figure(tmp_path: Path) -> None:
    page = tmp_path / "hair.html"
    done = CliRunner().invoke(app, ["lab", "hair", "--figure", str(page)])
    assert done.exit_code == 0, done.output
    assert "0.0198133" in done.stdout
    assert "plotly" in page.read_text(encoding="utf-8")
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
    wrong = Report(TOPIC, (Finding("probe", 2, 1, 0),), (), CHART)
    monkeypatch.setattr(cli_lab, "_report", lambda name: wrong)
    assert CliRunner().invoke(app, ["lab", "probe"]).exit_code == 1
