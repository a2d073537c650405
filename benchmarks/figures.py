"""Figures: the first of a process, one more, and the same again, beside the JSON of the same answer.

All in one run.  The first starts everything: Altair, a process that draws, its JavaScript.  The page holds
the script of Vega, which is made once a process and kept.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from adyton.certify import json_text
from adyton.figures import drawing
from adyton.figures.answers import answer_figure
from adyton.figures.budget import burn_down
from engines import row

ROUNDS = 20
GROUPS = 3650
COLD = """
import time
start = time.perf_counter()
from figures import answer
from adyton.figures import drawing
from adyton.figures.answers import answer_figure
drawing.svg(answer_figure(answer(4, 0)))
print(time.perf_counter() - start)
"""


def answer(groups: int, turn: int) -> dict[str, Any]:
    """As ``adyton ask --json`` prints it; every turn is another picture."""
    rows = []
    for place in range(groups):
        value = 1000.0 + place + turn
        noise = {"level": 0.95, "low": value - 20, "high": value + 21}
        population = {"level": 0.95, "low": value - 70, "high": value + 60}
        told = {"value": value, "noise_interval": noise, "population_interval": population}
        rows.append({"keys": {"region": f"region {place}"}, "values": {"n": told}})
    return {"query": "SELECT region, COUNT(*) AS n FROM people GROUP BY region", "answer": rows}


def chain(many: int, turn: int) -> dict[str, Any]:
    receipts = [
        {"number": n, "spent": f"{n / many / 2:.18f}", "spent_radius": f"{(n + turn) / many / 9:.18f}"}
        | {"by": "ana", "spent_by": f"{n / many / 2:.18f}", "budget_share": "0.75"}
        for n in range(1, many + 1)
    ]
    return {"header": {"budget": "1"}, "receipts": receipts}


def median(work: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def cold() -> float:
    """A process that draws one figure, from its first import of ours on."""
    path = f"import sys; sys.path[:0] = {sys.path!r}\n"
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", path + COLD], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(3)
    ]
    return statistics.median(times)


def longest_pause(work: Callable[[], object]) -> float:
    """For how long another thread of this process could not run while ``work`` did."""
    done, worst = threading.Event(), 0.0

    def watch() -> None:
        nonlocal worst
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.0005)
            now = time.perf_counter()
            worst, last = max(worst, now - last), now

    thread = threading.Thread(target=watch)
    thread.start()
    for _ in range(ROUNDS):
        work()
    done.set()
    thread.join()
    return worst


def run() -> list[dict[str, object]]:
    turns = itertools.count(1)
    same = answer_figure(answer(4, 0))
    drawing.svg(same)
    drawing.html(same)
    json_small = median(lambda: json_text(answer(4, next(turns))))
    json_large = median(lambda: json_text(answer(GROUPS, next(turns))))
    warm = median(lambda: drawing.svg(answer_figure(answer(4, next(turns)))))
    large = median(lambda: drawing.svg(answer_figure(answer(GROUPS, next(turns)))))
    described = median(lambda: answer_figure(answer(GROUPS, next(turns))).vega_lite())
    history = median(lambda: drawing.svg(burn_down(chain(20_000, next(turns)))))
    picture = median(lambda: drawing.png(answer_figure(answer(4, next(turns)))))
    page = median(lambda: drawing.html(answer_figure(answer(4, next(turns)))))
    pause = longest_pause(lambda: drawing.svg(answer_figure(answer(4, next(turns)))))
    first = "a warm figure of 4 groups, SVG"
    return [
        row("figure of 4 groups, SVG, warm", warm, json_small, "s", "its JSON"),
        row("figure of 4 groups, SVG, first of a process", cold(), warm, "s", first),
        row("figure of 4 groups, SVG, the same again", median(lambda: drawing.svg(same)), warm, "s", first),
        row("figure of 4 groups, PNG, warm", picture, warm, "s", first),
        row("figure of 4 groups, page, warm", page, warm, "s", first),
        row("figure of 3,650 groups, described", described, json_large, "s", "its JSON"),
        row("figure of 3,650 groups, SVG, warm", large, json_large, "s", "its JSON"),
        row("figure of 20,000 receipts, SVG, warm", history, warm, "s", first),
        row("longest pause of another thread meanwhile", pause, warm, "s", first),
    ]
