"""From the file of a holdout back to its plan."""

from __future__ import annotations

import json
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.holdout.classes.uniform_plan import UniformPlan, restored_uniform
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.baselines import RoundingPlan, SplitPlan
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.guess_and_check import GuessAndCheckPlan
from adyton.holdout.methods.ladder import FreeLadderPlan, LadderPlan
from adyton.holdout.methods.slices import SlicesPlan, restored_slices
from adyton.holdout.methods.sparse_validate import SparseValidatePlan
from adyton.holdout.methods.thresholdout import ThresholdoutPlan
from adyton.kernel.exact import rational
from adyton.kernel.special.scores import ScoreBlocks

PricedPlan = GaussianPlan | SplitPlan | RoundingPlan | SlicesPlan | UniformPlan
StagedPlan = ThresholdoutPlan | LadderPlan | FreeLadderPlan | SparseValidatePlan | GuessAndCheckPlan
Plan = PricedPlan | StagedPlan


def restore(
    frame: HoldoutSize, method: str, tolerance: Fraction | None, settings: dict[str, str | int]
) -> Plan:
    """The plan that the file of a holdout holds."""
    try:
        match method:
            case "gaussian":
                return _gaussian(frame, settings)
            case "slices":
                return restored_slices(frame, settings)
            case "split":
                return SplitPlan(frame, _int(settings["scores"]))
            case "uniform":
                return restored_uniform(frame, settings)
            case "rounding":
                return RoundingPlan(frame, _int(settings["scores"]))
            case "thresholdout":
                counts = [_int(settings[key]) for key in ("overfits", "queries", "threshold")]
                return ThresholdoutPlan(frame, counts[0], counts[1], counts[2], float(settings["scale"]))
            case "ladder":
                return LadderPlan(frame, _int(settings["scores"]), _int(settings["rung"]))
            case "ladder-free":
                return FreeLadderPlan(frame, _int(settings["scores"]))
            case "sparse_validate":
                counts = [_int(settings[key]) for key in ("queries", "rejections", "accept")]
                return SparseValidatePlan(frame, counts[0], counts[1], counts[2])
            case "guess_and_check" if tolerance is not None:
                return GuessAndCheckPlan(frame, tolerance)
    except (KeyError, ValueError, TypeError):
        pass
    raise InvalidRequest(f"the section [{method}] of the holdout cannot be read")


def _gaussian(frame: HoldoutSize, settings: dict[str, str | int]) -> GaussianPlan:
    counts, scales = (json.loads(str(settings[key])) for key in ("counts", "scales"))
    if any(type(count) is not int for count in counts) or sum(counts) != settings["scores"]:
        raise ValueError
    blocks = ScoreBlocks(tuple(counts), tuple(map(float, scales)))
    expected = rational(settings["expected"], "expected") if "expected" in settings else None
    low, high = map(float, json.loads(str(settings["reach"])))
    return GaussianPlan(frame, blocks, (low, high), expected, settings.get("anytime") == "yes")


def _int(value: str | int) -> int:
    if type(value) is not int:
        raise TypeError
    return value
