"""What later answers pay for one that is asked now."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.show import number


@dataclass(frozen=True, slots=True)
class Later:
    """Half-widths of the population interval of a later count, of half of all units, with noise as large as
    the luck of the draw: without this charge and after it; None where there is no interval any more.
    """

    without: float
    after: float | None

    def __str__(self) -> str:
        if self.after is None:
            return "It ends population intervals: neither this answer nor any later one of the study has one."
        wider, now = number(self.after, self.without), number(self.without, self.without)
        return (
            f"Later population intervals are wider: that of a count, for one, ± {wider} instead of ± {now}."
        )

    def to_json(self) -> dict[str, float | None]:
        return {"without": self.without, "after": self.after}
