"""The work that ``pairs.py`` times in each checkout, through public names that both have.

python benchmarks/pairs_work.py asking FOLDER
"""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import adyton
from adyton.study import Validity

CLI = (sys.executable, "-c", "from adyton.transports.cli.entry import main; main()")
REGIONS = ("north", "south", "east", "west")


def study_text(rows: int, source: str, validity: str) -> str:
    """In the words of the checkout that is measured: names of the study file have changed."""
    adjacency = (
        'adjacency = "replace-one"' if has(adyton.PrivacyUnit, "adjacency") else 'neighbours = "replace"'
    )
    return f"""
[table]
name = "people"
source = "{source}"
rows = {rows}
[privacy]
unit = "row"
{adjacency}
epsilon = 100
delta = 1e-9
[validity]
independent = true
confidence = 0.95
{validity}
[columns.age]
kind = "integer"
low = 0
high = 100
[columns.income]
kind = "real"
low = 0
high = 200000
[columns.region]
kind = "category"
values = {json.dumps(REGIONS)}
"""


def has(record: type, name: str) -> bool:
    return any(field.name == name for field in dataclasses.fields(record))


def opened(folder: Path, rows: int, validity: str = "") -> adyton.Curator:
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "age": rng.integers(0, 100, rows),
            "income": rng.gamma(2.0, 20_000.0, rows),
            "region": rng.choice(REGIONS, rows),
        }
    )
    people.to_parquet(folder / "people.parquet")
    (folder / "people.toml").write_text(study_text(rows, "people.parquet", validity), encoding="utf-8")
    return adyton.open(folder / "people.toml")


def asking(folder: Path) -> float:
    """Many small queries to few rows: planning, the ledger and the certificate are what takes time."""
    with opened(folder, 1_000) as curator:
        str(curator.ask("SELECT AVG(income) FROM people WHERE age < 3", epsilon="0.01"))

        def work() -> None:
            for age in range(4, 64):
                str(curator.ask(f"SELECT COUNT(*) FROM people WHERE age < {age}", epsilon="0.01"))
                str(curator.ask(f"SELECT AVG(income) FROM people WHERE age < {age}", epsilon="0.01"))

        return timed(work)


def first_intervals(folder: Path) -> float:
    """Both intervals of each of ten answers, in 20 studies; what was asked and read does not count."""
    return sum(_intervals(folder / str(place), 10) for place in range(20))


def later_intervals(folder: Path) -> float:
    """As ``first_intervals``, for answers 100 to 199 of a study."""
    return _intervals(folder, 100, before=99)


def _intervals(folder: Path, many: int, before: int = 0) -> float:
    """With noise of about 55 rows, which is half of the sampling error of a share."""
    folder.mkdir(exist_ok=True)
    described = 'dictionary = "schema"' if has(Validity, "dictionary") else ""
    with opened(folder, 50_000, described) as curator:
        for age in range(before):
            str(curator.ask(f"SELECT COUNT(*) FROM people WHERE age > {age}", epsilon="0.1"))
        answers = [curator.ask(sql, epsilon="0.1") for _, sql in zip(range(many), _mixed(), strict=False)]

        def work() -> None:
            for answer in answers:
                str(answer)

        return timed(work)


def _mixed() -> Iterator[str]:
    """Counts, means, and means of groups."""
    for age in range(100):
        yield f"SELECT COUNT(*) FROM people WHERE age < {age + 1}"
        yield f"SELECT AVG(income) FROM people WHERE age >= {age}"
        yield f"SELECT region, AVG(income) FROM people WHERE age <> {age} GROUP BY region"


def engines(folder: Path) -> float:
    """Grouped queries to many rows."""
    with opened(folder, 1_000_000) as curator:
        str(curator.ask("SELECT COUNT(*) FROM people", epsilon="0.01"))

        def work() -> None:
            for age in range(5, 25):
                str(
                    curator.ask(
                        f"SELECT region, AVG(income), COUNT(*) FROM people WHERE age > {age} GROUP BY region",
                        epsilon="0.01",
                    )
                )

        return timed(work)


def ledger(folder: Path) -> float:
    """Charges and stored answers: scores of a holdout with ten items."""
    return _scores(folder, items=400, scores=200, tolerance="0.3")


def holdout(folder: Path) -> float:
    """Scores of many items."""
    return _scores(folder, items=300_000, scores=60, tolerance="0.1")


def _scores(folder: Path, items: int, scores: int, tolerance: str) -> float:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, items)
    guesses = [rng.integers(0, 2, items) for _ in range(scores)]
    made = adyton.Holdout.create(folder / "h.toml", labels=labels, tolerance=tolerance)
    with made as hidden:
        hidden.score(labels)
        few = guesses[: max(1, (hidden_scores_left(hidden) or scores) - 2)]

        def work() -> None:
            for guess in few:
                str(hidden.score(guess))

        return timed(work) / len(few)


def hidden_scores_left(hidden: adyton.Holdout) -> int | None:
    report = hidden.budget() if hasattr(hidden, "budget") else hidden.statement()
    left: int | None = report.scores_left
    return left


def service(folder: Path) -> float:
    """Queries over HTTP: the processor time of the server."""
    opened(folder, 1_000).close()
    port = _free_port()
    token = subprocess.run(
        [*CLI, "token", "create", "people.toml", "--name", "ann", "--role", "analyst", "--json"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    secret = json.loads(token.stdout)["token"]
    server = subprocess.Popen(
        [*CLI, "serve", "people.toml", "--port", str(port)],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        remote = _when_ready(f"http://127.0.0.1:{port}", secret)
        remote.ask("SELECT COUNT(*) FROM people", epsilon="0.01")
        before = _seconds_of(server.pid)
        for age in range(1, 61):
            remote.ask(f"SELECT AVG(income) FROM people WHERE age < {age + 5}", epsilon="0.01")
        return _seconds_of(server.pid) - before
    finally:
        server.terminate()
        server.wait()


def _when_ready(address: str, token: str) -> Any:
    for _ in range(200):
        try:
            return adyton.connect(address, token=token).study("people")
        except Exception:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


def _seconds_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def timed(work: Callable[[], None]) -> float:
    """What imports left behind is not collected again: a collection of it takes as long as twenty scores, and
    falls into the work of one checkout or of the other.
    """
    gc.collect()
    gc.freeze()
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    name, folder = sys.argv[1:]
    work = {
        one.__name__: one
        for one in (asking, first_intervals, later_intervals, engines, ledger, service, holdout)
    }[name]
    print(json.dumps({"seconds": work(Path(folder))}))


if __name__ == "__main__":
    main()
