"""The documentation that comes with the package, behind the "?" of every page.  It needs no token."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fastapi import APIRouter
from markdown_it import MarkdownIt
from markdown_it.token import Token
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from adyton.errors import NotFound
from adyton.transports.pages.page import OpenRoute, ThePage

routes = APIRouter(route_class=OpenRoute, include_in_schema=False)
_PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
_TABLE = '<div class="scroll" tabindex="0" role="region" aria-label="table">\n<table>\n'
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


@routes.get("/help")
async def contents(page: ThePage) -> Response:
    return await page.show("help_contents.html", "Help", parts=await run_in_threadpool(_contents))


@routes.get("/help/{path:path}")
async def document(page: ThePage, path: str) -> Response:
    file = await run_in_threadpool(_found, path)
    if file.suffix != ".md":
        content = await run_in_threadpool(file.read_bytes)
        return Response(content, media_type=_PICTURES.get(file.suffix, "text/plain"))
    title, text = await run_in_threadpool(_shown, path)
    return await page.show("help.html", "Help", title=title, text=text)


@cache
def _folder() -> Path:
    """In an installed package it lies inside; in a checkout, beside the sources."""
    package = Path(str(files("adyton")))
    inside = package / "documentation"
    return inside if inside.is_dir() else package.parents[1] / "docs"


@cache
def _known() -> dict[str, Path]:
    """What may be shown, by its path: nothing that is typed ever becomes a path of this machine."""
    folder, kinds = _folder(), {".md", ".json", *_PICTURES}
    found = sorted(path for path in folder.rglob("*") if path.suffix in kinds and path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in found}


def _found(path: str) -> Path:
    if path not in _known():
        raise NotFound
    return _known()[path]


@cache
def _contents() -> list[tuple[str, list[tuple[str, str]]]]:
    """Titles and paths, by folder."""
    parts: dict[str, list[tuple[str, str]]] = {"": [], "how-to": [], "reference": [], "theorems": []}
    for path, file in _known().items():
        folder = posixpath.dirname(path)
        if file.suffix == ".md" and folder in parts:
            parts[folder].append((_title(path, file.read_text(encoding="utf-8")), path))
    words = {"": "To begin with", "how-to": "How to", "reference": "Reference", "theorems": "Theorems"}
    return [(words[folder], found) for folder, found in parts.items() if found]


def _title(path: str, text: str) -> str:
    found = _TITLE.search(text)
    return found[1].replace("`", "") if found else posixpath.basename(path).removesuffix(".md")


@cache
def _shown(path: str) -> tuple[str, str]:
    """Title and HTML.  Raw HTML in a document is shown as text."""
    text = _FRONT.sub("", _found(path).read_text(encoding="utf-8"))
    title = _title(path, text)
    if _TITLE.search(text) is None:
        text = f"# {title}\n\n{text}"
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    for rule, html in (("table_open", _TABLE), ("table_close", "</table>\n</div>\n")):
        reader.add_render_rule(rule, lambda _self, *_words, html=html: html)
    tokens = reader.parse(text)
    for token in tokens:
        if token.type == "th_open":
            token.attrs["scope"] = "col"
        for inner in token.children or ():
            _lead_within(inner, path)
    _name_headings(tokens)
    return title, str(reader.renderer.render(tokens, reader.options, {}))


def _lead_within(token: Token, path: str) -> None:
    """Links go to documents that are here; others lead out of the package, or nowhere, and are not made."""
    if token.type != "link_open":
        return
    parts = urlsplit(str(token.attrs.get("href", "")))
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path)))
    inside = not parts.scheme and not parts.netloc and (not parts.path or target in _known())
    if not inside:
        del token.attrs["href"]


def _name_headings(tokens: list[Token]) -> None:
    """As links in the documents name them."""
    seen: dict[str, int] = {}
    for opening, words in _headings(tokens):
        name = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
        many = seen.get(name, 0)
        seen[name] = many + 1
        opening.attrs["id"] = f"{name}-{many}" if many else name


def _headings(tokens: list[Token]) -> Iterator[tuple[Token, str]]:
    for opening, inner in pairwise(tokens):
        if opening.type == "heading_open":
            words = [child.content for child in inner.children or () if child.type in ("text", "code_inline")]
            yield opening, "".join(words)
