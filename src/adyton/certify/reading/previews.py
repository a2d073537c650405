"""A preview, read back from its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from adyton.certify.advice import Cheaper
from adyton.certify.answer import Amount, RoundedGuarantee
from adyton.certify.later import AnswerBits, Later
from adyton.certify.preview import Preview, Step
from adyton.certify.reading.answers import Told, keys_from
from adyton.certify.stacked import widest, widest_or_absent
from adyton.certify.values import Absent, Bound, Certificate, Chosen, DiscoveryPreview


def preview_from(told: Told) -> Preview:
    rows, many = told["answer"], told["rows"]
    whole = Preview(
        query=told["query"],
        keys=None if many is None else keys_from([row["keys"] for row in rows[:many]]),
        bounds={},
        population={},
        cost=Amount.from_json(told["cost"]),
        spent=Amount.from_json(told["spent"]),
        spent_after=Amount.from_json(told["spent_after"]) if told["spent_after"] else None,
        left=Amount.from_json(told["left"], is_left=True),
        budget=RoundedGuarantee.from_json(told["budget"]),
        more=told["more"],
        steps=tuple(map(_step, told["mechanisms"])),
        certificate=Certificate.from_json(told["certificate"]),
        repeated=told["repeated"],
        would_fit=told["fits"],
        batch_size=told.get("batch_size", 1),
        hidden=tuple(told.get("hidden", ())),
        remarks=tuple(told.get("remarks", ())),
        left_out_rows=told.get("left_out_rows"),
        discovered_groups=DiscoveryPreview.from_json(told["discovered_groups"])
        if "discovered_groups" in told
        else None,
        spread_first=_bounds(told.get("spread_first", {})),
        cheaper={name: Cheaper.from_json(one) for name, one in told.get("cheaper", {}).items()},
        registering=_bounds(told.get("registering", {})),
        later=Later.from_json(told["later"]) if "later" in told else None,
        free=told.get("free"),
        chosen=Chosen.from_json(told["chosen"]) if "chosen" in told else None,
        strategy=told.get("strategy"),
        determined=_bounds(told.get("determined", {})),
        transcript=AnswerBits.from_json(told["transcript"]) if "transcript" in told else None,
    )
    if "part_rows" not in told:
        return replace(whole, **_widths(rows[0]["values"]))
    parts = _parts(whole, rows, told["part_rows"])
    names = parts[0].bounds
    return replace(
        whole,
        bounds={name: widest([part.bounds[name] for part in parts]) for name in names},
        population={name: widest_or_absent([part.population[name] for part in parts]) for name in names},
        parts=parts,
    )


def _parts(whole: Preview, rows: Sequence[Told], sizes: Sequence[int]) -> tuple[Preview, ...]:
    """Of a table that several queries make: its rows in turn, each part with widths of its own."""
    in_turn = iter(rows)
    own = [list(islice(in_turn, size)) for size in sizes]
    return tuple(
        replace(whole, keys=keys_from([row["keys"] for row in part]), **_widths(part[0]["values"]))
        for part in own
    )


def _widths(values: Mapping[str, Told]) -> dict[str, Any]:
    """How wide the intervals of each value would be."""
    return {
        "bounds": {name: Bound.from_json(told["noise_interval"]) for name, told in values.items()},
        "population": {name: _bound_or_absent(told["population_interval"]) for name, told in values.items()},
    }


def _bound_or_absent(told: Told) -> Bound | Absent:
    return Absent(told["absent"]) if "absent" in told else Bound.from_json(told)


def _bounds(told: Mapping[str, Told]) -> dict[str, Bound]:
    return {name: Bound.from_json(one) for name, one in told.items()}


def _step(told: Told) -> Step:
    cost, scales = Amount.from_json(told["cost"]), tuple(told["scales"])
    return Step(told["value"], told["mechanism"], scales, told["sensitivity"], cost)
