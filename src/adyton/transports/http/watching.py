"""What an operator sees of each request: which route, which status, how long.  No text, value or token.

One line of JSON for each request goes to the log ``adyton.requests``.  Counts are for Prometheus, on a port
of their own.  Spans are made where OpenTelemetry is installed.
"""

from __future__ import annotations

import json
import logging
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

try:
    from opentelemetry import trace
except ImportError:
    trace = None  # type: ignore[assignment]

_request_log = logging.getLogger("adyton.requests")
_OTHER = "other"  # whatever matches no route is one label: what people type is not kept, nor counted apart
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class Metrics:
    """Counters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        names = ["method", "route", "status"]
        self.requests = Counter("adyton_requests", "Requests", names, registry=self.registry)
        self.seconds = Histogram("adyton_request_seconds", "Time", ["route"], registry=self.registry)

    def tell(self, method: str, route: str, status: int | str, seconds: float, number: int = 1) -> None:
        """Counts a request, or a ``number`` of them that came together, and writes one line."""
        self.requests.labels(method, route, status).inc(number)
        self.seconds.labels(route).observe(seconds)
        line = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
        line |= {"number": number} if number > 1 else {}
        _request_log.info(json.dumps(line))


class Watching:
    """Around the routes, inside the guard."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 500, time.perf_counter()

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with _span(_method(scope)) as span:
            try:
                await self._app(scope, receive, seen)
            finally:
                self._tell(scope, status, time.perf_counter() - began, span)

    def _tell(self, scope: Scope, status: int, seconds: float, span: Any) -> None:
        method, route = _method(scope), _route(scope)
        self._metrics.tell(method, route, status, seconds)
        if span is not None:
            span.update_name(f"{method} {route}")
            span.set_attribute("http.response.status_code", status)


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else _OTHER


def _route(scope: Scope) -> str:
    """As it is declared, /v1/studies/{study}/ask, never as it was typed."""
    return str(getattr(scope.get("route"), "path", _OTHER))


def is_traced() -> bool:
    """Whether somebody collects spans."""
    return trace is not None and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _span(method: str) -> AbstractContextManager[Any]:
    if not is_traced():
        return nullcontext()
    return trace.get_tracer("adyton").start_as_current_span(method, record_exception=False)
