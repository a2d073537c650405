"""Runs every benchmark of this folder that has a ``run()``, and writes results.json: one list of rows for the
whole project.

A row is {"name", "ours", "reference", "ratio", "unit", "against"}.  Both sides of a ratio are measured in
this one run, because machines differ and are noisy.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    sys.path.insert(0, str(HERE))
    names = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "run")
    rows = []
    for name in sys.argv[1:] or [one for one in names if hasattr(import_module(one), "run")]:
        print(f"running {name} ...", file=sys.stderr, flush=True)
        rows += import_module(name).run()
    (HERE / "results.json").write_text(json.dumps(rows, indent=1) + "\n")
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:10.4g} x {row['against']}"
        print(f"{row['name']:58s} {row['ours']:12.6g} {row['unit']:14s} {ratio}")


if __name__ == "__main__":
    main()
