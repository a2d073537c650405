"""A statement, read back from its JSON."""

from __future__ import annotations

from adyton.certify.reading.amounts import Told, amount_from, left_from, odometer_from, promise_from
from adyton.certify.statement import BookShare, NamedPart, Statement
from adyton.exact import decimal_units


def statement_from(told: Told) -> Statement:
    validity, own, by_name = told.get("validity"), told.get("own"), told.get("by_name")
    return Statement(
        spent=amount_from(told["spent"]),
        left=left_from(told["left"]),
        limit=promise_from(told["limit"]),
        questions=told["questions"],
        more=told["more"],
        odometer=odometer_from(told["odometer"]),
        stability=decimal_units(validity["spent"]) if validity else None,
        stability_cap=decimal_units(validity["cap"]) if validity else None,
        certified_questions=validity["questions"] if validity else None,
        bits=decimal_units(told["transcript"]["bits"]) if "transcript" in told else None,
        reserve=told.get("reserve"),
        book=BookShare.from_json(told["book"]) if "book" in told else None,
        own=None if own is None else NamedPart.from_json(own["by"], own),
        by_name=None
        if by_name is None
        else tuple(NamedPart.from_json(by, one) for by, one in by_name.items()),
    )
