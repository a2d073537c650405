"""A charge that does not fit: its facts, the one function that makes the error, and its words.

Programs look at the facts.  People read ``message``, which says what happened, that nothing was charged, and
what to do, as something to paste: an argument in Python, an option on the command line, SET in SQL.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, assert_never, get_args

from adyton.errors import (
    BudgetRefused,
    CuratorError,
    PrivacyRefused,
    ScoresRefused,
    SessionRefused,
    ValidityRefused,
)

Fits = Mapping[str, object]  # {"within": "435"}, or {"within": {"n": "100", "avg_income": "500"}}
Whose = Literal["study", "analyst", "query", "session", "shared budget", "plan", "holdout", "monitor"]
AskedFor = Literal["query", "score", "last score", "choice", "search"]
Surface = Literal["python", "terminal", "json", "sql", "page", "agent"]
PRICE_NAMES = ("within", "epsilon", "share", "scale")
FREE = "nothing was charged"
_LEAST_PERCENT = Fraction(1, 10_000)  # below it, and as near to 100, digits would only confuse
_AMOUNT = re.compile(r"[0-9]{1,3000}(\.[0-9]{1,60})?")  # a tiny width costs a number of many digits
_AMOUNTS = ("requested", "spent", "budget", "largest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What was asked for, what is spent and left, and whose budget it was.  Public facts only.

    ``whose``: of the study, of one analyst (``by``), of one query or one session of that analyst, of a shared
    budget (its file in ``shared_budget``), of the plan for population intervals, of a holdout, of a monitor.
    The amounts are decimal text, counted in what ``counted_in`` says.  ``field``: the argument that would
    have to change.  ``fits``: what would fit in it, None if nothing does, or if it was not ``searched`` for.

    >>> amounts = {"requested": "0.3", "spent": "0.2", "budget": "0.4", "largest": "0.2"}
    >>> refusal = Refusal(whose="analyst", by="ana", counted_in="gdp", **amounts)
    >>> happened(refusal)
    'this would cost 75 % of the budget share of ana, and 50 % is left'
    >>> what_to_do(refusal.fitting({"within": "435"}), "terminal")
    '--within 435 would fit now'
    """

    whose: Whose = "study"
    counted_in: str
    requested: str
    spent: str
    budget: str
    largest: str
    asked_for: AskedFor = "query"
    by: str | None = None
    shared_budget: str | None = None
    monitor: int | None = None
    closed_by: int | None = None  # the receipt of the last score of a holdout
    next_session_in: int | None = None  # seconds
    field: str | None = None
    fits: Fits | None = None
    searched: bool = False

    def facts(self) -> dict[str, Any]:
        """As the error and its JSON have them: what does not apply is left out."""
        known = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "searched"}
        said = {name: value for name, value in known.items() if value is not None}
        return {**said, "fits": self.fits} if self.searched else said

    def fitting(self, fits: Fits | None, field: str | None = None) -> Refusal:
        """The same after a price was searched for that would fit."""
        return replace(self, fits=fits, searched=True, field=field)


def refused(refusal: Refusal) -> BudgetRefused:
    """The error of a refusal, with its message in Python's words.  No other function makes one."""
    return _kind(refusal.whose)(message(refusal, "python"), **refusal.facts())


def _kind(whose: Whose) -> type[BudgetRefused]:
    match whose:
        case "study" | "analyst" | "query" | "shared budget" | "monitor":
            return PrivacyRefused
        case "plan":
            return ValidityRefused
        case "holdout":
            return ScoresRefused
        case "session":
            return SessionRefused
        case _:
            assert_never(whose)


def refusal_of(error: CuratorError) -> Refusal | None:
    """The facts of an error that ``refused`` made, here or behind a network; None for any other error."""
    facts = error.facts
    if not isinstance(error, BudgetRefused) or not _is_whole(facts):
        return None
    known = {one.name: facts[one.name] for one in fields(Refusal) if one.name in facts}
    return Refusal(**{**known, "searched": "fits" in facts})


def _is_whole(facts: Mapping[str, Any]) -> bool:
    """Whether these are facts that words can be made of: what comes over a network may be anything."""
    fits, texts = facts.get("fits"), [facts.get(name) for name in _AMOUNTS]
    return (
        facts.get("whose") in get_args(Whose)
        and facts.get("asked_for") in get_args(AskedFor)
        and all(isinstance(text, str) and _AMOUNT.fullmatch(text) for text in texts)
        and isinstance(facts.get("counted_in"), str)
        and all(type(facts.get(name, 0)) is int for name in ("monitor", "closed_by", "next_session_in"))
        and (fits is None or (isinstance(fits, Mapping) and len(fits) == 1))
    )


# Words -----------------------------------------------------------------------------------------------------


def message_of(error: CuratorError, surface: Surface) -> str:
    """What an error says on a surface: a refusal is worded for it, any other error has its own message."""
    refusal = refusal_of(error)
    return error.message if refusal is None else message(refusal, surface)


def message(refusal: Refusal, surface: Surface) -> str:
    """What happened, that it was free, and what to do."""
    parts = (happened(refusal), FREE, what_to_do(refusal, surface))
    return "; ".join(part for part in parts if part)


