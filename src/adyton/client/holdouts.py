"""A hidden test set on a server: predictions go there, scores come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adyton.client.address import path_of
from adyton.client.line import LeftOpen, Line, each
from adyton.client.wording import words_of
from adyton.errors import InvalidRequest
from adyton.exact import Number
from adyton.holdout.leaderboard import Entry, standings_sheet
from adyton.holdout.score import Comparison, HoldoutStatement, Score
from adyton.holdout.scorer import check_candidates, check_no_guess, points, predictions_for
from adyton.show import Sheet, Shown

_PREDICTIONS = "predictions are a list of numbers, of booleans or of strings, one for each item"
_AGAIN = "send the same again: if it was charged, the answer is kept, and free"
_BY_TOKEN = "the name under which a score is kept is that of the token: leave it out"


class RemoteHoldout(LeftOpen, Shown):
    """One holdout of a server.  Made by ``Connection.holdout``; ``facts`` are its public facts.

    The same predictions again get the same answer, free of charge: so a score that was lost on the way is
    sent again, and charged once.
    """

    def __init__(self, line: Line, name: str, facts: Mapping[str, Any], again: Callable[..., Any]) -> None:
        self.name, self.facts = name, dict(facts)
        self._line, self._again = line, again

    def score(self, predictions: object, *, guess: Number | None = None, by: str | None = None) -> Score:
        """The noisy value of the metric, and an interval for the population that holds for all scores.

        It is kept under the name of the token, so ``by`` is left out.
        """
        if by is not None:
            raise InvalidRequest(_BY_TOKEN)
        body = {"predictions": _listed(predictions), **words_of(guess=guess)}
        return self._line.post(self._path("score"), body, Score.from_json, _AGAIN)

    def compare(self, first: object, second: object) -> Comparison:
        """By how much the first predictions are better than the second, for the price of one score."""
        body = {"first": _listed(first), "second": _listed(second)}
        return self._line.post(self._path("compare"), body, Comparison.from_json, _AGAIN)

    def scorer(self, *, candidates: int | None = None) -> RemoteScorer:
        """For ``scoring=`` in scikit-learn: ``predict`` is called on the items, in their order.

        ``candidates`` is how many models will be tried: ScoresRefused now if fewer scores are left.
        """
        check_no_guess(self.facts["method"], needed=self.facts["needs_guess"])
        check_candidates(candidates, self.statement().scores_left)
        return RemoteScorer(self)

    def statement(self) -> HoldoutStatement:
        """How many scores are left, and how close to the population each of them is."""
        return self._line.get(self._path("statement"), HoldoutStatement.from_json)

    def sheet(self, verbose: bool = False) -> Sheet:
        """How far it is."""
        return self.statement().sheet(verbose=verbose)

    def __repr__(self) -> str:
        facts = self.facts
        return f"<Holdout {self.name!r} at {self._line.host}: {facts['items']:,} items, {facts['metric']}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process connects again, with a token that it finds itself."""
        return _holdout_again, (self._again, self._line.access.elsewhere(), self.name)

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


class RemoteLeaderboard(LeftOpen, Shown):
    """Who is ahead on a holdout of a server, ties as ties.  ``RemoteHoldout.score`` enters a score."""

    def __init__(self, holdout: RemoteHoldout) -> None:
        self._holdout = holdout

    def standings(self) -> list[Entry]:
        """Best first; of several submissions the best counts."""
        holdout = self._holdout
        return holdout._line.get(holdout._path("standings"), each(Entry.from_json))

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        return {"entries": [entry.to_json() for entry in self.standings()]}

    def sheet(self, verbose: bool = False) -> Sheet:
        """The standings as a table."""
        return standings_sheet(self.standings(), self._holdout.statement())

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
