"""What is equal, what is less, and three truth values: an unknown one is None."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from adyton.transports.pg.catalog.casting import cast_to
from adyton.transports.pg.catalog.relations import Compiled, Env


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal: a number and its digits are, as a literal has no type yet."""
    if isinstance(left, str) != isinstance(right, str):
        return str(left) == str(right) if not isinstance(left, bool | list) else _truth_text(left, right)
    return bool(left == right)


def _truth_text(left: Any, right: Any) -> bool:
    if isinstance(left, bool):
        return ("t" if left else "f") == str(right)[:1].lower()
    return bool(cast_to(right, "text[]") == left) if isinstance(right, str) else False


def ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(left: Any, right: Any) -> bool:
        if isinstance(left, str) != isinstance(right, str):
            left, right = (Decimal(str(one)) for one in (left, right))
        return bool(test(left, right))

    return compared


def both(left: Compiled, right: Compiled) -> Compiled:
    def true(env: Env) -> bool | None:
        a = left(env)
        if a is False:
            return False
        b = right(env)
        return False if b is False else None if a is None or b is None else True

    return true


def either(left: Compiled, right: Compiled) -> Compiled:
    def true(env: Env) -> bool | None:
        a = left(env)
        if a is True:
            return True
        b = right(env)
        return True if b is True else None if a is None or b is None else False

    return true


def negated(inner: Compiled) -> Compiled:
    def true(env: Env) -> bool | None:
        value = inner(env)
        return None if value is None else not value

    return true


def negative(inner: Compiled) -> Compiled:
    def number(env: Env) -> Any:
        value = inner(env)
        return None if value is None else -value

    return number
