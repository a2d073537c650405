"""A share is of what was left to whoever asked, in every kind of study: what is worked out afterwards from a
receipt is what was found before its charge, and no retry is held up by what others did since.
"""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_retries_by_id import CHARGES

import adyton
from adyton.errors import BudgetRefused, PrivacyRefused, RequestIdUsed
from adyton.kernel.ledger import MemoryLedger, Order
from adyton.kernel.noisy import NoisyQueries
from adyton.kernel.schema import BooleanColumn, CategoryColumn, IntegerColumn
from adyton.operations.roles import Role
from adyton.planning.price import price_of
from adyton.service.agents.sessions import AgentSessions, Caps, Turns
from adyton.service.identity import Identity
from adyton.service.named_ledger import NamedLedger
from adyton.study import Validity
from support.curators import open_kept
from support.tries import often
from support.worlds import query, shared_budget_of, write_study

ROWS = 240
PEOPLE = pd.DataFrame(
    {
        "age": [row % 100 for row in range(ROWS)],
        "smoker": [row % 3 == 0 for row in range(ROWS)],
        "region": [("north", "south", "east")[row % 3] for row in range(ROWS)],
    }
)
COLUMNS = (
    IntegerColumn("age", 0, 100), BooleanColumn("smoker"), CategoryColumn("region", ("north", "south", "east"))
)  # fmt: skip
COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > {}"
NAMES: list[tuple[str, str | None, str | None]] = [
    ("ana", "0.3", "0.1"), ("bob", None, None), ("eve", "0.05", None), ("max", None, "0.01")
]  # fmt: skip
KINDS: dict[str, Any] = {
    "plain": {},
    "zcdp": {"accounting": "zcdp"},
    "pure": {"accounting": "pure", "delta": 0},
    "reserve": {"validity": Validity("0.95", reserve="0.25")},
    "split": {"validity": Validity("0.95", queries=40, method="split")},
}


PRICE = price_of(epsilon=1)


def nothing() -> None:
    """Whoever waits for a tick would wait here."""


def people(name: str = "people", **more: Any) -> adyton.Curator:
    budget = adyton.Guarantee(more.pop("epsilon", 5), more.pop("delta", Fraction(1, 10**9)))
    study = adyton.Study(
        adyton.Table(name, COLUMNS, rows=ROWS), adyton.PrivacyUnit("replace-one"), budget, **more
    )
    return open_kept(study, data=PEOPLE)


def named(curator: adyton.Curator, name: str, limit: Any, price: Any, turns: Turns | None = None) -> Any:
    shares = (None if share is None else Fraction(share) for share in (limit, price))
    who = Identity(name, Role.ANALYST, *shares)
    return curator.through(lambda ledger: NamedLedger(ledger, who, nothing, nothing, turns), nothing)


# What was left, worked out afterwards ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "shared"), [*((kind, False) for kind in KINDS), ("plain", True), ("reserve", True)]
)
def test_what_was_left_is_told_from_the_receipt(kind: str, shared: bool, tmp_path: Path) -> None:
    """Names with parts and largest prices, sessions, a second study of the same shared budget, answers and none.

    Mutants: ``left_before`` forgets the budget share; the largest price; the shared budget; the unit of a reserve; adds the
    amount after the largest price was taken; takes the budget share of now.
    """
    shared_budget = (
        shared_budget_of(tmp_path / "all.shared_budget", epsilon=3, rows="unrelated") if shared else None
    )
    drawn = random.Random(f"{kind}{shared}")
    with ExitStack() as stack:
        asker = stack.enter_context(people(shared_budget=shared_budget, **KINDS[kind]))
        other = stack.enter_context(people("others", shared_budget=shared_budget)) if shared else None
        sessions = stack.enter_context(closing(AgentSessions(tmp_path / "people.toml")))
        turns = Turns(sessions, "bob", Caps(Fraction(1, 4)), lambda: asker.ledger.spent_by("bob"))
        askers = [asker, *(named(asker, *one) for one in NAMES), named(asker, "bob", None, None, turns)]
        known: list[tuple[Any, str, int]] = []
        for step in range(often(60, 600)):
            who, request = drawn.choice(askers), f"request {step}"
            left = who.left_for(request, PRICE)
            amount = int(left * Fraction(drawn.randint(1, 300), 1000))
            if left and amount:
                order = Order(f"query {step}", "", amount, 0, request)
                receipt = who.ledger.charge(order).receipt
                known.append((who, request, left))
                if drawn.random() < 0.5:
                    who.ledger.remember(receipt.number, "said")
            if other is not None and drawn.random() < 0.3:
                other.ask(COUNT.format(step % 90).replace("people", "others"), share="0.02")
            for earlier, own, then in drawn.sample(known, min(5, len(known))):
                assert earlier.left_for(own, PRICE) == then
        assert len(known) > 20
        assert len({then for _, _, then in known}) > 10


