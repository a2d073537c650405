"""A holdout that is served: predictions come in, scores with intervals go out.

No label goes out, and no exact score but the last.  One of a hypothesis class is not scored here: its scores
may be exact and without end, and whoever holds a token could read the labels from them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from adyton.errors import Forbidden, InvalidRequest
from adyton.holdout import Holdout, Leaderboard, LeaderboardEntry, Score
from adyton.holdout.classes.hypotheses import NOT_OVER_A_NETWORK
from adyton.holdout.files import texts_array
from adyton.kernel.exact import decimal_text
from adyton.operations.holdouts import HoldoutOperations, describe
from adyton.operations.operation import Operation
from adyton.operations.results import JsonResult, ReceiptTable
from adyton.operations.roles import Action, may
from adyton.operations.tokens import TokenOperations
from adyton.service.agents.sessions import AgentSessions
from adyton.service.chain import PAGE, check_after, links_told, numbered, page_of
from adyton.service.identity import Identity
from adyton.service.studies import on_account, reads
from adyton.service.tokens import Tokens


class ServedHoldout:
    """One holdout file."""

    def __init__(self, path: Path, hours: Fraction) -> None:
        self.path, self.name = path, path.stem
        self.tokens = Tokens(self.path)
        self.sessions = AgentSessions(self.path, hours)
        self._holdout = Holdout.open(self.path)
        self._lock = threading.Lock()

    def load(self) -> None:
        self._holdout.verify()

    def close(self) -> None:
        self._holdout.close()
        self.tokens.close()
        self.sessions.close()

    @property
    def items(self) -> int:
        return self._holdout.facts.items

    def facts(self) -> dict[str, Any]:
        told: dict[str, Any] = describe(self._holdout).to_json()
        return told

    def perform(self, operation: Operation[Any, Any], who: Identity, words: Mapping[str, Any]) -> Any:
        """What one name gets of an operation, on its account."""
        own = _AT_A_SERVER.get(operation)
        if own is not None:
            return own(self, who, **words)
        if operation.place is TokenOperations.place:
            return operation.apply(self.tokens, words)
        if not operation.sends_items:
            with self._lock:
                return operation.apply(self._holdout, words)
        sender = {"by": who.name} if "by" in operation.without else {}
        sent = {word.name: _items(words[word.name]) for word in operation.words if word.items}
        with self._used_by(who) as holdout:
            return operation.apply(holdout, {**words, **sent, **sender})

    def submit(
        self, who: Identity, predictions: Sequence[Any], entrant: str | None = None, **words: Any
    ) -> Any:
        """As a model of whoever sends it: nobody enters under another name."""
        if entrant is not None and entrant != who.name:
            raise Forbidden(
                f"this token is that of {who.name}, and submits under that name alone; nothing was charged"
            )
        with self._used_by(who) as holdout:
            return holdout.submit(who.name, _items(predictions), **words)

    def budget(self) -> dict[str, Any]:
        with self._lock:
            return self._holdout.budget().to_json()

    def scores(self, who: Identity) -> list[Score]:
        """The own ones; all of them for those who may see all receipts."""
        with self._lock:
            found = self._holdout.scores()
            if not may(who.role, Action.ALL_RECEIPTS):
                found = [score for score in found if self._sent_by(score.number) == who.name]
        return found

    def standings(self) -> list[LeaderboardEntry]:
        with self._lock, Leaderboard(self.path) as board:
            return board.standings()

    def receipts(self, who: Identity, after: int = 0) -> dict[str, Any]:
        """One page of the chain.  What the header is the digest of stays here: it would tell the right labels
        from wrong ones.
        """
        ledger = self._holdout.ledger
        header = ledger.header.open
        told: dict[str, Any] = {
            "accounting": header.accounting,
            "header": {"budget": decimal_text(header.budget), "digest": header.digest},
        }
        if self._holdout.is_priced:
            page, following = page_of(ledger, after)
            return {**told, **links_told(who, page), "answers": [], "next": following}
        if not may(who.role, Action.ALL_RECEIPTS):
            raise Forbidden(
                f"the method {self._holdout.facts.method!r} has one receipt, and chains all its answers as "
                "they are: only owners and auditors may replay them; nothing was charged"
            )
        check_after(after)
        with self._lock:
            answers = self._holdout.answers()
        page, last = numbered(ledger, [1] if after == 0 else []), after + PAGE
        following = last if last < len(answers) else None
        return {**told, **links_told(who, page), "answers": answers[after:last], "next": following}

    def verify(self, head: str | None = None) -> dict[str, Any]:
        with self._lock:
            found = self._holdout.verify(head)
        return {"ok": True, "receipts": found.receipts, "head": found.head}

    def _sent_by(self, number: int) -> str | None:
        if not self._holdout.is_priced:
            sender = self._holdout.senders().get(number)
            return None if sender is None else sender.entrant
        receipt = self._holdout.ledger.receipt(number)
        return None if receipt is None else receipt.order.by

    @contextmanager
    def _used_by(self, who: Identity) -> Iterator[Holdout]:
        """The holdout for something that reads the labels, on the account of a name."""
        if self._holdout.facts.hypothesis_class:
            raise InvalidRequest(NOT_OVER_A_NETWORK)
        reads()
        with self._lock:
            yield self._for(who)

    def _for(self, who: Identity) -> Holdout:
        """On the account of a name.  Where all scores are paid for at once nobody can have a part of them."""
        whole = who.budget_share is None and who.price_share is None and who.session is None
        if not self._holdout.is_priced and whole:
            return self._holdout
        return self._holdout.through(lambda ledger: on_account(ledger, who, self.sessions))


# What a server does otherwise than a holdout.
_AT_A_SERVER: dict[Operation[Any, Any], Callable[..., Any]] = {
    HoldoutOperations.submit: ServedHoldout.submit,
    HoldoutOperations.scores: ServedHoldout.scores,
    HoldoutOperations.standings: lambda holdout, who: holdout.standings(),
    HoldoutOperations.receipts: lambda holdout, who, after=0: ReceiptTable(holdout.receipts(who, after)),
    HoldoutOperations.verify: lambda holdout, who, head=None: JsonResult(holdout.verify(head)),
}


def _items(predictions: Any) -> Any:
    """Of one model, or of several by their names."""
    if isinstance(predictions, Mapping):
        return {name: _array(one) for name, one in predictions.items()}
    return _array(predictions)


def _array(predictions: Sequence[Any]) -> Any:
    """A list of numbers, booleans or strings, of one kind; or a list of such lists."""
    kinds = {type(one) for one in predictions}
    if kinds == {str}:
        return texts_array(predictions)
    if kinds <= {int, float} or kinds in ({bool}, {list}):
        try:
            return np.array(predictions)
        except (ValueError, OverflowError):
            pass
    raise InvalidRequest("predictions are a list of numbers, of booleans or of strings, one for each item")
