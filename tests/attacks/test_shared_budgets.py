"""A shared budget under attack: kills between its two writes, files that are put back or copied, threads and forks."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import adyton
from adyton.curator.opening import accept_copy
from adyton.errors import InvalidRequest, LedgerCorrupt, PrivacyRefused
from adyton.kernel.ledger import Order
from adyton.ledgers.shared_budget import SharedBudget, SharedBudgetLedger
from support.children.shared_budget import fork_and_charge, kill_between, ledger_on_disk, order
from support.processes import APART
from support.worlds import query, shared_budget_of, study_of, tamper, write_study


def charges(folder: Path) -> list[int]:
    """How much the shared budget was charged, each time."""
    with SharedBudget(folder / "shared_budget.ledger") as shared_budget:
        shared_budget.verify()
        return [receipt.order.amount for receipt in shared_budget.receipts()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shared_budget_of(tmp_path / "shared_budget.ledger")
    return tmp_path


# Kills -----------------------------------------------------------------------------------------------------


def killed(*where: tuple[Path, Order]) -> None:
    """Killed one after the other, each while it charges what is ordered there."""
    process = APART.Process(target=kill_between, args=tuple(zip(*where, strict=True)))
    process.start()
    process.join(120)
    assert process.exitcode == 0


def test_a_kill_between_the_writes_wastes_and_never_forgets(folder: Path) -> None:
    killed((folder, order()))
    with closing(ledger_on_disk(folder, "one")) as ledger:
        assert (ledger.count(), charges(folder)) == (0, [7])
        # Another query takes the number, and has to pay for itself.
        ledger.charge(order("sum", 5))
        assert (ledger.spent(), charges(folder)) == (5, [7, 5])
        # What was paid for belonged to a number that is gone: wasted, not used for another one.
        ledger.charge(order())
        assert (ledger.spent(), charges(folder)) == (12, [7, 5, 7])
        ledger.verify()


def test_a_query_after_a_kill_is_not_charged_to_the_shared_budget_again(folder: Path) -> None:
    with closing(ledger_on_disk(folder, "two")) as other:
        other.charge(order("theirs", 2))
    # A second crash, with another query, before the number was used, and the first query once more.
    killed((folder, order()), (folder, order("sum", 5)), (folder, order()))
    with closing(ledger_on_disk(folder, "two")) as other:
        other.charge(order("theirs", 2))
    assert charges(folder) == [2, 7, 5, 2]
    with closing(ledger_on_disk(folder, "one")) as ledger:
        receipt = ledger.charge(order()).receipt
        assert receipt.number == 1
        assert charges(folder) == [2, 7, 5, 2]
        # It stands where it was charged: what came later was not seen when it was asked.
        assert ledger.counted(receipt).number == 2
        assert ledger.counted(receipt).spent_radius == 6
        assert ledger.remember(1, "answer") == "answer"
        ledger.charge(order())
        assert charges(folder) == [2, 7, 5, 2, 7]
        ledger.verify()


def test_what_was_paid_for_is_answered_although_the_shared_budget_is_full(folder: Path) -> None:
    with SharedBudget(folder / "shared_budget.ledger") as shared_budget:
        everything = order("count", shared_budget.header.budget)
    killed((folder, everything))
    with closing(ledger_on_disk(folder, "one")) as ledger:
        with pytest.raises(PrivacyRefused, match=r"of the shared budget shared_budget\.ledger"):
            ledger.charge(order())
        assert ledger.charge(everything).receipt.number == 1
        assert len(charges(folder)) == 1


def test_only_the_very_same_charge_is_found_after_a_kill(tmp_path: Path) -> None:
    others = [order(amount=8), order("sum"), order(detail="[1]")]
    folders = [tmp_path / str(place) for place in range(len(others))]
    for folder in folders:
        folder.mkdir()
        shared_budget_of(folder / "shared_budget.ledger")
    killed(*((folder, order()) for folder in folders))
    for folder, other in zip(folders, others, strict=True):
        with closing(ledger_on_disk(folder, "one")) as ledger:
            ledger.charge(other)
            assert len(charges(folder)) == 2
        with closing(ledger_on_disk(folder, "two")) as stranger:
            stranger.charge(order())
        assert len(charges(folder)) == 3


class Gone(BaseException):
    """The process ends here."""


def test_an_answer_after_a_crash_is_the_one_that_was_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the curator: asked again, the shared budget has one charge, and the study one receipt."""
    shared_budget = shared_budget_of(tmp_path / "shared.ledger", epsilon=100)
    study, enter = write_study(tmp_path, more=f'shared_budget = "{shared_budget.name}"'), SharedBudget.enter

    def ending(self: SharedBudget, *arguments: Any) -> Any:
        enter(self, *arguments)
        raise Gone

    with monkeypatch.context() as patched, adyton.open(study) as curator:
        patched.setattr(SharedBudget, "enter", ending)
        with pytest.raises(Gone):
            curator.ask(query(1), scale=1000)
    with adyton.open(study) as curator, adyton.SharedBudget(shared_budget) as shared:
        assert (len(curator.receipts()), shared.totals().receipts) == (0, 1)
        first = curator.ask(query(1), scale=1000)
        assert shared.totals().receipts == 1
        assert curator.ask(query(1), scale=1000).receipt == first.receipt
        curator.verify()


