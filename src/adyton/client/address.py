"""Where a server is: https://host, https://host:8000/behind/a/proxy; and which study is meant there."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import quote, urlsplit

from adyton.errors import InvalidRequest

_SCHEMES = ("http", "https")
_FORM = "an address looks like https://host or https://host:8000"


def checked_address(url: str, *, plain_http: bool) -> str:
    """The address without what a server adds; refused where a token would travel in the clear."""
    if not isinstance(url, str):
        raise InvalidRequest(f"{_FORM}, not a {type(url).__name__}")
    wrong = ""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidRequest(f"{_FORM}; this one cannot be read") from None
    if parts.scheme not in _SCHEMES or not host:
        wrong = f"{_FORM}, not {url[:100]!r}" if "@" not in url else _FORM
    elif parts.username is not None or parts.password is not None:
        wrong = "an address has no name and no password in it; the token is given apart"
    elif parts.query or parts.fragment:
        wrong = f"{_FORM}, without anything behind ? or #"
    elif parts.scheme == "http" and not plain_http and not _is_loopback(host):
        wrong = (
            f"http://{host} would send the token in the clear: use https://, or say plain_http=True where "
            "nobody else can listen"
        )
    if wrong:
        raise InvalidRequest(wrong)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"


def split_address(text: str) -> tuple[str, str]:
    """A server and the name of what is meant there: https://host/people."""
    whole = re.sub(r"^(https?):/+", r"\1://", text).rstrip("/")
    url, _, name = whole.rpartition("/")
    for inner in ("/v1/studies", "/v1/holdouts"):
        url = url.removesuffix(inner)
    if not name or re.match(r"https?://[^/]", url) is None:
        raise InvalidRequest(f"the address {text[:100]!r} names no study: write https://host/NAME")
    return url, name


def path_of(*names: str | int) -> str:
    """Each name as one part of a path, whatever is in it."""
    for name in names:
        if not str(name) or str(name) in (".", ".."):
            raise InvalidRequest("a study, a holdout and a monitor have a name")
    return "/v1/" + "/".join(quote(str(name), safe="") for name in names)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
