"""Templates, and how numbers are written in them.  Everything is escaped; what is missing is an error."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from adyton.certify.answer import percent

ASSETS = {"adyton.css": "text/css", "adyton.js": "text/javascript", "adyton.svg": "image/svg+xml"}


@cache
def asset(name: str) -> bytes:
    return files("adyton.transports.pages").joinpath("assets", name).read_bytes()


@cache
def asset_path(name: str) -> str:
    """With a part that changes with its content: browsers may keep it for ever."""
    return f"/assets/{name}?v={hashlib.sha256(asset(name)).hexdigest()[:12]}"


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("adyton.transports.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    made.filters |= {"share_up": share_up, "share_down": share_down, "segment": segment, "moment": moment}
    made.globals |= {"asset_path": asset_path}
    return made


def rendered(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)


def share_up(share: float) -> str:
    """Of what is spent."""
    return percent(Fraction(share), up=True)


def share_down(share: float) -> str:
    """Of what is left."""
    return percent(Fraction(share), up=False)


def segment(text: object) -> str:
    """One part of a path: also a slash is escaped."""
    return quote(str(text), safe="")


def moment(text: str) -> str:
    """A time in UTC, to the minute."""
    return text[:16].replace("T", " ")
