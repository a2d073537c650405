"""Lecture notes, which docs/seeds.md maps, and papers that the entries of the lab were taken from."""

from __future__ import annotations

from typing import NamedTuple


class Citation(NamedTuple):
    author: str
    title: str

    def __str__(self) -> str:
        return f"{self.author}, {self.title}"


BASSI = Citation("Bassi", "slides on differential privacy and generalisation")
NIKOLOV = Citation("Nikolov", "notes on the definition of differential privacy")
LI = Citation("Li, after Roth", "notes on adaptive data analysis")
BELLET = Citation("Bellet", "slides on the exponential mechanism and composition")
ZHOU = Citation("Zhou", "notes on randomized algorithms, lecture 20")

# Papers of entries that no notes describe.
DINUR = Citation("Dinur, Nissim", "Revealing information while preserving privacy, 2003")
MIRONOV = Citation("Mironov", "On significance of the least significant bits for differential privacy, 2012")
LI_MIKLAU = Citation(
    "Li, Hay, Rastogi, Miklau, McGregor",
    "Optimizing linear counting queries under differential privacy, 2010",
)
BOUSQUET = Citation("Bousquet, Elisseeff", "Stability and generalization, 2002")
BLUMER = Citation("Blumer, Ehrenfeucht, Haussler, Warmuth", "Occam's razor, 1987")
