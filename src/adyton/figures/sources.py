"""Lecture notes, which docs/seeds.md maps, and papers that the entries of the lab were taken from."""

from __future__ import annotations

from typing import NamedTuple


class Notes(NamedTuple):
    author: str
    title: str

    def __str__(self) -> str:
        return f"{self.author}, {self.title}"


BASSI = Notes("Bassi", "slides on differential privacy and generalisation")
NIKOLOV = Notes("Nikolov", "notes on the definition of differential privacy")
LI = Notes("Li, after Roth", "notes on adaptive data analysis")
BELLET = Notes("Bellet", "slides on the exponential mechanism and composition")
ZHOU = Notes("Zhou", "notes on randomized algorithms, lecture 20")

# Papers of entries that no notes describe.
DINUR = Notes("Dinur, Nissim", "Revealing information while preserving privacy, 2003")
MIRONOV = Notes("Mironov", "On significance of the least significant bits for differential privacy, 2012")
LI_MIKLAU = Notes(
    "Li, Hay, Rastogi, Miklau, McGregor",
    "Optimizing linear counting queries under differential privacy, 2010",
)
BOUSQUET = Notes("Bousquet, Elisseeff", "Stability and generalization, 2002")
BLUMER = Notes("Blumer, Ehrenfeucht, Haussler, Warmuth", "Occam's razor, 1987")
