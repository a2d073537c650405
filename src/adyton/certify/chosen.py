"""How near those that were chosen are to the best of their candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adyton.show import half_width


@dataclass(frozen=True, slots=True)
class Chosen:
    """With probability ``level`` every one that is shown lies at most ``within`` from the one that is truly
    in its place, in these rows.

    ``selected``: only the choice was paid for; otherwise all values were.  ``otherwise``: how near the other
    way would have come at this price; None where there is no other, or where a width was the price.
    """

    candidates: int
    most: int
    largest: bool
    level: float
    within: float
    selected: bool
    otherwise: float | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "candidates": self.candidates,
            "most": self.most,
            "largest": self.largest,
            "level": self.level,
            "within": self.within,
            "selected": self.selected,
            "otherwise": self.otherwise,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Chosen:
        names = ("candidates", "most", "largest", "level", "within", "selected", "otherwise")
        return cls(*(told[name] for name in names))

    def __str__(self) -> str:
        side = "below the largest" if self.largest else "above the least"
        if self.most > 1:
            side = f"{'below' if self.largest else 'above'} what is truly in its place"
        whose = "its value is" if self.most == 1 else "the value of each is"
        near = f"with {100 * self.level:.12g} %, {whose} at most {_up(self.within)} {side}"
        if self.selected:
            other = "all values"
            how = f"Selected among {self.candidates:,} candidates, of which nothing else is released"
        else:
            other = "a selection"
            how = f"The values of all {self.candidates:,} candidates are released, and the best are shown"
        against = f"; {other} would be within {_up(self.otherwise)}" if self.otherwise is not None else ""
        return f"{how}: {near}, in these rows{against}."


def _up(distance: float) -> str:
    return half_width(0.0, -distance, distance) or str(distance)
