"""Noise of a sampler, drawn in large blocks: for tests that need very many draws of one or a few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
