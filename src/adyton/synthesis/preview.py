"""What a synthetic table would cost, and how loud its first counts would be.  Free, and nothing is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adyton.accounting.noisy_reading import LEVEL
from adyton.certify import OpeningPreview
from adyton.show import Sheet
from adyton.synthesis.plan import SynthesisPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisPreview(OpeningPreview):
    """What a synthetic table would cost."""

    plan: SynthesisPlan

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
            **self.charge_json(),
        }

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = (
            *self.charge_rows(),
            ("cells", f"{self.plan.axes.cells:,}"),
            ("marginals to choose from", f"{len(self.plan.machine.candidates):,}"),
            ("noise of a first count", f"±{self.half_width:,}"),
        )
        return Sheet(f"Preview: {self.plan.text}", ("", ""), rows, self.charge_notes())
