"""Random words that are the same in every run: what is tested with them does not depend on luck.

Numbers that tests have written down belong to one of these three streams.
"""

from __future__ import annotations

import numpy as np

from adyton.kernel.noise.refine import Words


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
