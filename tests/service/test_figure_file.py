"""--figure: every command writes its figure in the same way, and says what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adyton.errors import InvalidRequest
from adyton.transports.cli import accounting as cli_accounting
from adyton.transports.cli import lab as cli_lab
from adyton.transports.cli import plan as cli_plan
from adyton.transports.cli.app import app
from adyton.transports.figure_file import check_figure, write_figure

pytest.importorskip("plotly", reason="figures need the extra 'plot'")
COMMANDS = {
    "plan": ("plan", "--rows", "10000", "--tolerance", "0.1"),
    "compose": ("compose", "--epsilon", "0.1", "--times", "9"),
    "calibrate": ("calibrate", "--epsilon", "1", "--times", "3"),
    "lab": ("lab", "uniform-noise"),
}


def run(command: str, path: Path | str) -> Result:
    return CliRunner().invoke(app, [*COMMANDS[command], "--figure", str(path), "--json"])


def browser() -> str | None:
    """The one that kaleido would start; it never downloads one by itself."""
    chromium = pytest.importorskip("choreographer.browsers.chromium", reason="kaleido is not installed")
    found: str | None = chromium.Chromium.find_browser(skip_local=False)
    return found


@pytest.fixture
def needs_browser() -> None:
    if browser() is None:
        pytest.skip("no Chromium or Chrome on this machine, so no .png and no .svg")


def figure() -> Any:
    from plotly.graph_objects import Figure, Scatter

    return Figure(Scatter(name="a line of its own", x=[1, 2], y=[3, 4]))


@pytest.mark.usefixtures("needs_browser")
@pytest.mark.parametrize(("suffix", "start"), [(".PNG", b"\x89PNG\r\n\x1a\n"), (".svg", b"<svg")])
def test_a_browser_draws_the_picture(suffix: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"figure{suffix}"
    write_figure(figure(), path)
    assert path.read_bytes().startswith(start)
    assert len(path.read_bytes()) > 2000


@pytest.mark.usefixtures("needs_browser")
def test_the_headline_figure_as_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    assert run("plan", path).exit_code == 0
    for name in ("adyton, decreasing noise", "sample splitting", "attack on constant noise"):
        assert name in path.read_text(encoding="utf-8")


def test_a_page_needs_no_browser_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "figure.html"
    write_figure(figure(), path)
    page = path.read_text(encoding="utf-8")
    assert "a line of its own" in page
    assert "<script src=" not in page
    assert "<link" not in page


@pytest.mark.parametrize("command", COMMANDS)
def test_every_figure_has_the_same_look(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One font, one set of colours, axes and curves in words, and the source below."""
    seen: list[Any] = []
    for module in (cli_plan, cli_accounting, cli_lab):
        monkeypatch.setattr(module, "write_figure", lambda drawn, path: seen.append(drawn))
    assert run(command, tmp_path / "figure.html").exit_code == 0
    (drawn,) = seen
    layout = drawn.layout
    assert layout.font.family.startswith("'Source Sans 3', ")  # quoted: no bare word begins with a digit
    assert layout.title.text
    assert layout.annotations[0].text.startswith("Source: ")
    for words in (layout.xaxis.title.text, layout.yaxis.title.text, *(trace.name for trace in drawn.data)):
        assert len(words) > 3
        assert "_" not in words
    looks = [(trace.line.color, trace.line.dash) for trace in drawn.data]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_browser_every_command_says_what_to_install(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", "/no/such/browser")
    path = tmp_path / "figure.png"
    result = run(command, path)
    assert result.exit_code == 2, result.output
    error = json.loads(result.stdout)["error"]
    assert error["kind"] == "invalid_request"
    for word in ("Chromium", "pip install 'adyton[plot]'", "BROWSER_PATH", ".html"):
        assert word in error["message"]
    assert not path.exists()


@pytest.mark.parametrize("fault", [ImportError, RuntimeError, TimeoutError, OSError, Exception])
def test_whatever_a_browser_does_the_answer_is_the_same(
    fault: Callable[[str], Exception], tmp_path: Path
) -> None:
    class Drawn:
        def to_image(self, **_: Any) -> bytes:
            raise fault("canary-4711")

    with pytest.raises(InvalidRequest, match=r"needs kaleido .* and Chromium") as refused:
        write_figure(Drawn(), tmp_path / "x.svg")
    assert "canary-4711" not in refused.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("path", ["figure.gif", "figure", "no/such/folder/x.html", "no/such/folder/x.png"])
def test_a_wrong_name_is_refused_before_anything_is_computed(command: str, path: str) -> None:
    result = run(command, path)
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["kind"] == "invalid_request"
    with pytest.raises(InvalidRequest):
        check_figure(Path(path))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.html").mkdir()
    with pytest.raises(InvalidRequest, match=r"x\.html cannot be written"):
        write_figure(figure(), tmp_path / "x.html")
