"""A shared budget: losses add up over studies of the same persons, and validity counts all that was released.

Many processes of two studies charge one shared budget.  Whether a rate of failure is above the guaranteed one is decided
with a false alarm rate of 1e-9; the simulated runs are seeded.
"""

from __future__ import annotations

import json
import math
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import adyton
from adyton.certify import Interval
from adyton.errors import InvalidRequest, PrivacyRefused, ValidityRefused
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.exact.shares import query_share
from adyton.kernel.ledger import MemoryLedger
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import CategoryColumn, IntegerColumn, TextColumn
from adyton.kernel.terms.leaves import OneOf
from adyton.ledgers.shared_budget import SharedBudgetFacts
from adyton.ledgers.shared_budget.file import SharedBudgetFile
from adyton.study import Validity
from support.children.shared_budget import charge_until_refused, ledger_on_disk
from support.curators import open_kept
from support.processes import APART
from support.worlds import SMALL, shared_budget_of, study_of

DATA = pd.DataFrame({"f": [True, False] * 50})
COUNT = "SELECT COUNT(*) FROM {} WHERE f"


# Privacy ---------------------------------------------------------------------------------------------------


def test_theorem_SHARED_BUDGET_losses_of_one_person_add_up_over_data_sets(tmp_path: Path) -> None:
    """Pure, where the loss can be written down: one person is in both tables, and both answers are seen.

    The worst pair of outputs tells the person by the sum of both losses, which is more than the budget of
    either study; the shared budget has charged exactly that, and refuses what would go beyond its own budget.
    """
    shared_budget = shared_budget_of(tmp_path / "b.ledger", epsilon=1, delta=0, accounting="pure")
    losses = []
    for name in ("one", "two"):
        study = study_of(name, shared_budget, epsilon="0.8", delta=Fraction(0), accounting="pure")
        with open_kept(study, data=DATA) as curator:
            curator.ask(COUNT.format(name), epsilon="0.45")
            ((_, noise, scale),) = json.loads(curator.receipts()[0].order.detail)
            assert noise == "two-sided geometric"
            losses.append(math.log(_odds(float(scale), 40) / _odds(float(scale), 41)))
            too_much = {
                "one": ("0.36", "of the budget, and"),
                "two": ("0.2", r"of the shared budget b\.ledger"),
            }
            epsilon, said = too_much[name]
            with pytest.raises(PrivacyRefused, match=said):
                curator.ask(f"SELECT COUNT(*) FROM {name} WHERE NOT f", epsilon=epsilon)
    with adyton.SharedBudget(shared_budget) as shared:
        spent = shared.totals().spent / UNITS_PER_ONE
    assert 0.8 < sum(losses) <= spent <= sum(losses) * (1 + 1e-6) <= 1


def _odds(scale: float, distance: int) -> float:
    """How likely two-sided geometric noise is this far from 0, up to a factor."""
    return math.exp(-distance / scale)


@pytest.mark.parametrize("accounting", ["gdp", "zcdp", "pure"])
def test_theorem_SHARED_BUDGET_the_limit_is_that_of_one_study(tmp_path: Path, accounting: str) -> None:
    """Two studies of a shared budget spend what one study would spend on the queries of both, unit by unit."""
    delta = Fraction(0) if accounting == "pure" else Fraction(1, 10**9)
    shared_budget = shared_budget_of(tmp_path / "b.ledger", delta=delta, accounting=accounting)
    alone = study_of("one", None, delta=delta, accounting=accounting)
    with open_kept(alone, data=DATA) as curator:
        for query in (COUNT.format("one"), "SELECT COUNT(*) FROM one"):
            curator.ask(query, scale=40)
        spent = curator.receipts()[-1].spent
    for name, query in (("one", COUNT.format("one")), ("two", "SELECT COUNT(*) FROM two")):
        study = study_of(name, shared_budget, delta=delta, accounting=accounting)
        with open_kept(study, data=DATA) as curator:
            curator.ask(query, scale=40)
    with adyton.SharedBudget(shared_budget) as shared:
        assert shared.totals().spent == spent
        assert shared.header.budget == alone.allowed


