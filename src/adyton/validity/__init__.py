"""What was learned about the population: widths that hold for all answers at once, however asked."""

from typing import TYPE_CHECKING

from adyton.late import late
from adyton.validity.hinge import stability_width
from adyton.validity.noise_part import gaussian_multiplier, noise_width, question_share
from adyton.validity.peeling import WidthSchedule
from adyton.validity.unequal import split_width, unequal_widths

if TYPE_CHECKING:
    from adyton.validity.joint import joint_questions, joint_rows, joint_width
    from adyton.validity.planner import Plan, plan

__getattr__ = late(
    __name__,
    {
        "Plan": "planner",
        "joint_questions": "joint",
        "joint_rows": "joint",
        "joint_width": "joint",
        "plan": "planner",
    },
)

__all__ = [
    "Plan",
    "WidthSchedule",
    "gaussian_multiplier",
    "joint_questions",
    "joint_rows",
    "joint_width",
    "noise_width",
    "plan",
    "question_share",
    "split_width",
    "stability_width",
    "unequal_widths",
]
