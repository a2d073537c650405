"""Mechanisms: what noise costs, how it is added, and how wrong it may be.  One idea a file."""

from adyton.mechanisms.above_threshold import AboveThreshold, Watch
from adyton.mechanisms.base import Mechanism, largest_ratio, worst_error
from adyton.mechanisms.composed_cost import ComposedCost
from adyton.mechanisms.exponential import ExponentialMechanism
from adyton.mechanisms.gaussian import GaussianNoise
from adyton.mechanisms.geometric import GeometricNoise
from adyton.mechanisms.linear_question import Box, LinearQuestion, Weights
from adyton.mechanisms.matrix import GaussianMatrix, GeometricMatrix, predicted_error
from adyton.mechanisms.multiplicative_weights import Guess, most_updates, mw_update
from adyton.mechanisms.mwem import Mwem
from adyton.mechanisms.noisy_max import NoisyMax
from adyton.mechanisms.numeric_sparse import NumericSparse
from adyton.mechanisms.permute_and_flip import PermuteAndFlip
from adyton.mechanisms.private_mw import PmwPlan, PrivateMw
from adyton.mechanisms.quantile import PrivateQuantile, PrivateQuantiles
from adyton.mechanisms.ratio import ratio_interval
from adyton.mechanisms.scores import ScoreSensitivity
from adyton.mechanisms.sparse import Sparse
from adyton.mechanisms.sparse_split import late_halt_cost, questions_per_threshold, slide_cost
from adyton.mechanisms.strategy import Strategy
from adyton.mechanisms.strategy_choice import best_strategy, optimal_strategy
from adyton.mechanisms.top_k import TopK
from adyton.mechanisms.utility import classical_chance, exponential_chance, flip_chance, noisy_max_chance
from adyton.mechanisms.workload import Cells, Marginals, Prefixes, Questions, Ranges, Workload

__all__ = [
    "AboveThreshold",
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
