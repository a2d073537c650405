"""Where something stands in a text, and why it is refused there."""

from __future__ import annotations

from typing import NoReturn

from sqlglot.tokenizer_core import Token

from adyton.errors import InvalidRequest


def refuse(word: Token, text: str, reason: str) -> NoReturn:
    """Stop at ``word`` and say why."""
    raise InvalidRequest(f"{reason} {place(text, word.start, text[word.start : word.end + 1])}")


def place(text: str, start: int | None, fragment: str) -> str:
    """Where something stands, for a message."""
    if start is None:
        return f"(at: {shortened(fragment)})"
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return f"(line {line}, column {column}: {shortened(fragment)})"


def shortened(fragment: str) -> str:
    """The beginning of a fragment, as it can be shown on one line."""
    visible = (mark if mark.isprintable() else ascii(mark)[1:-1] for mark in " ".join(fragment[:200].split()))
    plain = "".join(visible)
    return plain if len(plain) <= 60 else plain[:57] + "..."
