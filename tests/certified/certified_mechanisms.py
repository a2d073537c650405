"""Noise, its tails and utilities, and sensitivities: every certified computation of ``adyton.kernel.mechanisms``
and ``adyton.kernel.sensitivity``.
"""

# ruff: noqa: C408  (arguments are named as in a call)

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from adyton.arithmetic.ratio import ratio_interval
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.sensitivity.bounds import Sensitivity
from adyton.kernel.special.mechanisms.key_selection import KeySelection
from adyton.kernel.special.mechanisms.randomized_response import RandomizedResponse
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.kernel.special.mechanisms.selection.top_k import TopK
from adyton.monitors.pmw.run import PrivateMwPlan
from adyton.noise_intervals import selections
from adyton.noise_intervals.proportions import noise_for_cost
from adyton.noise_intervals.selections import shortfall_of
from adyton.noise_intervals.sparse import comparison_error, numeric_sparse_for_cost, sparse_for_cost
from adyton.noise_intervals.widths import noise_within, ratio_band, worst_error
from adyton.planning.coordinated.range_workload import Prefixes
from adyton.planning.coordinated.strategies import identity, tree, wavelet
from adyton.textbook.above_threshold import AboveThreshold
from adyton.textbook.matrix import GaussianMatrix, GeometricMatrix
from adyton.textbook.mwem import Mwem
from adyton.textbook.noisy_max import NoisyMax
from adyton.textbook.quantile import PrivateQuantile
from adyton.textbook.rounding import RoundedMeans
from certified import Certified, exact, never_larger, never_smaller
from literature.private_quantiles import PrivateQuantiles
from literature.sparse_slide import late_halt_cost

REPLACE, ADD = "replace-one", "add-remove"


def _moved(boxes: Any, cells: int = 1, adjacency: Any = REPLACE, **more: Any) -> Sensitivity:
    return Sensitivity(tuple((int(low), int(high)) for low, high in boxes), cells, adjacency, **more)


COUNT, SUM, MEAN = [[0, 1]], [[-3, 10]], [[0, 1], [-7, 20]]
SHAPES = (
    dict(boxes=COUNT),
    dict(boxes=COUNT, cells=5),
    dict(boxes=SUM, adjacency=ADD),
    dict(boxes=MEAN, cells=3, rows=2),
    dict(boxes=MEAN, cells=4, touched=2),
    dict(boxes=[[-8, 8], [-9, 9], [0, 1]], curved=True),
)


def _ones(moved: Sensitivity) -> tuple[Fraction, ...]:
    return tuple(Fraction(2 + i) for i in range(len(moved.boxes)))


SENSITIVITY = tuple(
    exact(
        f"sensitivity: {name}",
        lambda name=name, **shape: getattr(_moved(**shape), name)(_ones(_moved(**shape))),
        *SHAPES,
    )
    for name in ("l1_diameter", "l2_diameter_squared", "l1_radius", "l2_radius_squared")
)


def _gaussian(price: Fraction, **shape: Any) -> GaussianNoise:
    return noise_for_cost(GaussianNoise, _moved(**shape), price)


def _geometric(price: Fraction, **shape: Any) -> GeometricNoise:
    return noise_for_cost(GeometricNoise, _moved(**shape), price)


PRICED = tuple(dict(price="1/70", **shape) for shape in SHAPES)
LOUD = tuple(
    dict(boxes=boxes, half_width=half, confidence=0.95) for boxes, half in ((COUNT, 4000.0), (SUM, 7000.0))
)

