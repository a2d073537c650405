"""The facts of a study by the names that they have in its file: to say which of them differ."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from adyton.study.facts import Study

_UNIT = ("privacy.adjacency", "privacy.person", "privacy.rows_per_person")
_BUDGET = ("privacy.epsilon", "privacy.delta", "privacy.accounting")
_VALIDITY = (
    "confidence",
    "stability",
    "queries",
    "tolerance",
    "beyond_plan",
    "share",
    "spread",
    "group",
    "noise",
    "method",
)
_EPOCH = datetime.date(1970, 1, 1)


def named_facts(study: Study) -> dict[str, str]:
    """Each fact of the fingerprint, once; what is not known by name goes by the word that it begins with."""
    table, unit, budget, *more = study.facts
    named = _table("", "table", table)
    named |= _listed(_UNIT, unit, "privacy") | _listed(_BUDGET, budget, "privacy")
    for place, fact in enumerate(more):
        match fact:
            case ["discovery_delta", delta]:
                named["privacy.discovery_delta"] = _text(delta)
            case ["reserve", share]:
                named["validity.reserve"] = _text(share)
            case ["shared_budget", said]:
                named["privacy.shared_budget"] = _text(said)
            case ["private", most, str(name), rows, person, columns]:
                where = f"private.{name}"
                named |= {f"{where}.rows_per_person": _text(most), f"{where}.person": _text(person)}
                named |= _table(f"{where}.", where, [name, rows, columns])
            case ["public", of, str(name), key, joins, digest]:
                said = [("of", of), ("key", key), ("joins", joins), ("content", digest)]
                named |= {f"public.{name}.{what}": _text(value) for what, value in said}
            case _ if place == 0 and study.validity is not None:
                named |= _listed([f"validity.{key}" for key in _VALIDITY[: len(fact)]], fact, "validity")
            case [str(word), *rest] if word not in named:
                named[word] = _text(rest)
            case _:
                named[f"fact {place}"] = _text(fact)
    return named


def _table(before: str, where: str, fact: Sequence[Any]) -> dict[str, str]:
    """A table: its name and its rows, then its columns; a list in any other place is a fact like others."""
    name, rows, columns, *more = fact
    named = {f"{where}.name": _text(name), f"{where}.rows": _text(rows)}
    for kind, column, *rest in columns:
        named |= _column(f"{before}columns.{column}", kind, rest)
    return named | {f"{where}.{place}": _text(value) for place, value in enumerate(more, start=1)}


def _column(where: str, kind: str, rest: Sequence[Any]) -> dict[str, str]:
    named = {f"{where}.kind": kind}
    match kind, rest:
        case "category", [values, *more]:
            named[f"{where}.values"] = _text(values)
        case (("integer" | "real" | "date"), [step, low, high, *more]):
            ends = (("low", low), ("high", high))
            named |= {f"{where}.{end}": _bound(kind, Fraction(step) * steps) for end, steps in ends}
            named[f"{where}.step"] = _text(step)
        case _:
            more = list(rest)
    others = [fact for fact in more if not _is_missing(fact)]
    named |= {f"{where}.{place}": _text(value) for place, value in enumerate(others)}
    return named | {f"{where}.missing": _text(fact[1]) for fact in more if _is_missing(fact)}


def _is_missing(fact: Any) -> bool:
    return isinstance(fact, list) and fact[:1] == ["missing"]


def _bound(kind: str, value: Fraction) -> str:
    return str(_EPOCH + datetime.timedelta(days=int(value))) if kind == "date" else str(value)


def _listed(names: Sequence[str], values: Sequence[Any], where: str) -> dict[str, str]:
    more = [f"{where}.{place}" for place in range(len(names), len(values))]
    return {name: _text(value) for name, value in zip([*names, *more], values, strict=True)}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)
