"""Studies over HTTP."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from adyton.service.facts import API
from adyton.service.identity import Identity
from adyton.service.repeats import Key
from adyton.service.roles import Action
from adyton.service.studies import ServedStudy
from adyton.transports.http.bodies import (
    After,
    Bounds,
    Fed,
    LastLookBody,
    MonitorOrder,
    Newest,
    PreviewQueries,
    PreviewQuery,
    QueriesBody,
    QueryBody,
    Verify,
)
from adyton.transports.http.desk import Sender, TheDesk, TokenFirst
from adyton.transports.http.errors import RESPONSES
from adyton.transports.http.formats import (
    ARROW,
    CSV,
    answered,
    answered_all,
    check_free,
    previewed,
    previews_json,
    told,
)

routes = APIRouter(prefix="/v1/studies", tags=["studies"], responses=RESPONSES, route_class=TokenFirst)
_BESIDE = ("query", "queries")


@routes.get("", summary="The studies that this token is for")
async def studies(desk: TheDesk, sender: Sender) -> Response:
    mine = [one for one in desk.house.served if sender.identity(one.name) and isinstance(one, ServedStudy)]
    return await desk.done(
        sender,
        lambda: told(
            {"api": API, "studies": [{"name": one.name, "budget": one.facts()["budget"]} for one in mine]}
        ),
    )


@routes.get("/{study}", summary="Its public facts, and the grammar in short")
async def facts(desk: TheDesk, sender: Sender, study: str) -> Response:
    found, _ = desk.house.study(sender, study, Action.LOOK)
    return await desk.done(sender, lambda: told(found.facts()))


@routes.post("/{study}/preview", summary="What an answer would cost and how wide it would be: free")
async def preview(
    desk: TheDesk, sender: Sender, study: str, body: PreviewQuery, request: Request
) -> Response:
    found, who = desk.house.study(sender, study, Action.PREVIEW)
    words, wanted = body.words(*_BESIDE), request.headers.get("accept", "")
    return await desk.done(sender, lambda: previewed(wanted, found.previews(who, [body.query], words)[0]))


@routes.post("/{study}/preview_many", summary="What a batch would cost: free")
async def preview_many(desk: TheDesk, sender: Sender, study: str, body: PreviewQueries) -> Response:
    found, who = desk.house.study(sender, study, Action.PREVIEW)
    queries, words = desk.check_batch(body.queries), body.words(*_BESIDE)
    return await desk.done(sender, lambda: told(previews_json(found.previews(who, queries, words))))


@routes.post("/{study}/ask", summary="Charge, read, answer")
async def ask(desk: TheDesk, sender: Sender, study: str, body: QueryBody, request: Request) -> Response:
    found, who = desk.house.study(sender, study, Action.ASK)
    key = key_of(who, request.headers.get("accept", "").encode("latin-1"), await request.body())
    return await desk.done(sender, lambda: answer(found, who, body, key))


def key_of(who: Identity, accept: bytes, content: bytes) -> Key:
    """All that the answer to a query depends on, beside what is in the ledger."""
    return who, accept, content


def answer(found: ServedStudy, who: Identity, body: QueryBody, key: Key) -> Response:
    """Charge, read, answer; and a repeat is kept as it leaves."""
    before = found.repeats.begin(key)
    made = found.ask(who, [body.query], body.words(*_BESIDE))[0]
    response = answered(key[1].decode("latin-1"), made)
    if made.repeated:
        found.repeats.keep(key, response, len(response.body), before)
    return response


@routes.post("/{study}/ask_many", summary="A batch, paid for by one charge")
async def ask_many(desk: TheDesk, sender: Sender, study: str, body: QueriesBody) -> Response:
    found, who = desk.house.study(sender, study, Action.ASK)
    queries, words = desk.check_batch(body.queries), body.words(*_BESIDE)
    return await desk.done(sender, lambda: answered_all(found.ask(who, queries, words)))


@routes.post("/{study}/mock/ask", summary="The same on made-up rows: free, and marked as such")
async def try_out(desk: TheDesk, sender: Sender, study: str, body: QueryBody, request: Request) -> Response:
    found, _ = desk.house.study(sender, study, Action.TRY)
    words = body.words("request", *_BESIDE)
    wanted = request.headers.get("accept", "")

    def tried() -> Response:
        if ARROW not in wanted and CSV not in wanted:
            check_free(found.values_asked([body.query], body.dialect))
        return answered(wanted, found.try_out([body.query], words)[0])

    return await desk.done(sender, tried)


@routes.post("/{study}/mock/ask_many", summary="A batch on made-up rows: free, and marked as such")
async def try_many(desk: TheDesk, sender: Sender, study: str, body: QueriesBody) -> Response:
    found, _ = desk.house.study(sender, study, Action.TRY)
    queries, words = desk.check_batch(body.queries), body.words("request", *_BESIDE)

    def tried() -> Response:
        check_free(found.values_asked(queries, body.dialect))
        return answered_all(found.try_out(queries, words))

    return await desk.done(sender, tried)


@routes.post("/{study}/last_look", summary="How small a p-value on the rows must be, after all queries")
async def last_look(desk: TheDesk, sender: Sender, study: str, body: LastLookBody) -> Response:
    found, who = desk.house.study(sender, study, Action.ALL_RECEIPTS)
    test = {"query": body.query, "null": body.null, "method": body.method}
    return await desk.done(sender, lambda: told(found.last_look(who, body.alpha, body.p_value, **test)))


@routes.post("/{study}/suggest_bounds", summary="Where nearly all values of a column lie, for a price")
async def suggest_bounds(desk: TheDesk, sender: Sender, study: str, body: Bounds) -> Response:
    found, who = desk.house.study(sender, study, Action.ASK)
    words = body.words("column")
    return await desk.done(sender, lambda: told(found.suggest_bounds(who, body.column, words)))


@routes.post("/{study}/monitors", summary="Open a monitor: charged now, whatever is fed into it later")
async def open_monitor(desk: TheDesk, sender: Sender, study: str, body: MonitorOrder) -> Response:
    found, who = desk.house.study(sender, study, Action.ASK)
    return await desk.done(sender, lambda: told(found.open_monitor(who, body.words())))


@routes.post("/{study}/monitors/preview", summary="What a monitor would cost: free")
async def preview_monitor(desk: TheDesk, sender: Sender, study: str, body: MonitorOrder) -> Response:
    found, who = desk.house.study(sender, study, Action.PREVIEW)
    return await desk.done(sender, lambda: told(found.preview_monitor(who, body.words("request"))))


@routes.get("/{study}/monitors/{number}", summary="How far an own monitor is, and all its answers")
async def monitor(desk: TheDesk, sender: Sender, study: str, number: int) -> Response:
    found, who = desk.house.study(sender, study, Action.ASK)
    return await desk.done(sender, lambda: told(found.monitor(who, number)))


@routes.post("/{study}/monitors/{number}/feed", summary="One query to an own monitor")
async def feed(desk: TheDesk, sender: Sender, study: str, number: int, body: Fed) -> Response:
    found, who = desk.house.study(sender, study, Action.ASK)
    words = body.words(*_BESIDE)
    return await desk.done(sender, lambda: told(found.feed(who, number, body.query, words)))


@routes.post("/{study}/monitors/{number}/close", summary="End an own monitor for good: it answers no more")
async def close_monitor(desk: TheDesk, sender: Sender, study: str, number: int) -> Response:
    found, who = desk.house.study(sender, study, Action.ASK)
    return await desk.done(sender, lambda: told(found.close_monitor(who, number)))


@routes.get("/{study}/budget", summary="What is spent and left, in all and of the own share")
async def budget(desk: TheDesk, sender: Sender, study: str) -> Response:
    found, who = desk.house.study(sender, study, Action.BUDGET)
    return await desk.done(sender, lambda: told(found.budget(who)))


@routes.get("/{study}/receipts", summary="The chain: the open part of all links, and the own receipts whole")
async def receipts(
    desk: TheDesk, sender: Sender, study: str, after: After = 0, last: Newest = None
) -> Response:
    found, who = desk.house.study(sender, study, Action.OWN_RECEIPTS)

    def page() -> Response:
        start = after if last is None else max(0, found.count() - last)
        return told(found.receipts(who, start))

    return await desk.done(sender, page)


@routes.post("/{study}/verify", summary="Replay the whole ledger here")
async def verify(desk: TheDesk, sender: Sender, study: str, body: Verify) -> Response:
    found, _ = desk.house.study(sender, study, Action.VERIFY)
    return await desk.done(sender, lambda: told(found.verify(body.head)))
