"""A receipt that was charged and never answered is read again when the same query comes at the same price."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import adyton
from adyton.errors import Interrupted
from adyton.holdout import Gaussian, Method, Split
from adyton.kernel.ledger import SqliteLedger
from adyton.kernel.noisy import NoisyQueries
from support.curators import open_kept
from support.tries import often
from support.worlds import query, write_study

KEYS = """
discovery_delta = 1e-10

[columns.name]
kind = "text"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path)


def interrupted(monkeypatch: Any, ask: Callable[[], object]) -> Interrupted:
    """Ctrl-C when the noise is drawn, before anything is kept."""
    release = NoisyQueries.release

    def stopped(self: NoisyQueries, *arguments: Any) -> Any:
        release(self, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(NoisyQueries, "release", stopped)
        with pytest.raises(Interrupted) as caught:
            ask()
    return caught.value


def values(answer: adyton.Answer) -> list[Any]:
    return [value.value for row in answer.rows for value in row.values.values()]


def test_the_same_query_again_is_paid_for_and_gets_one_answer(study: Path, monkeypatch: Any) -> None:
    with open_kept(study) as curator:
        stop = interrupted(monkeypatch, lambda: curator.ask(query(1), scale=1000))
        assert stop.receipt == curator.paid_for == 1
        assert stop.message == "interrupted after receipt 1 was paid; ask the same again: it is paid for"
        assert curator.preview(query(1), scale=1000).repeated
        spent = curator.budget().to_json()
    with open_kept(study) as curator:  # also after a restart
        answer = curator.ask(query(1), scale=1000)
        assert answer.receipt.number == 1
        assert values(curator.ask(query(1), scale=1000)) == values(answer)
        assert curator.budget().to_json() == spent
        assert curator.ask(query(2), scale=1000).receipt.number == 2
        assert curator.ask(query(1), scale=1001).receipt.number == 3  # another price is another query


@pytest.mark.parametrize("request_id", [None, "r"])
def test_an_interrupt_between_the_commit_and_its_receipt_is_told_as_paid(
    study: Path, monkeypatch: Any, request_id: str | None
) -> None:
    """Mutant: ``_answer`` that does not look into the ledger after an interrupt."""
    charge = SqliteLedger.charge

    def stopped(self: SqliteLedger, order: Any, _: Any = None) -> Any:
        charge(self, order)
        raise KeyboardInterrupt

    with open_kept(study) as curator:
        monkeypatch.setattr(SqliteLedger, "charge", stopped)
        with pytest.raises(Interrupted, match="after receipt 1 was paid"):
            curator.ask(query(1), scale=1000, request=request_id)
        monkeypatch.undo()
        assert curator.ask(query(1), scale=1000, request=request_id).receipt.number == 1


@pytest.mark.parametrize("price", [{"share": "0.1"}, {"epsilon": "0.1"}, {"within": 2000}])
def test_every_kind_of_price_finds_its_receipt(study: Path, monkeypatch: Any, price: dict[str, Any]) -> None:
    """A share of what is left is the same price again: what was left before the charge that was not answered."""
    with open_kept(study) as curator:
        curator.ask(query(9), share="0.5")
        interrupted(monkeypatch, lambda: curator.ask(query(1), **price))
        assert curator.preview(query(1), **price).repeated
        assert curator.ask(query(1), **price).receipt.number == 2
        assert len(curator.receipts()) == 2


def test_a_share_after_another_charge_means_what_it_paid_for(study: Path, monkeypatch: Any) -> None:
    with open_kept(study) as curator:
        interrupted(monkeypatch, lambda: curator.ask(query(1), share="0.1"))
        curator.ask(query(2), share="0.1")
        assert curator.ask(query(1), share="0.1").receipt.number == 1
        assert curator.ask(query(1), share="0.11").receipt.number == 3


def test_a_batch_is_answered_as_one(study: Path, monkeypatch: Any) -> None:
    batch = [query(1), query(2)]
    with open_kept(study) as curator:
        stop = interrupted(monkeypatch, lambda: curator.ask_many(batch, scale=1000))
        assert stop.receipt == 1
        answers = curator.ask_many(batch, scale=1000)
        assert [answer.receipt.number for answer in answers] == [1, 1]
        assert curator.ask(query(1), scale=1000).receipt.number == 2  # alone it is another query


@pytest.mark.parametrize("later", ["r", None, "s"])
def test_a_request_id_and_its_query_find_the_same_receipt(
    study: Path, monkeypatch: Any, later: str | None
) -> None:
    with open_kept(study) as curator:
        stop = interrupted(monkeypatch, lambda: curator.ask(query(1), scale=1000, request="r"))
        assert stop.receipt == 1
        answer = curator.ask(query(1), scale=1000, request=later)
        assert values(curator.ask(query(1), scale=1000, request="r")) == values(answer)
        assert len(curator.receipts()) == 1
        with pytest.raises(adyton.InvalidRequest, match="already used"):
            curator.ask(query(2), scale=1000, request="r")


def test_keys_are_found_with_the_share_of_the_receipt_that_paid(tmp_path: Path, monkeypatch: Any) -> None:
    """The share of delta goes by the number of the receipt: 1, not that of the moment of the answer."""
    study = write_study(tmp_path, more=KEYS)
    names = ["age,name", *(f"{20 + row % 60},{'ab'[row % 2]}" for row in range(50))]
    (tmp_path / "people.csv").write_text("\n".join(names) + "\n")
    asked = "SELECT name, COUNT(*) FROM people GROUP BY name"
    with open_kept(study) as curator:
        fresh = curator.ask(asked + " HAVING COUNT(*) > -1000", epsilon=3)
        interrupted(monkeypatch, lambda: curator.ask(asked, epsilon=2))
        curator.ask(query(3), scale=1000)
        again = curator.ask(asked, epsilon=2)
        assert again.receipt.number == 2
        once_more = curator.ask(asked, epsilon="2.0000001")
        assert again.discovered_groups is not None
        assert once_more.discovered_groups is not None
        assert fresh.discovered_groups is not None
        assert (
            again.discovered_groups.threshold < once_more.discovered_groups.threshold
        )  # receipt 4 gets a smaller share


def test_a_monitor_that_was_paid_for_is_opened_by_its_receipt(study: Path, monkeypatch: Any) -> None:
    """Monitors keep their answers in notes: nothing is read again, and a second monitor is a second charge."""
    annotate = SqliteLedger.annotate

    def stopped(self: SqliteLedger, *arguments: Any) -> Any:
        raise KeyboardInterrupt

    with open_kept(study) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(SqliteLedger, "annotate", stopped)
            with pytest.raises(KeyboardInterrupt):
                curator.open_monitor(positives=2, epsilon=1)
        assert SqliteLedger.annotate is annotate
        assert curator.monitor(1).feed(query(1), above=10).monitor == 1
        assert curator.open_monitor(positives=2, epsilon=1).number == 2


def test_two_who_ask_the_same_at_once_see_one_answer(study: Path, monkeypatch: Any) -> None:
    """Both find the unanswered receipt and both read; the first answer that is kept is shown to both."""
    both, release = threading.Barrier(2), NoisyQueries.release
    read: list[Any] = []

    def together(self: NoisyQueries, *arguments: Any) -> Any:
        read.append(release(self, *arguments))
        both.wait(30)
        return read[-1]

    def ask(_: int) -> adyton.Answer:
        with open_kept(study) as curator:
            return curator.ask(query(1), scale=1000)

    with open_kept(study) as curator:
        interrupted(monkeypatch, lambda: curator.ask(query(1), scale=1000))
        monkeypatch.setattr(NoisyQueries, "release", together)
        with ThreadPoolExecutor(2) as pool:
            one, two = pool.map(ask, range(2))
        assert len(read) == 2
        assert values(one) == values(two)
        assert one.receipt == two.receipt
        assert len(curator.receipts()) == 1


@pytest.mark.parametrize(("method", "tolerance"), [(Gaussian(), 0.1), (Split(), 0.2)])
def test_a_score_that_was_paid_for_is_scored_again(
    tmp_path: Path, monkeypatch: Any, method: Method, tolerance: float
) -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 3000)
    guesses, others = rng.integers(0, 2, (2, 3000))
    with adyton.Holdout.create(
        tmp_path / "h.toml", labels=labels, metric="accuracy", method=method, tolerance=tolerance
    ) as holdout:
        left = holdout.budget().to_json()
        with monkeypatch.context() as patch:
            patch.setattr(SqliteLedger, "remember", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(Interrupted) as caught:
                holdout.score(guesses)
        assert caught.value.receipt == 1
        assert holdout.budget().to_json() != left
        after = holdout.budget().to_json()
        score = holdout.score(guesses)
        assert score.number == 1
        assert holdout.budget().to_json() == after
        assert holdout.score(guesses).value == score.value
        assert holdout.score(others).number == 2


def interrupt_at_call(number: int, action: Callable[[], object]) -> tuple[BaseException | None, bool]:
    """Ctrl-C when the ``number``-th function of adyton begins or goes on: where Python looks for signals.

    What came out, and whether there were so many calls: in a destructor an interrupt may go unnoticed.
    """
    count = 0

    def noticed(frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal count
        if "adyton" not in frame.f_code.co_filename:
            return
        count += 1
        if count == number:
            sys.settrace(None)
            raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(noticed)
    try:
        action()
    except KeyboardInterrupt as stop:
        return stop, True
    finally:
        sys.settrace(before)
    return None, count >= number


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_moment_says_truly_whether_something_was_paid(study: Path) -> None:
    """Every 53rd call of an ask (17th, if there is time), from before the charge until after the answer.

    Mutant: ``paid_for`` that is not set by a charge.
    """
    call, paid, free, every = 1, 0, 0, often(53, 17)
    while True:
        asked = f"SELECT COUNT(*) FROM people WHERE age > {call}"
        with open_kept(study) as curator:
            before = len(curator.receipts())
            stop, came = interrupt_at_call(call, partial(curator.ask, asked, scale=1000))
            said = stop.receipt if isinstance(stop, Interrupted) else curator.paid_for
        with open_kept(study) as curator:
            charged = len(curator.receipts()) - before
            assert (said is not None) == bool(charged), f"call {call}"
            assert not charged or said == before + 1
            assert curator.ask(asked, scale=1000).receipt.number == len(curator.receipts()) == before + 1
        if not came:
            break
        paid, free = paid + charged, free + 1 - charged
        call += every
    assert paid > 5
    assert free > 5
