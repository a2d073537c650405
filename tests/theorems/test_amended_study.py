"""A study that goes on under corrected facts: nothing is given back, and nothing is used twice."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import adyton
from adyton.certify import Interval
from adyton.kernel.ledger import SqliteLedger
from adyton.setup import amending
from adyton.setup.amending import amend, check_amended
from adyton.transports.cli.app import app
from support.curators import open_kept
from support.worlds import query, tamper, write_study

VALID = "\n[validity]\nindependent = true\n{more}\n"
CHECKPOINTED = '\n[ledger]\ncheckpoint = "{name}.checkpoint"\n'


def studies(folder: Path, said: str = "", **changes: Any) -> tuple[Path, Path]:
    """A study and the corrected one, with another bound unless something else is changed."""
    old = write_study(folder, more=said.replace("{name}", "people"))
    facts = {"more": said.replace("{name}", "corrected"), "high": 99} | changes
    return old, write_study(folder, name="corrected", **facts)


def read(*files: Path) -> list[adyton.Study]:
    return [adyton.read_study(file) for file in files]


def spend(study: Path, queries: int, first: int = 0, scale: int = 100) -> list[adyton.Answer]:
    with open_kept(study) as curator:
        return [curator.ask(query(first + n), scale=scale) for n in range(queries)]


def test_theorem_AMENDED_STUDY_one_limit_for_all_answers(tmp_path: Path) -> None:
    """Mutants: ``_beginning`` that carries no amount, or half of it; a new limit in the header."""
    old, new = studies(tmp_path, epsilon="100")
    spend(old, 3, scale=1)
    with open_kept(old) as curator:
        last, limit = curator.receipts()[-1], curator._ledger.header.budget
    amended = amend(*read(old, new))
    with open_kept(new) as curator:
        (first,) = curator.receipts()
        assert first == amended.first
        assert curator.budget().more is None, "it is no query that could be asked again"
        assert (first.spent, first.spent_radius) == (last.spent, last.spent_radius)
        assert curator._ledger.header.budget == limit
        number = 0
        while curator.preview(query(number), scale="0.7").fits:
            curator.ask(query(number), scale="0.7")
            number += 1
        assert number > 3
        with pytest.raises(adyton.BudgetRefused):
            curator.ask(query(number), scale="0.7")
        assert curator.receipts()[-1].spent <= limit
        assert last.spent + sum(r.order.amount for r in curator.receipts()[1:]) == curator._ledger.spent()


def test_theorem_AMENDED_STUDY_numbers_go_on_so_no_share_is_used_twice(tmp_path: Path) -> None:
    """Mutants: ``next_receipt`` that begins with 1 again; a carried number that is one less."""
    old, new = studies(tmp_path)
    numbers = [answer.receipt.number for answer in spend(old, 3)]
    first = amend(*read(old, new)).first.number
    numbers += [first, *(answer.receipt.number for answer in spend(new, 2))]
    assert numbers == [1, 2, 3, 4, 5, 6]
    again = write_study(tmp_path, name="again", high=90)
    assert amend(*read(new, again)).first.number == 7  # a second amendment carries the first
    with open_kept(again) as curator:
        assert curator.budget().queries == 7


def test_theorem_AMENDED_STUDY_radii_add_up(tmp_path: Path) -> None:
    """The interval of an answer after an amendment is that of the same answer without one, or wider."""
    more = VALID.format(more="")
    old, new, alone = (
        write_study(tmp_path, name=name, more=more, high=high, rows=2000)
        for name, high in (("people", 120), ("corrected", 99), ("alone", 99))
    )
    spend(old, 4, scale=10)
    amend(*read(old, new))
    (after,) = spend(new, 1, first=30, scale=10)
    (without,) = spend(alone, 1, first=30, scale=10)

    def width(answer: adyton.Answer) -> float:
        (value,) = answer.rows[0].values.values()
        assert isinstance(value.population_interval, Interval)
        return value.population_interval.high - value.population_interval.low

    assert width(after) > width(without)


def test_theorem_AMENDED_STUDY_what_had_a_final_radius_is_charged_in_full(tmp_path: Path) -> None:
    """How spread the old rows were says nothing about the new ones.  Mutant: ``totals.radius`` is carried."""
    old, new = (
        write_study(tmp_path, name=name, more=VALID.format(more=""), high=high, rows=200)
        for name, high in (("people", 120), ("corrected", 119))
    )
    with open_kept(old) as curator:
        for n in range(3):
            curator.ask(f"SELECT COUNT(*) FROM people WHERE age > {110 + n}", scale=3)
        final, full = curator._ledger.totals().radius, sum(r.order.radius for r in curator.receipts())
    assert final < full
    assert amend(*read(old, new)).first.spent_radius == full


@pytest.mark.parametrize(("was", "becomes"), [("0.5", "0.6"), ("0.5", "0.4")])
def test_theorem_AMENDED_STUDY_the_cap_of_a_pure_study_stays(tmp_path: Path, was: str, becomes: str) -> None:
    old, new = studies(tmp_path, VALID.format(more=f"stability = {was}"))
    new.write_text(new.read_text().replace(f"stability = {was}", f"stability = {becomes}"))
    for file in (old, new):
        pure = re.sub(r"delta = .*", 'delta = 0\naccounting = "pure"', file.read_text())
        file.write_text(pure)
    spend(old, 1)
    with pytest.raises(adyton.InvalidRequest, match=r"validity\.stability"):
        amend(*read(old, new))


def test_theorem_AMENDED_STUDY_a_cap_on_queries_counts_all(tmp_path: Path) -> None:
    more = VALID.format(more='queries = 5\nbeyond_plan = "refuse"')
    old, new = studies(tmp_path, more)
    spend(old, 3, scale=100)
    amend(*read(old, new))
    spend(new, 1, scale=100)
    with open_kept(new) as curator, pytest.raises(adyton.BudgetRefused) as refused:
        curator.ask(query(9), scale=100)
    assert refused.value.facts["counted_in"] == "queries"


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "another limit": ("", {"epsilon": "101"}, "privacy.epsilon"),
    "discovery_delta": ("", {"more": "discovery_delta = 1e-10\n"}, "privacy.discovery_delta"),
    "another filter": ("", {"more": 'accounting = "zcdp"\n'}, "privacy.accounting"),
    "a section on validity": ("", {"more": VALID.format(more="")}, "validity.confidence"),
    "another confidence": (
        VALID.format(more="confidence = 0.9"),
        {"more": VALID.format(more="confidence = 0.8")},
        "validity.confidence",
    ),
    "another number of queries": (
        VALID.format(more="queries = 5"),
        {"more": VALID.format(more="queries = 6")},
        "validity.queries",
    ),
    "another plan": (
        VALID.format(more="queries = 1\ntolerance = 0.9"),
        {"more": VALID.format(more="queries = 1\ntolerance = 0.9\nshare = 0.1")},
        "validity.share",
    ),
    "nothing": ("", {"high": 120}, "nothing to amend"),
}


@pytest.mark.parametrize(("more", "changes", "said"), REFUSED.values(), ids=REFUSED)
def test_theorem_AMENDED_STUDY_what_is_not_covered_is_refused(
    tmp_path: Path, more: str, changes: dict[str, Any], said: str
) -> None:
    """Mutant: ``_may_change`` that allows everything."""
    old, new = studies(tmp_path, more, **changes)
    spend(old, 1)
    with pytest.raises(adyton.InvalidRequest, match=said):
        amend(*read(old, new))
    assert not new.with_suffix(".ledger").exists()
    spend(old, 1, first=5)  # it was not closed


TWO_TABLES = """
[table]
name = "people"
source = "people.csv"
[privacy]
unit = "person"
person = "id"
adjacency = "add-remove"
rows_per_person = 1
epsilon = 1
delta = 1e-9
[columns.age]
kind = "integer"
low = 0
high = 100
[private."v.columns"]
source = "visits.csv"
rows_per_person = {most}
[private."v.columns".columns.n]
kind = "integer"
low = 0
high = {high}
"""


def test_theorem_AMENDED_STUDY_no_name_of_a_table_makes_persons_a_column(tmp_path: Path) -> None:
    """Mutant: ``_may_change`` that takes every fact with ``.columns.`` in its name for one of a column."""
    said = {"old": (2, 9), "bound": (2, 10), "persons": (5, 9), "one": (2, 9)}
    files = {name: tmp_path / f"{name}.toml" for name in said}
    for name, (most, high) in said.items():
        files[name].write_text(TWO_TABLES.format(most=most, high=high))
    files["one"].write_text(TWO_TABLES.partition("[private")[0])
    old, bound, persons, one = read(*files.values())
    assert list(amending._changes(old, bound)) == ["private.v.columns.columns.n.high"]
    files["bound"].write_text(TWO_TABLES.format(most=2, high=9) + "missing = true\n")
    (null,) = read(files["bound"])
    assert list(amending._changes(old, null)) == ["private.v.columns.columns.n.missing"]
    for before, after in ((old, persons), (one, old), (old, one)):
        with pytest.raises(adyton.InvalidRequest, match="cannot be amended"):
            amending._changes(before, after)


def test_theorem_AMENDED_STUDY_rows_of_a_plan_stay(tmp_path: Path) -> None:
    plan = "\n[validity]\nindependent = true\ntolerance = 0.9\nqueries = 2\n"
    old, new = studies(tmp_path, plan, rows=50)
    more = write_study(tmp_path, name="grown", more=plan, rows=60)
    spend(old, 1)
    with pytest.raises(adyton.InvalidRequest, match=r"table\.rows cannot be amended"):
        amend(*read(old, more))
    amend(*read(old, new))


@pytest.mark.parametrize("change", [{"rows": 60}, {"high": 99}])
def test_a_source_that_grew_and_a_bound_go_on(tmp_path: Path, change: dict[str, Any]) -> None:
    old, new = studies(tmp_path, **{"high": 120} | change)
    spend(old, 1)
    changed = amend(*read(old, new)).changed
    assert list(changed) == [{"rows": "table.rows", "high": "columns.age.high"}[next(iter(change))]]
    assert spend(new, 1)[0].receipt.number == 3


def test_the_old_study_is_closed_for_good(tmp_path: Path) -> None:
    """Mutant: ``refuse_if_closed`` left out of charge, remember or annotate."""
    old, new = studies(tmp_path)
    with open_kept(old) as running:
        told = running.ask(query(1), scale=100)
        monitor = running.open_monitor(positives=3, epsilon=1)
        monitor.feed(query(1), above=10)
        ledger = SqliteLedger(old.with_suffix(".ledger"))
        ledger.charge(next(iter(ledger.receipts())).order)
        amend(*read(old, new))
        with pytest.raises(adyton.Forbidden, match="amended"):
            running.ask(query(2), scale=100)
        with pytest.raises(adyton.Forbidden):
            monitor.feed(query(2), above=10)
        with pytest.raises(adyton.Forbidden):
            ledger.remember(3, "[]")
        ledger.close()
        again = running.ask(query(1), scale=100)  # what was answered stays answered
        assert again.rows == told.rows
        assert running.verify().receipts == 3


def dies_at(moment: str, act: Callable[[], object]) -> None:
    """In a process of its own: killed at the named function, before it does anything."""
    child = os.fork()
    if child == 0:
        place, name = {
            "closing": (SqliteLedger, "close_for_good"),
            "making": (amending, "make_file"),
            "noting": (SqliteLedger, "carried_out"),
        }[moment]
        setattr(place, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        try:
            act()
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("moment", ["closing", "making", "noting"])
def test_a_crash_in_between_leaves_no_two_ledgers_and_the_command_goes_on(
    tmp_path: Path, moment: str, checkpointed: bool
) -> None:
    """Mutants: the new ledger made before the old one is closed; a salt that is drawn again."""
    old, new = studies(tmp_path, CHECKPOINTED if checkpointed else "")
    spend(old, 2)
    dies_at(moment, lambda: amend(*read(old, new)))
    made = new.with_suffix(".ledger").exists()
    assert made == (moment == "noting")
    if moment != "closing":
        with open_kept(old) as curator, pytest.raises(adyton.Forbidden):
            curator.ask(query(7), scale=100)
    first = amend(*read(old, new)).first
    assert amend(*read(old, new)).first == first  # once more is the same
    assert [answer.receipt.number for answer in spend(new, 1)] == [4]
    assert amend(*read(old, new)).first == first
    check_amended(*read(old, new))


def test_a_ledger_that_was_used_and_lost_is_not_made_again(tmp_path: Path) -> None:
    old, new = studies(tmp_path)
    spend(old, 1)
    amend(*read(old, new))
    spend(new, 1)
    new.with_suffix(".ledger").unlink()
    with pytest.raises(adyton.LedgerCorrupt, match="missing: put it back"):
        amend(*read(old, new))


def test_there_is_one_successor(tmp_path: Path) -> None:
    old, new = studies(tmp_path)
    spend(old, 1)
    other = write_study(tmp_path, name="other", high=98)
    same_elsewhere = write_study(tmp_path, name="same", high=99)
    amend(*read(old, new))
    for another in (other, same_elsewhere):
        with pytest.raises(adyton.InvalidRequest, match="amended before"):
            amend(*read(old, another))
        assert not another.with_suffix(".ledger").exists()


def test_what_stands_in_the_way_is_found_before_anything_is_closed(tmp_path: Path) -> None:
    old, new = studies(tmp_path, CHECKPOINTED)
    with pytest.raises(adyton.InvalidRequest, match="nothing was charged yet"):
        amend(*read(old, new))
    spend(old, 1)
    for name in ("corrected.ledger", "corrected.checkpoint"):
        (tmp_path / name).write_text("in the way")
        with pytest.raises(adyton.InvalidRequest, match=f"{name} exists already"):
            amend(*read(old, new))
        (tmp_path / name).unlink()
    shared = write_study(tmp_path, name="shared", more=CHECKPOINTED.replace("{name}", "people"), high=99)
    with pytest.raises(adyton.InvalidRequest, match="a checkpoint of its own"):
        amend(*read(old, shared))
    spend(old, 1, first=4)
    amend(*read(old, new))


def test_an_old_copy_from_before_the_amendment_is_behind_its_checkpoint(tmp_path: Path) -> None:
    """Mutant: a checkpoint that does not know that a ledger was closed."""
    old, new = studies(tmp_path, CHECKPOINTED)
    spend(old, 1)
    copy = shutil.copy(old.with_suffix(".ledger"), tmp_path / "copy")
    amend(*read(old, new))
    shutil.copy(copy, old.with_suffix(".ledger"))
    with pytest.raises(adyton.LedgerCorrupt, match="closed"):
        open_kept(old)
    with open_kept(new) as curator:
        curator.ask(query(1), scale=100)


def test_verify_compares_with_the_old_ledger(tmp_path: Path) -> None:
    """Mutant: ``check_amended`` that compares nothing."""
    old, new = studies(tmp_path)
    spend(old, 2)
    runner = CliRunner()
    done = runner.invoke(app, ["amend", str(old), str(new)])
    assert done.exit_code == 0, done.output
    assert "columns.age.high: 120 before, 99 now." in done.output
    assert "What 2 receipts had spent is carried in receipt 3 of corrected.toml" in done.output
    spend(new, 1)
    checked = ["verify", str(new), "--amended", str(old)]
    assert "carried in the first receipt" in runner.invoke(app, checked).output
    as_json = runner.invoke(app, ["amend", str(old), str(new), "--json"])
    assert json.loads(as_json.output)["receipt"] == 3
    cut = [f"DELETE FROM {table} WHERE number > 1" for table in ("answers", "unanswered", "receipts")]
    tamper(old.with_suffix(".ledger"), *cut)
    assert runner.invoke(app, checked).exit_code == 5
