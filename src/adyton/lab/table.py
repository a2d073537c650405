"""Everything that the lab can show, by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.figures.report import Report, Topic
from adyton.lab.adaptivity.binary_representation import BINARY_REPRESENTATION, binary_representation
from adyton.lab.adaptivity.holdout_boosting import HOLDOUT_BOOSTING, holdout_boosting
from adyton.lab.adaptivity.holdout_science import HOLDOUT_SCIENCE, holdout_science
from adyton.lab.adaptivity.stability import STABILITY, stability
from adyton.lab.adaptivity.unrealistic import UNREALISTIC, unrealistic
from adyton.lab.averaging import AVERAGING, averaging
from adyton.lab.choices.choosing import CANDIDATES, HAIR, PRICE, candidates, hair, price
from adyton.lab.choices.noisy_max import NOISY_MAX, noisy_max
from adyton.lab.choices.sparse_vectors import SPARSE_VECTORS, sparse_vectors
from adyton.lab.coordinated import COORDINATED, coordinated
from adyton.lab.deterministic import DETERMINISTIC, deterministic
from adyton.lab.differencing import DIFFERENCING, differencing
from adyton.lab.float_bits import FLOAT_BITS, float_bits
from adyton.lab.gaussian_calibration import GAUSSIAN_CALIBRATION, gaussian_calibration
from adyton.lab.laplace_error import LAPLACE_ERROR, laplace_error
from adyton.lab.name_and_shame import NAME_AND_SHAME, name_and_shame
from adyton.lab.randomized_answers import RANDOMIZED_ANSWERS, randomized_answers
from adyton.lab.reconstruction import RECONSTRUCTION, reconstruction
from adyton.lab.sensitivities import SENSITIVITIES, sensitivities
from adyton.lab.two_hypotheses import TWO_HYPOTHESES, two_hypotheses
from adyton.lab.uniform_noise import UNIFORM_NOISE, uniform_noise
from adyton.noise import Bits
from adyton.show import Sheet, Shown

Experiment = Callable[[Bits, np.random.Generator], Report]

EXPERIMENTS: dict[Topic, Experiment] = {
    DIFFERENCING: lambda bits, rng: differencing(bits),
    AVERAGING: lambda bits, rng: averaging(bits),
    RECONSTRUCTION: reconstruction,
    FLOAT_BITS: float_bits,
    COORDINATED: lambda bits, rng: coordinated(rng),
    DETERMINISTIC: lambda bits, rng: deterministic(),
    UNIFORM_NOISE: lambda bits, rng: uniform_noise(),
    NAME_AND_SHAME: lambda bits, rng: name_and_shame(rng),
    TWO_HYPOTHESES: lambda bits, rng: two_hypotheses(),
    SENSITIVITIES: lambda bits, rng: sensitivities(),
    LAPLACE_ERROR: lambda bits, rng: laplace_error(bits),
    GAUSSIAN_CALIBRATION: lambda bits, rng: gaussian_calibration(),
    RANDOMIZED_ANSWERS: randomized_answers,
    PRICE: lambda bits, rng: price(),
    HAIR: lambda bits, rng: hair(),
    CANDIDATES: lambda bits, rng: candidates(),
    NOISY_MAX: lambda bits, rng: noisy_max(),
    SPARSE_VECTORS: lambda bits, rng: sparse_vectors(),
    BINARY_REPRESENTATION: lambda bits, rng: binary_representation(rng),
    UNREALISTIC: lambda bits, rng: unrealistic(rng),
    HOLDOUT_SCIENCE: lambda bits, rng: holdout_science(rng),
    HOLDOUT_BOOSTING: holdout_boosting,
    STABILITY: lambda bits, rng: stability(rng),
}


def run(name: str, bits: Bits, rng: np.random.Generator) -> Report:
    """The report of the experiment called ``name``; ``rng`` makes data up, ``bits`` makes noise."""
    by_name = {topic.name: experiment for topic, experiment in EXPERIMENTS.items()}
    if name not in by_name:
        close = get_close_matches(name, by_name, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise InvalidRequest(f"the lab has no {name!r}{hint} Known: {', '.join(by_name)}")
    return by_name[name](bits, rng)


class Contents(Shown):
    """The list of everything, as a table and as JSON."""

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(
            (topic.name, topic.title, "; ".join(notes.author for notes in topic.notes))
            for topic in EXPERIMENTS
        )
        notes = ("adyton lab NAME shows one of them, with its source; docs/seeds.md has them all.",)
        return Sheet("The lab", ("name", "what it shows", "source"), rows, notes, left_aligned=3)

    def to_json(self) -> dict[str, Any]:
        return {
            "entries": [
                {
                    "name": topic.name,
                    "title": topic.title,
                    "sources": list(topic.sources),
                }
                for topic in EXPERIMENTS
            ]
        }
