"""How often: multiplicity, in one expression.

A slot is something and how many times it is there.  Slots that are there equally often form a group; if that
makes too many groups the times are written in binary.  From there on everything is one ``fold``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from adyton.accounting.pld.pairs import DominatingPair
from adyton.errors import InvalidRequest

T = TypeVar("T")
LARGEST_COUNT = 10**9
_MOST_GROUPS = 30


def fold(view: Callable[[T], Any], slots: Iterable[tuple[T, int]]) -> Any:
    """The total of a view that adds up: a number or an array, whichever ``view`` gives."""
    return sum(times * view(slot) for slot, times in slots)


def counted(slots: Sequence[tuple[DominatingPair, int]]) -> dict[DominatingPair, int]:
    """Equal slots together.  The order in which they were declared leaves no trace."""
    counts: Counter[DominatingPair] = Counter()
    for pair, times in slots:
        if isinstance(times, bool) or not isinstance(times, int) or times < 0:
            raise InvalidRequest(f"a slot occurs a whole number of times, not {times!r}")
        counts[pair] += times
    if sum(counts.values()) > LARGEST_COUNT:
        raise InvalidRequest(f"at most {LARGEST_COUNT:,} slots can be composed, not {sum(counts.values()):,}")
    return {pair: counts[pair] for pair in sorted(counts, key=_place) if counts[pair]}


def grouped(counts: dict[DominatingPair, int]) -> list[tuple[list[DominatingPair], int]]:
    """Groups of different pairs that are there equally often; together they are ``counts``."""
    different = sorted(set(counts.values()))
    if len(different) > _MOST_GROUPS:
        return _by_powers_of_two(counts)
    return [([pair for pair in counts if counts[pair] == times], times) for times in different]


def _by_powers_of_two(counts: dict[DominatingPair, int]) -> list[tuple[list[DominatingPair], int]]:
    longest = max(counts.values()).bit_length()
    bits = [(bit, [pair for pair, times in counts.items() if times >> bit & 1]) for bit in range(longest)]
    return [(pairs, 1 << bit) for bit, pairs in bits if pairs]


def _place(pair: DominatingPair) -> tuple[float, str, int]:
    return pair.reach, type(pair).__name__, hash(pair)
