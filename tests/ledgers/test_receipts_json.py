"""What ``receipts --json`` prints is enough to replay the chain with the standard library alone."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import adyton
from support.worlds import query, write_study


def printed(study: Path) -> dict[str, Any]:
    with adyton.open(study) as curator:
        for number in range(3):
            curator.ask(query(number), scale=1000, request=f"é {number}")
        return dict(json.loads(json.dumps(curator.receipts().to_json())))


def digest(*fields: object) -> str:
    return hashlib.sha256(json.dumps(["adyton", 1, *fields]).encode()).hexdigest()


def units(text: str | None) -> int | None:
    return None if text is None else int(Fraction(text) * 10**18)


def compact(told: dict[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def sealed_of(told: dict[str, Any]) -> str:
    spent = (units(told["spent_by"]), units(told["budget_share"]))
    return digest(
        "sealed",
        told["secret"],
        told["by"],
        *spent,
        compact(told["subject"]),
        told["query"],
        told["detail"],
        told["request"],
    )


def digest_of(told: dict[str, Any]) -> str:
    """From the open part alone, as docs/reference/json.md says."""
    amounts = (units(told[name]) for name in ("amount", "radius", "pure"))
    names = ("final_radius", "final_level", "spent", "spent_radius", "spent_pure")
    totals = (compact(told["validity"]), *(units(told[name]) for name in names))
    texts = (told["asked_at"], told["previous"], told["sealed"])
    return digest("receipt", told["number"], *amounts, told["unproved"], *totals, *texts)


def test_the_chain_follows_from_what_is_printed(tmp_path: Path) -> None:
    known = printed(write_study(tmp_path))
    header = known["header"]
    budget = units(header["budget"])
    own = (header["study"], known["accounting"], budget, header["salt"])
    previous = digest("header", *own)
    assert previous == header["digest"]
    spent = radius = 0
    last: dict[str, Any] | None = None
    for told in known["receipts"]:
        assert told["previous"] == previous
        assert told["sealed"] == sealed_of(told)
        assert told["digest"] == digest_of(told)
        spent += units(told["amount"]) or 0
        assert units(told["spent"]) == units(told["spent_by"]) == spent <= (budget or 0)
        final = units(told["final_radius"]) or 0
        assert final <= (units(last["radius"]) or 0 if last else 0)
        radius += final
        assert units(told["spent_radius"]) == radius + (units(told["radius"]) or 0)
        previous, last = told["digest"], told
    assert len(known["receipts"]) == 3
