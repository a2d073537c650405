"""Renderers are few, die alone, and draw the same picture once; and notebooks get what they can show."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("altair", reason="figures need the extra 'plot'")
pytest.importorskip("vl_convert", reason="figures need the extra 'plot'")

import adyton
from adyton.errors import InvalidRequest
from adyton.figures.answers import MOST_GROUPS
from adyton.figures.drawing import VEGA_LITE
from adyton.figures.notebook import bundle
from adyton.figures.rendering import pool
from adyton.figures.rendering.pool import Pictures, Renderer, Renderers
from adyton.kernel.schema import CategoryColumn


def spec(value: float) -> str:
    data = {"values": [{"a": value}]}
    return json.dumps(
        {"data": data, "mark": "point", "encoding": {"x": {"field": "a", "type": "quantitative"}}}
    )


class Counted(Renderers):
    """Real renderers that say how often they drew, and how many there were."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.drawn: list[str] = []

    def draw(self, kind: str, text: str) -> bytes:
        self.drawn.append(text)
        return super().draw(kind, text)


@pytest.fixture
def renderers() -> Iterator[Counted]:
    made = Counted(2)
    yield made
    made.close()


def test_the_same_picture_is_drawn_once_whoever_asks_at_once(renderers: Counted) -> None:
    """Mutant: no waiting for one that is being drawn."""
    pictures = Pictures(renderers)
    wanted = [spec(i % 4) for i in range(24)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda one: pictures.picture("svg", one), wanted))
    assert sorted(renderers.drawn) == sorted(set(wanted))
    assert len(renderers._free) <= 2
    assert all(picture == pictures.picture("svg", one) for picture, one in zip(found, wanted, strict=True))
    assert pictures.picture("png", spec(0)).startswith(b"\x89PNG")


def test_only_so_many_bytes_are_kept_the_newest(renderers: Counted) -> None:
    """Mutant: nothing is ever forgotten."""
    sizes = [len(Pictures(renderers).picture("svg", spec(i))) for i in (1, 2, 3, 4)]
    assert 3 * max(sizes) < sum(sizes)
    pictures = Pictures(renderers, most=3 * max(sizes))
    for i in (1, 2, 3, 1, 4):
        pictures.picture("svg", spec(i))
    assert pictures._size <= 3 * max(sizes)
    renderers.drawn.clear()
    pictures.picture("svg", spec(1))
    pictures.picture("svg", spec(2))
    assert renderers.drawn == [spec(2)]


def test_a_renderer_that_dies_is_replaced_and_what_it_held_is_refused(renderers: Counted) -> None:
    """Mutant: given back to the others."""
    renderers.draw("svg", spec(1))
    (renderer,) = renderers._free
    os.kill(renderer._process.pid, signal.SIGKILL)
    renderer._process.wait()
    with pytest.raises(InvalidRequest, match="could not be drawn"):
        renderers.draw("svg", spec(2))
    assert renderers._free == []
    assert renderers.draw("svg", spec(2)).startswith(b"<svg")


def test_what_cannot_be_drawn_is_refused_without_its_words_and_tried_again(renderers: Counted) -> None:
    pictures = Pictures(renderers)
    bad = json.dumps(json.loads(spec(1)) | {"data": {"url": "https://example.org/canary-4711.csv"}})
    for _ in range(2):
        with pytest.raises(InvalidRequest, match="could not be drawn") as refused:
            pictures.picture("svg", bad)
        assert "canary" not in str(refused.value)
        assert refused.value.__cause__ is None
    assert len(renderers.drawn) == 2
    assert pictures.picture("svg", spec(1)).startswith(b"<svg")


def test_a_picture_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "PATIENCE", 0.0)
    renderer = Renderer()
    with pytest.raises((OSError, ValueError)):
        renderer.draw("svg", spec(1))
    renderer.close()


