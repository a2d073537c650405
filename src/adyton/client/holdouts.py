"""A hidden test set on a server: predictions go there, scores come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from adyton.client.address import path_of
from adyton.client.chain import HoldoutChain
from adyton.client.line import HttpTransport, LeftOpen, each
from adyton.client.wording import words_of
from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.holdout.answers.best import ModelChoice, named_models
from adyton.holdout.classes.hypotheses import NOT_OVER_A_NETWORK
from adyton.holdout.leaderboard import LeaderboardEntry, standings_sheet
from adyton.holdout.score import Comparison, HoldoutBudget, Score
from adyton.holdout.scorer import check_candidates, check_no_guess, points, predictions_for
from adyton.holdout.senders import Sender
from adyton.kernel.exact import Number, whole
from adyton.kernel.ledger import Verification
from adyton.kernel.ledger.texts import check_head
from adyton.show import Sheet, Shown

_PREDICTIONS = "predictions are a list of numbers, of booleans or of strings, one for each item"
_AGAIN = "send the same again: if it was charged, the answer is kept, and free"
_Paid = TypeVar("_Paid", Score, Comparison, ModelChoice)
_BY_TOKEN = "the name under which a score is kept is that of the token: leave it out"


class RemoteHoldout(LeftOpen, Shown):
    """One holdout of a server.  Made by ``ServerConnection.holdout``; ``facts`` are its public facts.

    The same predictions again get the same answer, free of charge: so a score that was lost on the way is
    sent again, and charged once.
    """

    def __init__(
        self, line: HttpTransport, name: str, facts: Mapping[str, Any], again: Callable[..., Any]
    ) -> None:
        self.name, self.facts = name, dict(facts)
        self._line, self._again = line, again
        self._seen: dict[int, str] = {}  # receipts that came with answers, which the chain must have

    def score(self, predictions: object, *, guess: Number | None = None, by: str | None = None) -> Score:
        """The noisy value of the metric, and an interval for the population that holds for all scores.

        It is kept under the name of the token, so ``by`` is left out.
        """
        if by is not None:
            raise InvalidRequest(_BY_TOKEN)
        body = {"predictions": self._listed(predictions), **words_of(guess=guess)}
        return self._paid("score", body, Score.from_json)

    def submit(
        self, entrant: str, predictions: object, *, guess: Number | None = None, name: str | None = None
    ) -> Score:
        """Score and enter on the leaderboard, as one model of ``entrant``, called ``name``.

        ``entrant`` is the name of the token: nobody submits under another one.
        """
        sender = Sender.checked(entrant, name)
        words = words_of(guess=guess, entrant=sender.entrant, name=sender.model)
        return self._paid("submit", {"predictions": self._listed(predictions), **words}, Score.from_json)

    def leaderboard(self) -> RemoteLeaderboard:
        """Who is ahead, and who only seems to be."""
        return RemoteLeaderboard(self)

    def compare(self, first: object, second: object) -> Comparison:
        """By how much the first predictions are better than the second, for the price of one score."""
        body = {"first": self._listed(first), "second": self._listed(second)}
        return self._paid("compare", body, Comparison.from_json)

    def best_of(self, models: object, *, X: Any = None, scores: int = 1) -> ModelChoice:  # noqa: N803
        """Which of several models is the best on these items, or nearly: for the price of ``scores`` scores.

        ``models`` are predictions by name, or, with the features ``X`` of the items, models that predict.
        """
        cost = whole(scores, "what a choice may cost, in scores,")
        named = named_models(models, self.facts["metric"], X)
        body = {"models": {name: self._listed(one) for name, one in named.items()}, "scores": cost}
        return self._paid("best", body, ModelChoice.from_json)

    def close_with(self, predictions: object) -> Score:
        """The last score, without noise: afterwards nothing is scored.  For owners alone."""
        return self._paid("close", {"predictions": self._listed(predictions)}, Score.from_json)

    def scores(self) -> list[Score]:
        """Every own score so far, oldest first, also one that was lost on the way; for owners everybody's."""
        return self._line.get(self._path("scores"), each(Score.from_json))

    def verify(self, head: str | None = None) -> Verification:
        """Replay the ledger here, from the open part of every link.

        A method that one receipt has paid for chains its answers as they are: owners and auditors replay it.
        """
        check_head(head)
        seen = dict(self._seen)
        chain = HoldoutChain.of(self._line, self._path("receipts"))
        return chain.verify(head, seen, staged=not self.facts.get("is_priced", True))

    def scorer(self, *, candidates: int | None = None) -> RemoteScorer:
        """For ``scoring=`` in scikit-learn: ``predict`` is called on the items, in their order.

        ``candidates`` is how many models will be tried: ScoresRefused now if fewer scores are left.
        """
        check_no_guess(self.facts["method"], needed=self.facts["needs_guess"])
        check_candidates(candidates, self.budget().scores_left)
        return RemoteScorer(self)

    def budget(self) -> HoldoutBudget:
        """How many scores are left, and how close to the population each of them is."""
        return self._line.get(self._path("budget"), HoldoutBudget.from_json)

    def sheet(self, verbose: bool = False) -> Sheet:
        """How far it is."""
        return self.budget().sheet(verbose=verbose)

    def __repr__(self) -> str:
        facts = self.facts
        return f"<Holdout {self.name!r} at {self._line.host}: {facts['items']:,} items, {facts['metric']}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process connects again, with a token that it finds itself."""
        return _holdout_again, (self._again, self._line.access.elsewhere(), self.name)

    def _paid(self, what: str, body: dict[str, Any], read: Callable[[Any], _Paid]) -> _Paid:
        """Its receipt must be in the chain from now on."""
        made = self._line.post(self._path(what), body, read, _AGAIN)
        self._seen[made.receipt.number] = made.receipt.digest
        return made

    def _listed(self, predictions: object) -> list[Any]:
        if self.facts.get("hypothesis_class"):
            raise InvalidRequest(NOT_OVER_A_NETWORK)
        return _listed(predictions)

    def _path(self, *rest: str) -> str:
        return path_of("holdouts", self.name, *rest)


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


class RemoteLeaderboard(LeftOpen, Shown, Document):
    """Who is ahead on a holdout of a server, ties as ties."""

    json_keys = "entries=_entries"

    def __init__(self, holdout: RemoteHoldout) -> None:
        self._holdout = holdout

    def submit(
        self, entrant: str, predictions: object, *, guess: Number | None = None, name: str | None = None
    ) -> Score:
        """Score and enter, as the model ``name`` of ``entrant``, which is the name of the token."""
        return self._holdout.submit(entrant, predictions, guess=guess, name=name)

    def standings(self) -> list[LeaderboardEntry]:
        """Best first; of several submissions of one model the best counts."""
        holdout = self._holdout
        return holdout._line.get(holdout._path("standings"), each(LeaderboardEntry.from_json))

    @property
    def _entries(self) -> tuple[LeaderboardEntry, ...]:
        return tuple(self.standings())

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
