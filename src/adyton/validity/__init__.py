"""What was learned about the population: widths that hold simultaneously for all answers, however asked.

``subset`` is the theorem of Gaussian answers and ``plans`` what follows from it, ``hinge`` that of pure
studies, ``classes`` that of queries from one declared class, ``last_look`` what a test on the rows is
worth after queries; ``published`` and ``textbook`` are bounds of the literature, most of which only a
planner compares.
"""

from typing import Any

__all__ = ["MeasuredStability", "stability_of"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from adyton.validity import measured_stability  # when it is asked for: no answer needs it

    return getattr(measured_stability, name)
