"""Figures, read back as text: marks are where the numbers say, texts are texts, and nothing runs or loads."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from typing import Any

import pytest

from support.svg import Drawn, Mark
from support.tries import crossed

pytest.importorskip("altair", reason="figures need the extra 'plot'")
pytest.importorskip("vl_convert", reason="figures need the extra 'plot'")

from adyton.errors import InvalidRequest
from adyton.figures import answers, budget, drawing
from adyton.figures.answers import MOST_GROUPS, MOST_LINES, MOST_VALUES, answer_figure
from adyton.figures.budget import MOST_NAMES, MOST_POINTS, burn_down, thinned
from adyton.figures.curves import ChartAxis, ChartLine, curves_figure
from adyton.figures.drawing import Figure
from adyton.figures.look import DARK, LIGHT, WIDEST, WIDTHS, Theme
from adyton.figures.wording import LONGEST_NAME, lines, shortened, told_apart, visible

NOT_DECLARED = {"absent": "not declared: the study file has no [validity] section"}
HOSTILE = (
    "<script>alert(1)</script>",
    "</text></svg><script>alert(2)</script>",
    "\" onload='alert(3)' x=\"",
    "]]>&amp;&#60;b&#62;",
    "left\u202eright\u2066",
    "nul\x00 bell\x07 half \ud800",
    "{{7*7}} ${7*7} datum.value",
    "\u05d0\u05d1 abc",
)


def told(
    value: float | None, noise: tuple[Any, Any], population: tuple[Any, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A value as JSON has it."""
    wide = NOT_DECLARED if population is None else {"level": 0.9, "low": population[0], "high": population[1]}
    narrow = {"level": 0.95, "low": noise[0], "high": noise[1]}
    return {"value": value, "noise_interval": narrow, "population_interval": wide, **more}


def answered(rows: dict[Any, dict[str, Any]], key: str = "region") -> dict[str, Any]:
    keys = [{} if group is None else {key: group} for group in rows]
    listed = [{"keys": own, "values": {"v": value}} for own, value in zip(keys, rows.values(), strict=True)]
    return {"query": "SELECT v FROM people", "answer": listed}


ANSWERS = {
    "one value": answered({None: told(36468.2, (35710.5, 37219.1), (31633.0, 41258.9))}),
    "groups": answered(
        {
            g: told(100.0 * i, (100.0 * i - 9, 100.0 * i + 7), (100.0 * i - 40, 100.0 * i + 60))
            for i, g in enumerate("abcd")
        }
    ),
    "negative": answered(
        {g: told(-3.0 - i, (-4.0 - i, -2.5 - i), (-9.0 - i, 2.0)) for i, g in enumerate("ab")}
    ),
    "tiny": answered({g: told(1e-5, (0.9e-5, 1.2e-5), (0.4e-5, 3e-5)) for g in "ab"}),
    "bins": answered(
        {5 * i: told(50.0 + i, (40.0 + i, 61.0 + i), (10.0 + i, 99.0 + i)) for i in range(12)}, "age"
    ),
    "days": answered(
        {f"2024-01-{d:02}": told(5.0 + d, (2.0 + d, 8.0 + d), (1.0, 40.0)) for d in range(1, 9)}, "day"
    ),
}


def read(figure: Figure, dark: bool = False, width: int = WIDEST) -> Drawn:
    return Drawn(drawing.svg(figure, dark, width))


def ends_of(mark: Mark, upright: bool) -> tuple[float, float]:
    return (mark.y + mark.height, mark.y) if upright else (mark.x, mark.x + mark.width)


# Answers ---------------------------------------------------------------------------------------------------


LOOKS = [(False, WIDEST), (True, WIDEST), (False, 320), (True, 560)]