# Retries ---------------------------------------------------------------------------------------------------


def values(answer: adyton.Answer) -> list[Any]:
    """With all intervals: those of the population stand where the receipt does."""
    return list(answer.rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_retry_gets_the_same_answer_whatever_happened_since(kind: str, tmp_path: Path) -> None:
    """Several names use the same ids; a model remembers what each was answered.

    Mutants: ids of all names are one; a retry is planned by what is left now; ``as_charged`` changes nothing.
    """
    drawn = random.Random(kind)
    with people(**KINDS[kind]) as asker:
        askers = [asker, *(named(asker, *one) for one in NAMES)]
        told: dict[tuple[int, str], tuple[int, str, Any, Any]] = {}
        for _ in range(often(36, 400)):
            place, request = drawn.randrange(len(askers)), f"id {drawn.randrange(4)}"
            text, share = COUNT.format(drawn.randrange(90)), drawn.choice(["0.01", "0.05", "0.1"])
            count = asker.ledger.count()
            if (place, request) in told:
                number, text, share, rows = told[place, request]
                again = askers[place].ask(text, share=share, request=request)
                assert (again.receipt.number, values(again)) == (number, rows)
                assert again.repeated
                with pytest.raises(RequestIdUsed):
                    askers[place].ask(text + " AND smoker", share=share, request=request)
                if kind != "split":
                    with pytest.raises(RequestIdUsed):
                        askers[place].ask(text, share="0.2", request=request)
                assert asker.ledger.count() == count
                continue
            try:
                answer = askers[place].ask(text, share=share, request=request)
            except PrivacyRefused:  # a share of the study, for a name that has a share of it
                assert kind == "split"
                assert place > 0
                assert asker.ledger.count() == count
                continue
            if not answer.repeated:
                told[place, request] = (answer.receipt.number, text, share, values(answer))
                assert asker.ledger.count() == count + 1
        assert len(told) > 8


def test_a_retry_needs_nothing_that_is_left() -> None:
    """Mutant: a share of nothing is refused first."""
    text = "SELECT region, COUNT(*) AS n FROM people WHERE region <> 'south' GROUP BY region"
    with people() as asker:
        first = asker.ask(text, share="0.1", request="mine")
        asker.ask(COUNT.format(3), share=1)
        while left := asker.left_for(None, PRICE):
            asker.ledger.charge(Order("the rest", "", left, 0))
        again = asker.ask(text, share="0.1", request="mine")
        assert (again.receipt, values(again)) == (first.receipt, values(first))


@pytest.mark.parametrize("share", ["0.1", "0.3"])
def test_many_at_once_under_one_id_get_one_answer(share: str, tmp_path: Path) -> None:
    """Two curators of one file, as two processes have them, while others are charged.

    Whoever was overtaken may be told that the id was used; whoever then asks again gets the one answer.
    """
    path = write_study(tmp_path)
    barrier = threading.Barrier(8)
    with open_kept(path) as one, open_kept(path) as two:
        one.ask(query(1), share="0.01")

        def asks(number: int) -> Any:
            who = (one, two)[number % 2]
            barrier.wait(60)
            if number > 5:
                return who.ask(query(10 + number), share="0.05")
            for _ in range(20):
                try:
                    return who.ask(query(5), share=share, request="mine")
                except RequestIdUsed:
                    continue
            raise AssertionError("the id was never known")

        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(asks, range(8)))
        assert len({answer.receipt.number for answer in told[:6]}) == 1
        assert all(values(answer) == values(told[0]) for answer in told[:6])
        assert one.ledger.count() == 4


def test_others_overtake_between_plan_and_charge(monkeypatch: Any) -> None:
    """What was left when it was planned is not what was left when it was charged, of all or of a name's part.

    Mutants: the receipt alone says what was left; what the name has spent is not followed back.
    """
    with people() as asker:
        mine, other = named(asker, *NAMES[2]), named(asker, *NAMES[1])
        for place, late in enumerate((mine, other, asker)):
            charge = type(late.ledger).charge

            def overtaken(ledger: Any, order: Order, first: Any = None, charge: Any = charge) -> Any:
                if order.request == "late":
                    monkeypatch.undo()
                    for age in range(3):
                        for one in (other, mine):
                            one.ask(COUNT.format(age + ledger.count()), share="0.02")
                return charge(ledger, order, first)

            monkeypatch.setattr(type(late.ledger), "charge", overtaken)
            text = COUNT.format(50 + place)
            first = late.ask(text, share="0.1", request="late")
            asker.ask(COUNT.format(80 + place), share="0.1")
            again = late.ask(text, share="0.1", request="late")
            assert (again.receipt, values(again)) == (first.receipt, values(first))
            with pytest.raises(RequestIdUsed):
                late.ask(text, share="0.11", request="late")


