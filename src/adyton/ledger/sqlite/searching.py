"""Receipts that are found by the words of their questions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from adyton.ledger.links import Receipt
from adyton.ledger.sqlite.tables import COUNTS_ALL, find, find_all


def find_mentioning(connection: sqlite3.Connection, words: Sequence[str], after: int) -> list[Receipt]:
    """Receipts after ``after`` with one of these words in their question."""
    mentioned = " OR ".join("instr(question, ?) > 0" for _ in words)
    return find_all(connection, f"number > ? AND ({mentioned}) ORDER BY number", after, *words)


def find_counting(
    connection: sqlite3.Connection, start: str, end: str, after: int, below: int
) -> Receipt | None:
    """By an index of such receipts alone; a ledger of an older version has none, and is searched."""
    like = "number > ? AND number < ? AND substr(question, 1, ?) = ? AND substr(question, -?) = ?"
    newest = f"{COUNTS_ALL} AND {like} ORDER BY number DESC LIMIT 1"
    return find(connection, newest, after, below, len(start), start, len(end), end)
