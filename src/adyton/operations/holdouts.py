"""What can be done with a holdout.  Holdouts are loaded when one is met."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adyton.curator.receipts import receipt_told
from adyton.operations.operation import Operation, OperationPlace
from adyton.operations.results import PublicFacts, ReceiptTable
from adyton.operations.roles import Action
from adyton.operations.tokens import RECEIPTS, TokenOperations
from adyton.operations.words import VOCABULARY, Word

if TYPE_CHECKING:
    from adyton.holdout import Holdout, Leaderboard


def _holdout() -> type[Holdout]:
    from adyton.holdout import Holdout

    return Holdout


def _leaderboard() -> type[Leaderboard]:
    from adyton.holdout import Leaderboard

    return Leaderboard


def describe(holdout: Holdout) -> PublicFacts:
    """The public facts: how many items, which metric, which method.  Free."""
    facts = holdout.facts
    return PublicFacts(
        {
            "name": holdout.path.stem,
            "items": facts.items,
            "metric": facts.metric.name,
            "method": facts.method,
            "greater_is_better": facts.metric.greater_is_better,
            "needs_guess": holdout.needs_guess,
            "is_priced": holdout.is_priced,
            "hypothesis_class": facts.hypothesis_class or None,
        }
    )


def receipts(holdout: Holdout) -> ReceiptTable:
    """What was charged, oldest first.  Free."""
    return ReceiptTable({"receipts": [receipt_told(one) for one in holdout.ledger.receipts()]})


_ENTRANT = Word("entrant", str, "the name of the token, if it is given at all", "ENTRANT", required=False)


class HoldoutOperations(TokenOperations):
    """With a holdout.  A new one is an entry here and a function of a holdout."""

    place = OperationPlace("holdout", "/v1/holdouts/{holdout}", "holdout")
    describe = Operation(
        lambda: describe,
        Action.LOOK,
        "Public facts: items, metric, method",
        get=True,
        path="",
        tool="describe",
        page=".",
    )
    score = Operation(
        lambda: _holdout().score,
        Action.SCORE,
        "Score predictions, one for each item",
        spends=True,
        page=".",
        without=("by",),
    )
    submit = Operation(
        lambda: _holdout().submit,
        Action.SCORE,
        "Score predictions for the leaderboard",
        spends=True,
        page=".",
        own={"entrant": _ENTRANT},
    )
    compare = Operation(
        lambda: _holdout().compare,
        Action.SCORE,
        "By how much one model is better, for the price of a score",
        spends=True,
        page=".",
    )
    best_of = Operation(
        lambda: _holdout().best_of,
        Action.SCORE,
        "Which of several models is the best, for the price of one score",
        spends=True,
        path="best",
        command="holdout best",
        tool="best_on_holdout",
        without=("X",),
    )
    close_with = Operation(
        lambda: _holdout().close_with,
        Action.CLOSE,
        "The last score, exact: afterwards nothing is scored",
        spends=True,
        final=True,
        path="close",
        command="holdout close",
        tool="close_holdout",
    )
    budget = Operation(
        lambda: _holdout().budget,
        Action.BUDGET,
        "How many scores are left",
        get=True,
        tool="budget",
        page=".",
    )
    standings = Operation(
        lambda: _leaderboard().standings,
        Action.STANDINGS,
        "Who is ahead, ties as ties",
        get=True,
        command="holdout leaderboard",
        tool="standings",
        page="board",
    )
    scores = Operation(
        lambda: _holdout().scores,
        Action.OWN_RECEIPTS,
        "The own scores; for owners and auditors all",
        get=True,
        tool="scores",
    )
    receipts = Operation(
        lambda: receipts,
        Action.OWN_RECEIPTS,
        RECEIPTS,
        get=True,
        tool="receipts",
        more=(VOCABULARY["after"],),
    )
    verify = Operation(lambda: _holdout().verify, Action.VERIFY, "Replay its ledger, here", tool="verify")
