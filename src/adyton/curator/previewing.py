"""What questions would cost and how wide their intervals would be, from public facts and the ledger alone."""

from __future__ import annotations

from collections.abc import Mapping

from adyton.certify import Preview
from adyton.curator.asked_before import AskedBefore
from adyton.curator.claims import PopulationClaims
from adyton.curator.purse import Purse
from adyton.exact import Number
from adyton.planning.advice import spread_first
from adyton.planning.expecting import expected_of
from adyton.planning.known import left_out_rows
from adyton.planning.plan import Basket


def previews(
    basket: Basket,
    expect: Number | Mapping[str, Number] | None,
    purse: Purse,
    claims: PopulationClaims,
    asked: AskedBefore,
) -> list[Preview]:
    """Of each question of ``basket``; they are paid for together."""
    parts = (part for plan in basket.plans for part in plan.parts)
    expected = expected_of(expect, parts, claims.stand_in.units() if expect is not None else None)
    standing, more, spent = (
        claims.of_next(basket),
        purse.room().times(basket.amount, basket.radius),
        purse.spent,
    )
    priced = (basket.text, basket.detail, basket.amount)
    repeated = bool(asked.repeated(*priced) or asked.unanswered(*priced))
    would_fit = None
    if not (more or repeated):
        would_fit = purse.fitting(basket.price, purse.repriced(basket), plans=len(basket.plans))
    return [
        Preview(
            question=plan.text,
            keys=None if plan.question.finds_keys else plan.keys().renamed(dict(plan.shape.names)),
            bounds={part.name: part.bound(plan.matching) for part in plan.parts},
            population={
                part.name: part.population_bound(standing, plan.matching, expected(part.name))
                for part in plan.parts
            },
            cost=purse.amount(basket.amount),
            spent=purse.amount(spent),
            spent_after=purse.amount(spent + basket.amount) if more else None,
            left=purse.left(spent),
            limit=purse.limit,
            more=more,
            steps=tuple(map(purse.step, plan.noised)),
            certificate=claims.certificate(plan, standing),
            repeated=repeated,
            would_fit=would_fit,
            together=len(basket.plans),
            left_out_rows=left_out_rows(purse.study, plan.question),
            keys_sought=plan.finding.sought(standing.at.question) if plan.finding else None,
            spread_first=spread_first(plan, standing, expected),
            later=claims.later(basket.radius, unproved=True) if basket.unproved else None,
        )
        for plan in basket.plans
    ]
