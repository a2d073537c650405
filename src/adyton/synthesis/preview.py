"""What a synthetic table would cost, and how loud its first counts would be.  Free, and nothing is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.accounting.noisy_reading import LEVEL
from adyton.certify import Amount, Later, Promise
from adyton.show import Sheet, Shown
from adyton.synthesis.plan import SynthesisPlan


@dataclass(frozen=True, slots=True)
class SynthesisPreview(Shown):
    """``more``: how many of this cost fit now.  ``later``: what later answers pay for it, where they do."""

    plan: SynthesisPlan
    cost: Amount
    spent: Amount
    left: Amount
    limit: Promise
    more: int
    later: Later | None

    @property
    def fits(self) -> bool:
        return self.more > 0

    @property
    def half_width(self) -> int:
        """Of the 95 % noise interval of each count of one column; later measurements are no louder."""
        machine = self.plan.machine
        return self.plan.step(machine.each).noise.error(LEVEL)

    def to_json(self) -> dict[str, Any]:
        return {
            "synthesis": self.plan.text,
            "method": self.plan.method,
            "cells": self.plan.axes.cells,
            "candidates": len(self.plan.machine.candidates),
            "half_width": self.half_width,
            "cost": self.cost.to_json(),
            "spent": self.spent.to_json(),
            "left": self.left.to_json(),
            "limit": self.limit.to_json(),
            "more": self.more,
            "later": self.later.to_json() if self.later else None,
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            ("cost, of the limit", str(self.cost)),
            ("spent", str(self.spent)),
            ("left", str(self.left)),
            ("fits", f"{self.more:,} times" if self.more > 1 else "once" if self.fits else "no"),
            ("cells", f"{self.plan.axes.cells:,}"),
            ("marginals to choose from", f"{len(self.plan.machine.candidates):,}"),
            ("noise of a first count", f"±{self.half_width:,}"),
        )
        notes = (
            f"The promise: {self.limit}, whatever is asked.",
            "Nothing was read and nothing was charged.",
            *([str(self.later)] if self.later else []),
        )
        return Sheet(f"Preview: {self.plan.text}", ("", ""), rows, notes)
