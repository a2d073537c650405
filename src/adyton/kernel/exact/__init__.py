"""The floor of the arithmetic: what is exact, what is rounded to the safe side, and how places are searched.

- ``outward``: integers, rationals, floats and numbers of mpmath rounded to the safe side; the one set of
  margins; units of 10**-18, and numbers that a person wrote.
- ``interval``: real numbers between two rationals, by mpmath's interval arithmetic.
- ``boxes``: an interval for each row, and arithmetic with them.
- ``cells``: one whole number for each of many cells; z * scale + shift for many z at once, rounded as
  fractions would be.
- ``curves``: roots, logarithms and powers of e, as whole numbers of steps.
- ``search``: the named searches, for whole numbers and for floats.
- ``special``: scipy's special functions, loaded late.
"""

from adyton.kernel.exact.outward import (
    UNITS_PER_ONE,
    Number,
    decimal_text,
    decimal_units,
    each_of,
    failure_of,
    float_down,
    float_up,
    floats_up,
    keep_exactly,
    not_negative,
    positive,
    printed_up,
    probability,
    ratio_down,
    ratio_up,
    rational,
    units_down,
    units_up,
    whole,
)

__all__ = [
    "UNITS_PER_ONE",
    "Number",
    "decimal_text",
    "decimal_units",
    "each_of",
    "failure_of",
    "float_down",
    "float_up",
    "floats_up",
    "keep_exactly",
    "not_negative",
    "positive",
    "printed_up",
    "probability",
    "ratio_down",
    "ratio_up",
    "rational",
    "units_down",
    "units_up",
    "whole",
]
