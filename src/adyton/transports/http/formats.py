"""How an answer is written: JSON unless the request asks for Arrow or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from adyton.certify import Absent, Answer, Preview
from adyton.errors import InvalidRequest
from adyton.service.limits import LIMITS
from adyton.transports.http.large_json import json_bytes, json_pieces

ARROW = "application/vnd.apache.arrow.stream"
CSV = "text/csv"
_JSON = "application/json"
_HEADERS = {"Cache-Control": "no-store"}
_PIECE = 65_536  # bytes that are given to a connection at once
_ROWS = 5_000  # that are made at once
_TOO_MANY = (
    "this lists {:,} values, groups times what is asked in each, and at most {:,} are shown here: make the "
    f"groups wider, add a filter, or send one query over HTTP with Accept: {ARROW} or {CSV}; nothing was "
    "charged"
)


class InPieces(Response):
    """It leaves as fast as it is read: what nobody reads is not copied for them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send_body(send, self.body)


async def send_body(send: Send, body: bytes | memoryview) -> None:
    begin = 0
    while len(body) - begin > _PIECE:
        piece = bytes(body[begin : begin + _PIECE])
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        begin += _PIECE
    await send({"type": "http.response.body", "body": bytes(body[begin:])})


def told(made: Any) -> Response:
    """JSON without NaN or infinities."""
    return _json(json_bytes(made))


def written(made: Any, wanted: str) -> Response:
    """Any result, in the form that Accept prefers where it has several."""
    match made:
        case Answer():
            return answered(wanted, made)
        case Preview():
            return previewed(wanted, made)
        case [Answer(), *_]:
            return answered_all(made)
        case [Preview(), *_]:
            return told(previews_json(made))
        case list():
            return told([one.to_json() for one in made])
        case _:
            return told(made.to_json())


def answered(wanted: str, answer: Answer) -> Response:
    """One answer, in the form that Accept prefers; receipt and cost go into headers beside a table."""
    if ARROW in wanted:
        return _as(ARROW, _arrow(answer.to_arrow), _beside(answer))
    if CSV in wanted:
        return _as(CSV, answer.to_csv(), _beside(answer))
    return _json(_answer_json(answer))


def answered_all(answers: Sequence[Answer]) -> Response:
    """As JSON."""
    return _json(b"[" + b", ".join(map(_answer_json, answers)) + b"]")


def previewed(wanted: str, preview: Preview) -> Response:
    """One preview: as a table it has the keys of each row and the half-widths of its intervals."""
    if ARROW in wanted:
        return _as(ARROW, _arrow(lambda: _table(preview)), _cost(preview))
    if CSV in wanted:
        return _as(CSV, _csv(preview), _cost(preview))
    return told(previews_json([preview])[0])


def previews_json(previews: Sequence[Preview], most: int = LIMITS.free_values) -> list[dict[str, Any]]:
    """InvalidRequest where that is too much for something that is free."""
    check_free(sum(0 if one.keys is None else len(one.keys) * len(one.bounds) for one in previews), most)
    return [one.to_json() for one in previews]


def check_free(values: int, most: int = LIMITS.free_values) -> None:
    if values > most:
        raise InvalidRequest(_TOO_MANY.format(values, most))


def _json(content: bytes) -> Response:
    return InPieces(content, media_type=_JSON, headers=_HEADERS)


def _as(kind: str, content: bytes | str, beside: dict[str, str]) -> Response:
    return InPieces(content, media_type=kind, headers={**_HEADERS, **beside})


def _beside(answer: Answer) -> dict[str, str]:
    if answer.free:
        return {"Adyton-Cost-Share": "0"}
    return {"Adyton-Receipt": str(answer.receipt.number), **_cost(answer)}


def _cost(made: Answer | Preview) -> dict[str, str]:
    return {"Adyton-Cost-Share": str(made.cost.to_json()["share"])}


def _answer_json(answer: Answer) -> bytes:
    """As ``to_json``, with few rows at a time: each is a dozen objects."""
    if len(answer) <= _ROWS:
        return json_bytes(answer.to_json())
    paper, before = io.BytesIO(), "{"
    for name, value in answer.head_json().items():
        paper.write(f'{before}"{name}": '.encode())
        for piece in _rows(answer) if name == "answer" else json_pieces(value):
            paper.write(piece.encode())
        before = ", "
    paper.write(b"}")
    return paper.getvalue()


def _rows(answer: Answer) -> Iterator[str]:
    yield "["
    for start in range(0, len(answer), _ROWS):
        if start:
            yield ", "
        yield "".join(json_pieces(answer.rows_json(slice(start, start + _ROWS))))[1:-1]
    yield "]"


# Tables ----------------------------------------------------------------------------------------------------


def _arrow(made: Any) -> bytes:
    try:
        import pyarrow as pa
    except ImportError:
        raise InvalidRequest("this server has no pyarrow: ask for JSON or CSV") from None
    table, written = made(), io.BytesIO()
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    return written.getvalue()


def _widths(preview: Preview) -> dict[str, float | None]:
    """The half-widths of intervals, by the names of their columns; the same in all rows."""
    if preview.parts:
        raise InvalidRequest("this table has rows of several widths: ask for JSON")
    told: dict[str, float | None] = {}
    for name, bound in preview.bounds.items():
        wide = preview.population[name]
        told[f"{name}_noise_half_width"] = bound.half_width
        told[f"{name}_population_half_width"] = None if isinstance(wide, Absent) else wide.half_width
    return told


def _keys(preview: Preview) -> dict[str, list[Any]]:
    return {} if preview.keys is None else {n: one.tolist() for n, one in preview.keys.columns.items()}


def _rows_of(preview: Preview) -> int:
    return 1 if preview.keys is None else len(preview.keys)


def _table(preview: Preview) -> Any:
    import pyarrow as pa

    rows = _rows_of(preview)
    widths = {n: pa.repeat(pa.scalar(w, pa.float64()), rows) for n, w in _widths(preview).items()}
    return pa.table({**_keys(preview), **widths})


def _csv(preview: Preview) -> str:
    widths, keys, paper = _widths(preview), _keys(preview), io.StringIO()
    writer = csv.writer(paper, lineterminator="\n")
    writer.writerow([*keys, *widths])
    same = tuple(widths.values())
    rows = zip(*keys.values(), strict=True) if keys else iter([()] * _rows_of(preview))
    while few := list(islice(rows, _ROWS)):
        writer.writerows((*row, *same) for row in few)
    return paper.getvalue()
