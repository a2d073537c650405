"""A leaderboard on a holdout: who is ahead, and who only seems to be."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adyton.certify import Interval
from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.holdout.holdout import Holdout
from adyton.holdout.score import HoldoutBudget, Score, half_of, text_of
from adyton.holdout.scorer import points
from adyton.holdout.senders import Sender
from adyton.kernel.exact import Number
from adyton.show import Sheet, Shown, number


@dataclass(frozen=True, slots=True)
class LeaderboardEntry(Document):
    """The best score of one model of an entrant; ``rank`` is one more than how many are better beyond doubt.

    ``model`` is the name that the entrant gave it; what was sent without a name is one model.  ``tied`` if
    there is an entry of which the intervals do not say whether it is better; on a ladder without a parameter
    there are no intervals, so it is said of every entry.
    """

    rank: int
    tied: bool
    entrant: str
    value: float
    interval: Interval | None
    submissions: int
    model: str | None = None

    json_keys = "rank tied entrant model value interval submissions"


class Leaderboard(Shown, Document):
    """Entrants, their models and scores.  Names are kept in the ledger with the scores.

    All intervals are simultaneous, so a model whose interval lies above another's is better on the
    population; models that are not separated like this are tied.  On a ladder only those are listed that once
    were the best, each with the number that was shown then.

    >>> adyton.Holdout.create(folder / "h.toml", labels=labels, tolerance="0.1").close()
    >>> with adyton.Leaderboard(folder / "h.toml") as board:
    ...     score = board.submit("ann", labels)
    ...     print([entry.entrant for entry in board.standings()])
    ['ann']
    """

    json_keys = "entries=_entries"

    def __init__(self, path: str | Path) -> None:
        self._holdout = Holdout.open(path)
        try:
            self._holdout.check_listed()
        except InvalidRequest:
            self._holdout.close()
            raise

    def submit(
        self, entrant: str, predictions: object, *, guess: Number | None = None, name: str | None = None
    ) -> Score:
        """Score and enter, as the model ``name`` of ``entrant``.  Free of charge if it was sent before.

        The same predictions count for the first who sent them, under the first name that they gave.
        """
        return self._holdout.submit(entrant, predictions, guess=guess, name=name)

    def standings(self) -> list[LeaderboardEntry]:
        """Best first; of several submissions of one model the best counts."""
        greater = self._holdout.facts.metric.greater_is_better
        points_of = partial(points, greater_is_better=greater)
        senders = self._holdout.senders()
        sent = Counter(senders.values())
        best: dict[Sender, Score] = {}
        for score in self._holdout.scores():
            sender = senders.get(score.number)
            if sender is None:
                continue
            if sender not in best or points_of(score) > points_of(best[sender]):
                best[sender] = score
        entries = []
        reaches = [score.interval for score in best.values() if score.interval is not None]
        lows, highs = sorted(reach.low for reach in reaches), sorted(reach.high for reach in reaches)
        for sender, mine in best.items():
            above, below = _beyond(mine.interval, lows, highs)
            better, worse = (above, below) if greater else (below, above)
            tied = better + worse + 1 < len(best)
            reached = 1 + better, tied, sender.entrant, float(mine), mine.interval
            entries.append(LeaderboardEntry(*reached, sent[sender], sender.model))
        return sorted(
            entries, key=lambda e: (e.rank, -e.value if greater else e.value, e.entrant, e.model or "")
        )

    def close(self) -> None:
        """Lets go of the holdout."""
        self._holdout.close()

    def __enter__(self) -> Leaderboard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _entries(self) -> tuple[LeaderboardEntry, ...]:
        return tuple(self.standings())

    def sheet(self, verbose: bool = False) -> Sheet:
        """The standings as a table."""
        return standings_sheet(self.standings(), self._holdout.budget())

    def __repr__(self) -> str:
        return f"<Leaderboard of {self._holdout!r}>"


def standings_sheet(entries: Sequence[LeaderboardEntry], budget: HoldoutBudget) -> Sheet:
    """Entries as a table, and how many scores are left.  Models have a column if one of them has a name."""
    rows, named = [], any(e.model is not None for e in entries)
    for e in entries:
        place = f"{e.rank} (tied)" if e.tied else str(e.rank)
        model = (e.model or "",) if named else ()
        shown = number(e.value, half_of(e.interval))
        rows.append((place, e.entrant, *model, shown, text_of(e.interval), str(e.submissions)))
    model_header = ("model",) if named else ()
    headers = ("rank", "entrant", *model_header, budget.metric, "population", "submissions")
    said = str(budget)
    notes = [f"{said[0].upper()}{said[1:]}."]
    if not rows:
        notes.insert(0, "Nobody has sent anything yet: adyton holdout submit.")
    return Sheet("Leaderboard", headers, tuple(rows), tuple(notes), left_aligned=2 + named)


def _beyond(reach: Interval | None, lows: list[float], highs: list[float]) -> tuple[int, int]:
    """How many intervals lie wholly above this one, and how many below it."""
    if reach is None:
        return 0, 0
    return len(lows) - bisect_right(lows, reach.high), bisect_left(highs, reach.low)
