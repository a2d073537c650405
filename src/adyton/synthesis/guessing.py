"""The guess of a synthesis: over all cells in memory, or a graphical model where there are too many."""

from __future__ import annotations

from collections.abc import Sequence

from adyton.kernel.noise.refine import Integers
from adyton.kernel.special.mechanisms.marginals.adaptive import MarginalModel, NoisyMarginal
from adyton.synthesis.fitting import CellGuess
from adyton.synthesis.graph import GraphGuess
from adyton.synthesis.plan import SynthesisPlan
from adyton.synthesis.sampling import Random, cells_of_rows, classes_of_rows


def first_guess(plan: SynthesisPlan) -> CellGuess | GraphGuess:
    """Before anything is measured: all cells alike."""
    if plan.method == "graph":
        return GraphGuess.even(plan.axes.shape, plan.known_rows)
    return CellGuess.even(plan.axes.shape, plan.known_rows)


def last_guess(plan: SynthesisPlan, measured: Sequence[NoisyMarginal]) -> MarginalModel:
    """From all that was measured, searched for with more care."""
    return first_guess(plan).carefully().fitted(measured)


def classes_drawn(guess: MarginalModel, rows: int, random: Random) -> list[Integers]:
    """For each axis, the class of each of ``rows`` rows."""
    if isinstance(guess, CellGuess):
        return classes_of_rows(guess.shape, cells_of_rows(guess.shares, rows, random))
    assert isinstance(guess, GraphGuess)
    return guess.classes(rows, random)
