"""What was learned about the population: widths that hold for all answers at once, however asked.

``subset`` is the theorem of Gaussian answers, ``hinge`` that of pure studies; beside them stand the bounds of
the literature, which a planner compares.
"""

from typing import TYPE_CHECKING

from adyton.late import late

if TYPE_CHECKING:
    from adyton.validity.planner import Plan, plan

__getattr__ = late(__name__, {"Plan": "planner", "plan": "planner"})

__all__ = ["Plan", "plan"]