@pytest.mark.parametrize(("name", "look"), crossed(list(ANSWERS), LOOKS))
def test_intervals_are_drawn_where_the_numbers_say(name: str, look: tuple[bool, int]) -> None:
    """Read off the labels of the axis.  Mutants: x from "value", the ends exchanged, noise for population."""
    dark, width = look
    answer, upright, theme = ANSWERS[name], name in ("bins", "days"), DARK if dark else LIGHT
    svg = read(answer_figure(answer), dark, width)
    scale = svg.scale("y" if upright else "x")
    values = [row["values"]["v"] for row in answer["answer"]]
    for kind, fill, stroke in (
        ("noise_interval", theme.noise, theme.noise),
        ("population_interval", theme.paper, theme.population),
    ):
        bars = [m for m in svg.marks("rect") if (m.fill, m.stroke) == (fill, stroke)]
        assert len(bars) == len(values)
        for bar, value in zip(bars, values, strict=True):
            low, high = (scale.number(end) for end in ends_of(bar, upright))
            assert low == pytest.approx(value[kind]["low"], abs=scale.pixel)
            assert high == pytest.approx(value[kind]["high"], abs=scale.pixel)
    diamonds = [m for m in svg.marks("symbol") if m.fill == theme.ink]
    shown = [scale.number(m.y if upright else m.x) for m in diamonds]
    assert shown == pytest.approx([value["value"] for value in values], abs=scale.pixel)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_two_bars_of_a_group_do_not_cover_each_other(width: int) -> None:
    """Mutant: without the offset by kind."""
    svg = read(answer_figure(ANSWERS["groups"]), width=width)
    bars = sorted(svg.marks("rect"), key=lambda bar: bar.y)
    assert all(above.y + above.height <= below.y + 0.01 for above, below in pairwise(bars))


def test_the_intervals_have_names_and_neither_is_called_after_confidence() -> None:
    """Mutant: any other name."""
    figure = answer_figure(ANSWERS["groups"])
    said = " ".join([*read(figure).texts(), figure.title, figure.description, *figure.headers])
    assert "noise interval (95 %, for these rows)" in said
    assert "population interval (90 %, simultaneous for all answers of the study)" in said
    assert "confidence" not in said.lower()


def test_without_a_population_there_is_one_bar_and_the_reason() -> None:
    svg = read(answer_figure(answered({"a": told(1.0, (0.0, 2.0)), "b": told(2.0, (1.0, 3.0), (0.0, 4.0))})))
    assert len([m for m in svg.marks("rect") if m.stroke == LIGHT.population]) == 1
    alone = read(answer_figure(answered({"a": told(1.0, (0.0, 2.0))})))
    assert len(alone.marks("rect")) == 1
    assert any("no population interval, not declared" in text for text in alone.texts())
    assert not any("population interval (" in text for text in alone.texts())


def test_what_says_nothing_is_not_drawn_and_that_is_said() -> None:
    """Mutant: bars for it as for the others."""
    silent = told(7.0, (0.0, 1e9), uninformative="the noise interval covers every possible value")
    svg = read(answer_figure(answered({"a": told(1.0, (0.0, 2.0), (0.0, 3.0)), "b": silent})))
    assert len(svg.marks("rect")) == 2
    assert "says nothing" in svg.texts()
    assert svg.scale("x").numbers[-1] <= 3.5
    assert any("leaves nothing to see: 1" in text for text in svg.texts())


def test_an_interval_without_an_end_goes_to_the_edge_and_that_is_said() -> None:
    figure = answer_figure(
        answered({"a": told(5.0, (3.0, None), (2.0, 9.0)), "b": told(6.0, (4.0, 8.0), (2.0, 9.0))})
    )
    svg = read(figure)
    noise = [m for m in svg.marks("rect") if m.fill == LIGHT.noise]
    assert noise[0].x + noise[0].width > noise[1].x + noise[1].width
    assert any("without an end" in text for text in svg.texts())
    assert "3.0 .. ;" in figure.description or "3.0 .. " in figure.description


