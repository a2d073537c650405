"""The methods of a holdout on values that the lab knows: measured as the kernel does it, without a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from adyton.holdout.measures import Measures
from adyton.holdout.methods.base import Reply, State
from adyton.holdout.methods.ladder import FreeLadderPlan
from adyton.holdout.methods.restoring import PricedPlan, StagedPlan
from adyton.holdout.metrics import Steps, total
from adyton.kernel.measurement import AnyMeasurement, Columns
from adyton.kernel.noise import Bits

_WATCH, _BEST = "watch", "values of the best"


@dataclass(frozen=True, slots=True)
class KnownSums:
    """Exact sums of the cells of one reading, for the receipt with this number."""

    place: int
    cells: list[int]

    def exact(self) -> Iterator[Columns]:
        yield [self.cells]


def shown(plan: PricedPlan, exact: int, number: int, bits: Bits) -> int:
    """What a score of this sum says, as number so many."""
    return shown_of_all(plan, [exact], number, bits)[0]


def shown_of_all(plan: PricedPlan, cells: list[int], number: int, bits: Bits) -> list[int]:
    """The same of the sums of all slices."""
    found: list[int] = _scored(plan).release(KnownSums(number, cells), bits)  # type: ignore[arg-type]
    return found


@lru_cache(maxsize=64)
def _scored(plan: PricedPlan) -> AnyMeasurement:
    return Measures(plan).scored("")


def first_state(plan: StagedPlan, bits: Bits) -> State:
    """The first state, with what the kernel would keep secret."""
    watch, _ = plan.measurement.begin(lambda _: (), bits)
    return {**plan.start(), _WATCH: watch}


def next_answer(
    plan: StagedPlan, state: State, values: Steps, guess: Fraction | None, bits: Bits
) -> tuple[Reply, State]:
    """One answer, and the next state."""
    sums, best = [total(values)], state.get(_BEST)
    if best is not None:
        apart = values.astype(np.int64) - best
        sums += [int(apart.sum()), int(np.dot(apart, apart))]
    machine: Any = plan.measurement  # whose question is that of the plan
    outcome, watch = machine.compare(state[_WATCH], sums, plan.question(state, guess), bits)
    reply, after = plan.answered(state, guess, outcome["value"])
    if isinstance(plan, FreeLadderPlan):
        best = best if outcome["value"] is None else values
    return reply, {**after, _WATCH: watch, _BEST: best}
