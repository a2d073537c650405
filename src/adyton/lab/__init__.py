"""The lab: attacks, and worked examples of the literature, each with its number beside the expected one.

Nothing here protects anybody.  Simulated data come from numpy's generator; noise comes from exact samplers.
"""

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.lab.table import EXPERIMENTS, LabContents, run

__all__ = ["EXPERIMENTS", "Chart", "ChartLine", "LabContents", "LabFinding", "LabReport", "Topic", "run"]
