"""What is equal, what is less, and what is unknown: None, as is what is made of it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from adyton.transports.pg.catalog.casting import cast_to
from adyton.transports.pg.catalog.relations import Compiled, Env


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal: a number and its digits are, as a literal has no type yet."""
    if isinstance(left, str) == isinstance(right, str):
        return bool(left == right)
    if isinstance(left, bool):
        return ("t" if left else "f") == str(right)[:1].lower()
    if isinstance(left, list):
        return bool(cast_to(right, "text[]") == left)
    return str(left) == str(right)


def ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(left: Any, right: Any) -> bool:
        if isinstance(left, str) != isinstance(right, str):
            left, right = (Decimal(str(one)) for one in (left, right))
        return bool(test(left, right))

    return compared


def known(work: Callable[..., Any], *parts: Compiled) -> Compiled:
    """What ``work`` makes of the values of the parts; unknown where one of them is."""

    def value(env: Env) -> Any:
        values = [part(env) for part in parts]
        return None if any(one is None for one in values) else work(*values)

    return value
