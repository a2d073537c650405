"""How many adaptive queries are certified, beside the best published method; how long planning takes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction

from adyton.validity.hinge.joint import joint_width
from adyton.validity.hinge.peeling import WidthSchedule
from adyton.validity.planner import plan

CELLS = [(10**4, "0.1"), (10**5, "0.05"), (10**5, "0.1"), (10**6, "0.05"), (10**6, "0.1")]


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def row(name: str, ours: float, reference: float | None, unit: str, against: str) -> dict[str, object]:
    ratio = None if not reference else round(ours / reference, 2)
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "ratio": ratio,
        "unit": unit,
        "against": against,
    }


def certified() -> list[dict[str, object]]:
    rows = []
    for n, tolerance in CELLS:
        offers = {option.method: option.value for option in plan(rows=n, tolerance=tolerance).options}
        ours = offers.pop("hinge")
        best = max(offers, key=lambda method: offers[method] or 0)
        name = f"queries within {tolerance} from {n:,} rows"
        rows.append(row(name, ours or 0, offers[best], "queries", best))
    return rows


def times() -> list[dict[str, object]]:
    schedule = WidthSchedule.plan("0.05", "0.1")
    spent = [schedule.cap * Fraction(j, 1000) for j in range(1, 1001)]

    def look_up() -> None:
        for s in spent:
            schedule.stability(s)

    planning = seconds(lambda: plan(rows=10**8, tolerance="0.0321"))
    one_width = min(seconds(lambda k=k: joint_width(10**6, k, "0.05")) for k in range(1001, 1008))
    return [
        row("a plan for 100,000,000 rows", planning, 2.0, "s", "the two seconds allowed"),
        row("one joint width with its noise", one_width * 1e3, None, "ms", ""),
        row("one width of a schedule", min(seconds(look_up) for _ in range(5)) * 1e3, None, "us", ""),
        row(
            "a schedule of ten levels", seconds(lambda: WidthSchedule.plan("0.0501", "0.1003")), None, "s", ""
        ),
    ]


def run() -> list[dict[str, object]]:
    return certified() + times()


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