# Files that are put back, copied or exchanged --------------------------------------------------------------


def kept(path: Path) -> Path:
    """A copy of a ledger that nobody has open."""
    return Path(shutil.copy(path, path.with_suffix(".kept")))


def put_back(copy: Path) -> None:
    path = copy.with_suffix(".ledger")
    for rest in ("-wal", "-shm"):
        path.with_name(path.name + rest).unlink(missing_ok=True)
    shutil.copy(copy, path)


@pytest.mark.parametrize("later", [1, 2])
def test_a_study_that_is_put_back_gets_no_second_answer_for_one_charge(folder: Path, later: int) -> None:
    """The shared budget has seen that an answer was shown, or that there were later receipts."""
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order("before"))
    copy = kept(folder / "one.ledger")
    with closing(ledger_on_disk(folder, "one")) as ledger:
        for number in range(later):
            ledger.charge(order(f"count {number}"))
        ledger.remember(2, "first answer")
    put_back(copy)
    with closing(ledger_on_disk(folder, "one")) as ledger:
        for what in ("count 0", "another") if later > 1 else ("count 0",):
            with pytest.raises(LedgerCorrupt, match="cut, rolled back or copied"):
                ledger.charge(order(what))


def test_a_copy_that_is_accepted_goes_on_in_its_shared_budget(tmp_path: Path) -> None:
    """What was lost is in the shared budget already: one receipt of the study stands for it, and none of the shared budget."""
    shared_budget = shared_budget_of(tmp_path / "shared.ledger", epsilon=100)
    study = write_study(
        tmp_path, more=f'shared_budget = "{shared_budget.name}"\n[ledger]\ncheckpoint = "people.checkpoint"\n'
    )

    def ask(*numbers: int) -> int:
        with adyton.open(study) as curator, adyton.SharedBudget(shared_budget) as shared:
            for number in numbers:
                curator.ask(query(number), scale=1000)
            curator.verify()
            return shared.totals().receipts

    assert ask(1) == 1
    copy = kept(tmp_path / "people.ledger")
    assert ask(2, 3) == 3
    put_back(copy)
    with pytest.raises(LedgerCorrupt, match="rolled back"):
        ask()
    accept_copy(study)
    assert ask() == 3
    assert ask(2, 4) == 5


def test_a_copy_is_not_accepted_if_its_shared_budget_was_put_back_too(tmp_path: Path) -> None:
    """What was lost would be in no shared budget, and all studies could spend it once more.

    Mutants: no ``check_lost``; no ``_check_lost`` when a study is opened.
    """
    shared_budget = shared_budget_of(tmp_path / "shared.ledger", epsilon=100)
    study = write_study(
        tmp_path, more=f'shared_budget = "{shared_budget.name}"\n[ledger]\ncheckpoint = "people.checkpoint"\n'
    )

    def ask(*numbers: int) -> None:
        with adyton.open(study) as curator:
            for number in numbers:
                curator.ask(query(number), scale=1000)

    ask(1)
    copies = kept(tmp_path / "people.ledger"), kept(shared_budget)
    ask(2, 3)
    whole = Path(shutil.copy(shared_budget, tmp_path / "whole"))
    for copy in copies:
        put_back(copy)
    with pytest.raises(LedgerCorrupt, match="it was put back too"):
        accept_copy(study)
    shutil.copy(whole, shared_budget)
    accept_copy(study)
    ask()
    put_back(copies[1])  # later: what the accepted receipt stands for is missing again
    with pytest.raises(LedgerCorrupt, match="it was put back too"):
        ask()
    shutil.copy(whole, shared_budget)
    ask(4)
    with adyton.open(study) as curator:
        curator.verify()


