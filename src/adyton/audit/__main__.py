"""python -m adyton.audit --all --write docs/audit.md"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from adyton.audit.cases.catalogue import CATALOGUE, entry_named, wish_of
from adyton.audit.page import page
from adyton.audit.report import progress_bar, run


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m adyton.audit", description=__doc__)
    parser.add_argument("names", nargs="*", help="mechanisms to audit")
    parser.add_argument("--all", action="store_true", help="audit everything in the catalogue")
    parser.add_argument("--write", type=Path, help="write the page to this file")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="0.01")
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--confidence", type=float, default=0.999)
    asked = parser.parse_args(arguments)
    entries = CATALOGUE if asked.all else [entry_named(name) for name in asked.names]
    with progress_bar() as on_step:
        report = run(entries, wish_of(asked.epsilon, asked.delta), asked.samples, asked.confidence, on_step)
    if asked.write is not None:
        asked.write.write_text(page(report, asked.confidence), encoding="utf-8")
    sys.stdout.write(report.summary() + "\n")
    return 1 if report.refuted else 0


if __name__ == "__main__":
    sys.exit(main())
