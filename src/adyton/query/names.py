"""What an answered value is called when its asker gave it no name."""

from __future__ import annotations

from collections.abc import Iterable

from adyton.query.nodes import Condition, Constant, DatePart, Floor, Indicator, IsTrue, Number, Times, ValueOf
from adyton.schema import BooleanColumn, CategoryColumn, Column, TextColumn


def default_name(stem: str, about: Number | Condition | None = None) -> str:
    """``stem`` and, if the value is about a single column, the name of that column."""
    subject = about.condition if isinstance(about, Indicator) else about
    return f"{stem}_{subject.column.name}" if isinstance(subject, ValueOf | IsTrue) else stem


def group_name(group: Column | Number) -> str:
    """What a group is called that was given no name: after its column where there is one."""
    match group:
        case CategoryColumn() | BooleanColumn() | TextColumn():
            return group.name
        case ValueOf(column):
            return column.name
        case DatePart(part, day):
            return f"{part}_{day.column.name}"
        case Times(inner, Constant()) | Times(Constant(), inner) | Floor(inner):
            return default_name("floor", inner.inner if isinstance(inner, Floor) else inner)
    return "group"


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
