"""What previews say about population intervals: for what is expected, what to ask first, and what later answers pay."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from adyton.certify import Bound, Interval, Later
from adyton.curator.curator import Curator
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn, Table, TextColumn
from adyton.study import Study, Validity
from adyton.transports.cli.app import app
from support.curators import open_kept
from support.randomness import SeededByHash
from support.worlds import write_study

ROWS = 10_000
COLUMNS = (
    BooleanColumn("rare"),
    BooleanColumn("coin"),
    IntegerColumn("steady", 0, 100),
    CategoryColumn("region", ("north", "south")),
    TextColumn("town"),
)
COUNT = "SELECT COUNT(*) AS n FROM t WHERE coin"
MEAN = "SELECT AVG(steady) AS m FROM t WHERE coin"
CELLS = "SELECT region, coin, {} FROM t GROUP BY region, coin"  # so few rows that means come without squares
MEANS = CELLS.format("AVG(steady) AS m")
TOWNS = "SELECT town, COUNT(*) AS n FROM t GROUP BY town"
LUCK = Fraction(101, 2)  # the noise of the count that later widths speak of


def opened(accounting: str = "gdp", adjacency: str = "replace-one", validity: bool = True) -> Curator:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "rare": rng.random(ROWS) < 0.01,
            "coin": rng.random(ROWS) < 0.5,
            "steady": rng.integers(48, 53, ROWS),
            "region": rng.choice(["north", "south"], ROWS),
            "town": rng.choice(["Ur", "Uruk"], ROWS),
        }
    )
    stability = Fraction(1, 10) if accounting == "pure" else None
    delta = Fraction(0) if accounting == "pure" else Fraction(1, 10**6)
    study = Study(
        Table("t", COLUMNS, ROWS),
        PrivacyUnit(adjacency),  # type: ignore[arg-type]
        Guarantee(Fraction(20), delta),
        accounting,
        validity=Validity(Fraction(19, 20), stability=stability) if validity else None,
        discovery_delta=Fraction(0) if accounting == "pure" else Fraction(1, 10**9),
    )
    plain = open_kept(study, data=frame)
    return Curator(study, plain._engine, plain._ledger, SeededByHash(1))


def width(asker: Curator, sql: str, **words: Any) -> float:
    (bound,) = asker.preview(sql, **words).population.values()
    assert isinstance(bound, Bound), bound
    assert bound.half_width is not None
    return bound.half_width


def answered(asker: Curator, sql: str, **words: Any) -> tuple[float, float]:
    """The value and half of the length of its interval, of the first row."""
    (value,) = asker.ask(sql, **words).rows[0].values.values()
    interval = value.population_interval
    assert isinstance(interval, Interval), interval
    return value.value, (interval.high - interval.low) / 2


def said(shown: Any) -> str:
    """Without the ends of lines, which depend on the width of the terminal."""
    return " ".join(str(shown).split())


# What is expected.


@pytest.mark.parametrize(
    ("sql", "expected", "words", "off"),
    [
        ("SELECT COUNT(*) AS v FROM t WHERE rare", "100", {"scale": 5}, 0.1),
        ("SELECT PROPORTION(rare) AS v FROM t", "0.01", {"scale": 0.0005}, 0.1),
        ("SELECT SUM(steady) AS v FROM t WHERE rare", "5000", {"scale": 200}, 0.1),
        (
            "SELECT PROPORTION(rare) AS v FROM t WHERE coin",
            "0.01",
            {"epsilon": 1, "expected_rows": ROWS // 2},
            0.1,
        ),
        (CELLS.format("AVG(steady) AS v"), "50", {"epsilon": 1, "expected_rows": ROWS // 4}, 0.1),
        ("SELECT CDF(steady, 48, 60) AS v FROM t", "0.2", {"epsilon": 1}, 0.2),
    ],
)
def test_a_preview_for_what_is_expected_is_about_as_wide_as_the_answer(
    sql: str, expected: str, words: dict[str, Any], off: float
) -> None:
    """Noise moves the width by a few per cent; that of a distribution is for a point in the middle."""
    with opened() as asker:
        one, worst = width(asker, sql, expect=expected, **words), width(asker, sql, **words)
        by_name = width(asker, sql, expect={"v": expected}, **words)
        in_text = width(asker, sql, expect=f"V={expected}", **words)
        _, found = answered(asker, sql, **words)
    assert one == by_name == in_text
    assert one == pytest.approx(found, rel=off)
    assert one <= worst
    if "AVG" not in sql:  # 50 is the middle of its bounds, where it is widest
        assert one < (0.95 if "CDF" in sql else 0.6) * worst


def test_values_that_are_not_named_are_as_wide_as_can_be() -> None:
    both = "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE coin) AS k FROM t WHERE rare"
    with opened() as asker:
        worst = asker.preview(both, scale=5).population
        one = asker.preview(both, scale=5, expect={"n": 100}).population
    assert one["k"] == worst["k"]
    assert one["n"] != worst["n"]


@pytest.mark.parametrize(
    ("sql", "expect", "says"),
    [
        (COUNT, -1, "from 0 to 10000"),
        (COUNT, ROWS + 1, "from 0 to 10000"),
        (COUNT, "many", "expect"),
        (COUNT, "nan", "expect"),
        (COUNT, float("inf"), "expect"),
        (COUNT, True, "expect"),
        (COUNT, {}, "names no value"),
        (COUNT, {"k": 5}, "not a value of the query; its values are: n"),
        (COUNT, "n=5,N=6", "twice"),
        (COUNT, "=5", "one number"),
        ("SELECT PROPORTION(rare) AS p FROM t", "1.01", "from 0 to 1"),
        ("SELECT PROPORTION(rare) AS p FROM t WHERE coin", -0.1, "from 0 to 1"),
        (MEAN, 101, "from 0 to 100"),
        (MEAN, {"m": -1}, "from 0 to 100"),
        ("SELECT CDF(steady, 50) AS f FROM t", 2, "from 0 to 1"),
        ("SELECT SUM(steady) AS s FROM t", 100 * ROWS + 1, "from 0 to 1000000"),
    ],
)
def test_what_cannot_be_expected_is_refused(sql: str, expect: Any, says: str) -> None:
    with opened() as asker, pytest.raises(InvalidRequest, match=says):
        asker.preview(sql, share="0.1", expect=expect)


def test_what_has_no_such_width_may_be_asked_beside_what_has() -> None:
    with opened() as asker:
        seen = asker.preview(
            "SELECT COUNT(*) AS n, MEDIAN(steady) AS q FROM t WHERE rare", share="0.1", expect=100
        )
    assert set(seen.population) == {"n", "q"}


@pytest.mark.parametrize(("epsilon", "part"), [("0.1", 0.8), (1, 0.2)])
def test_a_mean_that_comes_with_its_squares_is_narrower_than_its_preview(epsilon: Any, part: float) -> None:
    """Nobody knows before how far values are from each other: the preview is for both ends of their range."""
    words: dict[str, Any] = {"epsilon": epsilon, "expected_rows": ROWS // 2}
    with opened() as asker:
        seen = asker.preview(MEAN, **words)
        ahead = width(asker, MEAN, **words)
        _, found = answered(asker, MEAN, **words)
    assert found < part * ahead
    assert not seen.spread_first  # nothing is to be asked first: the answer has it


# What to ask first.


def test_a_mean_says_when_asking_its_spread_first_would_pay_and_it_does() -> None:
    with opened() as asker:
        for i in range(40, 60):
            asker.ask(f"SELECT COUNT(*) FROM t WHERE steady < {i}", scale=100)
        words: dict[str, Any] = {"epsilon": "0.5", "expected_rows": ROWS // 4}
        seen = asker.preview(MEANS, **words)
        assert isinstance(now := seen.population["m"], Bound)
        then = seen.spread_first["m"]
        assert then.half_width < 0.75 * now.half_width  # type: ignore[operator]
        assert "Asking STDDEV of the same value" in said(seen)
        assert seen.to_json()["spread_first"] == {"m": then.to_json()}
        spreads = asker.ask(CELLS.format("STDDEV(steady) AS s"), epsilon="0.5")["s"]
        assert all(spread.population_interval.high <= 12.5 for spread in spreads)
        later = asker.preview(MEANS, **words)
        assert later.population["m"].half_width <= then.half_width  # type: ignore[union-attr, operator]
        assert not later.spread_first  # it is known now
        assert "STDDEV" not in said(later)
        assert "spread_first" not in later.to_json()


def test_a_sum_says_when_asking_its_spread_first_would_pay_and_it_does() -> None:
    """The noise and the luck of the spread, which decide how much is learned, are in what is said before."""
    total = "SELECT SUM(steady - 50) AS s FROM t WHERE coin"
    with opened() as asker:
        for i in range(40, 60):
            asker.ask(f"SELECT COUNT(*) FROM t WHERE steady < {i}", scale=100)
        words: dict[str, Any] = {"epsilon": "0.3", "expected_rows": ROWS // 2, "expect": 0}
        seen = asker.preview(total, **words)
        assert isinstance(now := seen.population["s"], Bound)
        then = seen.spread_first["s"]
        assert then.half_width < 0.75 * now.half_width  # type: ignore[operator]
        assert "Asking STDDEV of the same value" in said(seen)
        asker.ask("SELECT STDDEV(steady - 50) FROM t WHERE coin", epsilon="0.3")
        later = asker.preview(total, **words)
        assert 0.5 * then.half_width < later.population["s"].half_width <= then.half_width  # type: ignore[union-attr, operator]
        assert not later.spread_first  # it is known now


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (COUNT, {"scale": 30}),
        ("SELECT SUM(steady) AS s FROM t", {"epsilon": 15}),
        ("SELECT SUM(steady) AS s FROM t", {"epsilon": "0.001"}),
        (
            MEANS,
            {"epsilon": 15, "expected_rows": ROWS // 4},
        ),  # so dear that asking another such would widen it
        (MEANS, {"epsilon": "0.001", "expected_rows": ROWS // 4}),  # so noisy that the spread does not matter
        ("SELECT PROPORTION(rare) AS p FROM t WHERE coin", {"epsilon": 1, "expected_rows": ROWS // 2}),
    ],
)
def test_nothing_is_advised_that_does_not_pay(sql: str, words: dict[str, Any]) -> None:
    with opened() as asker:
        assert not asker.preview(sql, **words).spread_first


def test_noise_that_hardly_ever_moves_a_count_is_previewed_too() -> None:
    """Its interval is one number.  Mutant: a division by its width."""
    with opened() as asker:
        seen = asker.preview(COUNT, within={"n": "0.001"})
    assert not seen.fits
    assert isinstance(seen.population["n"], Bound)


def test_a_preview_with_groups_is_for_the_widest_spread_that_was_learned() -> None:
    grouped = "SELECT region, {} AS v FROM t GROUP BY region"
    with opened() as asker:
        spreads = asker.ask(grouped.format("STDDEV(steady)"), epsilon=1).rows
        ends = [row.values["v"].population_interval.high for row in spreads]  # type: ignore[union-attr]
        ahead = width(asker, grouped.format("AVG(steady)"), epsilon="0.3")
        means = asker.ask(grouped.format("AVG(steady)"), epsilon="0.3").rows
    assert ends[0] != ends[1]
    intervals = [row.values["v"].population_interval for row in means]
    widest = max((i.high - i.low) / 2 for i in intervals if isinstance(i, Interval))
    assert ahead == pytest.approx(widest, rel=0.1)


# What later answers pay.


@pytest.mark.parametrize("numeric", [False, True])
def test_a_monitor_says_before_how_much_wider_later_counts_become(numeric: bool) -> None:
    with opened() as asker, opened() as other:
        for one in (asker, other):
            one.ask("SELECT COUNT(*) FROM t WHERE rare", scale=100)
        words: dict[str, Any] = {"positives": 2, "numeric": numeric, "epsilon": "0.2"}
        seen, before = asker.preview_monitor(**words), asker.budget()
        assert isinstance(seen.later, Later)
        assert asker.budget() == before  # free of charge
        monitor = asker.open_monitor(**words)
        assert monitor.budget().cost == seen.cost
        assert seen.monitor == monitor.budget().monitor
        assert seen.fits
        assert width(asker, COUNT, scale=LUCK) == seen.later.after
        other.ask("SELECT COUNT(*) FROM t WHERE coin AND rare", scale=10**7)  # tells nothing
        assert width(other, COUNT, scale=LUCK) == pytest.approx(seen.later.without, rel=1e-3)
    assert seen.later.after > 1.2 * seen.later.without
    assert f"instead of ± {seen.later.without:.0f}" in said(seen)
    assert seen.to_json()["later"] == {"without": seen.later.without, "after": seen.later.after}


def test_discovered_groups_say_before_that_they_end_all_later_intervals() -> None:
    with opened() as asker:
        seen = asker.preview(TOWNS, epsilon=1)
        assert seen.later is not None
        assert seen.later.after is None
        assert (
            "ends population intervals, of this answer and of later ones, but for queries with a description"
            in said(seen)
        )
        assert seen.to_json()["later"] == {"without": seen.later.without, "after": None}
        assert asker.preview(COUNT, scale=30).later is None  # nothing is lost by looking
        asker.ask(TOWNS, epsilon=1)
        assert asker.preview(TOWNS, epsilon=2).later is None  # nothing is left to end
        assert asker.preview_monitor(positives=1, epsilon=1).later is None


def test_nothing_is_said_where_later_answers_cannot_change() -> None:
    """Nothing is said where later answers have no interval or pay what was fixed in advance."""
    for asker in (opened("pure"), opened(validity=False), opened(adjacency="add-remove")):
        with asker:
            assert asker.preview_monitor(positives=1, epsilon=1).later is None
    with opened(adjacency="add-remove") as asker:
        asker.ask("SELECT COUNT(*) FROM t", epsilon=1)  # now the number of units is known
        assert asker.preview_monitor(positives=1, epsilon=1).later is not None


def test_the_command_line_takes_what_is_expected(tmp_path: Path) -> None:
    file = write_study(tmp_path, rows=2000, more="[validity]\nindependent = true\n")

    def preview(*words: str) -> Any:
        query = ("preview", str(file), "SELECT COUNT(*) AS n FROM people WHERE age > 70", "--scale", "5")
        return CliRunner().invoke(app, [*query, *words, "--json"])

    def half(*words: str) -> float:
        found: float = json.loads(preview(*words).output)["answer"][0]["values"]["n"]["population_interval"][
            "half_width"
        ]
        return found

    assert half("--expect", "40") == half("--expect", "n=40") < 0.5 * half()
    for bad in ("-1", "2001", "many", "k=3"):
        refused = preview(f"--expect={bad}")
        assert refused.exit_code == 2, bad
        assert json.loads(refused.output)["error"]["kind"] == "invalid_request"
