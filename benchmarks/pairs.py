"""Compares two checkouts of adyton: the processor time of the same work, in interleaved pairs.

    python benchmarks/pairs.py ../old [--pairs 15] [--only asking ledger]

Each run is a process of its own with the source of one checkout first on its path.  It counts the processor
time of the work alone, without imports and without making the data.  Old and new take turns, and each pair
begins with the other one, so that a slow moment of the machine meets both.  Printed are the median of the
ratios new / old, and a 95% confidence interval for it from order statistics.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = ("asking", "first_intervals", "later_intervals", "engines", "ledger", "service", "holdout")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("old", type=Path, help="another checkout")
    options.add_argument("--new", type=Path, default=HERE.parent, help="this one unless given")
    options.add_argument("--pairs", type=int, default=15)
    options.add_argument("--only", nargs="+", choices=WORK, default=WORK)
    asked = options.parse_args()
    for name in asked.only:
        seconds = [(measured(asked.old, name), measured(asked.new, name))]  # the first is not counted
        for pair in range(asked.pairs):
            sides = (asked.old, asked.new) if pair % 2 else (asked.new, asked.old)
            taken = {side: measured(side, name) for side in sides}
            seconds.append((taken[asked.old], taken[asked.new]))
            print(f"\r{name}: pair {pair + 1} of {asked.pairs}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        ratios = sorted(new / old for old, new in seconds[1:])
        low, high = ends_of_the_median(ratios)
        print(
            f"{name:8} old {statistics.median(old for old, _ in seconds[1:]):.3f} s, "
            f"ratio {statistics.median(ratios):.3f}, 95% {low:.3f} to {high:.3f}",
            flush=True,
        )


def ends_of_the_median(ordered: list[float]) -> tuple[float, float]:
    """The narrowest pair of order statistics with the median between them in 95% of all samples."""
    number, place = len(ordered), 0
    while place + 1 < number / 2 and 2 * _fewer_heads(number, place + 1) <= 0.05:
        place += 1
    return ordered[place], ordered[number - 1 - place]


def _fewer_heads(coins: int, heads: int) -> float:
    """The chance that at most so many of fair coins show heads."""
    return sum(math.comb(coins, k) for k in range(heads + 1)) / 2**coins


def measured(checkout: Path, name: str) -> float:
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src")}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(HERE / "pairs_work.py"), name, folder]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed with {checkout}:\n{done.stderr}")
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


if __name__ == "__main__":
    main()
