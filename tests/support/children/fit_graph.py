"""A graphical model and all cells, fitted to the same measurements: run by a process of its own."""

from __future__ import annotations

import os

import numpy as np

from adyton.kernel.special.mechanisms.marginals.adaptive import NoisyMarginal
from adyton.kernel.special.mechanisms.marginals.tables import tables_of
from adyton.synthesis.fitting import CellGuess
from adyton.synthesis.graph import GraphGuess
from adyton.synthesis.guessing import classes_drawn
from adyton.synthesis.plan import marginals_up_to
from adyton.synthesis.sampling import generator


def fit_both_ways() -> None:
    # All is compiled anew and runs once: to optimise it takes longer than it saves.
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"
    random, shape, rows = np.random.default_rng(8), (3, 4, 2), 5000
    x = random.multinomial(rows, random.dirichlet(np.ones(24))).reshape(shape)
    exact = tables_of(x, [(0,), (1,), (2,), (0, 1), (1, 2)])
    measured = [
        NoisyMarginal(axes, table.ravel() + random.integers(-20, 21, table.size), 12.0, True)
        for axes, table in exact.items()
    ]
    cells = CellGuess.even(shape, rows).carefully().fitted(measured)
    graph = GraphGuess.even(shape, rows).carefully().fitted(measured)
    wanted = marginals_up_to(shape, 3, 100)
    for axes, table in graph.tables(wanted).items():
        assert np.abs(table - cells.tables([axes])[axes]).sum() / 2 / rows < 0.02
    assert (0, 1, 2) not in graph.bearable(wanted, 1e-9)
    drawn = classes_drawn(graph, 2000, generator("ab" * 32))
    assert np.abs(np.bincount(drawn[0], minlength=3) / 2000 - exact[(0,)] / rows).max() < 0.03
    again = classes_drawn(graph, 2000, generator("ab" * 32))
    assert all(np.array_equal(one, other) for one, other in zip(drawn, again, strict=True))
