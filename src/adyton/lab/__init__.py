"""The lab: attacks, and worked examples of the literature, each with its number beside the expected one.

Nothing here protects anybody.  Simulated data come from numpy's generator; noise comes from exact samplers.
"""

from adyton.figures.report import Chart, Finding, Line, Report, Topic
from adyton.lab.table import EXPERIMENTS, Contents, run

__all__ = ["EXPERIMENTS", "Chart", "Contents", "Finding", "Line", "Report", "Topic", "run"]
