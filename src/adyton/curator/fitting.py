"""Which price would fit now, in the words in which the asker named one that does not.

It is searched for and then tried, from public facts alone: whoever names the price that is said, before
anybody else is answered, gets an answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from adyton.certify.amounts import percent
from adyton.certify.preview import fitting_text
from adyton.errors import BudgetRefused, InvalidRequest, ValidityRefused
from adyton.exact.search import edge, geometric
from adyton.ledger.cap import QUESTIONS
from adyton.planning.price import Price
from adyton.query.text import fraction_text

Fits = dict[str, object]  # {"within": "435"}, or {"within": {"n": "100", "avg_income": "500"}}
Over = Callable[[Price], float]  # how many times more a price would spend than is left

_DIGITS = 3
_WIDER, _NEAR, _ROUGH = 1.02, 0.001, 0.1
_ROUNDS = 30
_JUST_OVER = 1 + 1e-9
_LEAST_DECIMAL = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Room:
    """What is free: of the limit, and of stability and questions where charges beyond them are refused."""

    left: int
    radius: int | None = None
    questions: int | None = None

    def times(self, amount: int, radius: int) -> int:
        """How many charges of this amount and radius fit."""
        fitting = [self.left // max(amount, 1)]
        fitting += [self.radius // max(radius, 1)] if self.radius is not None else []
        fitting += [self.questions] if self.questions is not None else []
        return max(0, min(fitting))

    def over(self, amount: int, radius: int) -> float:
        """How many times more than is free; at most 1 if it fits."""
        if self.times(amount, radius) > 0:
            return 1.0
        if self.left < 1 or self.questions == 0 or (self.radius is not None and self.radius < 1):
            return math.inf
        return max(amount / self.left, radius / self.radius if self.radius else 0.0, _JUST_OVER)


def fitting_price(price: Price, over: Over, *, rough: bool = False) -> Fits | None:
    """The narrowest width or scale, or the largest epsilon or share, that fits; None if none was found.

    ``rough``: a few per cent from it will do, because every trial takes long.
    """
    wider = price.by in ("within", "scale")
    start = price
    if price.by in ("share", "units"):  # what a plan names nobody can name, but a share
        start = replace(price, by="share", amount=Fraction(1))
    excess = _tried(start, over)
    if excess <= 1 and start is not price:
        return {"share": "1"}
    if not 1 < excess < math.inf:
        return None
    factor = _searched(lambda times: _tried(_scaled(start, times), over), excess, wider, rough)
    return None if factor is None else _readable(start, factor, over, wider=wider)


def refused(refusal: BudgetRefused, fits: Fits | None) -> BudgetRefused:
    """The same refusal in shares of what is allowed, with the price that would fit, if one was found."""
    facts = {**refusal.facts, "fits": fits}
    advice = f"{fitting_text(fits)} would fit now; " if fits else ""
    if facts["counted_in"] == QUESTIONS:  # which no price changes
        return type(refusal)(refusal.message, **facts)
    asked, left = (Fraction(facts[key]) / Fraction(facts["limit"]) for key in ("requested", "largest"))
    used, whole = "cost", "the limit"
    if isinstance(refusal, ValidityRefused):
        used, whole = "use", "the stability for which population intervals are certified"
    said = f"this would {used} {percent(asked, up=True)} of {whole}, and {percent(left, up=False)} is left"
    return type(refusal)(f"{said}; {advice}nothing was charged", **facts)


def _searched(over: Callable[[float], float], excess: float, wider: bool, rough: bool) -> float | None:
    """A factor that fits, nearly the nearest to 1.

    What a width costs falls with its square, or in proportion, or not at all while a count stays within one
    step: so every trial says how far the next one goes.
    """
    near, far, power = 1.0, 1.0, 2.0
    for _ in range(_ROUNDS):
        step = excess ** (1 / power) * _WIDER
        near, far, before = far, far * step, excess
        excess = over(far if wider else 1 / far)
        if excess <= 1:
            break
        if math.isinf(excess):
            return None
        power = min(2.0, max(0.5, math.log(before / excess) / math.log(step)))
    else:
        return None

    def fits(factor: float) -> bool:
        return over(factor if wider else 1 / factor) <= 1

    found: float = edge(fits, far, near, close=_ROUGH if rough else _NEAR, middle=geometric)
    return found if wider else 1 / found


def _readable(price: Price, factor: float, over: Over, *, wider: bool) -> Fits | None:
    """In three digits, as near as they allow, and tried as it will be read."""
    for times, up in (
        (factor, not wider),
        (factor, wider),
        (factor * (_WIDER if wider else 1 / _WIDER), wider),
    ):
        near = _scaled(price, times)
        if price.each:
            each = tuple((name, _rounded(near.of(name), up=up)) for name, _ in price.each)
            if _tried(replace(price, each=each), over) <= 1:
                return {price.by: {name: _written(width) for name, width in each}}
        else:
            rounded = replace(near, amount=_rounded(near.amount, up=up))
            if _tried(rounded, over) <= 1:
                return {price.by: _written(rounded.amount)}
    return None


def _scaled(price: Price, times: float) -> Price:
    return replace(price, amount=price.amount * Fraction(times))


def _tried(price: Price, over: Over) -> float:
    try:
        return over(price)
    except InvalidRequest:
        return math.inf  # no noise can be found for such a price


def _rounded(value: Fraction, *, up: bool) -> Fraction:
    step = Fraction(10) ** (math.floor(math.log10(value)) - _DIGITS + 1)
    return (math.ceil(value / step) if up else math.floor(value / step)) * step


def _written(value: Fraction) -> str:
    return fraction_text(value) if value >= _LEAST_DECIMAL else f"{float(value):.{_DIGITS - 1}e}"
