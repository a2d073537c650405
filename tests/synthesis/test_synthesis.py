"""Synthetic tables: marginals of histograms, the fit to noisy ones, and rows of the study's kinds."""

from __future__ import annotations

import datetime
import itertools
import json
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import beta, binom

import adyton
from adyton.audit.watching import RecordedBits, watch
from adyton.certify import Interval
from adyton.curator.coordinated.synthesizing import WrittenTable, from_text, to_text
from adyton.errors import BudgetRefused, Interrupted, InvalidRequest, LedgerCorrupt
from adyton.kernel.data import PaidData
from adyton.kernel.ledger import SqliteLedger
from adyton.kernel.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    IntegerColumn,
    RealColumn,
    TextColumn,
)
from adyton.kernel.special.mechanisms.marginals.adaptive import (
    AdaptiveMarginals,
    AdaptiveRound,
    NoisyMarginal,
)
from adyton.kernel.special.mechanisms.marginals.tables import size_of, tables_of
from adyton.planning.price import price_of
from adyton.study import Validity
from adyton.synthesis.fitting import CellGuess, spread, total_of
from adyton.synthesis.guessing import classes_drawn, first_guess, last_guess
from adyton.synthesis.plan import marginals_up_to, plan_synthesis
from adyton.synthesis.sampling import cells_of_rows, generator
from support.children.fit_graph import fit_both_ways
from support.curators import open_kept
from support.randomness import SeededByHash
from support.tries import crossed, often
from support.worlds import write_study

REGIONS = ("north", "south", "east", "west")
ROWS = 4000
RUNS = often(60, 150)  # of a canary; with hardly any noise it would be in all of them


def people(rows: int = ROWS) -> pd.DataFrame:
    random = np.random.default_rng(5)
    region = random.choice(REGIONS, rows)
    age = random.integers(18, 90, rows).astype(float)
    age[: rows // 10] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "region": region,
            "smoker": random.random(rows) < np.where(region == "north", 0.7, 0.1),
            "income": random.gamma(4, 9000, rows).round(2),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 365, rows), "D"),
            "name": "x",
        }
    )


TABLE = adyton.Table(
    "people",
    (
        IntegerColumn("age", 0, 99),
        CategoryColumn("region", REGIONS),
        BooleanColumn("smoker"),
        RealColumn("income", 0, 150_000, "0.01"),  # type: ignore[arg-type]
        DateColumn("seen", datetime.date(2020, 1, 1), datetime.date(2020, 12, 31)),
        TextColumn("name"),
    ),
    rows=ROWS,
)


def curator(adjacency: Any = "replace-one", accounting: Any = "gdp", **more: Any) -> adyton.Curator:
    budget = adyton.Guarantee(10, 0 if accounting == "pure" else 1e-6)
    study = adyton.Study(TABLE, adyton.PrivacyUnit(adjacency), budget, accounting=accounting, **more)
    return open_kept(study, data=people())


# Marginals and their fit -----------------------------------------------------------------------------------