def test_dates_are_drawn_as_dates() -> None:
    value = told(None, ("1990-01-01", "1992-01-01"), ("1985-01-01", "1999-01-01")) | {"value": "1991-01-01"}
    svg = read(answer_figure(answered({None: value})))
    (noise,) = (m for m in svg.marks("rect") if m.fill == LIGHT.noise)
    (wide,) = (m for m in svg.marks("rect") if m.stroke == LIGHT.population)
    day = wide.width / ((1999 - 1985) * 365.25)
    assert noise.width / day == pytest.approx(2 * 365.25, abs=3)
    assert noise.x - wide.x == pytest.approx(5 * 365.25 * day, abs=1)
    assert "1991-01-01" in svg.texts()


def test_only_so_many_groups_and_values_are_drawn_and_the_picture_says_so() -> None:
    """Mutant: no cut; or a cut without a word."""
    many = answered({f"g{i}": told(float(i), (i - 1.0, i + 1.0)) for i in range(100)})
    svg = read(answer_figure(many))
    assert len(svg.marks("symbol")) == MOST_GROUPS
    assert any(f"the first {MOST_GROUPS} of 100 groups" in text for text in svg.texts())
    first = {**many, "answer": many["answer"][:MOST_GROUPS]}
    assert any("of 3,650 groups" in text for text in read(answer_figure(first, groups=3650)).texts())
    wide = {
        "query": "q",
        "answer": [{"keys": {}, "values": {f"v{i}": told(1.0, (0.0, 2.0)) for i in range(9)}}],
    }
    svg = read(answer_figure(wide))
    assert len(svg.marks("symbol")) == MOST_VALUES
    assert any(f"the first {MOST_VALUES} of 9 values" in text for text in svg.texts())


