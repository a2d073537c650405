"""What questions would cost and how wide their intervals would be, from public facts and the ledger alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from adyton.certify import Amount, Later, Preview, Promise
from adyton.curator.certifying import PopulationClaims
from adyton.curator.purse import Charge, Purse
from adyton.curator.releasing import AskedBefore
from adyton.curator.remarks import remarks
from adyton.curator.shaping import computed_bounds, computed_populations, shown_keys
from adyton.exact import Number
from adyton.planning.advice import spread_first
from adyton.planning.expecting import expected_of
from adyton.planning.known import left_out_rows
from adyton.planning.plan import PricedBatch

if TYPE_CHECKING:
    from adyton.curator.coordinated.batches import Together


def previews(
    batch: PricedBatch,
    expect: Number | Mapping[str, Number] | None,
    purse: Purse,
    claims: PopulationClaims,
    asked: AskedBefore,
) -> list[Preview]:
    """Of each question of ``batch``; they are paid for together."""
    parts = (part for plan in batch.plans for part in plan.parts)
    expected = expected_of(expect, parts, claims.stand_in.units() if expect is not None else None)
    context, spent = claims.of_next(batch), purse.spent
    more = purse.room().times(batch.amount, batch.radius)
    priced = (batch.text, batch.detail, batch.amount)
    repeated = bool(asked.repeated(*priced) or asked.unanswered(*priced))
    would_fit, together = None, _together(batch)
    if not (more or repeated):
        would_fit = purse.fitting(batch.price, purse.repriced(batch), plans=len(batch.plans))
    return [
        Preview(
            question=plan.text,
            keys=None if plan.question.finds_keys else shown_keys(plan),
            bounds=computed_bounds(plan) | {part.name: part.bound(plan.expected_rows) for part in plan.parts},
            population=computed_populations(plan, context)
            | {
                part.name: part.population_bound(context, plan.expected_rows, expected(part.name))
                for part in plan.parts
            },
            hidden=plan.hidden,
            remarks=remarks(plan),
            cost=purse.amount(batch.amount),
            spent=purse.amount(spent),
            spent_after=purse.amount(spent + batch.amount) if more else None,
            left=purse.left(spent),
            limit=purse.limit,
            more=more,
            steps=tuple(map(purse.step, plan.noisy)) if together is None else (together.step(purse),),
            certificate=claims.certificate(plan, context),
            repeated=repeated,
            would_fit=would_fit,
            batch_size=len(batch.plans),
            left_out_rows=left_out_rows(purse.study, plan.question),
            keys_sought=plan.finding.sought(purse.next_place) if plan.finding else None,
            spread_first=spread_first(plan, context, expected),
            later=claims.later(batch.radius, unproved=True) if batch.unproved else None,
            strategy=None if together is None else together.said,
            transcript=claims.transcript(batch),
        )
        for plan in batch.plans
    ]


def _together(batch: PricedBatch) -> Together | None:
    """How values are measured together, where they are."""
    if batch.independent is None:
        return None
    from adyton.curator.coordinated.batches import Together

    return Together.of(batch)


class WouldCost(TypedDict):
    """What is said of the charge of anything that is opened."""

    cost: Amount
    spent: Amount
    left: Amount
    limit: Promise
    more: int
    later: Later | None


def would_cost(plan: Charge, pure: int, purse: Purse, claims: PopulationClaims) -> WouldCost:
    """If it was charged now; ``pure`` is what validity pays beside the radius."""
    spent = purse.spent
    return WouldCost(
        cost=purse.amount(plan.amount),
        spent=purse.amount(spent),
        left=purse.left(spent),
        limit=purse.limit,
        more=purse.room().times(plan.amount, plan.radius),
        later=claims.later(plan.radius, pure),
    )
