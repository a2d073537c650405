"""What people see: tables for a terminal, plain text and notebooks; numbers with the digits that matter."""

from adyton.show.queries import in_short
from adyton.show.sheet import MOST_ROWS, Sheet, Shown, ends, half_width, number

__all__ = ["MOST_ROWS", "Sheet", "Shown", "ends", "half_width", "in_short", "number"]
