"""Measures that are computed from others, after the noise: one file for each, and the list of them.

A file says what a measure is called in SQL, which measures of the kernel are read for it, and how its value
and its intervals follow from theirs.  All else is the same for all: SQL and Python, prices, previews,
canonical texts and receipts, HTTP and JSON.
"""

from __future__ import annotations

from adyton.query.measures.computed import ComputedMeasure
from adyton.query.measures.geometric_mean import GEOMETRIC_MEAN

COMPUTED_MEASURES: tuple[ComputedMeasure, ...] = (GEOMETRIC_MEAN,)
