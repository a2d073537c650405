"""Ctrl-C while an engine is at work: an interrupt, and not a fault of the engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """DuckDB swallows Python's KeyboardInterrupt and raises a RuntimeError of its own in its place."""
    try:
        yield
    except RuntimeError as fault:
        if type(fault) is not RuntimeError or str(fault) != "Query interrupted":
            raise
    else:
        return
    raise KeyboardInterrupt