@pytest.mark.parametrize("what", CHARGES)
def test_whatever_was_overtaken_is_found_again(what: str, monkeypatch: Any) -> None:
    with people() as asker:
        charge = MemoryLedger.charge

        def overtaken(ledger: Any, order: Order, first: Any = None) -> Any:
            if order.request == "late":
                monkeypatch.undo()
                asker.ask(COUNT.format(3), share="0.01")
            return charge(ledger, order, first)

        monkeypatch.setattr(MemoryLedger, "charge", overtaken)
        first = CHARGES[what](asker, "late")
        asker.ask(COUNT.format(4), share="0.1")
        assert asker.ledger.count() == 3
        assert CHARGES[what](asker, "late").receipt == first.receipt
        assert asker.ledger.count() == 3


@pytest.mark.parametrize("kind", ["plain", "split"])
def test_two_ids_that_raced_keep_an_answer_each(kind: str) -> None:
    """Two receipts for the same at the same price.  Mutant: the newest answer is given, whatever the id."""
    with people(**KINDS[kind]) as asker:
        first = asker.ask(COUNT.format(1), epsilon=1, request="one")
        receipt = asker.ledger.receipt(first.receipt.number)
        assert receipt is not None
        asker.ledger.charge(replace(receipt.order, request="two"))
        second = asker.ask(COUNT.format(1), epsilon=1, request="two")
        assert (first.receipt.number, second.receipt.number) == (1, 2)
        for request, answer in (("one", first), ("two", second)) * 2:
            again = asker.ask(COUNT.format(1), epsilon=1, request=request)
            assert (again.receipt, values(again)) == (answer.receipt, values(answer))
        assert asker.ledger.count() == 2


def test_a_largest_price_that_was_lowered_since_refuses_no_retry() -> None:
    """Mutant: it is looked at before the id."""
    with people() as asker:
        first = named(asker, "ana", None, "0.5").ask(COUNT.format(1), epsilon=1, request="mine")
        lower = named(asker, "ana", None, "0.0001")
        assert lower.ask(COUNT.format(1), epsilon=1, request="mine").receipt == first.receipt
        with pytest.raises(BudgetRefused):
            lower.ask(COUNT.format(2), epsilon=1, request="other")
        share = named(asker, "ana", None, None).ask(COUNT.format(3), share="0.1", request="share")
        assert lower.ask(COUNT.format(3), share="0.1", request="share").receipt == share.receipt


def test_a_batch_is_measured_as_it_was_charged() -> None:
    """Mutant: what somebody else paid for alone is taken for what this id paid for."""
    texts = [f"SELECT COUNT(*) FROM people WHERE age < {age}" for age in range(10, 100, 10)]
    with people() as asker:
        first = asker.ask_many(texts, epsilon=1, request="mine")
        alone = asker.ask_many(texts, epsilon=1, strategy="independent")
        assert alone[0].receipt != first[0].receipt
        again = asker.ask_many(texts, epsilon=1, request="mine")
        assert [values(one) for one in again] == [values(one) for one in first]
        assert again[0].receipt == first[0].receipt


def test_what_another_name_left_unanswered_says_nothing_of_ones_own_share(monkeypatch: Any) -> None:
    """Mutant: the newest receipt without an answer is taken, whoever it is of."""
    with people() as asker:
        eve, bob = named(asker, *NAMES[2]), named(asker, *NAMES[1])

        def fails(*_: Any) -> None:
            raise KeyboardInterrupt

        for text, stopped, goes_on in ((COUNT.format(1), eve, bob), (COUNT.format(2), eve, eve)):
            with monkeypatch.context() as patch:
                patch.setattr(NoisyQueries, "release", fails)
                with pytest.raises(KeyboardInterrupt):
                    stopped.ask(text, share="0.1")
            count, left = asker.ledger.count(), goes_on.left_for(None, PRICE)
            answer = goes_on.ask(text, share="0.1")
            if stopped is goes_on:
                assert asker.ledger.count() == count
            else:
                assert asker.ledger.count() == count + 1
                assert left * Fraction("0.099") < answer.cost.units <= left * Fraction("0.1")