def test_nothing_is_loaded_from_elsewhere(renderers: Counted) -> None:
    """Mutant: any address allowed."""
    asked: list[str] = []

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        there = f"http://127.0.0.1:{server.server_port}/rows.csv"
        try:
            with pytest.raises(InvalidRequest, match="could not be drawn"):
                renderers.draw("svg", json.dumps(json.loads(spec(1)) | {"data": {"url": there}}))
        finally:
            server.shutdown()
            thread.join()
    assert asked == []


def test_renderers_end_with_their_process_and_a_fork_has_its_own() -> None:
    """Renderers end with the process that started them, and a fork has its own."""
    program = (
        "import os, sys\n"
        "from adyton.figures.rendering import pool\n"
        "spec = sys.argv[1]\n"
        "first = pool.PICTURES.picture('svg', spec)\n"
        "(renderer,) = pool.PICTURES.renderers._free\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    alike = pool.PICTURES.renderers._free == [] and pool.PICTURES.picture('svg', spec) == first\n"
        "    pool.PICTURES.renderers.close()\n"
        "    os._exit(0 if alike else 1)\n"
        "print(renderer._process.pid, os.waitpid(child, 0)[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, spec(1)], capture_output=True, text=True, check=True
    )
    process, status = map(int, done.stdout.split())
    assert status == 0
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


# Notebooks ---------------------------------------------------------------------------------------------------

REGIONS = tuple(f"region {i}" for i in range(60))


@pytest.fixture(scope="module")
def answer() -> adyton.Answer:
    table = adyton.Table("people", (CategoryColumn("region", REGIONS),), rows=600)
    study = adyton.Study(table, adyton.PrivacyUnit("replace-one"), adyton.Guarantee(epsilon=1, delta=1e-9))
    people = pd.DataFrame({"region": np.array(REGIONS)[np.arange(600) % 60]})
    return adyton.open(study, data=people).ask(
        "SELECT region, COUNT(*) FROM people GROUP BY region", share=0.5
    )


def formatted(shown: Any, terminal: bool) -> dict[str, Any]:
    """What IPython makes of it, in a terminal or for a notebook."""
    formatters = pytest.importorskip("IPython.core.formatters")
    formatter = formatters.DisplayFormatter()
    formatter.active_types = ["text/plain"] if terminal else formatter.format_types
    found: dict[str, Any] = formatter.format(shown)[0]
    return found


def test_a_notebook_gets_the_table_with_the_figure_and_vega_lite(answer: adyton.Answer) -> None:
    """Mutant: the figure in place of the table."""
    shown = formatted(answer, terminal=False)
    assert {VEGA_LITE, "text/html", "image/svg+xml", "text/plain"} <= set(shown)
    assert shown["text/html"].startswith(answer._repr_html_())
    assert shown["image/svg+xml"] in shown["text/html"]
    assert f"the first {MOST_GROUPS} of 60 groups" in shown["image/svg+xml"]
    assert len(shown[VEGA_LITE]["datasets"]["values 0"]) == MOST_GROUPS
    assert shown["text/plain"] == str(answer)


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_without_the_extra_a_notebook_shows_what_it_showed(
    answer: adyton.Answer, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    shown = formatted(answer, terminal=False)
    assert shown["text/html"] == answer._repr_html_()
    assert VEGA_LITE not in shown


def test_with_nothing_to_draw_or_nobody_to_see_it_nothing_is_drawn(
    answer: adyton.Answer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Mutant: a terminal that waits for a picture."""

    class Untouched(Pictures):
        def picture(self, kind: str, text: str) -> bytes:
            raise AssertionError("drawn")

    monkeypatch.setattr(pool, "PICTURES", Untouched(Renderers()))
    assert bundle(replace(answer, rows=answer.rows.at(slice(0)))) == {}
    terminal = pytest.importorskip("IPython.terminal.interactiveshell").TerminalInteractiveShell
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell = terminal(simple_prompt=True)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    assert bundle(answer) == {}
    shell.display_formatter.active_types = shell.display_formatter.format_types
    with pytest.raises(AssertionError, match="drawn"):
        bundle(answer)
