"""How likely it may be, over a whole study, that a key is shown which only one unit has."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from adyton.exact import float_up

if TYPE_CHECKING:
    from adyton.study.facts import Study


def keys_failure(study: Study) -> Fraction:
    """What is left of ``keys_delta`` for failures: each counts for both of two neighbours.

    If a failure has probability at most f on either of two tables, and without one the release is (e, d)-DP,
    the whole is (e, d + (1 + exp(e)) f)-DP.  Theorem: KEY-SELECTION.
    """
    either = 1 + Fraction(math.exp(float_up(study.limit.epsilon))) * (1 + Fraction(1, 2**40))
    return study.keys_delta / either
