"""A process that turns Vega-Lite into pictures.  It is run as a program and imports nothing of adyton.

It reads one JSON object a line: ``kind`` (svg, png, script) and ``spec``.  It answers with a line of JSON,
``size`` and perhaps ``error``, and so many bytes.  It ends when nobody writes to it any more.  Nothing is
loaded from elsewhere: data that a description names by an address are refused.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from functools import cache
from typing import Any, BinaryIO

_EFFORT = 7  # of zlib
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
    return smaller(bytes(_library().vegalite_to_png(spec, scale=SHARPNESS, allowed_base_urls=[])))


def smaller(png: bytes) -> bytes:
    """The same picture, a third as large: vl-convert compresses in haste."""
    start, pieces, place = png[:8], [], 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        pieces.append((png[place + 4 : place + 8], png[place + 8 : place + 8 + size]))
        place += 12 + size
    pixels = zlib.compress(zlib.decompress(b"".join(c for name, c in pieces if name == b"IDAT")), _EFFORT)
    kept = [piece for piece in pieces if piece[0] not in (b"IDAT", b"IEND")]
    return start + b"".join(_piece(*one) for one in (*kept, (b"IDAT", pixels), (b"IEND", b"")))


def _piece(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


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
