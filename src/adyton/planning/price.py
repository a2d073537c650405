"""What an asker may name as the price of a question, always the total for the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypedDict, Unpack, get_args

from adyton.errors import InvalidRequest
from adyton.exact import Number, positive
from adyton.query.request import Request
from adyton.study import Study

By = Literal["within", "epsilon", "share", "scale"]


class PriceWords(TypedDict, total=False):
    """Exactly one of the first four, and ``expected_rows`` if the asker knows it.

    ``within``: half-width of each value's 95 % noise interval, one number or one for each value by its name,
    {"n": 100} or "n=100,mean=5".  ``epsilon``: the question's own guarantee at the study's delta.
    ``share``: of what is left.  ``scale``: of each value's noise.  ``expected_rows``: how many rows the
    asker expects to contribute to a mean, whose width depends on it.
    """

    within: Number | Mapping[str, Number]
    epsilon: Number
    share: Number
    scale: Number
    expected_rows: int


@dataclass(frozen=True, slots=True)
class Price:
    """``each``: where values have widths of their own, these, by name; ``amount`` is a factor for all."""

    by: By | Literal["units"]  # of the ledger, which no asker names
    amount: Fraction
    expected_rows: int | None = None
    each: tuple[tuple[str, Fraction], ...] = ()

    def of(self, value: str) -> Fraction:
        """What is named for the value of this name."""
        own = {name.casefold(): width for name, width in self.each}
        return self.amount * own[value.casefold()] if self.each else self.amount


def names_a_price(requests: Sequence[Request], words: PriceWords) -> bool:
    beside = any(words.get(by) is not None for by in get_args(By))
    return beside or any(asking.epsilon is not None for asking in requests)


def agreed_price(requests: Sequence[Request], words: PriceWords, study: Study) -> Price:
    """The price that the caller names, or the one that the question itself names in its OPTIONS."""
    written = [asking for asking in requests if asking.epsilon is not None]
    for asking in requests:
        if asking.delta is not None and asking.delta < study.limit.delta:
            raise InvalidRequest(
                f"this study promises delta = {float(study.limit.delta):g}; a question cannot promise less"
            )
    if not written:
        return price_of(**words)
    if len(requests) > 1 or any(words.get(by) is not None for by in get_args(By)):
        raise InvalidRequest("a price was named twice: in the question's OPTIONS and beside it; name it once")
    named: PriceWords = {**words, "epsilon": str(written[0].epsilon)}
    return price_of(**named)


def price_of(**words: Unpack[PriceWords]) -> Price:
    """The one price that was named; InvalidRequest if none or several were."""
    unknown = set(words) - set(PriceWords.__annotations__)
    if unknown:
        raise InvalidRequest(
            f"unknown option {sorted(unknown)[0]!r}; known: {', '.join(PriceWords.__annotations__)}"
        )
    named = [by for by in get_args(By) if words.get(by) is not None]
    if len(named) != 1:
        said = "no price was named" if not named else f"{len(named)} prices were named"
        raise InvalidRequest(f"{said}: give exactly one of within, epsilon, share or scale")
    by: By = named[0]
    each = _each(words["within"]) if by == "within" else ()
    amount = Fraction(1) if each else positive(words[by], by)
    if by == "share" and amount > 1:
        raise InvalidRequest(f"share must be above 0 and at most 1, not {words['share']}")
    expected_rows = words.get("expected_rows")
    if expected_rows is not None and (type(expected_rows) is not int or expected_rows < 1):
        raise InvalidRequest("expected_rows must be a whole number of rows, at least 1")
    return Price(by, amount, expected_rows, each)


def _each(within: Number | Mapping[str, Number]) -> tuple[tuple[str, Fraction], ...]:
    """The widths of values by their names; nothing where one number is for all of them."""
    return tuple((name, positive(width, f"within for {name!r}")) for name, width in by_name(within, "within"))


def by_name(given: Number | Mapping[str, Number], what: str) -> list[tuple[str, Number]]:
    """Numbers of values by their names, a mapping or name=number,name=number; nothing for one number."""
    named: list[tuple[str, Number]]
    if isinstance(given, str) and "=" in given:
        pieces = [piece.rpartition("=") for piece in given.split(",")]
        if any(not name.strip() for name, _, _ in pieces):
            raise InvalidRequest(f"{what} is one number, or name=number,name=number, not {given[:100]!r}")
        named = [(name.strip(), number.strip()) for name, _, number in pieces]
    elif isinstance(given, Mapping):
        named = [(str(name), number) for name, number in given.items()]
        if not named:
            raise InvalidRequest(f'{what} names no value: {{"n": 100}} gives the one called n a width of 100')
    else:
        return []
    folded = [name.casefold() for name, _ in named]
    twice = next((name for name in folded if folded.count(name) > 1), None)
    if twice is not None:
        raise InvalidRequest(f"{what} names {twice!r} twice")
    return named
