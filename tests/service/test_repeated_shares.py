"""The same at the same share of what is left is the stored answer, free: whoever asks, and whatever was charged since."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adyton
from adyton.kernel.exact import rational
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.named_ledger import NamedLedger
from support.curators import open_kept
from support.servers import write_study

COUNT = "SELECT COUNT(*) AS n FROM people WHERE income > {}"
ASKED: dict[str, Callable[[adyton.Curator, str], Any]] = {
    "a count": lambda c, share: c.ask(COUNT.format(1), share=share),
    "groups": lambda c, share: c.ask(
        "SELECT region, COUNT(*), AVG(income) FROM people GROUP BY region", share=share
    ),
    "a quantile": lambda c, share: c.ask("SELECT MEDIAN(income) FROM people", share=share),
    "a batch": lambda c, share: c.ask_many([COUNT.format(n) for n in (1, 2)], share=share)[0],
    "counts together": lambda c, share: c.ask_many(
        [COUNT.format(n) for n in range(0, 90_000, 1000)], share=share
    )[0],
    "a selection": lambda c, share: c.ask(
        "SELECT region FROM people GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1", share=share
    ),
    "the best": lambda c, share: c.ask(adyton.best_of([COUNT.format(n) for n in (1, 9)]), share=share),
    "bounds": lambda c, share: c.suggest_bounds("income", share=share).answer,
    "a synthetic table": lambda c, share: c.synthesize(["region", "income"], share=share),
}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path)


@pytest.mark.parametrize("what", ASKED)
def test_a_share_again_is_free_after_other_charges_and_a_restart(what: str, study: Path) -> None:
    """Mutant: only what was left before the newest charge is tried."""
    ask = ASKED[what]
    with open_kept(study) as curator:
        first = ask(curator, "0.01")
        assert not first.repeated
        curator.ask(COUNT.format(5), share="0.3")
        other = ask(curator, "0.02")
        assert not other.repeated
        spent = curator.ledger.spent()
    with open_kept(study) as curator:
        for share, answer in (("0.02", other), ("0.01", first), ("1/100", first), ("1e-2", first)):
            again = ask(curator, share)
            assert (again.repeated, again.receipt) == (True, answer.receipt)
        assert curator.ledger.spent() == spent


def test_a_share_again_is_free_when_nothing_is_left(study: Path) -> None:
    """Mutant: the price is planned first, and there is no share of nothing."""
    with open_kept(study) as curator:
        first = curator.ask(COUNT.format(1), share="0.1")
        curator.ask(COUNT.format(2), share="1")
        assert curator.preview(COUNT.format(1), share="0.1").repeated
        assert curator.ask(COUNT.format(1), share="0.1").receipt == first.receipt


def named(curator: adyton.Curator, name: str, part: str | None, most: str | None = None) -> adyton.Curator:
    shares = (None if one is None else rational(one, "a share") for one in (part, most))
    who = Identity(name, Role.ANALYST, *shares)
    return curator.through(lambda ledger: NamedLedger(ledger, who, nothing, nothing), nothing)


def nothing() -> None:
    """Nobody waits."""


def test_the_same_share_of_another_account_is_the_same_words(study: Path) -> None:
    """As with a width: what anybody was answered is repeated for everybody.  Mutant: of the own account alone."""
    with open_kept(study) as curator:
        ana, ben = named(curator, "ana", "0.25"), named(curator, "ben", None)
        first = ana.ask(COUNT.format(1), share="0.1")
        ana.ask(COUNT.format(2), share="0.5")
        spent = curator.ledger.spent()
        for other in (ben, ana, curator, named(curator, "cy", "0.01"), named(curator, "dan", None, "0.5")):
            again = other.ask(COUNT.format(1), share="0.1")
            assert (again.repeated, again.receipt) == (True, first.receipt)
        assert curator.ledger.spent() == spent
        assert not ben.ask(COUNT.format(1), share="0.2").repeated
