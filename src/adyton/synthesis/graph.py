"""The guess for tables of too many cells: a graphical model, fitted by mbi to what was released.

mbi is an extra: pip install 'adyton[synthetic]'.  It sees measured marginals, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from adyton.errors import InvalidRequest
from adyton.kernel.exact.cells import Floats
from adyton.kernel.noise.refine import Integers
from adyton.kernel.special.mechanisms.marginals.adaptive import NoisyMarginal
from adyton.kernel.special.mechanisms.marginals.tables import Axes
from adyton.synthesis.fitting import total_of
from adyton.synthesis.sampling import Random

LARGEST_MODEL = 20.0  # megabytes of a junction tree, once all of the price is spent
_STEPS = 3000
_STEPS_IN_A_ROUND = 500


@dataclass(frozen=True, slots=True, eq=False)
class GraphGuess:
    """Everything independent at first; then a Markov random field over the marginals that were measured."""

    shape: tuple[int, ...]
    known: int | None
    measured: tuple[Axes, ...] = ()
    model: Any = None
    steps: int = _STEPS_IN_A_ROUND

    @classmethod
    def even(cls, shape: Sequence[int], known: int | None) -> GraphGuess:
        return cls(tuple(shape), known)

    def tables(self, wanted: Iterable[Axes]) -> dict[Axes, Floats]:
        """Guessed numbers of rows in the cells of marginals."""
        if self.model is None:
            sizes = {axes: [self.shape[place] for place in axes] for axes in wanted}
            return {axes: np.full(own, (self.known or 1) / np.prod(own)) for axes, own in sizes.items()}
        weights = [(np.exp(values - values.max()), list(map(int, own))) for own, values in self._potentials()]
        return {axes: self._table(axes, weights) for axes in wanted}

    def bearable(self, candidates: Sequence[Axes], part: float) -> Sequence[Axes]:
        """Those whose model stays small, the smaller the less is spent; and parts of what was measured."""
        size = _mbi("junction_tree").hypothetical_model_size
        domain, most = self._domain(), LARGEST_MODEL * part
        known = [_names(axes) for axes in self.measured]
        kept = [
            axes
            for axes in candidates
            if any(set(axes) <= set(own) for own in self.measured)
            or size(domain, [*known, _names(axes)]) <= most
        ]
        return kept or [min(candidates, key=len)]

    def fitted(self, measured: Sequence[NoisyMarginal]) -> GraphGuess:
        """The model of all of ``measured``, searched for from this one."""
        mbi = _mbi()
        told = [
            mbi.LinearMeasurement(one.noisy.astype(float), _names(one.axes), stddev=one.deviation)
            for one in measured
        ]
        total = float(self.known or total_of(measured))
        model = mbi.estimation.MirrorDescent().estimate(
            self._domain(),
            told,
            known_total=total,
            iters=self.steps,
            warm_start=self._start(measured),
            tol=0.0,  # what stops where little is gained stops far from measurements that agree
        )
        axes = tuple(dict.fromkeys(one.axes for one in measured))
        return GraphGuess(self.shape, self.known, axes, model, self.steps)

    def carefully(self) -> GraphGuess:
        """The same, to be fitted with more steps."""
        return GraphGuess(self.shape, self.known, self.measured, self.model, _STEPS)

    def classes(self, rows: int, random: Random) -> list[Integers]:
        """For each axis, the class of each of ``rows`` rows."""
        drawn = _mbi("extensions").synthetic_data(self.model, rows=rows, seed=int(random.integers(2**31)))
        columns = drawn.to_dict()
        return [np.asarray(columns[str(place)], np.int64) for place in range(len(self.shape))]

    def _start(self, measured: Sequence[NoisyMarginal]) -> Any:
        if self.model is None:
            return None
        names = list(dict.fromkeys(_names(one.axes) for one in measured))
        return self.model.potentials.expand(names)

    def _potentials(self) -> Iterator[tuple[tuple[str, ...], Floats]]:
        """What is added up in the exponent, for each clique of the model."""
        for clique in self.model.potentials.cliques:
            factor = self.model.potentials[clique]
            yield factor.domain.attributes, np.asarray(factor.values, np.float64)

    def _table(self, axes: Axes, weights: list[tuple[Floats, list[int]]]) -> Floats:
        """All other axes summed out, one after the other.  mbi would compile a program for each marginal."""
        contract = import_module("opt_einsum").contract
        found: Floats = contract(*(piece for pair in weights for piece in pair), list(axes))
        rows: Floats = found * (float(self.model.total) / found.sum())
        return rows

    def _domain(self) -> Any:
        return _mbi().Domain([str(place) for place in range(len(self.shape))], list(self.shape))


def _names(axes: Axes) -> tuple[str, ...]:
    return tuple(map(str, axes))


def _mbi(part: str | None = None) -> Any:
    """JAX counts in doubles, and keeps no compiled programs on the disk: mbi asks for both."""
    try:
        settings = import_module("jax").config
        settings.update("jax_enable_x64", True)
        settings.update("jax_enable_compilation_cache", False)
        return import_module("mbi" if part is None else f"mbi.{part}")
    except ImportError:
        raise InvalidRequest("wide synthetic tables need mbi: pip install 'adyton[synthetic]'") from None
