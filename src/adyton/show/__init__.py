"""What people see: tables for a terminal, plain text and notebooks; numbers with the digits that matter."""

from adyton.show.digits import ends, half_width, number
from adyton.show.sheet import MOST_ROWS, Sheet, Shown

__all__ = ["MOST_ROWS", "Sheet", "Shown", "ends", "half_width", "number"]
