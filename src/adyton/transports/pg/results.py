"""What comes back: rows with the types of their columns, a tag, and what is said beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from adyton.certify import Answer
from adyton.transports.pg.values import TEXT, Field

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Result:
    """``fields`` is None for what has no rows."""

    tag: str
    fields: Sequence[Field] | None = None
    rows: Sequence[Row] = ()
    notices: tuple[dict[str, str], ...] = ()
    changed: tuple[str, str] | None = None  # a setting that the client must be told


def listed(fields: Sequence[Field], rows: Sequence[Row], *notices: dict[str, str]) -> Result:
    return Result(f"SELECT {len(rows)}", fields, rows, notices)


def lines(name: str, said: Sequence[str], tag: str) -> Result:
    """One column of text."""
    return Result(tag, [Field(name, TEXT)], [[line] for line in said])


def notice_of(answer: Answer) -> dict[str, str]:
    """What it cost and its receipt; behind it all else that there is to say."""
    *others, cost, promise, receipt = answer.notes() if answer.free is None else (*answer.notes(), "", "")
    said = " ".join(part for part in (cost, receipt) if part)
    beside = "\n".join(part for part in (*others, promise) if part)
    return {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": said, **({"D": beside} if beside else {})}


def preview_lines(preview: dict[str, Any]) -> Iterator[str]:
    """A preview, a fact a line."""
    yield f"Question: {preview['question']}"
    if "free" in preview:
        yield f"Free of charge: {preview['free']}."
        return
    rows = preview["answer"]
    for name, ends in (rows[0]["values"] if rows else {}).items():
        noise, population = ends["noise_interval"], ends["population_interval"]
        yield f"{name}: {_width(noise)} noise interval" + (
            f", {_width(population)} population interval" if "half_width" in population else ""
        )
    if len(rows) > 1:
        yield f"Groups: {len(rows)}"
    cost = preview["cost"]
    yield (
        "Asked before: free of charge"
        if preview["repeated"]
        else f"Cost: {100 * cost['share']:.4g} % of the limit ({cost['amount']} {cost['filter']})"
    )
    left = f"{100 * preview['left']['share']:.4g}"
    yield f"Left: {left} % of the limit; {preview['more']} of this cost would fit"
    if not preview["affordable"]:
        fits = preview["fits"]
        yield f"It does not fit; this price would: {fits}" if fits else "It does not fit, at no price"


def _width(interval: dict[str, Any]) -> str:
    half = interval.get("half_width")
    told = "unknown width" if half is None else f"± {half:.6g}"
    return f"{told}, {100 * interval['level']:.4g} %" if "level" in interval else told