@given(some.lists(some.integers(1, 4), min_size=1, max_size=5), some.integers(1, 3), some.integers(0, 9))
def test_marginals_are_sums_and_spreading_is_their_transpose(shape: list[int], ways: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    x, wanted = random.integers(0, 50, shape), marginals_up_to(shape, ways, 100)
    found = tables_of(x, wanted)
    for axes in wanted:
        others = tuple(i for i in range(len(shape)) if i not in axes)
        assert np.array_equal(found[axes], x.sum(axis=others))
        assert found[axes].size == size_of(shape, axes)
    weights = {axes: random.integers(-5, 5, found[axes].shape) for axes in wanted}
    through = sum(int((weights[axes] * found[axes]).sum()) for axes in wanted)
    assert int((x * spread(shape, weights)).sum()) == through


def test_a_fit_agrees_with_what_was_measured_quietly_and_is_even_elsewhere() -> None:
    shape, rows = (3, 4, 5), 10_000
    random = np.random.default_rng(2)
    x = random.multinomial(rows, random.dirichlet(np.ones(60))).reshape(shape)
    exact = tables_of(x, [(0, 1), (1, 2)])
    measured = [NoisyMarginal(axes, table.ravel(), 1.0, True) for axes, table in exact.items()]
    guess = CellGuess.even(shape, rows).carefully().fitted(measured)
    for axes, table in guess.tables(exact).items():
        assert np.abs(table - exact[axes]).max() < 5
    expected = exact[(0, 1)][:, :, None] * exact[(1, 2)][None] / x.sum(axis=(0, 2))[None, :, None]
    assert np.abs(rows * guess.shares - expected).max() < 20  # the most even one: nothing else was measured


def test_the_number_of_rows_is_told_by_the_quiet_marginals() -> None:
    quiet, loud = (
        NoisyMarginal((0,), np.array([60, 40]), 1.0, True),
        NoisyMarginal((1,), np.array([900, 0]), 99.0, True),
    )
    assert total_of([quiet, loud]) == pytest.approx(100, abs=1)
    assert total_of([NoisyMarginal((0,), np.array([-5, 2]), 1.0, True)]) == 1


@settings(max_examples=50)
@given(some.integers(1, 500), some.integers(1, 40), some.integers(0, 99))
def test_drawn_rows_are_as_many_as_asked_for_and_near_what_is_expected(
    rows: int, cells: int, seed: int
) -> None:
    shares = np.random.default_rng(seed).dirichlet(np.full(cells, 0.3))
    drawn = cells_of_rows(shares, rows, generator("a1" * 32))
    numbers = np.bincount(drawn, minlength=cells)
    assert len(drawn) == rows
    assert np.abs(np.cumsum(numbers) - rows * np.cumsum(shares)).max() <= 1 + 1e-6


# Tables ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adjacency", "accounting"), crossed(["replace-one", "add-remove"], ["gdp", "zcdp", "pure"])
)
def test_a_table_is_of_the_kinds_of_the_study_and_like_the_private_one(
    adjacency: str, accounting: str
) -> None:
    with curator(adjacency, accounting) as own:
        made = own.synthesize(["smoker", "region", "age", "income", "seen"], rows=3000, share=0.9)
        table, real = made.to_pandas(), people()
        assert list(table) == ["age", "region", "smoker", "income", "seen"]  # as the study declares them
        assert len(table) == made.rows == len(made.to_arrow()) == len(made.to_polars()) == 3000
        assert set(table.region.dropna()) <= set(REGIONS)
        assert table.income.dropna().between(0, 150_000).all()
        assert (table.income.dropna() * 100 % 1).round(6).isin([0, 1]).all()
        assert pd.to_datetime(table.seen.dropna()).dt.year.eq(2020).all()
        assert abs(table.age.isna().mean() - 0.1) < 0.05
        for frame in (table, real):
            frame["north"] = frame.region == "north"
        north = [frame[frame.north].smoker.astype(float).mean() for frame in (table, real)]
        south = [frame[~frame.north].smoker.astype(float).mean() for frame in (table, real)]
        assert abs(north[0] - north[1]) < 0.2
        assert abs(south[0] - south[1]) < 0.1
        assert own.budget().spent.share == pytest.approx(0.9, rel=1e-3)


def test_measured_numbers_have_intervals_and_the_page_says_how_far_off() -> None:
    """Measured numbers have intervals, and the page says how far the table is off."""
    with curator() as own:
        made = own.synthesize(["region", "smoker"], share=0.5)
        first = made.marginals[0]
        assert first.columns == ("region",)
        assert first.labels == ((*REGIONS, "missing"),)
        assert isinstance(first.interval(0), Interval)
        exact = [*(people().region.value_counts()[name] for name in REGIONS), 0]
        assert np.abs(first.released - exact).max() < 4 * first.half_width
        assert all(0 <= one.distance < 0.2 for one in made.marginals)
        assert made.rows == ROWS
        told = json.loads(json.dumps(made.to_json()))
        assert told["marginals"][0]["half_width"] == first.half_width
        assert told["receipt"]["number"] == 1
        for text in (str(made), made._repr_html_(), str(made.sheet(verbose=True).text())):
            assert "region" in text
        assert "ADAPTIVE-MARGINALS" in made.sheet(verbose=True).text()


def test_the_same_again_is_free_and_gives_the_same_rows_in_any_number() -> None:
    with curator() as own:
        first = own.synthesize(["region", "smoker", "age"], epsilon=1)
        again = own.synthesize(["age", "smoker", "region"], epsilon=1)
        few = own.synthesize(["age", "smoker", "region"], epsilon=1, rows=17)
        assert not first.repeated
        assert again.repeated
        assert few.repeated
        assert first.to_pandas().equals(again.to_pandas())
        assert len(few.to_pandas()) == 17
        assert own.budget().queries == 1
        assert not own.synthesize(["age", "region"], epsilon=1).repeated
        assert not own.synthesize(["age", "region"], epsilon=1, bins={"age": 3}).repeated
        assert not own.synthesize(["age", "region"], epsilon=1, ways=1).repeated


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_a_preview_is_free_and_says_what_is_charged(accounting: str) -> None:
    with curator(accounting=accounting) as own:
        seen = own.preview_synthesis(["region", "age"], share=0.25, bins={"age": 5})
        assert own.budget().queries == 0
        made = own.synthesize(["region", "age"], share=0.25, bins={"age": 5})
        assert seen.cost == made.cost
        assert seen.half_width == made.marginals[0].half_width
        assert json.loads(json.dumps(seen.to_json()))["cells"] == 5 * 6
        assert "Nothing was read" in str(seen)
        assert seen.more == 4