def happened(refusal: Refusal) -> str:
    """What was asked for, and why it does not fit."""
    match refusal.whose:
        case "study":
            return _cost(refusal, "the budget")
        case "analyst":
            return _cost(refusal, f"the budget share of {refusal.by}")
        case "query":
            return f"this would cost {_asked(refusal)} of the most that one query of {refusal.by} may cost"
        case "shared budget":
            return _cost(refusal, f"the shared budget {refusal.shared_budget}")
        case "plan":
            return _beyond_the_plan(refusal)
        case "session":
            hours = max(refusal.next_session_in or 0, 60) / 3600
            return (
                f"{refusal.by} has asked the {refusal.budget} queries of its session, and the next one "
                f"begins in {hours:.1f} hours"
            )
        case "monitor":
            return f"monitor {refusal.monitor} has halted: all its {refusal.budget} positives are used up"
        case "holdout":
            return _no_score(refusal)
        case _:
            assert_never(refusal.whose)


def _cost(refusal: Refusal, whole: str) -> str:
    return f"this would cost {_asked(refusal)} of {whole}, and {_left(refusal)}"


def _asked(refusal: Refusal) -> str:
    """As a share of the budget, rounded up; of no budget there is no share."""
    budget = Fraction(refusal.budget)
    return percent(Fraction(refusal.requested) / budget, up=True) if budget else "more than nothing"


def _left(refusal: Refusal) -> str:
    if not Fraction(refusal.largest) or not Fraction(refusal.budget):
        return "nothing is left"
    return f"{percent(Fraction(refusal.largest) / Fraction(refusal.budget), up=False)} is left"


def _beyond_the_plan(refusal: Refusal) -> str:
    certified = "for which population intervals are certified (validity.beyond_plan = 'refuse')"
    if refusal.counted_in == "queries":
        return f"this would go beyond the number of queries, {refusal.budget}, {certified}"
    return f"this would use {_asked(refusal)} of the stability {certified}, and {_left(refusal)}"


def _no_score(refusal: Refusal) -> str:
    asked, left, what = _count(refusal.requested), _count(refusal.largest), refusal.counted_in
    match refusal.asked_for:
        case "last score":
            return f"the last score takes all {asked} {what} left, and {refusal.by} has only a part of them"
        case "choice":
            whose = f" to {refusal.by}" if refusal.by else ""
            return f"this choice costs {asked} {what}, and {left} are left{whose}"
        case "search":
            return f"{asked} candidates need as many {what}, and this holdout has {left} left"
        case "query" | "score":
            if refusal.closed_by is not None:
                return f"score {refusal.closed_by:,} was the last of this holdout, without noise"
            if refusal.by is not None:
                return f"{refusal.by} has sent {refusal.spent} of the {refusal.budget} {what} of its part"
            return f"all {_count(refusal.budget)} {what} of this holdout are used up"
        case _:
            assert_never(refusal.asked_for)


def what_to_do(refusal: Refusal, surface: Surface) -> str:
    """Something to paste where there is such a thing; nothing where nothing helps."""
    if refusal.fits:
        ((by, amount),) = refusal.fits.items()
        return f"{PRICES[surface](by, amount)} would fit now"
    if refusal.asked_for == "search":
        return "try fewer, or choose some of them on the training data first"
    if refusal.whose == "session" or refusal.searched:
        return "what was answered before can be asked again, free"
    return ""


def _count(text: str) -> str:
    return f"{int(Fraction(text)):,}"


def in_two(message: str) -> tuple[str, str]:
    """A message as what happened and what to do, for surfaces that show them apart."""
    happening, _, fix = message.partition("; ")
    if not fix and " is not supported: " in happening:
        happening, _, fix = happening.partition(": ")
    return happening, fix


def widths_text(amount: object) -> str:
    """One price, or one for each value: 435, or n=100,avg_income=500."""
    if isinstance(amount, Mapping):
        return ",".join(f"{name}={each}" for name, each in amount.items())
    return str(amount)


def _in_python(by: str, amount: object) -> str:
    return f"{by}={widths_text(amount)!r}" if isinstance(amount, Mapping) else f"{by}={amount}"


PRICES: Mapping[Surface, Callable[[str, object], str]] = {  # how each surface names a price
    "python": _in_python,
    "terminal": lambda by, amount: f"--{by} {widths_text(amount)}",
    "json": lambda by, amount: f'"{by}": {json.dumps(amount)}',
    "sql": lambda by, amount: f"SET adyton.{by} = '{widths_text(amount)}'",
    "page": lambda by, amount: f"{by} {widths_text(amount)}",
    "agent": lambda by, amount: f"{by} = {json.dumps(amount) if isinstance(amount, Mapping) else amount}",
}


def percent(share: Fraction, *, up: bool) -> str:
    """A share in per cent with the digits that matter: what is not 0 is not shown as 0, nor 99.99 as 100."""
    hundredths = 100 * share
    if hundredths in (0, 100):
        return f"{int(hundredths)} %"
    if hundredths > 100:
        return f"{math.ceil(hundredths):,} %"
    room = min(hundredths, 100 - hundredths)
    if room < _LEAST_PERCENT:
        return "under 0.0001 %" if hundredths < 50 else "over 99.9999 %"
    digits = max(1, 1 - math.floor(math.log10(room)))
    steps = hundredths * 10**digits
    written = f"{(math.ceil(steps) if up else math.floor(steps)) / 10**digits:.{digits}f}"
    return written.rstrip("0").rstrip(".") + " %"
