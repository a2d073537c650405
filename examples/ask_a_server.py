"""A session with a server: start one, give an analyst a budget share, and ask over the network.

pip install '.[server,client]' pandas pyarrow
python examples/ask_a_server.py
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

import adyton

ADYTON = [sys.executable, "-m", "adyton.transports.cli.entry"]
PEOPLE = 20_000
STUDY = f"""
[table]
name = "people"
source = "people.parquet"
rows = {PEOPLE}
[privacy]
unit = "row"
adjacency = "replace-one"
epsilon = 1
delta = 1e-9
[validity]
independent = true
[columns.income]
kind = "real"
low = 0
high = 150000
[columns.region]
kind = "category"
values = ["north", "south", "east", "west"]
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        study = write_study(Path(folder))
        with serving(study) as url:
            # The owner, where the study lies: half of the budget is for ana.
            words = [
                "token",
                "create",
                str(study),
                "--role",
                "analyst",
                "--name",
                "ana",
                "--budget-share",
                "0.5",
            ]
            made = subprocess.run([*ADYTON, *words, "--json"], check=True, capture_output=True, text=True)
            os.environ["ADYTON_TOKEN"] = json.loads(made.stdout)["token"]
            ask(url)


def ask(url: str) -> None:
    """What ana does, anywhere: the token is in the environment."""
    with adyton.connect(url) as connection:
        people = connection.study("people")
        mean = "SELECT region, AVG(income) AS mean FROM people GROUP BY region"
        print(people.preview(mean, within=1500, expected_rows=5000))
        print(people.ask(mean, within=1500, expected_rows=5000))
        print(people.ask(adyton.count("income > 50000", by="region"), within=120))
        try:
            people.ask(mean, epsilon=1)
        except adyton.PrivacyRefused as refused:
            print(f"Refused, free of charge: {refused}\n")
            print(people.ask(mean, **refused.facts["fits"]))
        print(people.budget())
        found = people.verify()
        print(f"{found.receipts} receipts, replayed here: the chain is intact. Head {found.head[:12]}.")


def write_study(folder: Path) -> Path:
    rng = np.random.default_rng(1)
    regions = ["north", "south", "east", "west"]
    frame = {"income": rng.gamma(4, 9000, PEOPLE), "region": rng.choice(regions, PEOPLE)}
    pd.DataFrame(frame).to_parquet(folder / "people.parquet")
    path = folder / "people.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


@contextmanager
def serving(study: Path) -> Iterator[str]:
    """``adyton serve`` on a free port, until the end of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*ADYTON, "serve", str(study), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            for line in server.stdout:  # the first has the token of the owner, whom nobody plays here
                if line.startswith("Serving"):
                    break
            wait_for(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def wait_for(port: int) -> None:
    """Until the server listens: it says where before it does."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)


if __name__ == "__main__":
    main()
