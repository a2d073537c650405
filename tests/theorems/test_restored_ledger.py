"""A copy that was put back gives back neither budget nor noise: laws over when the copy was made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import adyton
from adyton.curator.opening import accept_copy, show_checkpoint
from adyton.kernel.ledger import Header, Mark, replay_open
from adyton.kernel.ledger.base import Totals
from adyton.kernel.ledger.stored.restoring import restoring_order
from adyton.kernel.noisy import NoisyQueries
from adyton.setup.amending import amend
from adyton.setup.reserve import open_reserve
from adyton.study import read_study
from adyton.transports.cli.app import app
from support.worlds import copied, put_back, query, write_study


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return write_study(tmp_path, more='\n[ledger]\ncheckpoint = "elsewhere/people.checkpoint"\n')


@pytest.mark.parametrize("kept", [1, 2, 4])
def test_theorem_RESTORED_LEDGER_gives_no_budget_and_no_number_back(study: Path, kept: int) -> None:
    """Mutants: the amount is 1; the radius is left out; the number goes on after the copy's."""
    with adyton.open(study) as curator:
        for number in range(1, kept + 1):
            curator.ask(query(number), scale=1000)
    copy = copied(study, "copy.ledger")
    with adyton.open(study) as curator:
        for number in range(kept + 1, 7):
            curator.ask(query(number), scale=1000)
        lost = curator.ledger.totals()
    put_back(study, copy)
    with pytest.raises(adyton.LedgerCorrupt, match="adyton checkpoint accept"):
        adyton.open(study)
    _, receipt = accept_copy(study)
    assert (receipt.number, receipt.spent) == (7, lost.spent)
    with adyton.open(study) as curator:
        now = curator.ledger.totals()
        assert now.radius >= lost.radius
        assert curator.verify().receipts == 7
        again = curator.ask(query(6), scale=1000)
        assert (again.repeated, again.receipt.number) == (kept >= 6, 8)
        assert curator.ask(query(1), scale=1000).repeated
        chain = list(curator.receipts())
        assert replay_open(curator.ledger.header, [one.open for one in chain], own=chain).receipts == 8
    with adyton.open(study) as curator:  # and once more, from the file
        assert curator.verify().receipts == 8
    found = show_checkpoint(study)
    assert found["checkpoint"] == found["ledger"]
    assert found["behind"] is False