def test_bins_are_as_many_or_where_they_are_said_to_begin() -> None:
    with curator() as own:
        made = own.synthesize(["age", "seen"], share=0.1, bins={"age": [30, 65], "seen": 4})
        assert made.marginals[0].labels[0] == ("0 .. 29", "30 .. 64", "65 .. 99", "missing")
        assert len(made.marginals[1].labels[0]) == 5
        assert made.marginals[1].labels[0][0] == "2020-01-01 .. 2020-04-01"


def test_persons_with_several_rows_pay_for_all_of_them() -> None:
    frame = people()
    frame["person"] = np.arange(ROWS) // 2
    unit = adyton.PrivacyUnit("add-remove", person="person", rows=2)
    study = adyton.Study(replace(TABLE, person="person"), unit, adyton.Guarantee(10, 1e-6))
    with open_kept(study, data=frame) as own, curator("add-remove") as plain:
        persons = own.synthesize(["region", "smoker"], epsilon=5)
        rows = plain.synthesize(["region", "smoker"], epsilon=5)
        assert persons.measured[0].scale == pytest.approx(2 * rows.measured[0].scale)
        assert abs(persons.rows - ROWS) < 200  # told by the marginals


def test_cells_too_many_to_read_give_way_to_marginals_that_are_the_same() -> None:
    """Where all cells are too many to read, marginals are read, and they are the same."""
    frame, edges = people(), {"age": [10 * i for i in range(1, 10)], "income": 150, "seen": 366}
    with curator() as own:
        plan = plan_synthesis(
            own.study, [*edges, "smoker"], price_of(share=0.5), own.study.allowed, bins=edges, ways=2
        )
        assert plan.axes.cells > 10**6
        assert len(plan.read) == 5  # of income and day there would be too many cells
        own._engine.prepare(plan.readings)
        read = SimpleNamespace(exact=lambda: iter(own._engine.exact(plan.readings)))
        exact = plan.measurement._tables(read)
    assert set(exact) == set(plan.machine.candidates)
    assert (2, 3) not in exact
    assert all(table.sum() == ROWS for table in exact.values())
    decades = np.bincount((frame.age.dropna() // 10).astype(int), minlength=10)
    assert exact[(0,)].tolist() == [*decades, frame.age.isna().sum()]
    by_both = frame.groupby([frame.age // 10, "smoker"]).size()
    assert all(exact[(0, 1)][int(age), int(smokes)] == n for (age, smokes), n in by_both.items())


# What is refused, free of charge ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"columns": []}, "at least one"),
        ({"columns": "age"}, "as a list"),
        ({"columns": ["agee"]}, "agee"),
        ({"columns": ["age", "AGE"]}, "twice"),
        ({"columns": ["name"]}, "'name' are not declared"),
        ({"columns": ["income"], "bins": {"income": 10**6}}, "at most 1000"),
        ({"columns": ["income"], "bins": {"region": 5}}, "not for 'region'"),
        ({"columns": ["age"], "ways": 9}, "1 to 4 columns"),
        ({"columns": ["age"], "ways": 0}, "1 to 4 columns"),
        ({"columns": ["age"], "rows": 0}, "1 to 10000000 rows"),
        ({"columns": ["age"], "method": "magic"}, "one of cells, graph"),
        ({"columns": ["age"], "within": 5}, "epsilon or as share"),
        ({"columns": ["age"], "share": "1e-17"}, "too small"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_reason(asked: dict[str, Any], words: str) -> None:
    with curator() as own:
        price = {} if {"within", "share"} & asked.keys() else {"share": 0.5}
        with pytest.raises(InvalidRequest, match=words):
            own.synthesize(**asked, **price)
        assert own.budget().queries == 0


def test_too_many_cells_are_refused_with_their_number_and_a_column_to_drop() -> None:
    bins = {"age": 100, "income": 330, "seen": 366}
    with curator() as own:
        with pytest.raises(InvalidRequest, match=r"at most 10000000 are counted: leave out 'seen'"):
            own.synthesize(list(bins), share=0.5, bins=bins, method="cells")
        assert own.budget().queries == 0


def test_a_price_that_does_not_fit_is_refused_and_told_what_would() -> None:
    with curator() as own:
        own.synthesize(["region"], share=0.9)
        with pytest.raises(BudgetRefused) as refusal:
            own.synthesize(["region", "smoker"], epsilon=9)
        assert refusal.value.facts["fits"]
        assert own.budget().queries == 1


# Crashes, and what is kept ---------------------------------------------------------------------------------


@pytest.mark.parametrize("price", [{"share": 0.3}, {"epsilon": 1}])
@pytest.mark.parametrize("step", ["exact", "bits", "release", "remember"])
def test_a_crash_between_any_two_steps_loses_nothing_that_was_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, price: dict[str, Any]
) -> None:
    """The charge stands, and the same again, also after a restart, is read under its receipt."""
    study = write_study(tmp_path)
    asked: dict[str, Any] = {"columns": ["age"], "bins": {"age": 4}, **price}

    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    place: dict[str, Any] = {
        "exact": (PaidData, "exact", stopped),
        "bits": (AdaptiveMarginals, "release", stopped),
        "release": (WrittenTable, "text", stopped),
        "remember": (SqliteLedger, "remember", stopped),
    }
    with open_kept(study) as own:
        with monkeypatch.context() as patch:
            patch.setattr(*place[step])
            with pytest.raises(Interrupted) as told:
                own.synthesize(**asked)
        assert told.value.receipt == 1
    with open_kept(study) as own:
        spent = own.budget().spent
        made = own.synthesize(**asked)
        assert made.receipt.number == 1
        assert own.budget().spent == spent
        table = made.to_pandas()
    with open_kept(study) as own:
        again = own.synthesize(**asked)
        if "epsilon" in price:  # a share of what is left is another price now
            assert again.repeated
            assert again.to_pandas().equals(table)
        own.verify()


def test_what_is_stored_is_what_was_measured_and_damage_is_found() -> None:
    measured = [
        NoisyMarginal((0, 1), np.arange(-3, 297), 12.5, True),
        NoisyMarginal((1,), np.array([2**40, -1, 5]), 0.1, False),
    ]
    text, shape = to_text(measured), (100, 3)
    for one, back in itertools.zip_longest(measured, from_text(text, shape)):
        assert (one.axes, one.scale, one.gaussian) == (back.axes, back.scale, back.gaussian)
        assert np.array_equal(one.noisy, back.noisy)
    for damaged in ("", "{}", text.replace("12.5", "?"), text.replace("[0, 1]", "[0, 7]"), text[:-2]):
        with pytest.raises(LedgerCorrupt):
            from_text(damaged, shape)


# On the way to somebody ------------------------------------------------------------------------------------


def test_a_mock_may_be_like_a_synthetic_table() -> None:
    with curator() as own:
        made = own.synthesize(["region", "smoker"], share=0.5, rows=500)
        mock = own.mock(200, like=made)
        assert own.budget().queries == 1
        counted = mock.ask("SELECT COUNT(*) FROM people WHERE region = 'north' AND smoker", epsilon=5)
        first = made.to_pandas()[:200]
        assert abs(counted.value - ((first.region == "north") & (first.smoker == True)).sum()) < 20  # noqa: E712
        assert counted.query.startswith("/* mock */")
        assert mock.ask("SELECT AVG(age) FROM people", epsilon=5).value  # made up as ever
        with pytest.raises(InvalidRequest, match="made up already"):
            mock.synthesize(["region"], share=0.5)


def test_a_canary_is_in_the_table_no_oftener_than_the_price_allows() -> None:
    """The only row of its cell, or not there: how often it is found in synthetic tables, at epsilon 0.5.

    Chances of an event differ by at most a factor exp(0.5); both are counted, and judged by exact binomial
    bounds, each wrong with 1e-7 at most.  With hardly any noise the same judge says no.
    """
    table = adyton.Table("t", (CategoryColumn("a", ("x", "y")), BooleanColumn("b")))
    unit, budget = adyton.PrivacyUnit("add-remove"), adyton.Guarantee(100, 0)
    study = adyton.Study(table, unit, budget, accounting="pure")
    plan = plan_synthesis(study, ["a", "b"], price_of(epsilon="0.5"), study.allowed)
    machine = replace(plan.machine, candidates=((0, 1),), first=(), each=plan.machine.units // 2)
    without = np.array([[0, 30, 0], [0, 0, 0], [0, 0, 0]])
    canary = without.copy()
    canary[1, 0] = 1  # a = "y", not b
    bits = SeededByHash(4)

    def found(histogram: Any, times: int, runs: int = RUNS) -> int:
        def quieter(units: int) -> AdaptiveRound:
            return plan.step(units * times)._replace(selecting=0, measuring=units)

        exact, seen = tables_of(histogram, machine.candidates), 0
        for run in range(runs):
            made = machine.release(exact, first_guess(plan), quieter, bits)
            classes = classes_drawn(last_guess(plan, made), 31, generator(f"{run + 1:064x}"))
            seen += bool(((classes[0] == 1) & (classes[1] == 0)).any())
        return seen

    def allowed(more: int, less: int, runs: int = RUNS) -> bool:
        surely = beta.ppf(1e-7, more, runs - more + 1) if more else 0.0
        at_most = beta.ppf(1 - 1e-7, less + 1, runs - less) if less < runs else 1.0
        return bool(surely <= np.exp(0.5) * at_most)

    with_it, without_it = found(canary, 1), found(without, 1)
    assert allowed(with_it, without_it)
    assert allowed(without_it, with_it)
    assert not allowed(found(canary, 100), found(without, 100))


def test_every_measured_number_has_noise_that_its_interval_covers() -> None:
    """Counted over many cells: 95 % of the intervals hold the exact number, up to chance of 1e-6."""
    frame, inside, cells = people(), 0, 0
    exact = frame.groupby(["region", "smoker"]).size()
    for _ in range(12):
        with curator() as own:
            for one in own.synthesize(["region", "smoker"], share=0.3).marginals:
                if one.columns == ("region", "smoker"):
                    for cell, (a, b) in enumerate(itertools.product(*one.labels)):
                        held = one.interval(cell)
                        inside += held.low <= exact.get((a, b == "yes"), 0) * (b != "missing") <= held.high
                        cells += 1
    assert binom.cdf(inside, cells, 0.95) > 1e-6


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_replayed_on_a_neighbors_nothing_but_noisy_numbers_differs(adjacency: Any, accounting: Any) -> None:
    """The same random words on two neighboring tables: charge, what is read and in which order are alike, and the
    histogram moves by one unit.
    """
    budget = adyton.Guarantee(10, 0 if accounting == "pure" else 1e-9)
    own = replace(TABLE, rows=200 if adjacency == "replace-one" else None)
    study = adyton.Study(own, adyton.PrivacyUnit(adjacency), budget, accounting=accounting)
    here = people(200)
    there = here.copy()
    there.loc[199, ["region", "smoker"]] = ["north", not here.smoker[199]]
    there = there if adjacency == "replace-one" else here[:-1]
    recording = RecordedBits(SeededByHash(3))
    seen = []
    for frame in (here, there):
        bits = recording if not seen else RecordedBits(SeededByHash(3), recording.handed_out)
        with open_kept(study, data=frame) as curator:
            watched, noted = watch(curator, bits)
            made = watched.synthesize(["region", "smoker"], share=0.5)
            (receipt,) = curator.receipts()
            (columns,) = noted.exact_integers
            seen.append(
                (receipt.order, receipt.spent, list(noted.events), made.measured[0].scale, columns[0])
            )
    first, second = seen
    assert first[:2] == second[:2]
    assert first[3] == second[3]
    assert [e for e in first[2] if "engine" in e] == [e for e in second[2] if "engine" in e]
    assert first[2].index("engine: prepare") < first[2].index("engine: read 1")
    assert not any("bits" in e for e in first[2][: first[2].index("engine: read 1")])
    moved = np.abs(np.subtract(first[4], second[4])).sum()
    assert moved == (2 if adjacency == "replace-one" else 1)


def test_a_graphical_model_takes_the_place_of_all_cells() -> None:
    """Fitted by mbi to the same measurements it agrees with the fit over all cells, and rows are drawn from it.

    In a process of its own: mbi brings threads, and processes with threads do not fork.
    """
    if find_spec("mbi") is None:
        pytest.skip("the extra 'synthetic' is not installed")
    own = get_context("spawn").Process(target=fit_both_ways)
    own.start()
    own.join()
    assert own.exitcode == 0


def test_later_population_intervals_pay_for_what_was_selected_and_measured() -> None:
    with (
        curator(validity=Validity(confidence=0.95)) as own,
        curator(validity=Validity(confidence=0.95)) as other,
    ):  # type: ignore[arg-type]
        own.synthesize(["region", "smoker"], epsilon="0.2")
        (receipt,) = own.receipts()
        assert receipt.order.radius > 0
        assert receipt.order.pure > 0
        query = "SELECT PROPORTION(smoker) FROM people"
        after, before = (one.ask(query, epsilon=1).population_interval for one in (own, other))
        assert isinstance(after, Interval)
        assert isinstance(before, Interval)
        assert after.high - after.low > before.high - before.low
