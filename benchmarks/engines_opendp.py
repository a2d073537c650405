"""The queries of engines.py beside OpenDP: the same rows, the same epsilon, in one run.

Ours answers through a durable ledger; a context of OpenDP keeps its budget in memory.  OpenDP works with one
version of polars only, so it gets an environment of its own, made by the first run inside the project's own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import venv
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

import adyton
from adyton.kernel.privacy import Guarantee, PrivacyUnit
from adyton.study import Study
from engines import GENERATOR, MEDIAN, QUERIES, ROWS, _seconds, generator, people, row

WANTED = ("opendp==0.16.0", "polars==1.36.1", "pyarrow", "numpy")
FEW = 1_000
REPETITIONS, COUNTS, COUNTS_BEFORE = 5, 30, 5  # a context of OpenDP is made for 50 queries
UNITS = {"rows": PrivacyUnit("add-remove"), "persons": PrivacyUnit("add-remove", "user_id", 10)}


def run() -> list[dict[str, object]]:
    python = _environment()
    if python is None:
        print("OpenDP cannot be installed: no rows for it", file=sys.stderr)
        return []
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        path, few = Path(folder) / "people.parquet", Path(folder) / "few.parquet"
        duckdb.connect().execute(f"COPY ({GENERATOR}) TO '{path}' (FORMAT parquet)")
        duckdb.connect().execute(f"COPY ({generator(FEW, FEW // 10)}) TO '{few}' (FORMAT parquet)")
        for unit in UNITS:
            rows += _beside(python, path, ROWS, unit)
        return [*rows, *_beside(python, few, FEW, "rows"), *_in_turns(python, few)]


def _beside(python: Path, path: Path, rows: int, unit: str) -> list[dict[str, object]]:
    ours, theirs = _ours(path, unit), _theirs(python, path, rows, unit)
    found = []
    for asked, reference in theirs.items():
        what, _, by_hand = asked.partition(", ")  # by hand: without its search for the scale of the noise
        name = f"{what}, {rows:,} rows, {unit}, beside OpenDP" + (f", {by_hand}" if by_hand else "")
        factor, kind = (1, "1/s") if what == "filtered counts" else (1e3, "ms")
        found.append(row(name, ours[what] * factor, reference * factor, kind, "OpenDP 0.16"))
    return found


def _ours(path: Path, unit: str) -> dict[str, float]:
    """Seconds, best of several; each query is new because its price differs."""
    budget, ledger = Guarantee(Fraction(500), Fraction(1, 10**9)), path.with_suffix(f".{unit}.ledger")
    with adyton.open(Study(people(UNITS[unit]), UNITS[unit], budget, "gdp", path, ledger)) as curator:
        curator.ask("SELECT COUNT(*) FROM people WHERE age > 1", epsilon=1)  # opens everything
        texts = {**{what: query for what, (query, _) in QUERIES.items()}, "median": MEDIAN[0]}
        times = {what: min(_several(curator, text)) for what, text in texts.items()}
        counts = [f"SELECT COUNT(*) FROM people WHERE age > {20 + i}.5" for i in range(COUNTS)]
        taken = _seconds(lambda: [curator.ask(text, epsilon=1) for text in counts])
        return {**times, "filtered counts": COUNTS / taken}


def _several(curator: Any, text: str) -> list[float]:
    return [_seconds(lambda i=i: curator.ask(text, epsilon=1 + i / 1024)) for i in range(REPETITIONS)]


def _theirs(python: Path, path: Path, rows: int, unit: str) -> dict[str, float]:
    script = Path(__file__).parent / "peers" / "opendp_queries.py"
    done = subprocess.run(
        [python, script, path, str(rows), unit], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _in_turns(python: Path, path: Path) -> list[dict[str, object]]:
    """A new filter each time, one side after the other, so that a noisy moment of the machine meets all."""
    script, budget = (
        Path(__file__).parent / "peers" / "opendp_queries.py",
        Guarantee(Fraction(500), Fraction(1, 10**9)),
    )
    command = [python, script, path, str(FEW), "rows", "in turns"]
    unit, ledger = UNITS["rows"], path.with_suffix(".in-turns.ledger")
    durable, kept = (Study(people(unit), unit, budget, "gdp", path, where) for where in (ledger, None))
    taken: dict[str, list[float]] = {"durable ledger": [], "ledger in memory": [], "theirs": []}
    with (
        adyton.open(durable) as on_disk,
        adyton.open(kept) as in_memory,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer,
    ):
        assert peer.stdin is not None
        assert peer.stdout is not None
        peer.stdout.readline()
        for i in range(-COUNTS_BEFORE, COUNTS):
            text = f"SELECT COUNT(*) FROM people WHERE age > {20 + i}.5"
            seconds = [_seconds(lambda c=c, t=text: c.ask(t, scale=1)) for c in (on_disk, in_memory)]
            print(i, file=peer.stdin, flush=True)
            for own, one in zip(taken.values(), [*seconds, float(peer.stdout.readline())], strict=True):
                own.append(one)
        peer.stdin.close()
    *ours, theirs = [(side, statistics.median(own[COUNTS_BEFORE:])) for side, own in taken.items()]
    name, against = f"filtered count in turns, {FEW:,} rows, beside OpenDP, scale given", "OpenDP 0.16"
    return [row(f"{name}, {side}", 1 / own, 1 / theirs[1], "1/s", against) for side, own in ours]


def _environment() -> Path | None:
    """Its Python, installed unless an earlier run has done so."""
    folder = Path(sys.prefix) / "opendp"
    python, done = folder / "bin" / "python", folder / ".installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *WANTED]
        if subprocess.run(install, check=False).returncode:
            return None
        done.touch()
    return python


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