@pytest.mark.parametrize(
    "more", ["", '\n[validity]\nindependent = true\nconfidence = 0.95\nqueries = 5\nmethod = "split"\n']
)
def test_theorem_RESTORED_LEDGER_gives_no_second_answer(
    study: Path, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is from between a charge and its answer.  Mutants: ``unanswered`` offers it, of all units or of a part;
    ``remember`` keeps a second one.
    """
    study.write_text(study.read_text() + more)
    copies: list[Path] = []
    released = NoisyQueries.release

    def copying(self: NoisyQueries, *words: Any) -> Any:
        copies.append(copied(study, "copy.ledger"))
        return released(self, *words)

    monkeypatch.setattr(NoisyQueries, "release", copying)
    with adyton.open(study) as curator:
        shown = curator.ask(query(1), scale=1000, request="one")
    monkeypatch.undo()
    put_back(study, copies[0])
    accept_copy(study)
    with adyton.open(study) as curator:
        with pytest.raises(adyton.Forbidden, match="put back"):
            curator.ask(query(1), scale=1000, request="one")
        again = curator.ask(query(1), scale=1000)
        assert again.receipt.number == 3
        assert curator.ledger.recall(1) is None
        assert shown.receipt.number == 1
        with pytest.raises(adyton.Forbidden, match="put back"):
            curator.ledger.remember(1, "[]")


def test_theorem_RESTORED_LEDGER_ends_monitors(study: Path) -> None:
    """Mutants: a monitor is opened again; a note is added to a receipt of before."""
    with adyton.open(study) as curator:
        monitor = curator.open_monitor(positives=1, epsilon="0.2")
    copy = copied(study, "copy.ledger")
    with adyton.open(study) as curator:
        curator.monitor(monitor.number).feed("SELECT COUNT(*) FROM people", above=1)
    put_back(study, copy)
    accept_copy(study)
    with adyton.open(study) as curator:
        with pytest.raises(adyton.Forbidden, match="over"):
            curator.monitor(monitor.number)
        with pytest.raises(adyton.Forbidden, match="put back"):
            curator.ledger.annotate(monitor.number, 1, "x")
        assert curator.open_monitor(positives=1, epsilon="0.2").number == 3


def test_what_is_not_behind_is_never_accepted_and_what_is_never_renewed(
    study: Path,
) -> None:
    """What is not behind cannot be accepted, and what is behind cannot be checkpointed anew."""
    run = CliRunner().invoke
    assert "no checkpoint" in run(app, ["checkpoint", "accept", str(study)]).output + str(
        run(app, ["checkpoint", "accept", str(study)]).stderr
    )
    with adyton.open(study) as curator:
        curator.ask(query(1), scale=1000)
    copy = copied(study, "copy.ledger")
    assert run(app, ["checkpoint", "accept", str(study)]).exit_code == 2
    with adyton.open(study) as curator:
        curator.ask(query(2), scale=1000)
    put_back(study, copy)
    shown = json.loads(run(app, ["checkpoint", "show", str(study), "--json"]).output)
    assert (shown["behind"], shown["checkpoint"]["receipts"], shown["ledger"]["receipts"]) == (True, 2, 1)
    refused = run(app, ["verify", str(study), "--write-checkpoint"])
    assert refused.exit_code == 2
    accepted = run(app, ["checkpoint", "accept", str(study)])
    assert "Receipt 3 charges" in accepted.output
    assert run(app, ["verify", str(study)]).exit_code == 0
    assert "receipts, " in run(app, ["checkpoint", "show", str(study)]).output
    assert "behind" not in run(app, ["checkpoint", "show", str(study)]).output
    (study.parent / "elsewhere" / "people.checkpoint").write_text(
        json.dumps(
            {**json.loads((study.parent / "elsewhere" / "people.checkpoint").read_text()), "ledger": "0" * 64}
        )
    )
    assert run(app, ["checkpoint", "accept", str(study)]).exit_code == 2


def test_theorem_RESTORED_LEDGER_what_was_closed_for_good_does_not_go_on(study: Path) -> None:
    """Another ledger went on with all that was spent: both would spend what is left.  Mutant: the checkpoint's word
    that it was closed is not looked at.
    """
    with adyton.open(study) as curator:
        curator.ask(query(1), scale=1000)
    copy = copied(study, "copy.ledger")
    with adyton.open(study) as curator:
        curator.ask(query(2), scale=1000)
    corrected = write_study(
        study.parent,
        name="corrected",
        high=130,
        more='\n[ledger]\ncheckpoint = "elsewhere/corrected.checkpoint"\n',
    )
    amend(read_study(study), read_study(corrected))
    put_back(study, copy)
    with pytest.raises(adyton.InvalidRequest, match="closed for good"):
        accept_copy(study)
    with pytest.raises(adyton.LedgerCorrupt):
        adyton.open(study)


@given(
    had=st.tuples(*[st.integers(0, 5)] * 4),
    has=st.tuples(*[st.integers(0, 5)] * 4),
)
@settings(max_examples=100, deadline=None)
def test_theorem_RESTORED_LEDGER_no_total_is_below_that_of_the_checkpoint(
    had: tuple[int, ...], has: tuple[int, ...]
) -> None:
    """Mutants: the pure part, or what no theorem covers, is given back."""
    header = Header("s", "gdp", 10, "salt")
    spent, radius, pure, unproved = had
    kept = Mark(header.digest, 9, "1" * 64, 9, 0, spent, radius, pure, unproved)
    mark = Mark(header.digest, 8, "2" * 64, 8, 0, *has)
    order = restoring_order(header, kept, mark, Totals(8, *has))
    assert order.amount + has[0] >= max(spent, has[0] + 1)
    assert order.radius + has[1] >= radius
    assert order.pure + has[2] >= pure
    assert order.unproved == (unproved > has[3])


@pytest.mark.parametrize("lost", [True, False])
def test_theorem_RESTORED_LEDGER_opens_no_reserve_perhaps_opened_before(tmp_path: Path, lost: bool) -> None:
    """Mutants: it is opened again for another test, or amended; a reserve stays closed although no receipt was lost."""
    (tmp_path / "elsewhere").mkdir()
    checkpointed = '\n[ledger]\ncheckpoint = "elsewhere/{}.checkpoint"\n[validity]\nindependent = true\nconfidence = 0.95\nreserve = 0.4\n'
    study = write_study(tmp_path, more=checkpointed.format("people"))
    corrected = write_study(tmp_path, name="corrected", high=130, more=checkpointed.format("corrected"))
    copies: list[Path] = []
    released = NoisyQueries.release

    def copying(self: NoisyQueries, *words: Any) -> Any:
        copies.append(copied(study, "copy.ledger"))
        return released(self, *words)

    with pytest.MonkeyPatch.context() as patch, adyton.open(study) as curator:
        patch.setattr(NoisyQueries, "release", copying)
        curator.ask(query(1), scale=1000)
    if lost:
        open_reserve(study, ["the mean age is 50"])
    put_back(study, copies[0])
    accept_copy(study)
    if not lost:
        assert open_reserve(study, ["the mean age is 40"]).rows
        return
    with pytest.raises(adyton.InvalidRequest, match="may have been opened"):
        open_reserve(study, ["the mean age is 40"])
    with adyton.open(study) as curator:
        assert "nobody knows whether it was opened" in (curator.budget().reserve or "")
    with pytest.raises(adyton.InvalidRequest, match="may have been opened"):
        amend(read_study(study), read_study(corrected))
