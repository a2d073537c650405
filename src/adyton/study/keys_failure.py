"""How likely it may be, over a whole study, that a key is shown which only one unit has."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adyton.study.facts import Study


def keys_failure(study: Study) -> Fraction:
    """All of ``keys_delta``, whatever epsilon is.

    If a failure has probability at most f on either of two tables, whatever else is released, and the release
    without failures is (e, d)-DP, the whole is (e, d + f)-DP.  Theorem: KEY-SELECTION.
    """
    return study.keys_delta
