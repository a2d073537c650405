"""What theorems about the population have to know of a charge, beside its radius."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from adyton.errors import InvalidRequest
from adyton.kernel.exact import decimal_text, decimal_units
from adyton.kernel.ledger.texts import LARGEST_NUMBER, check_amount

LAW = 1  # the version of the law by which validity pays: another one begins with the receipts that name it


class FinalCost(NamedTuple):
    """The final validity cost of a receipt: its radius now that the answer is known, and the probability that
    noise of the answer makes it too little, in units of 10**-18.  All that was charged, and 0, by default.
    """

    radius: int
    level: int = 0

    @classmethod
    def checked(cls, radius: int | None, level: int, most: int) -> FinalCost:
        """Never more than was charged; None: all of it, which holds for sure."""
        check_amount(level, "the level of a final radius", least=0)
        if radius is None:
            return cls(most)
        check_amount(radius, "the final radius of an answer", least=0)
        if radius > most:
            raise InvalidRequest("the final radius of an answer cannot be more than its receipt was charged")
        return cls(radius, level if radius < most else 0)


def _check_count(number: object, least: int) -> None:
    if type(number) is not int or not least <= number <= LARGEST_NUMBER:
        raise InvalidRequest(f"a count of a receipt is a whole number from {least} on")


@dataclass(frozen=True, slots=True)
class ValidityRecord:
    """``gaussian``: of each Gaussian release how many numbers it has, at most, and their radius.  The rest of
    a charge's radius is linear: no law may treat it as that of Gaussian numbers.

    ``coded_nats``: of outcomes that are paid for by the length of their code, in units of 10**-18.
    ``units``: how many units there are, where that is public.  ``law``: the version of the law that validity
    pays by.  ``blocks``: the first and the last block of time that was read; None: time is not in blocks.
    """

    gaussian: tuple[tuple[int, int], ...] = ()
    coded_nats: int = 0
    units: int | None = None
    law: int = LAW
    blocks: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for numbers, radius in self.gaussian:
            _check_count(numbers, 1)
            check_amount(radius, "the radius of Gaussian numbers", least=0)
        check_amount(self.coded_nats, "the nats of a charge", least=0)
        _check_count(self.law, 1)
        if self.units is not None:
            _check_count(self.units, 0)
        if self.blocks is not None:
            first, last = self.blocks
            _check_count(first, 0)
            _check_count(last, first)

    def linear_radius(self, radius: int) -> int:
        """What of the ``radius`` of a charge is not that of Gaussian numbers; negative: it is another's."""
        return radius - sum(own for _, own in self.gaussian)

    @property
    def text(self) -> str:
        """Canonical JSON, as it is stored and hashed."""
        return _text_of(self)

    def to_json(self) -> dict[str, Any]:
        """Amounts as text, because other readers of JSON know no large integers."""
        return {
            "gaussian": [[numbers, decimal_text(radius)] for numbers, radius in self.gaussian],
            "coded_nats": decimal_text(self.coded_nats),
            "units": self.units,
            "law": self.law,
            "blocks": None if self.blocks is None else list(self.blocks),
        }

    @classmethod
    def from_json(cls, known: dict[str, Any]) -> ValidityRecord:
        """InvalidRequest, TypeError, KeyError or ValueError where it is not one."""
        first_and_last = known["blocks"]
        return cls(
            tuple((numbers, decimal_units(radius)) for numbers, radius in known["gaussian"]),
            decimal_units(known["coded_nats"]),
            known["units"],
            known["law"],
            None if first_and_last is None else (first_and_last[0], first_and_last[1]),
        )


NOTHING_KNOWN = ValidityRecord()


@lru_cache(maxsize=64)
def _text_of(record: ValidityRecord) -> str:
    return json.dumps(record.to_json(), separators=(",", ":"))


@lru_cache(maxsize=64)
def validity_from(text: str) -> ValidityRecord:
    """ValueError, TypeError, KeyError or InvalidRequest unless it is exactly how one is written down."""
    found = ValidityRecord.from_json(json.loads(text))
    if found.text != text:
        raise ValueError("not how a record is written down")
    return found
