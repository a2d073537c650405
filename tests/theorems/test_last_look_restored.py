"""P-values after a copy of a ledger was put back: what it has lost is paid for in full."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import adyton
from adyton.curator.opening import accept_copy
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.sensitivity import Sensitivity
from adyton.monitors.told import told_by
from adyton.planning.learned import radius_in_full
from adyton.setup.amending import amend
from adyton.study import read_study
from adyton.validity.last_look.best import MAIN, routes_after
from adyton.validity.last_look.told import NoisyIntegers, ReleasedTotals
from support.worlds import copied, put_back, write_study

ROWS = 500


def written(folder: Path, accounting: str, adjacency: str = "replace-one") -> Path:
    (folder / "elsewhere").mkdir()
    checkpoint = '\n[ledger]\ncheckpoint = "elsewhere/people.checkpoint"\n'
    stability = "stability = 0.5\n" if accounting == "pure" else ""
    beyond = 'beyond_plan = "answer"\n' if accounting == "pure" else ""
    validity = f"\n[validity]\nindependent = true\nconfidence = 0.95\n{stability}{beyond}"
    file = write_study(folder, more=checkpoint + validity, rows=ROWS)
    text = file.read_text().replace('adjacency = "replace-one"', f'adjacency = "{adjacency}"')
    delta = "delta = 0\n" if accounting == "pure" else "delta = 1e-9\n"
    file.write_text(text.replace("delta = 1e-9\n", f'{delta}accounting = "{accounting}"\n'))
    return file


def told(curator: adyton.Curator) -> ReleasedTotals:
    return told_by(curator.study, curator.ledger)


@pytest.mark.parametrize("accounting", ["gdp", "pure"])
def test_theorem_LAST_LOOK_ROUTES_a_monitor_without_answers_is_not_counted(
    tmp_path: Path, accounting: str
) -> None:
    """Mutants: such a monitor is counted by the answers that the copy knows; the whole part is one law's."""
    study = written(tmp_path, accounting)
    with adyton.open(study) as curator:
        curator.ask("SELECT COUNT(*) FROM people WHERE age > 3", scale=1000)
        monitor = curator.open_monitor(positives=9, epsilon=9)
    copy = copied(study, "copy.ledger")
    with adyton.open(study) as curator:
        fed = curator.monitor(monitor.number)
        seen = [fed.feed("SELECT COUNT(*) FROM people WHERE age > 40", above=a).above for a in (5, 490, 6)]
        assert sum(seen) == 2
        before = curator.last_look("0.05").threshold
    put_back(study, copy)
    accept_copy(study)
    with adyton.open(study) as curator:
        found, look = told(curator), curator.last_look("0.05")
        assert found.forgotten
        assert (found.by_monitors, found.said, found.numbers) == (0, 0, None)
        assert found.pure > 0
        assert not any("said" in route.route or "bits" in route.route for route in look.routes)
        assert look.threshold <= before
        curator.open_monitor(positives=1, epsilon=1).feed("SELECT COUNT(*) FROM people", above=1)
        assert told(curator).by_monitors == 0


@pytest.mark.parametrize(("accounting", "times"), [("gdp", 1), ("zcdp", 2)])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_theorem_LAST_LOOK_ROUTES_what_was_lost_is_paid_as_charged(
    tmp_path: Path, accounting: str, times: int, adjacency: str
) -> None:
    """Mutants: the radius that the checkpoint knows; rho taken for mu**2."""
    study = written(tmp_path, accounting, adjacency)
    with adyton.open(study) as curator:
        curator.ask("SELECT COUNT(*) FROM people", scale=20)
    copy = copied(study, "copy.ledger")
    with adyton.open(study) as curator:
        for age in range(90, 110):  # of nobody, so that final radii are nearly nothing
            curator.ask(f"SELECT COUNT(*) FROM people WHERE age > {age}", scale=2)
        curator.ask("SELECT COUNT(*) FROM people WHERE age > 3", scale=1000)
        charged, final = told(curator).radius, Fraction(curator.ledger.totals().radius, UNITS_PER_ONE)
        assert final < charged / 3
        before = curator.last_look("0.05").threshold
    put_back(study, copy)
    _, receipt = accept_copy(study)
    with adyton.open(study) as curator:
        assert told(curator).radius >= charged
        assert radius_in_full(curator.study, receipt.order) >= times * receipt.order.amount
        assert curator.last_look("0.05").threshold <= before


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("cells", [1, 2, 7])
def test_theorem_RESTORED_LEDGER_no_radius_is_above_what_privacy_pays(adjacency: str, cells: int) -> None:
    """Both are distances in noise; that from a unit which adds nothing is never above the second one."""
    ends = [(0, 1), (5, 10), (-3, 8), (-9, -2), (0, 0)]
    for one in ends:
        for other in ends:
            for rows, touched in ((1, 1), (3, 1), (2, min(2, cells))):
                moved = Sensitivity((one, other), cells, adjacency, rows, touched)  # type: ignore[arg-type]
                scales = (Fraction(7, 2), Fraction(1, 3))
                assert moved.l2_radius_squared(scales) <= moved.l2_diameter_squared(scales)


def test_theorem_LAST_LOOK_ROUTES_possible_monitors_halve_the_transcript() -> None:
    """Two laws differ about monitors, even about those that nobody remembers.  Mutant: all of both parts."""
    known = ReleasedTotals(Fraction(1, 100), Fraction(1, 10), numbers=(NoisyIntegers(1, 0.1),))
    forgotten = ReleasedTotals(Fraction(1, 100), Fraction(1, 10), numbers=None, forgotten=True)
    parts = [
        {route.name: route.part for route in routes_after(one, ROWS, gaussian=False)}
        for one in (known, forgotten)
    ]
    assert [one["moments"] for one in parts] == [MAIN, MAIN / 2]
    assert set(parts[1]) == {"moments", "max-information", "information", "all rows exchanged"} | {
        "mutual information"
    }


def test_theorem_AMENDED_STUDY_carries_what_was_lost_in_full(tmp_path: Path) -> None:
    """Mutant: the radius that the accepted receipt has, which is that of final radii."""
    study = written(tmp_path, "gdp")
    with adyton.open(study) as curator:
        curator.ask("SELECT COUNT(*) FROM people", scale=20)
    copy = copied(study, "copy.ledger")
    with adyton.open(study) as curator:
        for age in range(90, 100):
            curator.ask(f"SELECT COUNT(*) FROM people WHERE age > {age}", scale=2)
        charged = told(curator).radius
    put_back(study, copy)
    accept_copy(study)
    text = (
        study.read_text().replace("high = 120", "high = 130").replace("people.checkpoint", "later.checkpoint")
    )
    later = study.with_name("later.toml")
    later.write_text(text)
    amended = amend(read_study(study), read_study(later))
    assert Fraction(amended.first.order.radius, UNITS_PER_ONE) >= charged
    with adyton.open(later) as curator:
        assert told(curator).radius >= charged
        assert told(curator).forgotten