NOISE = (
    never_smaller("Gaussian noise for a price", lambda **a: _gaussian(**a).scales[0], *PRICED),
    never_smaller("geometric noise for a price", lambda **a: _geometric(**a).scales[0], *PRICED),
    never_smaller(
        "Gaussian noise: cost",
        lambda price, **a: _gaussian(price, **a).cost(_moved(**a)).mu_squared,
        *PRICED[:3],
    ),
    never_smaller(
        "Gaussian noise: radius",
        lambda price, **a: _gaussian(price, **a).radius(_moved(**a)).mu_squared,
        *PRICED[:3],
    ),
    never_smaller(
        "geometric noise: cost",
        lambda price, **a: _geometric(price, **a).cost(_moved(**a)).epsilon,
        *PRICED[:3],
    ),
    never_smaller(
        "geometric noise: radius",
        lambda price, **a: _geometric(price, **a).radius(_moved(**a)).epsilon,
        *PRICED[:3],
    ),
    never_larger(
        "Gaussian noise for an error",
        lambda boxes, **a: noise_within(GaussianNoise, _moved(boxes), **a).scales[0],
        *LOUD,
    ),
    never_larger(
        "geometric noise for an error",
        lambda boxes, **a: noise_within(GeometricNoise, _moved(boxes), **a).scales[0],
        *LOUD,
    ),
    never_smaller(
        "Gaussian noise: tail",
        lambda scale, confidence: GaussianNoise((scale,)).error(confidence),
        *(dict(scale="1000000/7", confidence=confidence) for confidence in (0.5, 0.95, 0.999999)),
    ),
    never_smaller(
        "geometric noise: tail",
        lambda scale, confidence: GeometricNoise((scale,)).error(confidence),
        *(dict(scale="1000000/7", confidence=confidence) for confidence in (0.5, 0.95, 0.999999)),
    ),
    never_smaller(
        "Gaussian noise: error of a mean",
        lambda price, confidence, **a: worst_error(_gaussian(price, **a), _moved(**a), confidence),
        dict(price="1/70", boxes=MEAN, confidence=0.95),
    ),
    never_larger(
        "ratio: low",
        lambda price, top, bottom: float(
            ratio_interval(
                np.array([top]), np.array([bottom]), 20.0, ratio_band(_gaussian(price, boxes=MEAN), 0.95)
            )[0][0]
        ),
        dict(price="1/70", top=4000.0, bottom=900.0),
    ),
    never_smaller(
        "ratio: high",
        lambda price, top, bottom: float(
            ratio_interval(
                np.array([top]), np.array([bottom]), 20.0, ratio_band(_geometric(price, boxes=MEAN), 0.95)
            )[1][0]
        ),
        dict(price="1/70", top=4000.0, bottom=900.0),
    ),
    never_smaller(
        "keys: threshold",
        lambda kind, scale, touched, probability: (
            KeySelection(
                {"gaussian": GaussianNoise, "geometric": GeometricNoise}[kind]((scale,)), touched, probability
            ).threshold
        ),
        *(
            dict(kind=kind, scale="100000", touched=3, probability="1/1000000")
            for kind in ("gaussian", "geometric")
        ),
    ),
    never_smaller(
        "randomized response: epsilon",
        lambda epsilon, categories: RandomizedResponse.for_epsilon(epsilon, categories).cost().epsilon,
        dict(epsilon="1/2", categories=4),
    ),
    never_larger(
        "randomized response: truth",
        lambda epsilon, categories: RandomizedResponse.for_epsilon(epsilon, categories).truth,
        dict(epsilon="1/2", categories=4),
    ),
    never_smaller(
        "randomized response: error",
        lambda epsilon, categories: RandomizedResponse.for_epsilon(epsilon, categories).error(1000, 0.95),
        dict(epsilon="1/2", categories=4),
    ),
    never_smaller(
        "rounded means: bits",
        lambda error, queries: RoundedMeans.within(error).bits(queries),
        dict(error="1/50", queries=7),
    ),
)

SCORES = {"counts": ScoreSensitivity(Fraction(1), monotone=True), "any": ScoreSensitivity(Fraction(3, 2))}
SELECTORS = {"exponential": ExponentialMechanism, "flip": PermuteAndFlip, "noisy max": NoisyMax}


def _selected(mechanism: str, candidates: int, epsilon: Fraction, scores: str, confidence: Fraction) -> int:
    return shortfall_of(SELECTORS[mechanism](tuple(range(candidates)), epsilon, SCORES[scores]), confidence)


def _quantile(kind: str, epsilon: Fraction, confidence: Fraction) -> Fraction:
    many = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    if kind == "one":
        return PrivateQuantile(Fraction(1, 3), 0, 10**6, epsilon, "replace-one").error(confidence)
    return PrivateQuantiles(many, 0, 10**6, epsilon, "add-remove").error(confidence)


SPLITS = tuple(
    dict(epsilon="1/5", positives=positives, monotone=monotone, refresh=refresh)
    for positives, monotone, refresh in ((1, False, False), (10, True, False), (10, False, True))
)

