"""Case A25: no two processes ever release the same noise, however they came to be.

Each process opens a study of its own and asks for sixteen counts of nobody, so what it releases is noise and nothing
else.  Processes are spawned, forked by one that has asked or has not, and started again.  Noise of scale a million: by
chance three neighboring values agree somewhere once in 10**13 runs.

The first test fails on two mutants of ``SystemBits``, which the second test plants: a generator that is made once
and copied by a fork, and one with a seed of its own in each process.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adyton
from adyton.kernel.noise import SystemBits
from adyton.kernel.schema import CategoryColumn, Table
from support.processes import APART
from support.tries import often
from support.worlds import study_with

SPAWN = multiprocessing.get_context("spawn")
Vector = list[float]
Filters = tuple[str, ...]
ACCOUNTING_NAMES = ("gdp", "pure")
FORKED = 4
OTHERS = often(1, 2)  # of each kind: every process is compared with those of all kinds
SIXTEEN = CategoryColumn("cell", tuple(f"c{i}" for i in range(16)))
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


class Kept:
    """The mistake: a generator that lives in the process, for all that ask."""

    generator: Any = None

    @classmethod
    def plant(cls, seed: int | None) -> None:
        cls.generator = np.random.Philox(seed)
        SystemBits.words = lambda self, count: cls.generator.random_raw(count)  # type: ignore[method-assign]


def vector(accounting: str) -> Vector:
    """Sixteen counts of nobody, as a curator releases them."""
    known = study_with(Table("people", (SIXTEEN,)), accounting, "add-remove", delta=Fraction(1, 10**9))
    frame = pd.DataFrame({"cell": pd.Series([], dtype="object")})
    with adyton.open(known, data=frame) as curator:
        answer = curator.ask("SELECT cell, COUNT(*) AS n FROM people GROUP BY cell", scale=2**20)
        return [row.values["n"].value for row in answer.rows]


def forked(accounting: str) -> list[Vector]:
    """This process asks, and then so do its children, which are copies of it, and it asks again."""
    found = [vector(accounting)]
    for _ in range(FORKED):
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.write(writing, json.dumps(vector(accounting)).encode())
            os._exit(0)
        os.wait()
        found.append(json.loads(os.read(reading, 2**16)))
        os.close(reading)
        os.close(writing)
    return [*found, vector(accounting)]


def in_a_process(filters: Filters, mutant: str, fork: bool) -> list[Vector]:
    if mutant:
        Kept.plant(1 if mutant == "seeded" else None)
    return [one for name in filters for one in (forked(name) if fork else [vector(name)])]


def spawned(
    filters: Filters, mutant: str, *, fork: bool, times: int, how: BaseContext = SPAWN
) -> list[Vector]:
    with ProcessPoolExecutor(times, mp_context=how, max_tasks_per_child=1) as pool:
        tasks = [pool.submit(in_a_process, filters, mutant, fork) for _ in range(times)]
        return [one for task in tasks for one in task.result(timeout=300)]


def restarted(filters: Filters) -> list[Vector]:
    """A program that starts, asks and ends."""
    code = f"import json, test_A25_repeated_noise as t; print(json.dumps(t.in_a_process({filters!r}, '', False)))"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def repeats(vectors: list[Vector]) -> int:
    """How often three neighboring values occur that have occurred before, in any process."""
    triples = [tuple(v[i : i + 3]) for v in vectors for i in range(len(v) - 2)]
    return len(triples) - len(set(triples))


@needs_fork
def test_A25_no_process_repeats_the_noise_of_another() -> None:
    """Each process releases noise of both kinds."""
    vectors = spawned(ACCOUNTING_NAMES, "", fork=True, times=1, how=APART)
    vectors += spawned(ACCOUNTING_NAMES, "", fork=False, times=OTHERS)
    for _ in range(OTHERS):
        vectors += restarted(ACCOUNTING_NAMES)
    vectors += in_a_process(ACCOUNTING_NAMES, "", False)
    assert [len(v) for v in vectors] == [16] * (FORKED + 2 + OTHERS + OTHERS + 1) * len(ACCOUNTING_NAMES)
    assert all(len(set(v)) > 10 for v in vectors)
    assert repeats(vectors) == 0


@needs_fork
@pytest.mark.parametrize(("mutant", "fork", "times"), [("kept", True, 1), ("seeded", False, 2)])
def test_A25_a_generator_that_is_kept_is_caught(mutant: str, fork: bool, times: int) -> None:
    """Mutants: state copied by a fork; the same seed in every process."""
    assert repeats(spawned(("gdp",), mutant, fork=fork, times=times, how=APART)) >= 14