def test_a_copy_is_accepted_whichever_attempts_were_charged(folder: Path) -> None:
    """Of a number that was lost an attempt may have crashed: what all attempts paid is in the shared budget.

    Mutant: a sum over first attempts.
    """
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order("before"))
    copy = kept(folder / "one.ledger")
    killed((folder, order("crashed", 4)))
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order("lost", 9))
        mark = ledger.mark()
    assert charges(folder) == [7, 4, 9]
    put_back(copy)
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger._ledger.restore(mark)  # type: ignore[attr-defined]
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order("after", 2))
        ledger.verify()
        assert (ledger.spent(), charges(folder)) == (7 + 9 + 2, [7, 4, 9, 2])


def test_a_copy_that_has_lost_answers_alone_is_accepted_again_and_again(folder: Path) -> None:
    """A receipt that stands for what was lost has a unit of its own, of which the shared budget knows nothing.

    Mutants: no such units in ``refuse_lost``; one of them, however many such receipts were lost.
    """
    file = folder / "one.ledger"

    def answer_is_lost(number: int) -> Path:
        with closing(ledger_on_disk(folder, "one")) as ledger:
            ledger.charge(order(f"count {number}"))
        copy = kept(file)
        with closing(ledger_on_disk(folder, "one")) as ledger:
            ledger.remember(number, "an answer")
        put_back_and_accepted(copy)
        return Path(shutil.copy(copy, folder / f"{number}.kept"))

    def put_back_and_accepted(copy: Path) -> None:
        with closing(ledger_on_disk(folder, "one")) as ledger:
            mark = ledger.mark()
        put_back(copy)
        with closing(ledger_on_disk(folder, "one")) as ledger:
            ledger._ledger.restore(mark)  # type: ignore[attr-defined]
        with closing(ledger_on_disk(folder, "one")) as ledger:
            ledger.verify()

    first = answer_is_lost(1)
    answer_is_lost(3)
    with closing(ledger_on_disk(folder, "one")) as ledger:
        assert (ledger.count(), ledger.spent(), charges(folder)) == (4, 7 + 1 + 7 + 1, [7, 7])
    put_back_and_accepted(Path(shutil.copy(first, folder / "one.kept")))


def test_two_copies_of_a_study_show_one_answer(folder: Path) -> None:
    """Both find the charge that a crash left behind, both read; the second may show nothing."""
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order("before"))
    shutil.copy(folder / "one.ledger", folder / "copy.ledger")
    with closing(ledger_on_disk(folder, "one")) as ledger, closing(_copy_of(folder)) as copy:
        ledger.charge(order())
        copy.charge(order())
        assert charges(folder) == [7, 7]
        assert ledger.remember(2, "an answer") == "an answer"
        with pytest.raises(LedgerCorrupt, match="cut, rolled back or copied"):
            copy.remember(2, "another answer")
        with pytest.raises(LedgerCorrupt, match="cut, rolled back or copied"):
            copy.recall(2)
        with pytest.raises(LedgerCorrupt, match="cut, rolled back or copied"):
            copy.repeated("count", "[]", 7)
        assert ledger.recall(2) == "an answer"


def test_two_copies_of_a_study_begin_one_monitor(folder: Path) -> None:
    """Mutant: no comparison in ``begun``."""
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order("before"))
    shutil.copy(folder / "one.ledger", folder / "copy.ledger")
    with closing(ledger_on_disk(folder, "one")) as ledger, closing(_copy_of(folder)) as copy:
        ledger.charge(order("monitor"))
        copy.charge(order("monitor"))
        assert charges(folder) == [7, 7]
        assert ledger.annotate(2, 0, "start")
        with pytest.raises(LedgerCorrupt, match="cut, rolled back or copied"):
            copy.annotate(2, 0, "start")
        assert copy.notes(2) == []


def test_who_reads_the_shared_budget_cannot_guess_what_was_answered(folder: Path) -> None:
    """Noisy integers are few enough to be tried: what the shared budget keeps of an answer has the secret of a receipt.

    Mutant: a digest of the number and the answer.
    """
    for name in ("one", "two"):
        with closing(ledger_on_disk(folder, name)) as ledger:
            ledger.charge(order())
            ledger.remember(1, '[[["42"]]]')
    with SharedBudget(folder / "shared_budget.ledger") as shared_budget:
        first, second = (shared_budget._ledger.recall(number) for number in (1, 2))
    assert first is not None
    assert first != second


