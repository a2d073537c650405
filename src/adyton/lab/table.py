"""Everything that the lab can show, by name."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

import numpy as np

from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.figures.report import LabReport, Topic
from adyton.kernel.noise import Bits
from adyton.lab.adaptivity.binary_representation import BINARY_REPRESENTATION, binary_representation
from adyton.lab.adaptivity.forking_paths import FORKING_PATHS, forking_paths
from adyton.lab.adaptivity.holdout_boosting import HOLDOUT_BOOSTING, holdout_boosting
from adyton.lab.adaptivity.holdout_science import HOLDOUT_SCIENCE, holdout_science
from adyton.lab.adaptivity.owner_looks import OWNER_LOOKS, owner_looks
from adyton.lab.adaptivity.p_values import P_VALUES, p_values
from adyton.lab.adaptivity.routes import ROUTES, routes
from adyton.lab.adaptivity.stability import STABILITY, stability
from adyton.lab.adaptivity.unrealistic import UNREALISTIC, unrealistic
from adyton.lab.attacks.averaging import AVERAGING, averaging
from adyton.lab.attacks.differencing import DIFFERENCING, differencing
from adyton.lab.attacks.float_bits import FLOAT_BITS, float_bits
from adyton.lab.attacks.reconstruction import RECONSTRUCTION, reconstruction
from adyton.lab.choices.candidates import CANDIDATES, candidates
from adyton.lab.choices.hair import HAIR, hair
from adyton.lab.choices.noisy_max import NOISY_MAX, noisy_max
from adyton.lab.choices.price import PRICE, price
from adyton.lab.choices.sparse_vectors import SPARSE_VECTORS, sparse_vectors
from adyton.lab.definitions.deterministic import DETERMINISTIC, deterministic
from adyton.lab.definitions.name_and_shame import NAME_AND_SHAME, name_and_shame
from adyton.lab.definitions.sensitivities import SENSITIVITIES, sensitivities
from adyton.lab.definitions.two_hypotheses import TWO_HYPOTHESES, two_hypotheses
from adyton.lab.definitions.uniform_noise import UNIFORM_NOISE, uniform_noise
from adyton.lab.measuring.composition import COMPOSITION, composition
from adyton.lab.measuring.coordinated import COORDINATED, coordinated
from adyton.lab.measuring.gaussian_calibration import GAUSSIAN_CALIBRATION, gaussian_calibration
from adyton.lab.measuring.laplace_error import LAPLACE_ERROR, laplace_error
from adyton.lab.measuring.randomized_answers import RANDOMIZED_ANSWERS, randomized_answers
from adyton.show import Sheet, Shown

Experiment = Callable[[Bits, np.random.Generator], LabReport]

EXPERIMENTS: dict[Topic, Experiment] = {
    DIFFERENCING: lambda bits, rng: differencing(bits),
    AVERAGING: lambda bits, rng: averaging(bits),
    RECONSTRUCTION: reconstruction,
    FLOAT_BITS: float_bits,
    COORDINATED: coordinated,
    DETERMINISTIC: lambda bits, rng: deterministic(),
    UNIFORM_NOISE: lambda bits, rng: uniform_noise(),
    NAME_AND_SHAME: lambda bits, rng: name_and_shame(rng),
    TWO_HYPOTHESES: lambda bits, rng: two_hypotheses(),
    SENSITIVITIES: lambda bits, rng: sensitivities(),
    COMPOSITION: lambda bits, rng: composition(),
    LAPLACE_ERROR: lambda bits, rng: laplace_error(bits),
    GAUSSIAN_CALIBRATION: lambda bits, rng: gaussian_calibration(),
    RANDOMIZED_ANSWERS: randomized_answers,
    PRICE: lambda bits, rng: price(bits),
    HAIR: lambda bits, rng: hair(bits),
    CANDIDATES: lambda bits, rng: candidates(bits),
    NOISY_MAX: lambda bits, rng: noisy_max(bits),
    SPARSE_VECTORS: lambda bits, rng: sparse_vectors(bits),
    BINARY_REPRESENTATION: binary_representation,
    FORKING_PATHS: lambda bits, rng: forking_paths(rng),
    UNREALISTIC: unrealistic,
    P_VALUES: p_values,
    OWNER_LOOKS: lambda bits, rng: owner_looks(rng),
    ROUTES: routes,
    HOLDOUT_SCIENCE: holdout_science,
    HOLDOUT_BOOSTING: holdout_boosting,
    STABILITY: lambda bits, rng: stability(rng),
}


def run(name: str, bits: Bits, rng: np.random.Generator) -> LabReport:
    """The report of the experiment called ``name``; ``rng`` makes data up, ``bits`` makes noise."""
    by_name = {topic.name: experiment for topic, experiment in EXPERIMENTS.items()}
    if name not in by_name:
        close = get_close_matches(name, by_name, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        raise InvalidRequest(f"the lab has no {name!r}{hint} Known: {', '.join(by_name)}")
    return by_name[name](bits, rng)


class LabContents(Shown, Document):
    """The list of everything, as a table and as JSON."""

    json_keys = "entries"

    @property
    def entries(self) -> tuple[Topic, ...]:
        return tuple(EXPERIMENTS)

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple((topic.name, topic.title) for topic in EXPERIMENTS)
        notes = ("adyton lab NAME shows one of them, with its source; --figure FILE draws it.",)
        return Sheet("The lab", ("name", "what it shows"), rows, notes, left_aligned=2)
