"""Random words that are the same in every run, and noise of a sampler in large blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adyton.kernel.noise.refine import Words

# Random words that are the same in every run: what is tested with them does not depend on luck.
#
# Numbers that tests have written down belong to one of these three streams.


class Seeded:
    def __init__(self, seed: int) -> None:
        self._generator: np.random.BitGenerator = np.random.Philox(key=seed)

    def words(self, count: int) -> Words:
        return self._generator.random_raw(count)


class SeededByHash(Seeded):
    """As numpy has it where no key is given."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(seed)


class SeededDefault(Seeded):
    """As numpy's default generator."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.PCG64(seed)


# Noise of a sampler, drawn in large blocks: for tests that need very many draws of one or a few.

Draw = Callable[[float, int, Any], Any]
_BLOCK = 2**16


def in_bulk(draw: Draw, bits: Any) -> Draw:
    """As ``draw``, from blocks of each scale that ``bits`` decide about, whatever bits are given later."""
    blocks = dict[float, tuple[Any, int]]()

    def next_ones(scale: float, count: int, _: Any) -> Any:
        block, used = blocks.get(scale, ((), 0))
        if used + count > len(block):
            block, used = draw(scale, max(count, _BLOCK), bits), 0
        blocks[scale] = block, used + count
        return block[used : used + count].copy()

    return next_ones
