"""Where something stands in a text, and why it is refused there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from sqlglot.tokenizer_core import Token

from adyton.errors import InvalidRequest


class Refused(InvalidRequest):
    """What says where in a text it is."""


def refuse(word: Token, text: str, reason: str) -> NoReturn:
    """Stop at ``word`` and say why."""
    raise Refused(f"{reason} {place(text, word.start, text[word.start : word.end + 1])}")


@contextlib.contextmanager
def placed(word: Token, text: str) -> Iterator[None]:
    """What is found wrong meanwhile is said with the place of ``word``."""
    try:
        yield
    except InvalidRequest as wrong:
        where = place(text, word.start, text[word.start : word.end + 1])
        raise Refused(f"{wrong.message} {where}") from None


def place(text: str, start: int, fragment: str) -> str:
    """Where something stands, for a message."""
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return f"(line {line}, column {column}: {shortened(fragment)})"


def shortened(fragment: str) -> str:
    """The beginning of a fragment, as it can be shown on one line."""
    visible = (mark if mark.isprintable() else ascii(mark)[1:-1] for mark in " ".join(fragment[:200].split()))
    plain = "".join(visible)
    return plain if len(plain) <= 60 else plain[:57] + "..."
