"""What an answered value is called when its asker gave it no name."""

from __future__ import annotations

from collections.abc import Iterable

from adyton.query.expressions import Condition, Indicator, NumberExpression
from adyton.query.leaves import IsOutside, IsTrue, ValueOf


def default_name(stem: str, about: NumberExpression | Condition | None = None) -> str:
    """``stem`` and, if the value is about a single column, the name of that column."""
    subject = about.condition if isinstance(about, Indicator) else about
    if isinstance(subject, IsOutside):
        return f"{stem}_{subject.word.lower()}_{subject.column.name}"
    return f"{stem}_{subject.column.name}" if isinstance(subject, ValueOf | IsTrue) else stem


def distinct_names(given: Iterable[str | None], defaults: Iterable[str], taken: Iterable[str]) -> list[str]:
    """The given names, and defaults numbered where they would meet another name."""
    wanted = list(given)
    used = {name.casefold() for name in [*wanted, *taken] if name is not None}
    names = []
    for name, default in zip(wanted, defaults, strict=True):
        chosen = name if name is not None else _unused(default, used)
        used.add(chosen.casefold())
        names.append(chosen)
    return names


def _unused(stem: str, used: set[str]) -> str:
    number, name = 1, stem
    while name.casefold() in used:
        number += 1
        name = f"{stem}_{number}"
    return name
