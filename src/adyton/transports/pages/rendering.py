"""Templates, and how numbers are written in them.  Everything is escaped; what is missing is an error."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from adyton.certify import Interval
from adyton.figures.look import WIDTHS
from adyton.holdout.score import half_of, text_of
from adyton.refusals import percent
from adyton.show import number

ASSETS = {"adyton.css": "text/css", "adyton.js": "text/javascript", "adyton.svg": "image/svg+xml"}

_MARGINS, _REM = 32, 16  # beside the content of a page; pixels, where nobody has chosen larger letters
# Widths of figures, and below which width of a window, in rem, each has to do.
_FIGURE_WIDTHS = [(width, (wider + _MARGINS) / _REM - 0.01) for width, wider in pairwise(WIDTHS)]

_PIECE = 12  # letters, which fit into a column on a phone
_JOINT = re.compile(
    r"(?<=[_/@:])(?=[^\W_])|(?<=[^\W_][-.,+])(?=[^\W\d_])|(?<=[^\W\d_][-.,+])(?=\d)|(?<=[a-z])(?=[A-Z])"
)
_OPTION = "--expected-rows, in Python expected_rows"
_FIELD = "“rows you expect to match”, beside the accuracy"


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
    ours = (share_up, share_down, of_budget, plain, segment, moment, day, reach, near, for_pages)
    made.filters |= {one.__name__: one for one in (*ours, breakable, named)}
    made.globals |= {"asset_path": asset_path, "figure_widths": _FIGURE_WIDTHS}
    return made


def for_pages(note: str) -> str:
    """What the command line calls an option is a field here."""
    return note.replace(_OPTION, _FIELD)


def breakable(text: object) -> Markup:
    """A long word may break where its parts are joined: customer_segment, customerSegment, a/b/c."""
    pieces = map(_pieces, re.split(r"(\s+)", str(text)))
    return Markup("").join(Markup("<wbr>").join(map(escape, word)) for word in pieces)


def _pieces(word: str) -> list[str]:
    """As few as fit into a narrow column, where the parts of the word allow it."""
    found = [""]
    for joined in _JOINT.split(word) if len(word) > _PIECE else [word]:
        if found[-1] and len(found[-1]) + len(joined) > _PIECE:
            found.append("")
        found[-1] += joined
    return found


def named(text: object) -> Markup:
    """A name in a table, in whatever direction it is written."""
    return Markup('<bdi class="name">{}</bdi>').format(breakable(text))


def rendered(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)


def share_up(share: float | Fraction) -> str:
    """Of what is spent."""
    return percent(Fraction(share), up=True)


def share_down(share: float | Fraction) -> str:
    """Of what is left."""
    return percent(Fraction(share), up=False)


def of_budget(amount: str, budget: str) -> str:
    """An amount, written in decimals, as a share of the budget, rounded up."""
    return percent(Fraction(amount) / Fraction(budget), up=True)


def plain(value: object) -> str:
    """A number as people write it."""
    return f"{value:,.15g}".replace("e-0", "e-") if isinstance(value, int | float) else str(value)


def segment(text: object) -> str:
    """One part of a path: also a slash is escaped."""
    return quote(str(text), safe="")


def day(seconds: float) -> str:
    """A time in seconds since 1970, in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def reach(interval: Mapping[str, Any] | None) -> str:
    """The ends of an interval of JSON, rounded outwards."""
    return text_of(None if interval is None else _interval(interval))


def near(value: float, interval: Mapping[str, Any] | None) -> str:
    """A value with the digits that its interval leaves."""
    return number(value, 0.0 if interval is None else half_of(_interval(interval)))


def _interval(told: Mapping[str, Any]) -> Interval:
    low, high = told["low"], told["high"]  # null: nowhere
    return Interval(told["level"], -math.inf if low is None else low, math.inf if high is None else high)


def moment(text: str) -> str:
    """A time in UTC, to the minute."""
    return text[:16].replace("T", " ")
