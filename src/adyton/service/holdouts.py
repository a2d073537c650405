"""A holdout that is served: predictions come in, scores with intervals go out, labels never."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.holdout import Holdout, Leaderboard
from adyton.holdout.files import texts_array
from adyton.service.agents.sessions import Sessions
from adyton.service.identity import Identity
from adyton.service.studies import on_account, reads
from adyton.service.tokens import Tokens


class ServedHoldout:
    """One holdout file."""

    def __init__(self, path: Path, hours: Fraction) -> None:
        self.path, self.name = path, path.stem
        self.tokens = Tokens(self.path)
        self.sessions = Sessions(self.path, hours)
        self._holdout = Holdout.open(self.path)
        self._lock = threading.Lock()

    def load(self) -> None:
        self._holdout.verify()

    def close(self) -> None:
        self._holdout.close()
        self.tokens.close()
        self.sessions.close()

    def facts(self) -> dict[str, Any]:
        facts = self._holdout.facts
        told = {"name": self.name, "items": facts.items, "metric": facts.metric.name, "method": facts.method}
        better = facts.metric.greater_is_better
        return {**told, "greater_is_better": better, "needs_guess": self._holdout.needs_guess}

    def score(self, who: Identity, predictions: Sequence[Any], guess: Any) -> dict[str, Any]:
        reads()
        with self._lock:
            return self._for(who).score(_array(predictions), guess=guess, by=who.name).to_json()

    def compare(self, who: Identity, first: Sequence[Any], second: Sequence[Any]) -> dict[str, Any]:
        reads()
        with self._lock:
            return self._for(who).compare(_array(first), _array(second)).to_json()

    def statement(self) -> dict[str, Any]:
        with self._lock:
            return self._holdout.statement().to_json()

    def standings(self) -> list[dict[str, Any]]:
        with self._lock, Leaderboard(self.path) as board:
            return [entry.to_json() for entry in board.standings()]

    def verify(self, head: str | None) -> dict[str, Any]:
        with self._lock:
            found = self._holdout.verify(head)
        return {"ok": True, "receipts": found.receipts, "head": found.head}

    def _for(self, who: Identity) -> Holdout:
        """On the account of a name.  Where all scores are paid for at once nobody can have a part of them."""
        whole = who.limit_share is None and who.price_share is None and who.session is None
        if not self._holdout.is_priced and whole:
            return self._holdout
        return self._holdout.through(lambda ledger: on_account(ledger, who, self.sessions))


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
