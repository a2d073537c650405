"""A hidden test set on a server: predictions go there, scores come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adyton.client.chain import HoldoutChain
from adyton.client.line import HttpTransport, LeftOpen
from adyton.client.remote import Remote
from adyton.curator.receipts import receipt_told
from adyton.errors import InvalidRequest
from adyton.holdout.answers.best import ModelChoice, named_models
from adyton.holdout.classes.hypotheses import NOT_OVER_A_NETWORK
from adyton.holdout.leaderboard import LeaderboardEntry, standings_sheet
from adyton.holdout.score import Score
from adyton.holdout.scorer import check_candidates, check_no_guess, points, predictions_for
from adyton.holdout.senders import Sender
from adyton.kernel.exact import Number, whole
from adyton.kernel.ledger import Verification
from adyton.kernel.ledger.texts import check_head
from adyton.operations.holdouts import HoldoutOperations
from adyton.operations.operation import Operation
from adyton.operations.results import ReceiptTable
from adyton.operations.words import VOCABULARY
from adyton.show import Sheet, Shown

_PREDICTIONS = "predictions are a list of numbers, of booleans or of strings, one for each item"
_BY_TOKEN = "the name under which a score is kept is that of the token: leave it out"


class RemoteHoldout(HoldoutOperations, Remote, LeftOpen, Shown):
    """One holdout of a server.  Made by ``ServerConnection.holdout``; ``facts`` are its public facts.

    The same predictions again get the same answer, free of charge: so a score that was lost on the way is
    sent again, and charged once.
    """

    def __init__(
        self, line: HttpTransport, name: str, facts: Mapping[str, Any], again: Callable[..., Any]
    ) -> None:
        super().__init__(line, name)
        self.name, self.facts, self._again = name, dict(facts), again

    def leaderboard(self) -> RemoteLeaderboard:
        """Who is ahead, and who only seems to be."""
        return RemoteLeaderboard(self)

    def best_of(self, models: object, *, X: Any = None, scores: int = 1) -> ModelChoice:  # noqa: N803
        """Which of several models is the best on these items, or nearly: for the price of ``scores`` scores.

        ``models`` are predictions by name, or, with the features ``X`` of the items, models that predict.
        """
        cost = whole(scores, "what a choice may cost, in scores,")
        named = named_models(models, self.facts["metric"], X)
        chosen: ModelChoice = self._performed(HoldoutOperations.best_of, {"models": named, "scores": cost})
        return chosen

    def receipts(self) -> ReceiptTable:
        """What was charged and may be seen, oldest first."""
        return ReceiptTable({"receipts": [receipt_told(one) for one in self._chain().receipts]})

    def verify(self, head: str | None = None) -> Verification:
        """Replay the ledger here, from the open part of every link.

        A method that one receipt has paid for chains its answers as they are: owners and auditors replay it.
        """
        check_head(head)
        seen = dict(self._seen)
        return self._chain().verify(head, seen, staged=not self.facts.get("is_priced", True))

    def scorer(self, *, candidates: int | None = None) -> RemoteScorer:
        """For ``scoring=`` in scikit-learn: ``predict`` is called on the items, in their order.

        ``candidates`` is how many models will be tried: ScoresRefused now if fewer scores are left.
        """
        check_no_guess(self.facts["method"], needed=self.facts["needs_guess"])
        check_candidates(candidates, self.budget().scores_left)
        return RemoteScorer(self)

    def sheet(self, verbose: bool = False) -> Sheet:
        """How far it is."""
        return self.budget().sheet(verbose=verbose)

    def __repr__(self) -> str:
        facts = self.facts
        return f"<Holdout {self.name!r} at {self._line.host}: {facts['items']:,} items, {facts['metric']}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process connects again, with a token that it finds itself."""
        return _holdout_again, (self._again, self._line.access.elsewhere(), self.name)

    def _performed(self, operation: Operation[Any, Any], words: dict[str, Any]) -> Any:
        if "by" in words:
            raise InvalidRequest(_BY_TOKEN)
        if operation is HoldoutOperations.submit:
            Sender.checked(words.get("entrant"), words.get("name"))
        return super()._performed(operation, words)

    def _sent(self, name: str, value: Any) -> Any:
        word = VOCABULARY.get(name)
        if word is None or not word.items:
            return value
        if self.facts.get("hypothesis_class"):
            raise InvalidRequest(NOT_OVER_A_NETWORK)
        return {model: _listed(one) for model, one in value.items()} if name == "models" else _listed(value)

    def _chain(self) -> HoldoutChain:
        return HoldoutChain.of(self._line, self._path(HoldoutOperations.receipts))


class RemoteScorer:
    """A scorer as scikit-learn calls it: more is better, of a loss the negative is returned.

    Worker processes connect for themselves: the token must be in ADYTON_TOKEN or in a file, not an argument.
    """

    def __init__(self, holdout: RemoteHoldout) -> None:
        self._holdout = holdout

    def __call__(self, estimator: Any, X: Any, y: object = None) -> float:  # noqa: N803
        facts = self._holdout.facts
        score = self._holdout.score(predictions_for(facts["metric"], facts["items"], estimator, X))
        return points(score, greater_is_better=facts["greater_is_better"])

    def __repr__(self) -> str:
        return f"<Scorer of {self._holdout!r}>"


class RemoteLeaderboard(LeftOpen, Shown):
    """Who is ahead on a holdout of a server, ties as ties."""

    def __init__(self, holdout: RemoteHoldout) -> None:
        self._holdout = holdout

    def submit(
        self, entrant: str, predictions: object, *, guess: Number | None = None, name: str | None = None
    ) -> Score:
        """Score and enter, as the model ``name`` of ``entrant``, which is the name of the token."""
        return self._holdout.submit(entrant, predictions, guess=guess, name=name)

    def standings(self) -> list[LeaderboardEntry]:
        """Best first; of several submissions of one model the best counts."""
        return self._holdout.standings()

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        return {"entries": [entry.to_json() for entry in self.standings()]}

    def sheet(self, verbose: bool = False) -> Sheet:
        """The standings as a table."""
        return standings_sheet(self.standings(), self._holdout.budget())

    def __repr__(self) -> str:
        return f"<Leaderboard of {self._holdout!r}>"


def _holdout_again(connected: Callable[..., Any], token_file: str | None, name: str) -> RemoteHoldout:
    holdout: RemoteHoldout = connected(token_file=token_file).holdout(name)
    return holdout


def _listed(predictions: object) -> list[Any]:
    """A list of numbers, booleans or texts, or of lists of them, as JSON has it."""
    if isinstance(predictions, str | bytes | Mapping):
        raise InvalidRequest(_PREDICTIONS)
    listed = np.asarray(predictions).tolist()
    if not isinstance(listed, list):
        raise InvalidRequest(_PREDICTIONS)
    return listed
