"""Whatever is told as JSON is read back as the same object: it tells the same again, and shows the same to people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.certify import LastLook, json_text
from adyton.curator.bounds import SuggestedBounds
from adyton.curator.mock import MockAnswer
from adyton.curator.receipts import header_from, receipt_from
from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.holdout.leaderboard import LeaderboardEntry
from adyton.holdout.methods.options import Slices
from adyton.holdout.score import Comparison, HoldoutBudget, Score
from adyton.kernel.exact import decimal_text, decimal_units
from adyton.kernel.schema import CategoryColumn, DateColumn, IntegerColumn, RealColumn, TextColumn
from adyton.monitors.answer import MonitorAnswer, MonitorBudget, MonitorPreview
from adyton.study import Validity
from sql_corpus.cases import STATEMENTS, Statement
from sql_corpus.judge import Court, court
from support.curators import open_kept
from support.tries import often
from support.worlds import shared_budget_of

# Every fifth is of every family, and with the kinds below says all that an answer can say; a long run takes each.
ANSWERED = [one for one in STATEMENTS if one.outcome != "refused" and one.is_expected][:: often(5, 1)]


def sent(told: Any) -> Any:
    """Over the network and back."""
    return json.loads(json_text(told))


def assert_same(made: Any, **more: Any) -> Any:
    """The same JSON, and the same for people, also for those who want to see more."""
    again = type(made).from_json(sent(made.to_json()), **more)
    assert json_text(again.to_json()) == json_text(made.to_json())
    if hasattr(made, "sheet"):
        assert str(again) == str(made)
        assert again.sheet(verbose=True).text() == made.sheet(verbose=True).text()
    return again


def assert_same_answer(answer: adyton.Answer) -> adyton.Answer:
    """Also what is exported, column by column."""
    again: adyton.Answer = assert_same(answer)
    assert again.to_csv() == answer.to_csv()
    assert list(again.to_pandas().columns) == list(answer.to_pandas().columns)
    assert again.notes() == answer.notes()
    return again


# Every statement of the corpus: groups, quantiles, variances, unions, dates, selections, free answers ----------


@pytest.fixture(scope="module")
def courts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Court]]:
    folder = tmp_path_factory.mktemp("corpus")
    with court("clinic", 3, folder) as clinic, court("shop", 3, folder) as shop:
        yield {"clinic": clinic, "shop": shop}


@pytest.mark.parametrize("statement", ANSWERED, ids=lambda s: f"{s.family}-{s.name}")
def test_every_kind_of_answer_and_preview_is_read_back(
    courts: dict[str, Court], statement: Statement
) -> None:
    """Mutants: ``known`` is not told; ``part_rows`` is not read; a left share is rounded as others are."""
    here = courts[statement.study]
    words: Any = {} if statement.dialect is None else {"dialect": statement.dialect}
    assert_same(here.curator.preview(statement.sql, share=Fraction(1, 10**6), **words))
    answer = here.ask(statement.sql, statement.dialect)
    again = assert_same_answer(answer)
    if (
        len(answer) == 1
        and len(answer.rows.values) == 1
        and not any(one.day for one in answer.known.values())
    ):
        assert again.noise_interval == answer.noise_interval or np.isnan(answer.value)
    assert again.receipt == answer.receipt
    assert (again.cost, again.spent, again.left) == (answer.cost, answer.spent, answer.left)


# What the corpus has not ----------------------------------------------------------------------------------------

PEOPLE = pd.DataFrame(
    {
        "income": np.random.default_rng(1).gamma(4, 9000, 500).round(),
        "age": np.random.default_rng(2).integers(0, 100, 500),
        "born": pd.to_datetime("1960-01-01") + pd.to_timedelta(np.arange(500), unit="D"),
        "region": np.random.default_rng(3).choice(["north", "south"], 500),
        "word": np.random.default_rng(4).choice(["often", "often", "seldom", "once " + "x" * 9], 500),
    }
)
COLUMNS = (
    RealColumn("income", 0, 200_000, 1),
    IntegerColumn("age", 0, 100),
    DateColumn("born", pd.Timestamp("1950-01-01").date(), pd.Timestamp("1990-01-01").date()),
    CategoryColumn("region", ("north", "south")),
    TextColumn("word"),
)


def curator(**more: Any) -> adyton.Curator:
    budget = adyton.Guarantee(more.pop("epsilon", 10), more.pop("delta", Fraction(1, 10**6)))
    study = adyton.Study(
        adyton.Table("people", COLUMNS, rows=500), adyton.PrivacyUnit("replace-one"), budget, **more
    )
    return open_kept(study, data=PEOPLE)


KINDS: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "discovered groups": (
        {"discovery_delta": Fraction(1, 10**7)}, "SELECT word, COUNT(*) AS n FROM people GROUP BY word", {"share": "0.5"}
    ),
    "no group is discovered": (
        {"discovery_delta": Fraction(1, 10**9)}, "SELECT word, COUNT(*) AS n FROM people GROUP BY word", {"share": "0.0001"}
    ),
    "no rows of a population": (
        {"validity": Validity("0.95")},
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region HAVING n > 100000", {"share": "0.1"},
    ),
    "a mean within a width": ({}, "SELECT AVG(income) FROM people WHERE age < 5", {"within": 3000, "expected_rows": 400}),
    "a histogram": ({"validity": Validity("0.95")}, adyton.histogram("income", width=20_000), {"share": "0.1"}),
    "says nothing": ({}, "SELECT AVG(age) FROM people WHERE income > 190000", {"share": "0.00001"}),
    "a pure study": (
        {"accounting": "pure", "delta": 0, "validity": Validity("0.95", stability="0.1")},
        "SELECT COUNT(*) FROM people", {"epsilon": "0.01"},
    ),
    "rounded answers": (
        {"validity": Validity("0.95", method="rounding", grid="0.02")}, "SELECT AVG(age) FROM people", {"share": "0.1"}
    ),
    "the largest": ({}, adyton.best_of(adyton.count(by="region")), {"share": "0.1"}),
    "the larger of two": (
        {}, adyton.best_of({"old": adyton.count("age > 50"), "young": adyton.count("age < 50")}), {"share": "0.1"}
    ),
    "dates": ({"validity": Validity("0.95")}, "SELECT MIN(born), MAX(born), AVG(born) FROM people", {"share": "0.5"}),
    "a variance": ({"validity": Validity("0.95")}, "SELECT VARIANCE(age), STDDEV(age) FROM people", {"share": "0.1"}),
    "truths as keys": ({}, "SELECT age > 50 AS old, COUNT(*) FROM people GROUP BY age > 50", {"share": "0.1"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_only_some_answers_say_is_read_back(kind: str) -> None:
    """Mutants: the ``columns`` of an answer without rows are not told; nor is ``widths_named``."""
    more, query, price = KINDS[kind]
    with curator(**more) as asker:
        assert_same(asker.preview(query, **price))
        again = assert_same_answer(asker.ask(query, **price))
        if kind == "no group is discovered":
            assert len(again) == 0
            assert again.discovered_groups is not None
        if kind == "a mean within a width":
            assert any(note.startswith("WIDER THAN ASKED") for note in again.notes())
        assert_same_answer(asker.ask(query, **price))  # once more: free of charge
        assert_same(asker.budget())


def test_batches_and_what_is_derived_from_them_are_read_back() -> None:
    texts = [f"SELECT COUNT(*) AS n FROM people WHERE age < {age}" for age in range(10, 100, 10)]
    with curator(validity=Validity("0.95")) as asker:
        for preview in asker.preview_many(texts, share="0.5"):
            assert assert_same(preview).batch_size == len(texts)
        for answer in asker.ask_many(texts, share="0.5"):
            assert_same_answer(answer)
        derived = asker.derive("SELECT COUNT(*) FROM people WHERE age >= 30 AND age < 60")
        assert assert_same_answer(derived).receipt.number == 1
        assert_same(asker.preview("SELECT COUNT(*) FROM people WHERE age >= 30 AND age < 60", share="0.1"))


def test_monitors_bounds_and_last_looks_are_read_back() -> None:
    with curator(validity=Validity("0.95", reserve="0.1")) as asker:
        assert isinstance(assert_same(asker.preview_monitor(positives=2, share="0.1")), MonitorPreview)
        monitor = asker.open_monitor(positives=2, of="means", numeric=True, share="0.2")
        assert isinstance(assert_same(monitor.budget()), MonitorBudget)
        fed = [monitor.feed(f"SELECT {what} FROM people", above=0) for what in ("COUNT(*)", "AVG(age)")]
        assert {one.above for one in fed} == {True}
        for one in fed:
            assert isinstance(assert_same(one), MonitorAnswer)
        assert isinstance(assert_same(asker.budget()), adyton.Budget)
        assert isinstance(assert_same(asker.last_look("0.05", "0.001")), LastLook)
    with curator() as asker:
        found = asker.suggest_bounds("age", share="0.5")
        assert isinstance(assert_same(found, column=found.column), SuggestedBounds)


def test_a_statement_with_a_shared_budget_is_read_back(tmp_path: Path) -> None:
    shared_budget = shared_budget_of(tmp_path / "shared_budget.ledger", epsilon=10, delta=Fraction(1, 10**6))
    with curator(shared_budget=shared_budget) as asker:
        asker.ask("SELECT COUNT(*) FROM people", share="0.1")
        assert assert_same(asker.budget()).shared_budget is not None


def test_an_answer_about_made_up_rows_stays_one() -> None:
    with curator() as asker, asker.mock() as mock:
        again = assert_same_answer(mock.ask("SELECT COUNT(*) FROM people", share="0.1"))
    assert isinstance(again, MockAnswer)


def test_scores_are_read_back(tmp_path: Path) -> None:
    labels = np.random.default_rng(1).integers(0, 2, 3000)
    groups = np.random.default_rng(2).choice(["a", "b"], 3000)
    with adyton.Holdout.create(tmp_path / "h.toml", labels=labels, tolerance="0.2") as holdout:
        assert isinstance(assert_same(holdout.score(labels, by="ann")), Score)
        assert isinstance(assert_same(holdout.compare(labels, 1 - labels)), Comparison)
        assert isinstance(assert_same(holdout.budget()), HoldoutBudget)
    with adyton.Leaderboard(tmp_path / "h.toml") as board:
        (entry,) = board.standings()
        assert LeaderboardEntry.from_json(sent(entry.to_json())) == entry
    sliced = adyton.Holdout.create(tmp_path / "s.toml", labels=labels, method=Slices(groups), tolerance="0.3")
    with sliced as holdout:
        assert assert_same(holdout.score(labels)).slices.keys() == {"a", "b"}


def test_receipts_are_read_back_and_a_changed_one_is_found() -> None:
    """Mutant: ``receipt_from`` does not compare the digest."""
    with curator() as asker:
        asker.ask("SELECT COUNT(*) FROM people", share="0.1")
        asker.open_monitor(positives=1, share="0.1")
        told, kept = sent(asker.receipts().to_json()), list(asker.receipts())
        assert header_from(told["header"], told["accounting"]) == asker.ledger.header
    assert [receipt_from(one, 0) for one in told["receipts"]] == kept
    for name in ("query", "by", "amount", "spent", "asked_at", "secret"):
        changed = {**told["receipts"][0], name: "1"}
        with pytest.raises(LedgerCorrupt):
            receipt_from(changed, 0)
    with pytest.raises(LedgerCorrupt):
        header_from({**told["header"], "budget": "99"}, told["accounting"])


@pytest.mark.parametrize("units", [0, 1, -1, 10**18, 123456789 * 10**11, -(10**30) - 7])
def test_units_are_exactly_those_that_were_written(units: int) -> None:
    assert decimal_units(decimal_text(units)) == units


@pytest.mark.parametrize(
    "text", ["", "1e5", "nan", " 1", "1.", "0.0000000000000000001", "1" * 200, "--1", "١"]
)
def test_what_no_ledger_wrote_is_no_amount(text: str) -> None:
    with pytest.raises(InvalidRequest):
        decimal_units(text)