def test_a_picture_of_many_values_has_fewer_groups_and_says_so() -> None:
    """Mutant: forty groups of each of six values, which is as long as ten screens of a phone."""
    values = {f"v{i}": told(1.0, (0.0, 2.0)) for i in range(12)}
    rows = [{"keys": {"region": f"g{i}"}, "values": values} for i in range(100)]
    figure = answer_figure({"query": "q", "answer": rows})
    svg = read(figure, width=320)
    assert len(svg.marks("symbol")) == MOST_VALUES * (MOST_LINES // MOST_VALUES)
    assert any(f"the first {MOST_LINES // MOST_VALUES} of 100 groups" in text for text in svg.texts())
    assert float(svg.root.get("height", "inf")) < 5000


def test_an_answer_without_rows_is_a_picture_too() -> None:
    assert "No rows" in read(answer_figure({"query": "SELECT 1", "answer": []})).texts()
    keys_alone = {"query": "SELECT DISTINCT region", "answer": [{"keys": {"region": "a"}, "values": {}}]}
    assert "No values" in read(answer_figure(keys_alone)).texts()


def test_names_of_groups_that_look_alike_when_cut_stay_apart() -> None:
    long = "x" * 10_000
    svg = read(answer_figure(answered({f"{long}{i}": told(float(i), (i - 1.0, i + 1.0)) for i in range(3)})))
    places = {m.y for m in svg.marks("symbol")}
    assert len(places) == 3
    assert max(map(len, svg.texts())) < 200


# Whatever is called how --------------------------------------------------------------------------------------


def every_figure(*names: str) -> dict[str, Figure]:
    """One of each kind, with these names wherever names can stand."""
    first = names[0]
    rows = [{"keys": {first: name}, "values": {first: told(1.0, (0.0, 2.0), (0.0, 3.0))}} for name in names]
    history = chain(3 * len(names))
    for place, receipt in enumerate(history["receipts"]):
        receipt["by"] = names[place % len(names)]
    curves = [ChartLine(name, (1, 2), (i, 2 * i)) for i, name in enumerate((*names, "another"))]
    return {
        "answer": answer_figure({"query": first, "answer": rows}),
        "budget": burn_down(history),
        "curves": curves_figure(first, ChartAxis(first), ChartAxis(names[-1]), curves, first),
    }


def halves() -> list[tuple[str, ...]]:
    """Also in the place of titles, of which a figure has one."""
    return [HOSTILE[:4], HOSTILE[4:], *((name,) for name in HOSTILE[1:4])]


@pytest.mark.parametrize("names", halves())
def test_whatever_it_is_called_is_text(names: tuple[str, ...]) -> None:
    """Mutants: titles without escaping, names without ``visible``."""
    for kind, figure in every_figure(*names).items():
        svg = read(figure)
        tags = {element.tag.rpartition("}")[2] for element in svg.elements()}
        assert tags <= {"svg", "g", "path", "text", "tspan", "rect", "line", "title", "desc", "defs"}
        attributes = {name.lower() for element in svg.elements() for name in element.attrib}
        assert not [name for name in attributes if name.startswith("on") or name.endswith("href")]
        texts = svg.texts()
        for name in names:
            shown = visible(name)[:20] if kind != "budget" else visible(name)[:12]
            assert any(shown in text for text in texts), (kind, shown)
        assert not any(re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08]", text) for text in texts)


def test_no_name_ends_an_element_of_the_page_or_starts_one() -> None:
    """Mutant: the description of a figure without its escapes."""
    plain, page = (drawing.html(every_figure(*names)["answer"]) for names in (("plain",), HOSTILE))
    assert page.count("<script") == plain.count("<script") == 2
    assert page.count("</script") == plain.count("</script") == 2
    assert "alert(2)</script>" not in page


def test_a_page_loads_nothing_and_shows_the_picture_without_scripts() -> None:
    page = drawing.html(answer_figure(ANSWERS["groups"]))
    assert "default-src 'none'" in page
    before_scripts, _, scripts = page.partition("<script")
    assert not re.search(r"<(img|link|iframe|object)|\s(src|href)=", before_scripts)
    assert not re.search(r"<script[^>]*\ssrc=", scripts)
    assert "<svg" in before_scripts
    assert "<table>" in before_scripts
    assert len(page) < 1_200_000


@pytest.mark.parametrize(("kind", "dark"), crossed(["answer", "budget", "curves"], [False, True]))
def test_an_svg_names_itself_and_has_neither_style_nor_script(kind: str, dark: bool) -> None:
    """Mutants: without title, without description, a style."""
    figure = every_figure("north & south")[kind]
    text = drawing.svg(figure, dark)
    svg = Drawn(text)
    assert svg.words("title") == [figure.title]
    assert svg.words("desc") == [figure.description]
    assert len(figure.description) > 20
    assert not [
        e
        for e in svg.elements()
        if "style" in e.attrib or e.tag.endswith(("style", "script", "foreignObject"))
    ]
    assert re.findall(r"https?://[^\"' ]+", text) == [
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    ]
    fonts = {e.get("font-family", "sans-serif") for e in svg.elements()}
    assert all(font.endswith("sans-serif") for font in fonts)
    assert svg.root.get("role") == "img"


@pytest.mark.parametrize("kind", ["answer", "budget", "curves"])
def test_every_description_is_valid_vega_lite(kind: str) -> None:
    """Altair's schema; it would refuse a word that Vega-Lite does not know.  Mutant: a channel of no such name."""
    assert type(every_figure("a")[kind].chart()).__module__.startswith("altair")


def test_law_control_characters_are_written_out_and_texts_are_cut() -> None:
    for code in range(0x250):
        assert visible(chr(code)).isprintable() or chr(code) == "\xa0"
    assert visible("\u202e") == "\\u202e"
    assert visible("\ud800") == "\\ud800"
    assert visible("Zürich 東京 \u05d0") == "Zürich 東京 \u05d0"
    for many in (1, 39, 40, 41, 10_000):
        assert len(shortened("y" * many)) == min(many, LONGEST_NAME)
        assert len(shortened("\x00" * many)) <= LONGEST_NAME
    assert told_apart(["a", "a", "", "x" * 50, "x" * 60]) == [
        "a",
        "a (2)",
        "(empty)",
        "x" * 39 + "…",
        "x" * 39 + "… (2)",
    ]
    assert len(lines("word " * 1000, 90, 3)) == 3
    assert lines("one line", 90, 3) == ["one line"]


# Narrow pictures ---------------------------------------------------------------------------------------------


NAMES = (
    "New South Wales and the Australian Capital Territory",
    "customer_segment_of_the_last_calendar_year",
    "x" * 100,
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "a",
)
SLACK = 1.15  # a browser scales by as much, and letters of 12 are still letters of 10


def narrow_figures() -> dict[str, Figure]:
    intervals = (told(36000.0 + 900 * i, (35000.0, 40000.0), (31000.0, 41000.0)) for i in range(9))
    rates = ChartAxis("noise scale (b of Laplace, sigma of Gaussian)", log=True)
    lines_ = [ChartLine(f"{name} of the line", (1, 10_000_000), (1e-3, 1e7)) for name in NAMES]
    title = "What up to 1,000,000 releases reveal together, at delta = 1e-09"
    return {
        **{name: answer_figure(answer) for name, answer in ANSWERS.items()},
        "names": answer_figure(answered(dict(zip(NAMES, intervals, strict=False)))),
        "many bins": answer_figure(answered({i: told(5.0, (4.0, 6.0), (3.0, 8.0)) for i in range(40)})),
        "curves": curves_figure(
            title, ChartAxis("number of releases", log=True), rates, lines_, "A source. " * 20
        ),
        "budget": burn_down(chain(300)),
    }


@pytest.mark.parametrize("width", [320, 560])
def test_a_narrow_picture_is_as_wide_as_it_says_with_letters_as_large(width: int) -> None:
    """Mutants: the plot of a wide picture; names beside their bars; titles, notes or a legend in one line."""
    for name, figure in narrow_figures().items():
        svg = read(figure, width=width)
        assert float(svg.root.get("width", "inf")) <= SLACK * width, name
        sizes = [
            float(e.get("font-size", "0").removesuffix("px")) for e in svg.elements() if e.get("font-size")
        ]
        assert min(sizes) >= 11, name


@pytest.mark.parametrize("width", [320, 560])
def test_in_a_narrow_picture_names_are_above_bars_and_values_at_the_end(width: int) -> None:
    """Mutant: without the lane of names, a bar covers the name."""
    svg = read(narrow_figures()["names"], width=width)
    texts, bars = svg.marks("text"), sorted(svg.marks("rect"), key=lambda bar: bar.y)
    names = [mark for mark in texts if mark.text[:8] in {name[:8] for name in NAMES}]
    assert len(names) == len(NAMES)
    assert [mark.text for mark in texts if mark not in names] == [f"{36000 + 900 * i:,}" for i in range(5)]
    for name, above, below in zip(names, bars[::2], bars[1::2], strict=True):
        assert name.y <= above.y <= below.y < name.y + 50


def test_bins_that_have_no_room_beside_each_other_lie_below_each_other() -> None:
    """Mutant: bars of two units."""
    for name, upright in (("bins", True), ("many bins", False)):
        bars = read(narrow_figures()[name], width=320).marks("rect")
        assert min(bar.width if upright else bar.height for bar in bars) >= 3
        assert (bars[0].height > bars[0].width) == upright


def test_a_long_name_in_a_legend_breaks_between_words_else_after_a_mark() -> None:
    svg = read(narrow_figures()["curves"], width=320)
    lines_of = [[part.text for part in one.iter() if part.tag.endswith("tspan")] for one in svg.elements()]
    assert ["New South Wales and the", "Australian Capital Territory", "of the line"] in lines_of
    assert ["customer_segment_of_the_last_", "calendar_year of the line"] in lines_of


def test_there_are_a_few_widths_and_no_other() -> None:
    """Mutant: any number is a width, so the same picture is drawn and kept again and again."""
    figure = answer_figure(ANSWERS["groups"])
    for width in (0, 319, 321, 100_000):
        with pytest.raises(InvalidRequest, match="320, 560 or 780"):
            figure.vega_lite(width=width)


# Contrast ----------------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_color_that_means_something_has_enough_contrast(theme: Theme) -> None:
    """Mutant: Okabe and Ito's orange, #E69F00, on white."""
    colours = [
        getattr(theme, f.name) for f in fields(theme) if f.name not in ("paper", "grid", "colours", "size")
    ]
    assert {
        round(contrast(c, theme.paper), 1)
        for c in (*colours, *theme.colours)
        if contrast(c, theme.paper) < 4.5
    } == set()


@pytest.mark.parametrize("dark", [False, True])
def test_texts_in_the_picture_have_that_contrast(dark: bool) -> None:
    for figure in every_figure("a").values():
        for element in read(figure, dark).elements():
            if element.tag.endswith("text"):
                assert contrast(element.get("fill", "#000000"), (DARK if dark else LIGHT).paper) >= 4.5


# Burn-down ---------------------------------------------------------------------------------------------------


def chain(many: int) -> dict[str, Any]:
    receipts = [
        {"number": n, "spent": f"{n / (2 * many):.9f}", "spent_radius": f"{n / (8 * many):.9f}"}
        | {"by": "ana", "spent_by": f"{n / (2 * many):.9f}", "budget_share": "0.75"}
        for n in range(1, many + 1)
    ]
    return {"header": {"budget": "1"}, "receipts": receipts}


def steps(svg: Drawn, line: Mark, panel: int) -> dict[int, float]:
    """What is left from each receipt on: the lowest place of the line at it."""
    x, y = svg.scale("x", panel), svg.scale("y", panel)
    found: dict[int, float] = {}
    for a, b in svg.vertices(line):
        if abs(x.number(a) - round(x.number(a))) < 0.02:
            found[round(x.number(a))] = y.number(b)
    return found


def test_what_is_left_is_drawn_where_the_receipts_say() -> None:
    """Mutants: spent in place of left, the budget share of the name in place of the study's, receipts shifted by one."""
    history = chain(8)
    svg = read(burn_down(history))
    privacy, ana, charged = svg.marks("line")
    for n in range(1, 9):
        assert steps(svg, privacy, 0)[n] == pytest.approx(100 * (1 - n / 16), abs=0.5)
        assert steps(svg, ana, 0)[n] == pytest.approx(100 * (1 - n / 16 / 0.75), abs=0.5)
        assert steps(svg, charged, 1)[n] == pytest.approx(n / 64, abs=0.002)
    assert any("Validity sets no limit here" in text for text in svg.texts())


def test_in_a_pure_study_what_is_left_for_validity_stands_beside_privacy() -> None:
    svg = read(burn_down(chain(8), {"validity": {"cap": "0.25"}}))
    _, validity, _ = svg.marks("line")
    for n in range(1, 9):
        assert steps(svg, validity, 0)[n] == pytest.approx(100 * (1 - n / 16), abs=0.5)
    beyond = read(burn_down(chain(8), {"validity": {"cap": "0.0625"}}))
    assert steps(beyond, beyond.marks("line")[1], 0)[8] == pytest.approx(0, abs=0.5)


def test_open_links_are_enough_and_only_so_many_names_are_drawn() -> None:
    links = [{k: r[k] for k in ("number", "spent", "spent_radius")} for r in chain(8)["receipts"]]
    told_openly = {"header": {"budget": "1"}, "links": links, "receipts": []}
    assert len(read(burn_down(told_openly)).marks("line")) == 2
    many = chain(40)
    for place, receipt in enumerate(many["receipts"]):
        receipt["by"] = f"name{place % 10}"
    svg = read(burn_down(many))
    assert len(svg.marks("line")) == 2 + MOST_NAMES
    assert any(f"the budget shares of {10 - MOST_NAMES} more names" in text for text in svg.texts())


def test_law_a_long_history_is_thinned_to_points_of_its_own() -> None:
    for many in (1, MOST_POINTS, MOST_POINTS + 1, 20_000):
        points = [(n, float(-n)) for n in range(many)]
        found = thinned(points)
        assert len(found) == min(many, MOST_POINTS)
        assert set(found) <= set(points)
        assert (found[0], found[-1]) == (points[0], points[-1])
    long = burn_down(chain(20_000))
    assert any(f"Drawn are {MOST_POINTS} of 20,000 receipts" in text for text in read(long).texts())
    assert long.rows[-1][:2] == ("20,000", "50")
    assert read(burn_down({"header": {"budget": "1"}, "receipts": []})).marks("line")


# Curves ------------------------------------------------------------------------------------------------------


def test_curves_go_through_their_points_on_logarithmic_axes() -> None:
    """Mutants: linear axes; x and y exchanged; a gap that is closed."""
    x, y = (10.0, 100.0, 1000.0, 10_000.0), (2.0, 0.0, 2e3, 7e4)
    svg = read(
        curves_figure(
            "t", ChartAxis("rows", log=True), ChartAxis("queries", log=True), [ChartLine("a", x, y)]
        )
    )
    across, up = svg.scale("x", log=True), svg.scale("y", log=True)
    seen = [(across.number(m.x), up.number(m.y)) for m in svg.marks("symbol")]
    expected = [(10.0, 2.0), (1000.0, 2e3), (10_000.0, 7e4)]
    assert [a for a, _ in seen] == pytest.approx([a for a, _ in expected], rel=0.03)
    assert [b for _, b in seen] == pytest.approx([b for _, b in expected], rel=0.05)


def test_every_curve_has_a_look_of_its_own_and_a_name() -> None:
    """Mutant: shapes without their shift, so that the seventh looks like the first."""
    curves = [ChartLine(f"curve {i}", (1, 2, 3), (i, i + 1, i + 2), strong=i == 0) for i in range(12)]
    svg = read(
        curves_figure(
            "t", ChartAxis("x"), ChartAxis("y"), [*curves, ChartLine("limit", (1, 3), (5, 5), limit=True)]
        )
    )
    looks = {(m.fill, re.sub(r"[\d.-]+", "", m.path)) for m in svg.marks("symbol")}
    assert len(looks) >= 12
    assert {f"curve {i}" for i in range(12)} | {"limit"} <= set(svg.texts())


def test_the_table_beside_a_figure_has_its_numbers() -> None:
    figure = curves_figure(
        "t",
        ChartAxis("x"),
        ChartAxis("y"),
        [ChartLine("a", (1, 2), (3, None)), ChartLine("b", (2, 5), (4, 6))],
    )
    assert figure.headers == ("x", "a", "b")
    assert figure.rows == (("1", "3", ""), ("2", "", "4"), ("5", "", "6"))
    groups = answer_figure(ANSWERS["groups"])
    assert groups.rows[1][:3] == ("b", "100.0", "91.0 .. 107.0")


# Late imports ------------------------------------------------------------------------------------------------


def test_nothing_is_imported_before_somebody_looks() -> None:
    """Mutant: an import of altair at the top."""
    program = (
        "import sys; import adyton.figures.answers, adyton.figures.budget, adyton.figures.plan, adyton.figures.notebook;"
        "adyton.figures.answers.answer_figure({'query': 'q', 'answer': []});"
        "print([m for m in ('altair', 'vl_convert', 'jsonschema') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_the_module_says_what_it_takes() -> None:
    """The pages of a server call these with JSON."""
    assert "--json" in (answers.answer_figure.__doc__ or "")
    assert "--json" in (budget.burn_down.__doc__ or "")
