"""What queries would cost and how wide their intervals would be, from public facts and the ledger alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from adyton.certify import Amount, Later, Preview
from adyton.curator.certifying import PopulationClaims
from adyton.curator.purse import Account, Advice, Charge, Fits, Purse
from adyton.curator.releasing import AskedBefore, Plan, advice_on
from adyton.curator.remarks import remarks
from adyton.curator.shaping import computed_bounds, computed_populations, shown_keys
from adyton.kernel.exact import Number
from adyton.planning.advice import cheaper, registering, spread_first
from adyton.planning.discovery import sought
from adyton.planning.expecting import expected_of
from adyton.planning.known import left_out_rows
from adyton.planning.plan import PricedBatch


def previews(
    batch: PricedBatch,
    expect: Number | Mapping[str, Number] | None,
    purse: Purse,
    claims: PopulationClaims,
    asked: AskedBefore,
) -> list[Preview]:
    """Of each query of ``batch``; they are paid for together."""
    parts = (part for plan in batch.plans for part in plan.parts)
    expected = expected_of(expect, parts, claims.stand_in.units() if expect is not None else None)
    context, offered = claims.of_next(batch), offer(batch, advice_on(batch, purse), purse, asked)
    strategy = step = None
    if batch.independent is not None:
        from adyton.curator.coordinated.batches import told_together

        strategy, step = told_together(batch, purse)
    return [
        Preview(
            query=plan.title,
            keys=None if plan.query.discovers_groups else shown_keys(plan),
            bounds=computed_bounds(plan) | {part.name: part.bound(plan.expected_rows) for part in plan.parts},
            population=computed_populations(plan, context)
            | {
                part.name: part.population_bound(context, plan.expected_rows, expected(part.name))
                for part in plan.parts
            },
            hidden=plan.hidden,
            remarks=remarks(plan),
            **offered,
            steps=(step,) if step is not None else tuple(map(purse.step, plan.noisy)),
            certificate=claims.certificate(plan, context),
            batch_size=len(batch.plans),
            left_out_rows=left_out_rows(purse.study, plan.query),
            discovered_groups=sought(plan.discovery, purse.next_place) if plan.discovery else None,
            spread_first=spread_first(plan, context, expected),
            cheaper=cheaper(plan, context, expected),
            registering=registering(plan, context, expected),
            later=claims.later(batch.radius, unproved=True) if batch.unproved else None,
            strategy=strategy,
            transcript=claims.transcript(batch),
        )
        for plan in batch.plans
    ]


class Offer(Account):
    """What is said of the charge of anything that is released at once."""

    spent_after: Amount | None
    more: int
    repeated: bool
    would_fit: Fits | None


def offer(plan: Plan, advice: Advice, purse: Purse, asked: AskedBefore) -> Offer:
    """If it was charged now; where that does not fit, and it was not paid for before, what would fit."""
    more, repeated, spent = purse.room().times(plan.amount, plan.radius), asked.knows(plan), purse.spent
    return {
        **purse.account(plan.amount, spent),
        "spent_after": purse.amount(spent + plan.amount) if more else None,
        "more": more,
        "repeated": repeated,
        "would_fit": None if more or repeated else purse.fitting(advice),
    }


class Opened(Charge, Protocol):
    """What is paid for once and used often."""

    @property
    def pure(self) -> int: ...


class WouldCost(Account):
    """What is said of the charge of anything that is opened."""

    more: int
    later: Later | None


def would_cost(plan: Opened, purse: Purse, claims: PopulationClaims) -> WouldCost:
    """If it was charged now."""
    return {
        **purse.account(plan.amount),
        "more": purse.room().times(plan.amount, plan.radius),
        "later": claims.later(plan.radius, plan.pure),
    }
