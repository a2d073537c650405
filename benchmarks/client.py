"""A query through ``adyton.connect`` beside the same over bare HTTP, to one real server.

Bare HTTP is a socket that stays open: it sends bytes, and reads bytes until the reply is whole.  A client
makes the request, and reads the answer back into objects.  They take turns, with different queries.
"""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx2

import adyton
from adyton.operations.roles import Role
from adyton.service.identity import Identity
from adyton.service.tokens import Tokens
from engines import row
from service import FREE_OF_LIMITS, SCALE, TEXT, Client, _helpers, _study

ROUNDS = 40
QUERIES = 10  # of each side in a round


def run() -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory() as folder:
        study = _study(Path(folder) / "served")
        settings = study.with_name("server.toml")
        settings.write_text(f"[server]\ntick = 0\n{FREE_OF_LIMITS}", encoding="utf-8")
        tokens = Tokens(study)
        token, _ = tokens.make(Identity("ana", Role.ANALYST))
        tokens.close()
        with _helpers().server([study], "--settings", str(settings)) as running:
            return _measured(running.url, token)


def _measured(url: str, token: str) -> list[dict[str, object]]:
    people, plain = adyton.connect(url, token).study("people"), httpx2.Client()
    plain.headers["Authorization"] = f"Bearer {token}"
    bare = Client(url, token)

    def by_library(number: int) -> object:
        body = {"query": TEXT.format(number), "scale": SCALE}
        return json.loads(plain.post(f"{url}/v1/studies/people/ask", json=body).content)

    sides: dict[str, Callable[[int], object]] = {
        "bare": bare.ask,
        "library": by_library,
        "client": lambda number: people.ask(TEXT.format(number), scale=SCALE),
    }
    fresh, again = _seconds(sides, bare.connect)
    bare.close()
    plain.close()
    return [
        row("connect(...).ask, fresh", fresh["client"], fresh["bare"], "s", "bare HTTP on a socket"),
        row("connect(...).ask, fresh", fresh["client"], fresh["library"], "s", "httpx2 and json.loads"),
        row("connect(...).ask, a repeat", again["client"], again["library"], "s", "httpx2 and json.loads"),
    ]


def _seconds(
    sides: dict[str, Callable[[int], object]], ready: Callable[[], None]
) -> tuple[dict[str, float], dict[str, float]]:
    """Of one fresh query on each side, and of the same once more; ``ready`` is called before a turn."""
    numbers = itertools.count(1000)
    fresh: dict[str, list[float]] = {name: [] for name in sides}
    again: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(ROUNDS + 2):
        for name, ask in sides.items():
            asked = list(itertools.islice(numbers, QUERIES))
            ready()
            for taken in (fresh[name], again[name]):
                start = time.perf_counter()
                for number in asked:
                    ask(number)
                if turn > 1:  # the first ones connect, and import what a first query needs
                    taken.append((time.perf_counter() - start) / QUERIES)
    medians = [{name: statistics.median(each) for name, each in taken.items()} for taken in (fresh, again)]
    return medians[0], medians[1]


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
