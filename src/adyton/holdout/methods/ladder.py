"""The Ladder: a leaderboard says how good the best is so far, and only when it got clearly better."""

from __future__ import annotations

import base64
import math
import zlib
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from adyton.arithmetic.search import minimise
from adyton.errors import InvalidRequest, LedgerCorrupt
from adyton.holdout.methods.base import HoldoutSize, Reply, State, UsedUp
from adyton.holdout.metrics import Steps, total
from adyton.kernel.exact import float_up, whole
from adyton.kernel.noise import Bits
from adyton.validity.textbook.concentration import hoeffding_width


@dataclass(frozen=True, slots=True)
class LadderPlan:
    """``rung``, in steps of the sum: a score must beat the best by more than this, and is rounded to it.

    Claim:    with probability 1 - failure, after each of ``scores`` adaptive submissions the best score shown
              is within ``half_width`` of the best population value among all submissions so far.
    Assumes:  items are independent draws from the population; nobody has seen them otherwise.
    Source:   Blum, Hardt 2015; the number of transcripts is counted here.  Theorem: LADDER.
    """

    frame: HoldoutSize
    scores: int
    rung: int
    name: ClassVar[str] = "ladder"
    accounting: ClassVar[str] = "pure"
    needs_guess: ClassVar[bool] = False
    theorems: ClassVar[tuple[str, ...]] = ("LADDER", "HOEFFDING")
    price: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole(self.scores, "the number of scores")
        whole(self.rung, "the rung in steps")

    def half_width(self) -> float:
        return ladder_width(self.frame, self.scores, self.rung)

    def start(self, bits: Bits) -> State:
        return {"asked": 0, "best": None}

    def left(self, state: State) -> int | None:
        return self.scores - int(state["asked"])

    def used_up(self, state: State) -> UsedUp | None:
        return UsedUp("scores", self.scores) if state["asked"] >= self.scores else None

    def step(self, state: State, values: Steps, guess: Fraction | None, bits: Bits) -> tuple[Reply, State]:
        loss = loss_of(self.frame, values)
        best, said = state["best"], "no improvement"
        if best is None or loss < best - self.rung:
            best, said = nearest(loss, self.rung), "improved"
        after = {"asked": state["asked"] + 1, "best": best}
        return Reply(said, value_of(self.frame, best), self.half_width()), after

    def settings(self) -> dict[str, str | int]:
        return {"scores": self.scores, "rung": self.rung}


@dataclass(frozen=True, slots=True)
class FreeLadderPlan:
    """The Ladder without a parameter: the rung is the standard error of the difference to the best.

    No bound is known for it that holds for everybody, so it comes without an interval.
    Source: Blum, Hardt 2015.
    """

    frame: HoldoutSize
    scores: int
    name: ClassVar[str] = "ladder-free"
    accounting: ClassVar[str] = "pure"
    needs_guess: ClassVar[bool] = False
    theorems: ClassVar[tuple[str, ...]] = ()
    price: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole(self.scores, "the number of scores")

    def start(self, bits: Bits) -> State:
        return {"asked": 0, "best": None, "values": ""}

    def left(self, state: State) -> int | None:
        return self.scores - int(state["asked"])

    def used_up(self, state: State) -> UsedUp | None:
        return UsedUp("scores", self.scores) if state["asked"] >= self.scores else None

    def step(self, state: State, values: Steps, guess: Fraction | None, bits: Bits) -> tuple[Reply, State]:
        loss, best = loss_of(self.frame, values), state["best"]
        after = {**state, "asked": state["asked"] + 1}
        if best is None or loss < best - self._rung(values, _unpacked(state["values"])):
            best = nearest(loss, self.frame.steps)  # to 1/n
            after |= {"best": best, "values": _packed(values)}
            return Reply("improved", value_of(self.frame, best), None), after
        return Reply("no improvement", value_of(self.frame, best), None), after

    def _rung(self, values: Steps, best: Steps) -> float:
        """sqrt(n) standard deviations of the differences, in steps of the sum."""
        difference = values.astype(np.int64) - best
        return float(difference.std(ddof=1 if difference.size > 1 else 0)) * math.sqrt(difference.size)

    def settings(self) -> dict[str, str | int]:
        return {"scores": self.scores}


def loss_of(frame: HoldoutSize, values: Steps) -> int:
    exact = total(values)
    return frame.whole - exact if frame.greater_is_better else exact


def value_of(frame: HoldoutSize, loss: int) -> Fraction:
    share = Fraction(loss, frame.whole)
    return 1 - share if frame.greater_is_better else share


def nearest(loss: int, rung: int) -> int:
    """The nearest multiple of the rung; halfway counts upwards."""
    return (2 * loss + rung) // (2 * rung) * rung


def ladder_nodes(scores: int, rungs: int) -> int:
    """How many different submissions any one analyst can ever make: C(k + G, k - 1), G = ceil(1 / rung).

    Theorem: LADDER.
    """
    return math.comb(scores + rungs, scores - 1)


@lru_cache(maxsize=4096)
def ladder_width(frame: HoldoutSize, scores: int, rung: int) -> float:
    """sqrt(ln(2 nodes / failure) / (2 n)) + rung, rounded up.  Theorem: LADDER."""
    nodes = ladder_nodes(scores, -(-frame.whole // rung))
    stray = hoeffding_width(frame.items, frame.failure / nodes)
    return float_up(Fraction(stray) + Fraction(rung, frame.whole) + frame.rounding)


def plan_ladder(frame: HoldoutSize, scores: int, tolerance: Fraction | None = None) -> LadderPlan:
    """The rung with about the least half-width; the tolerance may be left out."""

    def width(share: float) -> float:
        return ladder_width(frame, scores, max(1, round(share * frame.whole)))

    rung = max(1, round(minimise(width, max(1e-4, 1 / frame.whole), 0.5, 30) * frame.whole))
    return near_enough(LadderPlan(frame, scores, rung), tolerance)


def near_enough(made: LadderPlan, tolerance: Fraction | None) -> LadderPlan:
    """InvalidRequest if its width is above the tolerance, or says nothing."""
    width = made.half_width()
    if width >= 1 or (tolerance is not None and width > tolerance):
        wanted = "which says nothing" if tolerance is None else f"not {float(tolerance):g}"
        raise InvalidRequest(
            f"the ladder is certified within {width:.4g} for {made.scores:,} scores from "
            f"{made.frame.items:,} items, {wanted}"
        )
    return made


def _packed(values: Steps) -> str:
    return base64.b64encode(zlib.compress(values.astype("<u2").tobytes(), 1)).decode()


def _unpacked(text: str) -> Steps:
    try:
        return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<u2").astype(np.uint16)
    except (ValueError, zlib.error):
        raise LedgerCorrupt("a note of a holdout cannot be read back") from None
