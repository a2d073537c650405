"""Synthetic tables: how long the adaptive mechanism takes, and how far off 3-way marginals are, beside peers.

Each peer lives in an environment of its own, because of what it depends on:

    python -m venv benchmarks/peers/mbi && benchmarks/peers/mbi/bin/pip install mbi pandas
    python -m venv benchmarks/peers/smartnoise && benchmarks/peers/smartnoise/bin/pip install smartnoise-synth

AIM itself is not in the package of mbi: ``AIM_FOLDER`` names the folder ``mechanisms`` of its repository.  A
peer that is not there is left out, and the row says so.  Errors are total variation, the mean over marginals.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from adyton.kernel.accounting.rules import accounting_named
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.noise import SystemBits
from adyton.kernel.sensitivity import Sensitivity
from adyton.kernel.special.marginals import step_for
from adyton.kernel.special.mechanisms.marginals.adaptive import (
    AdaptiveMarginals,
    AdaptiveRound,
    NoisyMarginal,
)
from adyton.kernel.special.mechanisms.marginals.tables import Axes, tables_of
from adyton.synthesis.fitting import CellGuess
from adyton.synthesis.plan import marginals_up_to

HERE = Path(__file__).parent
ROWS, RHO, EPSILON = 100_000, Fraction(1, 200), Fraction(1)
SHAPE = (4, 3, 4, 4, 2, 5)  # for peers: small, because AIM compiles a program in every round
LARGE, CANDIDATES, ROUNDS = (2,) * 20, 500, 10


def run() -> list[dict[str, object]]:
    return [large_table(), *beside_peers()]


def large_table() -> dict[str, object]:
    """10 rounds over a million cells, 500 marginals to choose from."""
    random = np.random.default_rng(1)
    exact = _histogram(random, LARGE)
    every = [axes for axes in marginals_up_to(LARGE, 3, 10**4) if len(axes) > 1]
    chosen = tuple(every[i] for i in random.choice(len(every), CANDIDATES, replace=False))
    start = time.perf_counter()
    tables = tables_of(exact, chosen)
    machine = _machine(LARGE, chosen, (), "zcdp", int(RHO * UNITS_PER_ONE), ROUNDS, growth=1)
    measured = machine.release(tables, CellGuess.even(LARGE, None), _steps(machine, "zcdp"), SystemBits())
    assert len(measured) == ROUNDS
    spent = time.perf_counter() - start
    return row(f"{ROUNDS} rounds, {2**20:,} cells, {CANDIDATES} marginals", spent, None, "s", "")


def beside_peers() -> list[dict[str, object]]:
    exact = _histogram(np.random.default_rng(2), SHAPE)
    wanted = list(combinations(range(len(SHAPE)), 3))
    aim, mwem = _peer("mbi", "aim_table.py", exact), _peer("smartnoise", "smartnoise_mwem.py", exact)
    ours = error(exact, synthesized(exact, "zcdp", int(RHO * UNITS_PER_ONE), 8), wanted)
    pure = error(exact, synthesized(exact, "pure", int(EPSILON * UNITS_PER_ONE), 4), wanted)
    return [
        row("error at rho = 0.005", ours, aim and error(exact, aim, wanted), "", "AIM of mbi"),
        row("error at epsilon = 1", pure, mwem and error(exact, mwem, wanted), "", "MWEM of SmartNoise"),
    ]


def synthesized(exact: np.ndarray, accounting: str, units: int, rounds: int) -> dict[Axes, np.ndarray]:
    """All 3-way marginals of the guess, as our own mechanism leaves it."""
    first = tuple((place,) for place in range(len(SHAPE)))
    growth = 2 if accounting == "pure" else 4
    candidates = marginals_up_to(SHAPE, 3, 10**4)
    machine = _machine(SHAPE, candidates, first, accounting, units, rounds * len(SHAPE), growth)
    tables = tables_of(exact, candidates)
    guess = CellGuess.even(SHAPE, None)
    measured: list[NoisyMarginal] = machine.release(tables, guess, _steps(machine, accounting), SystemBits())
    found = guess.carefully().fitted(measured)
    return dict(found.tables(combinations(range(len(SHAPE)), 3)))


def error(exact: np.ndarray, made: dict[Axes, np.ndarray], wanted: list[Axes]) -> float:
    true = tables_of(exact, wanted)
    distances = [np.abs(true[a] / true[a].sum() - made[a] / made[a].sum()).sum() / 2 for a in wanted]
    return float(np.mean(distances))


def row(name: str, ours: float, reference: float | None, unit: str, against: str) -> dict[str, object]:
    ratio = None if reference is None else round(ours / reference, 4)
    against = against if reference is not None or not against else f"{against} is not installed"
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "ratio": ratio,
        "unit": unit,
        "against": against,
    }


def _histogram(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Rows of three kinds, each with shares of its own in every column."""
    kind = random.integers(0, 3, ROWS)
    columns = []
    for size in shape:
        shares = random.dirichlet(np.ones(size), 3).cumsum(axis=1)
        columns.append((random.random(ROWS)[:, None] > shares[kind][:, :-1]).sum(axis=1))
    places = np.ravel_multi_index(columns, shape)
    return np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)


def _machine(
    shape: tuple[int, ...],
    candidates: tuple[Axes, ...],
    first: tuple[Axes, ...],
    accounting: str,
    units: int,
    rounds: int,
    growth: int,
) -> AdaptiveMarginals:
    moved = Sensitivity(((1, 1),), 1000, "add-remove")
    most = rounds * step_for(accounting_named(accounting), moved, units // rounds).epsilon
    return AdaptiveMarginals(shape, candidates, first, moved, units, units // rounds, growth, most)


def _steps(machine: AdaptiveMarginals, accounting: str):
    def steps(units: int) -> AdaptiveRound:
        return step_for(accounting_named(accounting), machine.sensitivity, units)

    return steps


def _peer(folder: str, script: str, exact: np.ndarray) -> dict[Axes, np.ndarray] | None:
    """What the peer makes of the same table, counted; None if it is not installed here."""
    python = HERE / "peers" / folder / "bin" / "python"
    if not python.exists() or (folder == "mbi" and "AIM_FOLDER" not in os.environ):
        return None
    with tempfile.TemporaryDirectory() as place:
        rows = np.repeat(np.arange(exact.size), exact.ravel())
        np.save(Path(place) / "rows.npy", np.stack(np.unravel_index(rows, SHAPE), axis=1))
        words = [str(python), str(HERE / "peers" / script), place, *map(str, SHAPE)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr[-2000:], file=sys.stderr)
            return None
        made = np.load(Path(place) / "made.npy")
    counted = np.bincount(np.ravel_multi_index(made.T, SHAPE), minlength=exact.size).reshape(SHAPE)
    return tables_of(counted, list(combinations(range(len(SHAPE)), 3)))


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
