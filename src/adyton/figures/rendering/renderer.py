"""A process that turns Vega-Lite into pictures.  It is run as a program and imports nothing of adyton.

It reads one JSON object a line: ``kind`` (svg, png, script) and ``spec``.  It answers with a line of JSON,
``size`` and perhaps ``error``, and so many bytes.  It ends when nobody writes to it any more.  Nothing is
loaded from elsewhere: data that a description names by an address are refused.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from typing import Any, BinaryIO

SHARPNESS = 2.0  # pixels of a PNG for each unit of the drawing
# The description stands in the page; what the browser draws takes the place of the picture that is there.
_SNIPPET = """
const text = document.getElementById("description").textContent;
vegaEmbed("#figure", JSON.parse(text), {renderer: "svg", actions: {source: false, editor: false}});
"""


@cache
def _library() -> Any:
    import vl_convert  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return vl_convert


@cache
def _script() -> bytes:
    return str(_library().javascript_bundle(_SNIPPET)).encode()


def made(kind: str, spec: str) -> bytes:
    if kind == "script":
        return _script()
    if kind == "svg":
        return str(_library().vegalite_to_svg(spec, allowed_base_urls=[])).encode()
    return bytes(_library().vegalite_to_png(spec, scale=SHARPNESS, allowed_base_urls=[]))


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    for line in requests:
        asked, fault, content = json.loads(line), None, b""
        try:
            content = made(asked["kind"], asked["spec"])
        except Exception as error:
            fault = type(error).__name__  # its words may quote what was to be drawn
        replies.write(json.dumps({"size": len(content), "error": fault}).encode() + b"\n" + content)
        replies.flush()


if __name__ == "__main__":
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not come between the answers
    serve(sys.stdin.buffer, private)
