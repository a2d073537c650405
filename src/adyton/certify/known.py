"""What is public about a value before it is asked, and whether its noise leaves anything to learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adyton.certify.rows import Values
from adyton.certify.values import Value

UNINFORMATIVE = (
    "the noise interval covers every possible value, so the answer says nothing: "
    "pay a higher price, or ask about more rows"
)


@dataclass(frozen=True, slots=True)
class Known:
    """Whether a value is a ``count``, and the ``low`` and ``high`` between which it must lie, if any.

    ``step``: what is asked about is a multiple of it, so finer digits mean nothing.
    """

    count: bool = False
    low: float | None = None
    high: float | None = None
    step: float = 0.0

    def is_informative(self, value: Value) -> bool:
        """Whether the noise interval excludes anything that was possible before."""
        if self.low is None or self.high is None:
            return True
        return value.noise_interval.low > self.low or value.noise_interval.high < self.high

    def tells(self, values: Values) -> npt.NDArray[np.bool_]:
        """The same for each of many values."""
        if self.low is None or self.high is None:
            return np.ones(len(values), np.bool_)
        return (values.noise.low > self.low) | (values.noise.high < self.high)


NOTHING_KNOWN = Known()