def test_theorem_SHARED_BUDGET_two_studies_in_processes_never_overspend(tmp_path: Path) -> None:
    """Accepted are exactly as many as fit, the last of them to the unit; each is in its study and the shared budget."""
    shared_budget_of(tmp_path / "shared_budget.ledger")
    with adyton.SharedBudget(tmp_path / "shared_budget.ledger") as shared_budget:
        fits = 40
        amount = shared_budget.header.budget // fits
    start = APART.Barrier(4)  # or the first of them would be done before the last has begun
    processes = [
        APART.Process(target=charge_until_refused, args=(tmp_path, name, amount, start))
        for name in ("one", "two", "one", "two")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
        assert process.exitcode == 0
    told = [int(file.read_text()) for file in tmp_path.glob("*.accepted")]
    assert sum(told) == fits
    counts = []
    for name in ("one", "two"):
        with closing(ledger_on_disk(tmp_path, name)) as ledger:
            ledger.verify()
            counts.append(ledger.count())
    with adyton.SharedBudget(tmp_path / "shared_budget.ledger") as shared_budget:
        assert shared_budget.verify().receipts == sum(counts) == fits
        assert shared_budget.totals().spent == fits * amount
        assert shared_budget.totals().radius == 3 * fits
        shown = shared_budget.report()
    assert sorted(one.charges for one in shown.studies) == sorted(filter(None, counts))
    assert sum(one.spent.units for one in shown.studies) == fits * amount


def test_theorem_SHARED_BUDGET_delta_for_keys_goes_by_its_own_numbers(
    tmp_path: Path,
) -> None:
    """By its own numbers each of two studies would use the first share of the same delta."""
    half = Fraction(1, 2 * 10**9)
    shared_budget = shared_budget_of(tmp_path / "b.ledger", epsilon=50, discovery_delta=half)
    data = pd.DataFrame({"t": ["a"] * 99 + ["b"]})
    thresholds = {}
    for name in ("one", "two"):
        study = study_of(name, shared_budget, columns=(TextColumn("t"),), epsilon=20, discovery_delta=half)
        with open_kept(study, data=data) as curator:
            query = f"SELECT t, COUNT(*) FROM {name} GROUP BY t"
            foreseen = curator.preview(query, epsilon=5).discovered_groups
            answer = curator.ask(query, epsilon=5)
            assert answer.receipt.number == 1
            assert foreseen is not None
            assert answer.discovered_groups is not None
            assert foreseen.threshold == answer.discovered_groups.threshold
            thresholds[name] = answer.discovered_groups.threshold
            again = curator.ask(query, epsilon=5)
            assert again.discovered_groups is not None
            assert again.discovered_groups.threshold == thresholds[name]
    assert thresholds["two"] > thresholds["one"]
    assert sum(query_share(number) for number in (1, 2)) <= 1 < 2 * query_share(1)


# Validity --------------------------------------------------------------------------------------------------

ROWS, KINDS, RUNS = 2_000, 10_000, 400
FAILURE = Fraction(4, 5)  # where little is guaranteed the width is nearest to what an analyst can do
KIND_SCALE, LAST_SCALE = 2.0, 25.0
KIND = CategoryColumn("kind", tuple(f"k{i}" for i in range(KINDS)))


@dataclass(frozen=True)
class Attacked:
    """How far below the last answer its interval reaches, and how wrong it is, as shares of all rows."""

    width: float
    error: float


def attacked(folder: Path, rows: str) -> Attacked:
    """Kinds are counted by one study, and those that looked too frequent by another one on the same rows."""
    declared = {"confidence": 1 - FAILURE} if rows == "same" else {}
    shared_budget = shared_budget_of(folder / f"{rows}.ledger", epsilon=400, rows=rows, **declared)
    units = np.random.default_rng(2).integers(0, KINDS, ROWS)
    frame = pd.DataFrame({"kind": np.array(KIND.values)[units]})
    kinds, last = (
        study_of(name, shared_budget, columns=(KIND,), rows=ROWS, epsilon=300, validity=Validity(1 - FAILURE))
        for name in ("kinds", "last")
    )
    with open_kept(kinds, data=frame) as asker:
        counted = asker.ask("SELECT kind, COUNT(*) AS n FROM kinds GROUP BY kind", scale=KIND_SCALE).rows
    often = tuple(str(row.keys["kind"]) for row in counted if row.values["n"].value > ROWS / KINDS)
    with open_kept(last, data=frame) as asker:
        (row,) = asker.ask(adyton.count(where=OneOf(KIND, often)), scale=LAST_SCALE).rows
    (value,) = row.values.values()
    assert isinstance(value.population_interval, Interval)
    return Attacked(
        (value.value - value.population_interval.low) / ROWS, value.value / ROWS - len(often) / KINDS
    )


def errors_of_the_attack() -> Any:
    """The same attack, simulated with the same noise."""
    rng = np.random.default_rng(9)
    last = np.empty(RUNS)
    for run in range(RUNS):
        counts = np.bincount(rng.integers(0, KINDS, ROWS), minlength=KINDS)
        often = counts + np.rint(KIND_SCALE * rng.standard_normal(KINDS)) > ROWS / KINDS
        answer = counts[often].sum() + np.rint(LAST_SCALE * rng.standard_normal())
        last[run] = answer / ROWS - often.mean()
    return last


def test_theorem_SHARED_BUDGET_an_attack_misses_without_its_totals(
    tmp_path: Path,
) -> None:
    """Both arms by the same curators: only what the shared budget says of the rows differs.

    Refuted is whoever misses more often than binomial luck allows once in 1e9 times; the arms that count all
    releases do not miss at all.
    """
    errors = errors_of_the_attack()
    allowed = binom.isf(1e-9, RUNS, float(FAILURE))
    alone, same, related = (attacked(tmp_path, rows) for rows in ("unrelated", "same", "related"))
    for arm in (alone, same, related):
        assert arm.error == pytest.approx(errors.mean(), abs=8 * errors.std())
    assert (errors > alone.width).sum() > allowed
    assert alone.error > alone.width
    for arm in (same, related):
        assert (errors > arm.width).sum() == 0
        assert arm.error <= arm.width
        assert not (errors > arm.width).sum() > allowed


@pytest.mark.parametrize("kind", ["same", "related"])
def test_theorem_SHARED_BUDGET_positions_are_those_of_one_study(tmp_path: Path, kind: str) -> None:
    """The third study has the interval of a study that was charged the same before, to the last digit.

    On the same rows by final radii; on related rows, of which answers say nothing, in full.
    """
    rows, declared = 4000, Validity(Fraction(95, 100))
    data = pd.DataFrame({"v": np.arange(rows) % 101})
    said = {"columns": (IntegerColumn("v", 0, 100),), "rows": rows, "epsilon": 3, "validity": declared}
    confidence = {"confidence": declared.confidence} if kind == "same" else {}
    shared_budget = shared_budget_of(tmp_path / "b.ledger", epsilon=3, rows=kind, **confidence)
    alone = MemoryLedger.of(study_of("three", None, **said))
    for name, query in (
        ("one", "SELECT COUNT(*) FROM one WHERE v > 97"),
        ("two", "SELECT COUNT(*) FROM two WHERE v < 3"),
    ):
        with open_kept(study_of(name, shared_budget, **said), data=data) as curator:
            curator.ask(query, scale=60)
            (receipt,), final = curator.receipts(), curator._ledger.final_cost(1).radius
        assert final < receipt.order.radius / 1.2
        number = alone.charge(replace(receipt.order, query="another")).receipt.number
        alone.remember(number, "[]", final if kind == "same" else None)
    last = "SELECT COUNT(*) FROM three WHERE v < 50"
    with open_kept(study_of("three", None, **said), data=data, ledger=alone) as curator:
        (expected,) = curator.preview(last, scale=60).population.values()
    with open_kept(study_of("three", shared_budget, **said), data=data) as curator:
        (width,) = curator.preview(last, scale=60).population.values()
        assert curator.budget().queries == 0
    with adyton.SharedBudget(shared_budget) as shared:
        assert shared.totals().radius == alone.totals().radius
    assert width == expected


def test_theorem_SHARED_BUDGET_a_test_of_one_study_ends_what_others_say(
    tmp_path: Path,
) -> None:
    """A published test of one study ends what others could say."""
    shared_budget = shared_budget_of(tmp_path / "b.ledger", confidence=Fraction(95, 100))
    declared = Validity(Fraction(95, 100))
    one, two = (study_of(name, shared_budget, validity=declared) for name in ("one", "two"))
    with open_kept(one, data=DATA) as first, open_kept(two, data=DATA) as second:
        second.ask(COUNT.format("two"), scale=20)
        before = second.p_value_threshold(0.05)
        first.ask(COUNT.format("one"), scale=20)
        assert second.p_value_threshold(0.05) < before
        first.publish_test(0.01)
        with pytest.raises(InvalidRequest, match="published"):
            second.last_look(0.05)
        answer = second.ask("SELECT COUNT(*) FROM two", scale=20)
    assert not isinstance(answer.population_interval, Interval)


def test_theorem_SHARED_BUDGET_a_pure_cap_is_reached_by_all_together(tmp_path: Path) -> None:
    """What one study has spent of the certified stability another one cannot spend again."""
    declared = Validity(Fraction(95, 100), stability=Fraction(1, 20))
    facts = {"delta": Fraction(0), "accounting": "pure"}
    shared_budget = shared_budget_of(
        tmp_path / "b.ledger",
        epsilon=9,
        confidence=declared.confidence,
        stability=declared.stability,
        **facts,
    )
    one, two = (
        study_of(name, shared_budget, validity=declared, epsilon=9, **facts) for name in ("one", "two")
    )
    with open_kept(one, data=DATA) as first, open_kept(two, data=DATA) as second:
        first.ask(COUNT.format("one"), scale=19)
        spent = first.budget().stability
        assert second.budget().stability == spent
        second.ask(COUNT.format("two"), scale=19)
        assert first.budget().stability == second.budget().stability == 2 * spent
        with pytest.raises(ValidityRefused):
            second.ask("SELECT COUNT(*) FROM two", scale=19)
        assert 3 * spent > first.budget().stability_cap >= 2 * spent
    other = Validity(Fraction(95, 100), stability=Fraction(1, 10))
    with pytest.raises(
        InvalidRequest, match=r"validity\.stability is 0\.1 here and 0\.05 in the shared budget"
    ):
        open_kept(study_of("three", shared_budget, validity=other, epsilon=9, **facts), data=DATA)


@pytest.mark.parametrize(
    ("facts", "said", "reason"),
    [
        ({"accounting": "zcdp"}, {}, "privacy.accounting is gdp here and zcdp in the shared budget"),
        ({"adjacency": "add-remove"}, {}, "privacy.adjacency is replace-one here and add-remove"),
        ({"unit": "person"}, {}, "privacy.unit is row here and person in the shared budget"),
        ({}, {"discovery_delta": Fraction(1, 10**10)}, "discovery_delta"),
        ({}, {"validity": Validity(Fraction(9, 10))}, "validity.confidence is 0.9 here and not declared"),
        (
            {"rows": "related"},
            {"validity": Validity(Fraction(9, 10), queries=5)},
            "validity.queries plans",
        ),
        (
            {"rows": "related"},
            {"validity": Validity(Fraction(9, 10), method="rounding", grid=Fraction(1, 100))},
            "validity.method = 'rounding' counts the bits",
        ),
        (
            {"rows": "related"},
            {"validity": Validity(Fraction(9, 10), reserve=Fraction(1, 5))},
            "validity.reserve keeps units from the queries of this study",
        ),
        ({"delta": Fraction(1, 50)}, {}, "must be below 1/rows = 1/100"),
    ],
)
def test_what_has_no_sum_is_refused_with_the_reason(
    tmp_path: Path, facts: dict[str, Any], said: dict[str, Any], reason: str
) -> None:
    shared_budget = shared_budget_of(tmp_path / "b.ledger", **facts)
    with pytest.raises(InvalidRequest, match=r"cannot share the budget b\.ledger") as refused:
        open_kept(study_of("t", shared_budget, **said), data=DATA)
    assert reason in refused.value.message


def test_studies_of_the_same_rows_have_as_many_of_them(tmp_path: Path) -> None:
    shared_budget = shared_budget_of(tmp_path / "b.ledger")
    with open_kept(study_of("one", shared_budget), data=DATA) as curator:
        curator.ask(COUNT.format("one"), scale=20)
    with pytest.raises(InvalidRequest, match=r"table\.rows is 99 here and was 100"):
        open_kept(study_of("two", shared_budget, rows=99), data=DATA[:99])


def test_studies_that_were_open_before_the_first_charge_have_as_many_rows(tmp_path: Path) -> None:
    """Mutant: rows are compared when a study is opened, and not when it is charged."""
    shared_budget = shared_budget_of(tmp_path / "b.ledger", rows="same")
    fewer = study_of("two", shared_budget, rows=99)
    with open_kept(study_of("one", shared_budget), data=DATA) as one, open_kept(fewer, data=DATA[:99]) as two:
        one.ask(COUNT.format("one"), scale=20)
        with pytest.raises(InvalidRequest, match=r"table\.rows is 99 here and was 100"):
            two.ask(COUNT.format("two"), scale=20)
        assert (len(two.receipts()), one.budget().shared_budget.charges) == (0, 1)
        one.ask("SELECT COUNT(*) FROM one", scale=20)


def test_who_becomes_second_while_it_is_charged_has_as_many_rows_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: rows are compared before the charge alone."""
    shared_budget = shared_budget_of(tmp_path / "b.ledger", rows="same")
    fewer = study_of("two", shared_budget, rows=99)
    charge = SharedBudgetFile.charge
    with open_kept(study_of("one", shared_budget), data=DATA) as one, open_kept(fewer, data=DATA[:99]) as two:

        def overtaken(self: SharedBudgetFile, *known: Any) -> Any:
            monkeypatch.setattr(SharedBudgetFile, "charge", charge)
            one.ask(COUNT.format("one"), scale=20)
            return charge(self, *known)

        monkeypatch.setattr(SharedBudgetFile, "charge", overtaken)
        with pytest.raises(InvalidRequest, match=r"table\.rows is 99 here and was 100"):
            two.ask(COUNT.format("two"), scale=20)
        assert (len(one.receipts()), len(two.receipts())) == (1, 0)


@pytest.mark.parametrize("accounting", ["gdp", "zcdp"])
def test_theorem_SHARED_BUDGET_noise_has_what_groups_leave_of_delta(accounting: str) -> None:
    """Mutant: ``allowed`` for the whole delta, while keys may use a part of it too."""
    with_keys = SharedBudgetFacts(Guarantee(1, SMALL), accounting, discovery_delta=SMALL * 3 / 4)
    assert with_keys.allowed == SharedBudgetFacts(Guarantee(1, SMALL / 4), accounting).allowed
    assert with_keys.allowed < SharedBudgetFacts(Guarantee(1, SMALL), accounting).allowed


def test_a_plan_and_a_split_go_with_unrelated_rows(tmp_path: Path) -> None:
    """Each study then goes by its own numbers and totals, and says what it assumes."""
    shared_budget = shared_budget_of(tmp_path / "b.ledger", epsilon=9, rows="unrelated")
    declared = Validity(Fraction(95, 100), queries=2, method="split")
    one = study_of("one", shared_budget)
    with open_kept(one, data=DATA) as curator:
        curator.ask(COUNT.format("one"), scale=20)
    with open_kept(study_of("two", shared_budget, validity=declared), data=DATA) as curator:
        for query in (COUNT.format("two"), "SELECT COUNT(*) FROM two"):
            answer = curator.ask(query, scale=20)
        assert isinstance(answer.population_interval, Interval)
        assert any("says nothing about these" in text for text in answer.certificate.assumptions)
        assert "SHARED-BUDGET" in answer.certificate.theorems
        assert curator._ledger.place(2) == 3


def test_persons_of_studies_without_public_sizes(tmp_path: Path) -> None:
    """The count of all units that one study asked is for that study; its level goes by the shared budget."""
    shared_budget = shared_budget_of(
        tmp_path / "b.ledger", unit="person", adjacency="add-remove", rows="related"
    )
    unit = PrivacyUnit("add-remove", "p")
    people = pd.DataFrame({"p": range(400), "f": [True, False] * 200})
    declared = Validity(Fraction(95, 100))
    said = {"unit": unit, "rows": None, "validity": declared}
    with open_kept(study_of("one", shared_budget, **said), data=people) as curator:
        curator.ask("SELECT COUNT(*) FROM one", scale=20)
        own = curator.ask(COUNT.format("one"), scale=20)
    with open_kept(study_of("two", shared_budget, **said), data=people) as curator:
        without = curator.ask(COUNT.format("two"), scale=20)
        curator.ask("SELECT COUNT(*) FROM two", scale=20)
        assert curator._claims.stand_in.counted is not None
        assert curator._claims.stand_in.counted.query == 4
    assert isinstance(own.population_interval, Interval)
    assert not isinstance(without.population_interval, Interval)
