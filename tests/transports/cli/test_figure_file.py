"""--figure: every command writes its figure in the same way, and says what is missing before it is paid for."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from support.svg import Drawn
from support.tries import crossed
from support.worlds import study_text

pytest.importorskip("altair", reason="figures need the extra 'plot'")
pytest.importorskip("vl_convert", reason="figures need the extra 'plot'")

from adyton.errors import InvalidRequest
from adyton.figures.curves import ChartAxis, ChartLine, curves_figure
from adyton.figures.drawing import VEGA_LITE, Figure
from adyton.transports.cli.app import app
from adyton.transports.figure_file import check_figure, write_figure

COMMANDS = {
    "plan": ("plan", "--rows", "1000", "--queries", "5"),
    "compose": ("compose", "--epsilon", "0.1", "--times", "9"),
    "calibrate": ("calibrate", "--epsilon", "1", "--times", "3"),
    "lab": ("lab", "uniform-noise"),
    "ask": (
        "ask",
        "people.toml",
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region",
        "--epsilon",
        "0.1",
    ),
    "receipts": ("receipts", "people.toml"),
    "synthesize": ("synthesize", "people.toml", "--columns", "region", "--epsilon", "0.1"),
}
STUDY = study_text(
    {
        "region": {"kind": "category", "values": ["north", "south"]},
    },
    source="people.csv",
    rows=600,
    validity="independent = true\nconfidence = 0.95",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "people.csv").write_text("region\n" + "north\nsouth\nnorth\n" * 200)
    (tmp_path / "people.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str, path: Path | str) -> Result:
    return CliRunner().invoke(app, [*COMMANDS[command], "--figure", str(path), "--json"])


def charged() -> int:
    told = json.loads(CliRunner().invoke(app, ["receipts", "people.toml", "--json"]).stdout)
    return len(told["receipts"])


def figure() -> Figure:
    return curves_figure(
        "A title",
        ChartAxis("x"),
        ChartAxis("y"),
        [ChartLine("a line of its own", [1, 2], [3, 4]), ChartLine("b", [1, 2], [4, 3])],
    )


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".PNG", b"\x89PNG\r\n\x1a\n"), (".svg", b"<svg"), (".html", b"<!DOCTYPE html>"), (".json", b"{")],
)
def test_the_name_says_the_format(suffix: str, start: bytes, folder: Path) -> None:
    path = folder / f"figure{suffix}"
    write_figure(figure(), path)
    content = path.read_bytes()
    assert content.startswith(start)
    if suffix == ".json":
        told = json.loads(content)
        assert told["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
        assert "a line of its own" in {
            point["curve"] for points in told["datasets"].values() for point in points
        }
    elif suffix != ".PNG":
        assert "a line of its own" in content.decode()
    figure().save(folder / f"again{suffix}")
    assert (folder / f"again{suffix}").read_bytes() == content


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_draws(command: str, folder: Path) -> None:
    """A title, words on the axes, a name for every line and bar.  Mutant: a command that writes nothing."""
    result = run(command, folder / "figure.svg")
    assert result.exit_code == 0, result.output
    svg = Drawn((folder / "figure.svg").read_text(encoding="utf-8"))
    (title,) = svg.words("title")
    assert len(title) > 5
    assert svg.words("desc")
    assert any(title.startswith(text) for text in svg.texts())
    assert len(svg.texts()) > 8


@pytest.mark.parametrize(
    ("command", "missing"), crossed(["plan", "ask", "synthesize", "lab"], ["altair", "vl_convert"])
)
def test_without_the_extra_every_command_says_what_to_install_for_free(
    command: str, missing: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutant: looked for when the answer is there."""
    monkeypatch.setitem(sys.modules, missing, None)
    result = run(command, folder / "figure.png")
    assert result.exit_code == 2, result.output
    error = json.loads(result.stdout)["error"]
    assert error["kind"] == "invalid_request"
    assert "pip install 'adyton[plot]'" in error["message"]
    assert not (folder / "figure.png").exists()
    assert charged() == 0


WRONG = ["figure.gif", "figure", "no/such/folder/x.html", "people.toml", "folder.svg"]


@pytest.mark.parametrize(("command", "path"), crossed(list(COMMANDS), WRONG))
def test_a_wrong_name_is_refused_before_anything_is_computed(command: str, path: str, folder: Path) -> None:
    (folder / "folder.svg").mkdir()
    result = run(command, path)
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["kind"] == "invalid_request"
    with pytest.raises(InvalidRequest):
        check_figure(Path(path))
    assert charged() == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_refused_before_any_payment(folder: Path) -> None:
    (folder / "x.svg").touch(mode=0o444)
    assert run("ask", "x.svg").exit_code == 2
    assert charged() == 0


def test_a_file_that_cannot_be_written_after_all_is_named(folder: Path) -> None:
    (folder / "x.html").mkdir()
    for write in (
        lambda: write_figure(figure(), folder / "x.html"),
        lambda: figure().save(folder / "x.html"),
    ):
        with pytest.raises(InvalidRequest, match=r"x\.html cannot be written"):
            write()


def test_several_queries_have_no_figure(folder: Path) -> None:
    (folder / "queries.sql").write_text(
        "SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM people WHERE region = 'north'"
    )
    words = [
        "ask",
        "people.toml",
        "--file",
        "queries.sql",
        "--epsilon",
        "0.1",
        "--figure",
        "x.svg",
        "--json",
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "without --file" in result.stdout
    assert charged() == 0


def test_what_ask_and_receipts_draw_is_what_they_print(folder: Path) -> None:
    """Mutant: the budget's numbers from before the charge."""
    told = json.loads(run("ask", "answer.json").stdout)
    drawn = json.loads(Path("answer.json").read_text(encoding="utf-8"))["datasets"]
    bars = {(bar["group"], bar["kind"].split(" (")[0]): (bar["low"], bar["high"]) for bar in drawn["bars 0"]}
    for row in told["answer"]:
        for kind in ("noise interval", "population interval"):
            own = row["values"]["n"][kind.replace(" ", "_")]
            assert bars[row["keys"]["region"], kind] == (own["low"], own["high"])
    run("receipts", "left.json")
    left = json.loads(Path("left.json").read_text(encoding="utf-8"))["datasets"]["left"]
    assert left[1]["amount"] == pytest.approx(100 * told["left"]["share"], rel=1e-12)
    assert left[1]["amount"] <= 100 * told["left"]["share"] * (1 + 1e-15)


def test_a_figure_shows_itself_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = figure()._repr_mimebundle_()
    assert set(shown) == {VEGA_LITE, "image/svg+xml", "text/plain"}
    monkeypatch.setitem(sys.modules, "altair", None)
    alone = figure()._repr_mimebundle_()
    assert set(alone) == {"text/plain"}
    assert "adyton[plot]" in alone["text/plain"]


def test_a_synthetic_table_that_is_written_nowhere_says_so() -> None:
    words = ["synthesize", "people.toml", "--columns", "region", "--epsilon", "0.1"]
    said = CliRunner().invoke(app, words).stderr
    assert said == "No file was written: the same again with -o FILE, at the same --epsilon, is free.\n"
    for others in (["--preview"], ["-o", "made.csv"]):
        assert CliRunner().invoke(app, [*words, *others]).stderr == ""
    assert charged() == 1