def _copy_of(folder: Path) -> SharedBudgetLedger:
    """The ledger of ``one``, as if it lay elsewhere."""
    moved = ledger_on_disk(folder, "one")
    moved.close()
    copied = ledger_on_disk(folder, "one")
    copied._ledger._place = str(folder / "copy.ledger")  # type: ignore[attr-defined]
    copied._ledger.stored = None  # type: ignore[attr-defined]
    return copied


def test_what_a_monitor_has_begun_is_not_begun_again_for_one_charge(folder: Path) -> None:
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order("before"))
    copy = kept(folder / "one.ledger")
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order("monitor"))
        assert ledger.annotate(2, 0, "start")
        assert not ledger.annotate(2, 0, "start")
        assert ledger.annotate(2, 1, "fed")
    put_back(copy)
    with (
        closing(ledger_on_disk(folder, "one")) as ledger,
        pytest.raises(LedgerCorrupt, match="rolled back"),
    ):
        ledger.charge(order("monitor"))


def test_a_shared_budget_that_is_put_back_or_exchanged_is_noticed(folder: Path) -> None:
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order())
    copy = kept(folder / "shared_budget.ledger")
    with closing(ledger_on_disk(folder, "one")) as ledger:
        ledger.charge(order())
    put_back(copy)
    with pytest.raises(
        LedgerCorrupt, match=r"receipt 2 of this study is not in the shared budget shared_budget\.ledger"
    ):
        ledger_on_disk(folder, "one")
    for rest in ("", "-wal", "-shm"):
        (folder / f"shared_budget.ledger{rest}").unlink(missing_ok=True)
    shared_budget_of(folder / "shared_budget.ledger")
    with pytest.raises(LedgerCorrupt, match=r"receipt 2 of this study is not in the shared budget"):
        ledger_on_disk(folder, "one")


def test_the_facts_of_a_shared_budget_cannot_be_changed(folder: Path) -> None:
    shared_budget = folder / "shared_budget.ledger"
    tamper(
        shared_budget, 'UPDATE facts SET text = replace(text, \'"rows": "same"\', \'"rows": "unrelated"\')'
    )
    with pytest.raises(LedgerCorrupt, match=r"facts of the shared budget shared_budget\.ledger were changed"):
        SharedBudget(shared_budget)


def test_no_shared_budget_is_a_ledger_of_a_study_and_no_ledger_is_one(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    with adyton.open(study) as curator:
        curator.ask(query(1), scale=1000)
    with pytest.raises(InvalidRequest, match="is the ledger of a study or of a holdout, not a shared budget"):
        SharedBudget(tmp_path / "people.ledger")
    with pytest.raises(InvalidRequest, match="there is no shared budget none"):
        SharedBudget(tmp_path / "none.ledger")
    shared_budget = shared_budget_of(tmp_path / "b.ledger")
    with pytest.raises(InvalidRequest, match="exists already"):
        shared_budget_of(tmp_path / "b.ledger")
    with pytest.raises(InvalidRequest, match="a file of its own"):
        adyton.Study(
            study_of("t", None).table,
            study_of("t", None).unit,
            study_of("t", None).budget,
            ledger=shared_budget,
            shared_budget=shared_budget,
        )


def test_a_study_cannot_leave_its_shared_budget(tmp_path: Path) -> None:
    """That charges go to a shared budget is a fact of the study; where it lies is none."""
    shared_budget = shared_budget_of(tmp_path / "shared.ledger", epsilon=100)
    study = write_study(tmp_path, more=f'shared_budget = "{shared_budget.name}"')
    with adyton.open(study) as curator:
        curator.ask(query(1), scale=1000)
    with pytest.raises(InvalidRequest, match=r"privacy\.shared_budget: shared in the ledger, nothing here"):
        adyton.open(write_study(tmp_path))
    shared_budget.rename(tmp_path / "moved.ledger")
    with adyton.open(write_study(tmp_path, more='shared_budget = "moved.ledger"')) as curator:
        curator.verify()


# Threads and forks -----------------------------------------------------------------------------------------


def test_forks_while_threads_charge_do_not_stop_anybody(folder: Path) -> None:
    """A charge holds the study and then waits for the shared budget; a fork that took them in the other order would
    wait for ever, and so would the charge.
    """
    process = APART.Process(target=fork_and_charge, args=(folder,))
    process.start()
    process.join(100)
    stuck = process.is_alive()
    process.kill()
    assert not stuck
    assert process.exitcode == 0
    assert len(charges(folder)) == 60
