"""A leaderboard on a holdout: who is ahead, and who only seems to be."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from adyton.certify import Interval
from adyton.errors import InvalidRequest
from adyton.exact import Number
from adyton.holdout.holdout import Holdout
from adyton.holdout.score import HoldoutStatement, Score, as_json, half_of, interval_from, text_of
from adyton.holdout.scorer import points
from adyton.show import Sheet, Shown, number


@dataclass(frozen=True, slots=True)
class Entry:
    """An entrant's best score; ``rank`` is one more than how many are better beyond doubt.

    ``tied`` if there is somebody of whom the intervals do not say who is better; on a ladder without a
    parameter there are no intervals, so it is said of everybody.
    """

    rank: int
    tied: bool
    entrant: str
    value: float
    interval: Interval | None
    submissions: int

    def to_json(self) -> dict[str, Any]:
        return as_json(self, "rank", "tied", "entrant", "value", "interval", "submissions")

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Entry:
        known = {field.name: told[field.name] for field in fields(cls)}
        return cls(**{**known, "interval": interval_from(told["interval"])})


class Leaderboard(Shown):
    """Entrants and their scores.  Names are kept in the ledger with the scores.

    All intervals hold at once, so an entrant whose interval lies above another's is better on the population;
    whoever is not separated like this is tied.  On a ladder only those are listed who once were the best,
    each with the number that was shown then.

    >>> adyton.Holdout.create(folder / "h.toml", labels=labels, tolerance="0.1").close()
    >>> with adyton.Leaderboard(folder / "h.toml") as board:
    ...     score = board.submit("ann", labels)
    ...     print([entry.entrant for entry in board.standings()])
    ['ann']
    """

    def __init__(self, path: str | Path) -> None:
        self._holdout = Holdout.open(path)
        try:
            self._holdout.scores()  # a method without a list of scores has no ranks
        except InvalidRequest:
            self._holdout.close()
            raise

    def submit(self, entrant: str, predictions: object, *, guess: Number | None = None) -> Score:
        """Score and enter.  The same predictions under a second name count for the first who sent them."""
        if entrant is None:
            raise InvalidRequest("an entrant has a name")
        return self._holdout.score(predictions, guess=guess, by=entrant)

    def standings(self) -> list[Entry]:
        """Best first; of several submissions the best counts."""
        greater = self._holdout.facts.metric.greater_is_better
        points_of = partial(points, greater_is_better=greater)
        senders = self._holdout.senders()
        sent = Counter(senders.values())
        best: dict[str, Score] = {}
        for score in self._holdout.scores():
            name = senders.get(score.number)
            if name is None:
                continue
            if name not in best or points_of(score) > points_of(best[name]):
                best[name] = score
        entries = []
        reaches = [score.interval for score in best.values() if score.interval is not None]
        lows, highs = sorted(reach.low for reach in reaches), sorted(reach.high for reach in reaches)
        for name, mine in best.items():
            above, below = _beyond(mine.interval, lows, highs)
            better, worse = (above, below) if greater else (below, above)
            tied = better + worse + 1 < len(best)
            entries.append(Entry(1 + better, tied, name, float(mine), mine.interval, sent[name]))
        return sorted(entries, key=lambda e: (e.rank, -e.value if greater else e.value, e.entrant))

    def close(self) -> None:
        """Lets go of the holdout."""
        self._holdout.close()

    def __enter__(self) -> Leaderboard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object, as plain Python values."""
        return {"entries": [entry.to_json() for entry in self.standings()]}

    def sheet(self, verbose: bool = False) -> Sheet:
        """The standings as a table."""
        return standings_sheet(self.standings(), self._holdout.statement())

    def __repr__(self) -> str:
        return f"<Leaderboard of {self._holdout!r}>"


def standings_sheet(entries: Sequence[Entry], statement: HoldoutStatement) -> Sheet:
    """Entries as a table, and how many scores are left."""
    rows = []
    for e in entries:
        place = f"{e.rank} (tied)" if e.tied else str(e.rank)
        shown = number(e.value, half_of(e.interval))
        rows.append((place, e.entrant, shown, text_of(e.interval), str(e.submissions)))
    headers = ("rank", "entrant", statement.metric, "population", "submissions")
    said = str(statement)
    notes = [f"{said[0].upper()}{said[1:]}."]
    if not rows:
        notes.insert(0, "Nobody has sent anything yet: adyton holdout submit.")
    return Sheet("Leaderboard", headers, tuple(rows), tuple(notes), left_aligned=2)


def _beyond(reach: Interval | None, lows: list[float], highs: list[float]) -> tuple[int, int]:
    """How many intervals lie wholly above this one, and how many below it."""
    if reach is None:
        return 0, 0
    return len(lows) - bisect_right(lows, reach.high), bisect_left(highs, reach.low)
