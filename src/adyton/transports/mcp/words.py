"""What a tool says in words that a model can act on: values, both intervals, price, what is left, next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from adyton.certify import Answer
from adyton.certify.answer import RoundedGuarantee
from adyton.certify.values import key_text
from adyton.errors import (
    BudgetRefused,
    CuratorError,
    Forbidden,
    InvalidRequest,
    PrivacyRefused,
    Unreachable,
)
from adyton.refusals import PRICES, happened, percent, refusal_of
from adyton.show import MOST_ROWS, Shown, ends, number

Told = Mapping[str, Any]
_MEANING = (
    "A noise interval says where the exact value of these rows is; a population interval says where the "
    "value of the population is that the rows were drawn from. Draw conclusions from the intervals, not from "
    "the value alone."
)
_MADE_UP = "MADE-UP ROWS: this shows the form of an answer and its widths. The values mean nothing."
_LATER = "wait as many seconds as retry_after says, and call again with the same arguments."
_AFTER = {
    "invalid_request": "correct the arguments as the message says; describe shows columns and grammar.",
    "request_id_used": "leave out request, or choose another one for another query.",
    "validity_refused": "ask fewer or coarser queries; what was answered can be repeated, free.",
    "scores_refused": "no score is left; work with the scores that you have.",
    "session_refused": "stop asking and report what you have; repeats and previews are free.",
    "forbidden": "this token may not do that, and no other call will; use another tool or report it.",
    "not_found": "call list_studies: it names everything that is here for you.",
    "too_many_requests": _LATER,
    "busy": _LATER,
    "engine_failed": "call again with the same arguments: it is paid for and free.",
    "ledger_corrupt": "stop and report it: nothing is answered until the operator has looked.",
    "failed": "report the reference; the operator finds it in the log.",
}


def answer_said(told: Told, answer: Answer, left: Fraction | None) -> str:
    """``left`` is what whoever asks may still spend; None on made-up rows."""
    lines = [f"Answer to: {told['query']}"]
    if left is None:
        lines.append(_MADE_UP)
    lines += [*_rows_said(told["answer"]), _MEANING, *answer.notes()]
    lines.append(_asked_next(told, left))
    return "\n".join(lines)


def answers_said(told: Sequence[Told], answers: Sequence[Answer], left: Fraction | None) -> str:
    lines: list[str] = [] if left is not None else [_MADE_UP]
    for place, one in enumerate(told, 1):
        lines += [f"Answer {place} of {len(told)}, to: {one['query']}", *_rows_said(one["answer"])]
    notes = dict.fromkeys(note for answer in answers for note in answer.notes())
    return "\n".join([*lines, _MEANING, *notes, _asked_next(told[0], left)])


def preview_said(previews: Sequence[Told], left: Fraction) -> str:
    lines: list[str] = []
    for one in previews:
        lines.append(f"Preview, free, nothing was read: {one['query']}")
        lines += _widths_said(one["answer"])
    last = previews[-1]  # the price of a batch is that of all of it
    if "free" in last:
        return "\n".join([*lines, f"Price: nothing: {last['free']}.", "Next: ask it."])
    if last["repeated"]:
        return "\n".join(
            [*lines, "Price: nothing, this was answered before.", "Next: ask it: a repeat is free."]
        )
    lines.append(f"Price: {_share(last['cost'])} of the study's budget. {_left_said(left)}")
    if last["affordable"]:
        often = "once" if last["more"] == 1 else f"{last['more']:,} times"
        advice = "ask with the same arguments, or preview a coarser price: wider answers cost less."
        lines.append(f"It fits {often}. Next: {advice}")
    else:
        lines.append(f"It does not fit. Next: {_next_price(last['fits'])}")
    return "\n".join(lines)


def budget_said(told: Told, left: Fraction) -> str:
    guarantee = told["guarantee"]
    lines = [
        f"The guarantee: {RoundedGuarantee(guarantee['epsilon'], guarantee['delta'])}, whatever is asked.",
        f"{told['queries']} charges so far. Spent by all: {_share(told['spent'])} of the budget; left to "
        f"all: {percent(_exactly(told['left']), up=False)}. {_left_said(left)}",
    ]
    session = told["own"].get("session")
    if session is not None and session["queries_left"] is not None:
        lines.append(f"This session may still make {session['queries_left']} charges.")
    advice = "preview a query" if left else "report what you have"
    lines.append(f"Next: {advice}; the same query at the same price as before is free.")
    return "\n".join(lines)


def studies_said(studies: Sequence[Told], holdouts: Sequence[Told]) -> str:
    lines = [f"Study {one['name']}: epsilon {one['budget']['epsilon']:g} in all." for one in studies]
    lines += [f"Holdout {one['name']}: {one['items']} items, {one['metric']}." for one in holdouts]
    return "\n".join(
        [*(lines or ["Nothing is here for this token."]), "Next: describe one of them by its name."]
    )


def facts_said(facts: Told) -> str:
    if facts.get("hypothesis_class"):
        return (
            f"Holdout {facts['name']}: {facts['items']} items. It applies rules of a class, and is scored "
            "only where its file lies, not through this server."
        )
    if "items" in facts:
        return (
            f"Holdout {facts['name']}: {facts['items']} items, scored by {facts['metric']}; their labels are "
            "never shown.\nNext: budget says how many scores are left; score_on_holdout takes one "
            "prediction for each item, in their order."
        )
    lines = [f"Study {facts['name']}. Rows are never answered, only aggregates with noise."]
    for table in facts["tables"]:
        rows = "an unknown number of" if table["rows"] is None else table["rows"]
        lines.append(f"Table {table['name']}, {rows} rows:")
        lines += [f"  {_column_said(column)}" for column in table["columns"]]
        for one in table["public"]:
            lines.append(f"Public table {one['name']}, joined by {one['key']} = {one['joins']}:")
            lines += [f"  {_column_said(column)}" for column in one["columns"]]
    return "\n".join([*lines, facts["grammar"], "Next: preview a query with within, epsilon or share."])


def score_said(told: Told) -> str:
    interval = told["interval"]
    return (
        f"{told['metric']} = {told['value']:g}; population interval {_between(interval)} "
        f"({_level(interval)}, simultaneous for all scores of the holdout).\n"
        f"{_scores_left(told['scores_left'])}"
    )


def comparison_said(told: Told) -> str:
    interval = told["interval"]
    return (
        f"Verdict: {told['verdict']}. First minus second: {told['value']:g}; population interval "
        f"{_between(interval)} ({_level(interval)}).\n{_scores_left(told['scores_left'])}"
    )


def scores_said(told: Told) -> str:
    return f"{told['items']} items, {told['metric']}. {_scores_left(told['scores_left'])}"


def shown_said(shown: Shown) -> str:
    """Any other result, as it prints."""
    return f"{shown}\nNext: work with this; the budget says what is left, and previews are free."


def refusal_said(error: CuratorError) -> str:
    """What went wrong, and what would fit."""
    free = isinstance(error, (InvalidRequest, BudgetRefused, Forbidden, Unreachable))
    refusal, advice = refusal_of(error), _AFTER.get(error.kind)
    message = error.message if refusal is None else happened(refusal)
    if isinstance(error, PrivacyRefused):
        advice = _next_price(error.facts.get("fits"))
    return f"Refused ({error.kind}){', free of charge' if free else ''}: {message}.\nNext: {advice}"


def _rows_said(rows: Sequence[Told]) -> Iterator[str]:
    yield from _some([_row_said(row) for row in rows])
    yield from _reasons(rows)


def _widths_said(rows: Sequence[Told]) -> Iterator[str]:
    """Groups that will be as wide as each other are said together."""
    alike: dict[str, list[Told]] = {}
    for row in rows:
        alike.setdefault(_width_said(row), []).append(row)
    for said, those in alike.items():
        names = ", ".join(those[0]["keys"])
        yield f"- {_keys(those[0]) if len(those) == 1 else f'each of {len(those)} rows by {names}: '}{said}"
    yield from _reasons(rows)


def _reasons(rows: Sequence[Told]) -> Iterator[str]:
    """Why there are intervals missing, once each."""
    intervals = (value.get("population_interval") for row in rows for value in row["values"].values())
    absent = dict.fromkeys(one["absent"] for one in intervals if one is not None and "absent" in one)
    yield from (f"No population interval: {reason}." for reason in absent)


def _row_said(row: Told) -> str:
    values = "; ".join(_value_said(name, value) for name, value in row["values"].items())
    return f"- {_keys(row)}{values}"


def _value_said(name: str, value: Told) -> str:
    if "uninformative" in value:
        return f"{name}: nothing is known, {value['uninformative']}"
    return f"{name} = {_shown(value)}, {_interval('noise', value)}, {_interval('population', value)}"


def _interval(kind: str, value: Told) -> str:
    interval = value.get(f"{kind}_interval")
    if interval is None or "absent" in interval:
        return f"no {kind} interval"
    return f"{kind} interval {_between(interval)} ({_level(interval)})"


def _between(interval: Told) -> str:
    """Rounded outwards."""
    low, high = interval["low"], interval["high"]
    if isinstance(low, float) and isinstance(high, float):
        return ends(low, high, (high - low) / 2).replace(" .. ", " to ")
    return " to ".join("no end" if end is None else str(end) for end in (low, high))


def _shown(value: Told) -> str:
    """With the digits that the noise leaves a meaning."""
    known, interval = value["value"], value.get("noise_interval") or {}
    low, high = interval.get("low"), interval.get("high")
    if isinstance(known, float):
        return number(known, (high - low) / 2 if isinstance(low, float) and isinstance(high, float) else 0.0)
    return "none" if known is None else str(known)


def _width_said(row: Told) -> str:
    said = []
    for name, value in row["values"].items():
        widths = [_half(kind, value.get(f"{kind}_interval")) for kind in ("noise", "population")]
        said.append(f"{name}: {', '.join(widths)}")
    return "; ".join(said)


def _half(kind: str, interval: Told | None) -> str:
    """Rounded up."""
    if interval is None or "absent" in interval:
        return f"no {kind} interval"
    if interval.get("half_width") is None:
        return f"{kind} interval as wide as the rows decide"
    rows, half = interval.get("if_rows"), float(interval["half_width"])
    width = f"{kind} interval ± {ends(-half, half, half).partition(' .. ')[2]} ({_level(interval)})"
    return width + (f" if {rows} rows match" if rows else "")


def _level(interval: Told) -> str:
    return f"{interval['level'] * 100:.10g} %"


def _keys(row: Told) -> str:
    keys = ", ".join(f"{name} = {key_text(value)}" for name, value in row["keys"].items())
    return f"{keys}: " if keys else ""


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MOST_ROWS]
    if len(lines) > MOST_ROWS:
        yield f"... and {len(lines) - MOST_ROWS} more rows, in the structured result"


def _asked_next(told: Told, left: Fraction | None) -> str:
    if left is None:
        return "Next: if the form is what you need, preview the query and then ask it."
    if not left:
        return f"{_left_said(left)} Next: report what you have; the same queries again are free."
    if told["repeated"]:
        return f"This was answered before: free. {_left_said(left)} Next: ask something else, or stop."
    return f"{_left_said(left)} Next: the same query at the same price is free; preview others before asking."


def _left_said(left: Fraction) -> str:
    return f"Left to you: {percent(left, up=False)} of the study's budget."


def _next_price(fits: Told | None) -> str:
    if not fits:
        return "nothing fits any more at any price; report what you have. Repeats are free."
    words = " and ".join(PRICES["agent"](by, amount) for by, amount in fits.items())
    return f"{words} would fit now; preview it, it is free, and ask if it is still useful."


def _scores_left(left: int | None) -> str:
    if left is None:
        return "Next: the same predictions again are free."
    more = (
        "the same predictions again are free; send others only if you need to know." if left else "no more."
    )
    return f"{left} scores are left. Next: {more}"


def _column_said(column: Told) -> str:
    null = "; rows without a value are the group NULL" if column.get("missing") else ""
    if "values" in column:
        return f"{column['name']}: one of {', '.join(map(str, column['values']))}{null}"
    if "low" in column:
        return f"{column['name']}: {column['kind']}, {column['low']} to {column['high']}{null}"
    return f"{column['name']}: {column['kind']}{null}"


def _share(amount: Told) -> str:
    return percent(_exactly(amount), up=True)


def _exactly(amount: Told) -> Fraction:
    return Fraction(amount["share"])
