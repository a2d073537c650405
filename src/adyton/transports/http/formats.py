"""How an answer is written: JSON unless the request asks for Arrow or CSV."""

from __future__ import annotations

import io
from typing import Any

from starlette.responses import Response

from adyton.certify import Answer, json_text
from adyton.errors import InvalidRequest

ARROW = "application/vnd.apache.arrow.stream"
CSV = "text/csv"
_HEADERS = {"Cache-Control": "no-store"}


def told(made: Any) -> Response:
    """JSON without NaN or infinities."""
    return Response(json_text(made), media_type="application/json", headers=_HEADERS)


def answered(wanted: str, answer: Answer) -> Response:
    """One answer, in the form that Accept prefers; receipt and cost go into headers beside a table."""
    if ARROW in wanted:
        return Response(_arrow(answer), media_type=ARROW, headers={**_HEADERS, **_beside(answer)})
    if CSV in wanted:
        return Response(answer.to_csv(), media_type=CSV, headers={**_HEADERS, **_beside(answer)})
    return told(answer.to_json())


def _beside(answer: Answer) -> dict[str, str]:
    if answer.free:
        return {"Adyton-Cost-Share": "0"}
    cost = answer.cost.to_json()
    return {"Adyton-Receipt": str(answer.receipt.number), "Adyton-Cost-Share": str(cost["share"])}


def _arrow(answer: Answer) -> bytes:
    try:
        import pyarrow as pa
    except ImportError:
        raise InvalidRequest("this server has no pyarrow: ask for JSON or CSV") from None
    table = answer.to_arrow()
    written = io.BytesIO()
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    return written.getvalue()
