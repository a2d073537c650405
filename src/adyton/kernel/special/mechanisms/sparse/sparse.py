"""The sparse vector technique: any number of queries, of which at most c may be found above."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from adyton.errors import InvalidRequest
from adyton.kernel.exact import float_up
from adyton.kernel.noise import Bits, two_sided_geometric
from adyton.kernel.noise.refine import check_scale
from adyton.kernel.privacy import PureCost
from adyton.kernel.special.mechanisms.composed_cost import ComposedCost

MOST_POSITIVES = 10**6


@dataclass(frozen=True, slots=True)
class SparseState:
    """What must be kept between two queries: positives left, and the secret noise of all thresholds."""

    left: int
    offset: int = field(repr=False)  # whoever knows it can undo the protection


@dataclass(frozen=True, slots=True)
class Sparse:
    """Says of each integer whether it is at or above its threshold, noisily, and halts after ``positives``.

    Claim:    with c = ``positives``, epsilon-DP for epsilon = D / threshold_scale + c k D / query_scale,
              or, where ``refresh`` draws the threshold's noise anew after each positive, c times
              (D / threshold_scale + k D / query_scale); k = 1 if the queries are monotone, 2 otherwise.
              The latter are c releases of one run each, and cost what these cost under any accounting.
    Assumes:  as ABOVE-THRESHOLD: each integer moves by at most D, all the same way if monotone.  Nothing but
              the answers leaves: neither the noise of the threshold nor the noisy integer that was compared.
    Source:   Dwork, Roth 2014, section 3.6; Lyu, Su, Li 2017, Algorithms 1 (kept) and 2 (refreshed).
    Theorem: SPARSE.  Monotone queries: Theorem: MONOTONE-SPARSE.
    """

    positives: int
    threshold_scale: Fraction
    query_scale: Fraction
    sensitivity: int = 1
    monotone: bool = False
    refresh: bool = False
    name: ClassVar[str] = "sparse vector"

    def __post_init__(self) -> None:
        check_positives(self.positives)
        check_noise(self.sensitivity, self.threshold_scale, self.query_scale)

    @property
    def theorems(self) -> tuple[str, ...]:
        return ("SPARSE", "MONOTONE-SPARSE") if self.monotone else ("SPARSE",)

    @property
    def runs(self) -> int:
        """How many noise terms of the threshold there are, and with each a release of its own."""
        return self.positives if self.refresh else 1

    def cost(self) -> ComposedCost:
        step = reach(self.sensitivity, self.monotone)
        above = self.positives // self.runs  # in one run
        run = PureCost(self.sensitivity / self.threshold_scale + above * step / self.query_scale)
        return ComposedCost(((run, self.runs),))

    def start(self, bits: Bits) -> SparseState:
        return SparseState(self.positives, draw_one(self.threshold_scale, bits))

    def step(self, watch: SparseState, exact: int, threshold: int, bits: Bits) -> tuple[bool, SparseState]:
        """The answer to one query, and what to keep for the next."""
        if watch.left < 1:
            raise InvalidRequest("this sparse vector has halted: all its positives are used up")
        above = is_above(exact, threshold, watch.offset, self.query_scale, bits)
        return above, self.after(watch, above, bits)

    def after(self, watch: SparseState, above: bool, bits: Bits) -> SparseState:
        if not above:
            return watch
        offset = draw_one(self.threshold_scale, bits) if self.refresh else watch.offset
        return SparseState(watch.left - 1, offset)

    def release(self, exact: Iterable[int], thresholds: Iterable[int], bits: Bits) -> list[bool]:
        """One answer a query, until the queries end or ``positives`` of them were above."""
        watch, said = self.start(bits), list[bool]()
        for value, threshold in zip(exact, thresholds, strict=False):
            above, watch = self.step(watch, value, threshold, bits)
            said.append(above)
            if not watch.left:
                break
        return said


def check_positives(positives: int) -> None:
    if type(positives) is not int or not 1 <= positives <= MOST_POSITIVES:
        raise InvalidRequest(f"positives must be a whole number from 1 to {MOST_POSITIVES}")


def is_above(exact: int, threshold: int, offset: int, scale: Fraction, bits: Bits) -> bool:
    """The one comparison: fresh noise on the integer, kept noise on the threshold, a tie counts as above."""
    return exact + draw_one(scale, bits) >= threshold + offset


def draw_one(scale: Fraction, bits: Bits) -> int:
    """A scale that is no float is rounded up: more noise never costs more than was priced."""
    return int(two_sided_geometric.draw(float_up(scale), 1, bits)[0])


def reach(sensitivity: int, monotone: bool) -> Fraction:
    """How far an integer can move against a threshold that was shifted to suit all queries below it."""
    return Fraction(sensitivity if monotone else 2 * sensitivity)


def check_noise(sensitivity: int, *scales: Fraction) -> None:
    if type(sensitivity) is not int or sensitivity < 1:
        raise InvalidRequest("the sensitivity of whole-number queries is a whole number, at least 1")
    for scale in scales:  # before anything is charged, not when the noise is drawn
        check_scale(float_up(scale), "a noise scale", two_sided_geometric.LARGEST_SCALE)