SELECTION = (
    never_smaller(
        "selection: shortfall",
        _selected,
        *(
            dict(mechanism=name, candidates=candidates, epsilon="1/1000", scores=scores, confidence="19/20")
            for name in SELECTORS
            for candidates, scores in ((20, "counts"), (1000, "any"))
        ),
    ),
    never_smaller(
        "selection: chance, exponential",
        selections.exponential_chance,
        dict(rate="1/10", shortfall="70", candidates=20),
        dict(rate="1/10", shortfall="70", candidates=20, best=3),
    ),
    never_smaller(
        "selection: chance, flip", selections.flip_chance, dict(rate="1/10", shortfall="70", candidates=20)
    ),
    never_smaller(
        "selection: chance, noisy max",
        selections.noisy_max_chance,
        dict(scale="20", shortfall=70, candidates=20),
    ),
    never_smaller(
        "selection: chance, textbook",
        selections.classical_chance,
        dict(rate="1/10", shortfall="70", candidates=20),
    ),
    never_smaller(
        "noisy max: scale",
        lambda epsilon, scores: NoisyMax((1, 2), epsilon, SCORES[scores]).scale,
        dict(epsilon="1/10", scores="counts"),
        dict(epsilon="1/10", scores="any"),
    ),
    never_smaller(
        "top k: shortfall",
        lambda k, epsilon, confidence: shortfall_of(
            TopK(tuple(range(50)), k, epsilon, SCORES["counts"]), confidence
        ),
        dict(k=5, epsilon="1/1000", confidence="19/20"),
    ),
    never_smaller(
        "quantile: error of ranks",
        _quantile,
        dict(kind="one", epsilon="1/1000", confidence="19/20"),
        dict(kind="many", epsilon="1/1000", confidence="19/20"),
    ),
    never_smaller(
        "above threshold: epsilon",
        lambda **a: AboveThreshold.for_cost(**a).cost().epsilon,
        dict(epsilon="1/5"),
        dict(epsilon="1/7", monotone=True),
    ),
    never_smaller(
        "sparse: noise of queries",
        lambda epsilon, positives, **a: sparse_for_cost(epsilon, positives, **a).query_scale,
        *SPLITS,
    ),
    never_smaller(
        "sparse: noise of the threshold",
        lambda epsilon, positives, **a: sparse_for_cost(epsilon, positives, **a).threshold_scale,
        *SPLITS,
    ),
    never_smaller(
        "sparse: error",
        lambda epsilon, positives, **a: comparison_error(
            sparse_for_cost(epsilon / 1000, positives, **a), 0.95, 100
        ),
        *SPLITS,
    ),
    never_smaller(
        "sparse: pure cost",
        lambda epsilon, positives, **a: sparse_for_cost(epsilon, positives, **a).cost().pure,
        *SPLITS,
    ),
    never_smaller(
        "sparse: rho",
        lambda epsilon, positives, **a: sparse_for_cost(epsilon, positives, **a).cost().zcdp,
        *SPLITS,
    ),
    never_smaller(
        "numeric sparse: error of a value",
        lambda epsilon, positives, **a: numeric_sparse_for_cost(epsilon / 1000, positives, **a).values.error(
            0.95
        ),
        SPLITS[1],
    ),
    never_smaller(
        "numeric sparse: pure cost",
        lambda epsilon, positives, **a: numeric_sparse_for_cost(epsilon, positives, **a).cost().pure,
        SPLITS[1],
    ),
    never_smaller("sparse: late halt", late_halt_cost, dict(positives=7, epsilon="1/3")),
    never_smaller(
        "mwem: cost",
        lambda epsilon, rounds: Mwem.for_cost(Prefixes(16), epsilon, rounds).cost().pure,
        dict(epsilon="1", rounds=5),
    ),
    never_smaller(
        "mwem: error",
        lambda epsilon, rounds: Mwem.for_cost(Prefixes(16), epsilon, rounds).error(16, 10**6, 0.95),
        dict(epsilon="1", rounds=5),
    ),
    never_smaller(
        "private weights: error",
        lambda epsilon: PrivateMwPlan.for_cost(epsilon, 16, 10**6, 50).error(0.95, 50),
        dict(epsilon="1"),
    ),
    never_smaller(
        "matrix: sigma",
        lambda strategy, price: GaussianMatrix.for_cost(STRATEGIES[strategy](16), REPLACE, price).sigma,
        *(dict(strategy=name, price="1/70") for name in ("identity", "tree", "wavelet")),
    ),
    never_smaller(
        "matrix: error",
        lambda strategy, price: GaussianMatrix.for_cost(STRATEGIES[strategy](16), REPLACE, price).error(
            Prefixes(16), 0.95
        )[7],
        *(dict(strategy=name, price="1/70") for name in ("identity", "tree", "wavelet")),
    ),
    never_smaller(
        "matrix: geometric scale",
        lambda strategy, price: GeometricMatrix.for_cost(STRATEGIES[strategy](16), ADD, price).scale,
        dict(strategy="tree", price="1/70"),
    ),
    never_smaller(
        "matrix: geometric error",
        lambda strategy, price: GeometricMatrix.for_cost(STRATEGIES[strategy](16), ADD, price).error(
            Prefixes(16), 0.95
        )[7],
        dict(strategy="tree", price="1/70"),
    ),
    exact(
        "strategy: squared radius",
        lambda strategy: STRATEGIES[strategy](16).l2_radius_squared(),
        *(dict(strategy=name) for name in ("identity", "tree", "wavelet")),
    ),
)
STRATEGIES = {"identity": identity, "tree": tree, "wavelet": wavelet}


COMPUTATIONS: tuple[Certified, ...] = SENSITIVITY + NOISE + SELECTION
