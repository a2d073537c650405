"""The same game for Gaussian claims: both error probabilities of the best tests, against the curve G_mu."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adyton.audit.black_box import Mechanism, OnProgress, Pair, draw, finalists, name_of
from adyton.audit.judge import POWER, Judged, detectable, mu_of, share
from adyton.documents import Document
from adyton.errors import InvalidRequest
from adyton.kernel.exact.special import special
from adyton.show import Sheet, Shown


@dataclass(frozen=True, slots=True)
class ErrorRates(Document):
    """A test: its false-positive probability is at most ``type_one``, its false-negative one ``type_two``."""

    test: Judged

    json_keys = "type_one type_two event=test.event"

    @property
    def type_one(self) -> float:
        return self.test.unlikely

    @property
    def type_two(self) -> float:
        return 1 - self.test.likely

    def least_type_two(self, mu: float) -> float:
        """What mu-GDP allows at this false-positive probability: G_mu(type_one)."""
        return float(special().ndtr(-special().ndtri(self.type_one) - mu))


@dataclass(frozen=True, slots=True)
class TradeOff(Shown, Document):
    """What an audit of a mu-GDP claim found."""

    mechanism: str
    claimed_mu: float
    lower_bound: float
    samples: int
    confidence: float
    verdict: Literal["consistent", "refuted"]
    boxes: tuple[ErrorRates, ...]
    power: float | None  # the least true mu that would have been found

    json_keys = "mechanism claim lower_bound samples confidence verdict power=would_find tests=boxes"

    @property
    def refuted(self) -> bool:
        return self.verdict == "refuted"

    @property
    def claim(self) -> dict[str, float]:
        return {"mu": self.claimed_mu}

    @property
    def would_find(self) -> dict[str, float | None]:
        return {"mu": self.power, "probability": POWER}

    def sheet(self, verbose: bool = False) -> Sheet:
        rows = tuple(
            (
                box.test.event,
                f"{box.type_one:.5f}",
                f"{box.type_two:.5f}",
                f"{box.least_type_two(self.claimed_mu):.5f}",
            )
            for box in self.boxes
        )
        found = "nothing" if self.power is None else f"mu {self.power:.3f}"
        notes = (
            f"Claim mu {self.claimed_mu:g}; mu is at least {self.lower_bound:.4f}: {self.verdict}.",
            f"With probability {POWER} {self.samples:,} samples of each input would have found {found} "
            "in the Gaussian mechanism.",
        )
        headers = ("test", "type I at most", "type II at most", "mu-GDP allows")
        return Sheet(f"Trade-off audit of {self.mechanism}", headers, rows, notes)


def audit_gdp(
    mechanism: Mechanism,
    pair: Pair,
    mu: float,
    *,
    samples: int = 200_000,
    confidence: float = 0.999,
    name: str | None = None,
    vectorised: bool | None = None,
    on_progress: OnProgress | None = None,
) -> TradeOff:
    """Try to refute that ``mechanism`` is mu-GDP on one ``pair``; the arguments are those of ``audit``.

    Claim:    if the mechanism is mu-GDP on this pair, the verdict is "refuted" with probability at most
              1 - confidence; so is a lower bound above the least true mu.
    Assumes:  the outputs are independent draws.
    Source:   Dong, Roth, Su 2022 (trade-off functions); Clopper, Pearson 1934.  Theorem: AUDIT-TRADE-OFF.
    """
    if not mu > 0:
        raise InvalidRequest(f"mu must be above 0, not {mu:g}")
    drawn = draw(mechanism, pair, samples, vectorised, on_progress)
    judged = sorted(finalists(drawn, mu_of, confidence), key=lambda j: -j.bound)
    bound = max(0.0, judged[0].bound) if judged else 0.0
    trials = samples - samples // 2
    return TradeOff(
        mechanism=name or name_of(mechanism),
        claimed_mu=mu,
        lower_bound=bound,
        samples=samples,
        confidence=confidence,
        verdict="refuted" if bound > mu else "consistent",
        boxes=tuple(map(ErrorRates, judged)),
        power=detectable(_in_the_middle, mu, trials, share(confidence), mu_of),
    )


def _in_the_middle(mu: float) -> tuple[float, float]:
    """The threshold half way between the two means of the Gaussian mechanism."""
    return float(special().ndtr(mu / 2)), float(special().ndtr(-mu / 2))
