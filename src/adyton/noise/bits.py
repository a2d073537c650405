"""Where randomness comes from: a caller hands over a source of bits, and nothing here keeps one."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]


class Bits(Protocol):
    """A source of uniform bits.  Production passes ``SystemBits()``; only a test passes anything else."""

    def words(self, count: int) -> Words:
        """``count`` independent uniform 64-bit words that nobody has seen before."""
        ...


class SystemBits:
    """The operating system's generator, read afresh for every call.

    Claim:    no word is kept between calls, so a forked child or a restored snapshot of this process holds
              nothing that it could hand out a second time.
    Assumes:  ``os.urandom`` returns uniform bits that are independent of everything the analyst has seen.
    """

    __slots__ = ()

    def words(self, count: int) -> Words:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
