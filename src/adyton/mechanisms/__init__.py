"""Mechanisms: what noise costs, how it is added, and how wrong it may be.  One idea a file."""

from typing import TYPE_CHECKING

from adyton.late import late
from adyton.mechanisms.above_threshold import AboveThreshold, Watch
from adyton.mechanisms.base import Mechanism, largest_ratio, worst_error
from adyton.mechanisms.gaussian import GaussianNoise
from adyton.mechanisms.geometric import GeometricNoise
from adyton.mechanisms.numeric_sparse import NumericSparse
from adyton.mechanisms.ratio import Band, Ratio, intervals_of, ratio_interval
from adyton.mechanisms.sparse import Sparse

if TYPE_CHECKING:
    from adyton.mechanisms.composed_cost import ComposedCost
    from adyton.mechanisms.exponential import ExponentialMechanism
    from adyton.mechanisms.linear_question import Box, LinearQuestion, Weights
    from adyton.mechanisms.matrix import GaussianMatrix, GeometricMatrix, predicted_error
    from adyton.mechanisms.multiplicative_weights import Guess, most_updates, mw_update
    from adyton.mechanisms.mwem import Mwem
    from adyton.mechanisms.noisy_max import NoisyMax
    from adyton.mechanisms.permute_and_flip import PermuteAndFlip
    from adyton.mechanisms.private_mw import PmwPlan, PrivateMw
    from adyton.mechanisms.quantile import PrivateQuantile, PrivateQuantiles
    from adyton.mechanisms.scores import ScoreSensitivity
    from adyton.mechanisms.sparse_split import late_halt_cost, questions_per_threshold, slide_cost
    from adyton.mechanisms.strategy import Strategy
    from adyton.mechanisms.strategy_choice import best_strategy, optimal_strategy
    from adyton.mechanisms.top_k import TopK
    from adyton.mechanisms.utility import classical_chance, exponential_chance, flip_chance, noisy_max_chance
    from adyton.mechanisms.workload import Cells, Marginals, Prefixes, Questions, Ranges, Workload

__getattr__ = late(
    __name__,
    {
        "Box": "linear_question",
        "Cells": "workload",
        "ComposedCost": "composed_cost",
        "ExponentialMechanism": "exponential",
        "GaussianMatrix": "matrix",
        "GeometricMatrix": "matrix",
        "Guess": "multiplicative_weights",
        "LinearQuestion": "linear_question",
        "Marginals": "workload",
        "Mwem": "mwem",
        "NoisyMax": "noisy_max",
        "PermuteAndFlip": "permute_and_flip",
        "PmwPlan": "private_mw",
        "Prefixes": "workload",
        "PrivateMw": "private_mw",
        "PrivateQuantile": "quantile",
        "PrivateQuantiles": "quantile",
        "Questions": "workload",
        "Ranges": "workload",
        "ScoreSensitivity": "scores",
        "Strategy": "strategy",
        "TopK": "top_k",
        "Weights": "linear_question",
        "Workload": "workload",
        "best_strategy": "strategy_choice",
        "classical_chance": "utility",
        "exponential_chance": "utility",
        "flip_chance": "utility",
        "late_halt_cost": "sparse_split",
        "most_updates": "multiplicative_weights",
        "mw_update": "multiplicative_weights",
        "noisy_max_chance": "utility",
        "optimal_strategy": "strategy_choice",
        "predicted_error": "matrix",
        "questions_per_threshold": "sparse_split",
        "slide_cost": "sparse_split",
    },
)

__all__ = [
    "AboveThreshold",
    "Band",
    "Box",
    "Cells",
    "ComposedCost",
    "ExponentialMechanism",
    "GaussianMatrix",
    "GaussianNoise",
    "GeometricMatrix",
    "GeometricNoise",
    "Guess",
    "LinearQuestion",
    "Marginals",
    "Mechanism",
    "Mwem",
    "NoisyMax",
    "NumericSparse",
    "PermuteAndFlip",
    "PmwPlan",
    "Prefixes",
    "PrivateMw",
    "PrivateQuantile",
    "PrivateQuantiles",
    "Questions",
    "Ranges",
    "Ratio",
    "ScoreSensitivity",
    "Sparse",
    "Strategy",
    "TopK",
    "Watch",
    "Weights",
    "Workload",
    "best_strategy",
    "classical_chance",
    "exponential_chance",
    "flip_chance",
    "intervals_of",
    "largest_ratio",
    "late_halt_cost",
    "most_updates",
    "mw_update",
    "noisy_max_chance",
    "optimal_strategy",
    "predicted_error",
    "questions_per_threshold",
    "ratio_interval",
    "slide_cost",
    "worst_error",
]
