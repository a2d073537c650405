"""Whether a request is refused: many borders in one table, each with the next value on its other side."""

from __future__ import annotations

from collections.abc import Callable

from adyton.errors import InvalidRequest


def refused(work: Callable[[], object]) -> bool:
    try:
        work()
    except InvalidRequest:
        return True
    return False
