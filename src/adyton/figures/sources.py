"""What the entries of the lab were taken from: lecture notes, by their numbers in docs/seeds.md."""

from __future__ import annotations

from collections.abc import Sequence

_NOTES = {
    "000": ("Bassi", "slides on differential privacy and generalisation"),
    "001": ("Nikolov", "notes on the definition of differential privacy"),
    "002": ("Li, after Roth", "notes on adaptive data analysis"),
    "003": ("Bellet", "slides on the exponential mechanism and composition"),
    "004": ("Zhou", "notes on randomized algorithms, lecture 20"),
}


def authors_of(seeds: Sequence[str]) -> str:
    return "; ".join(_NOTES[number][0] for number in _numbers(seeds))


def sources_of(seeds: Sequence[str]) -> tuple[str, ...]:
    return tuple(", ".join(_NOTES[number]) for number in _numbers(seeds))


def _numbers(seeds: Sequence[str]) -> list[str]:
    """Of the sources, each once, in their order."""
    return sorted({seed.partition("-")[0] for seed in seeds})
