"""On a phone nothing is cut off without a sign, names stay whole, and figures are drawn for the width of the screen."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import httpx2
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, expect
from test_accessible import pages

import adyton
from adyton import Guarantee, PrivacyUnit, Study, Table
from adyton.figures.look import WIDTHS
from adyton.figures.notebook import bundle
from adyton.kernel.schema import CategoryColumn
from adyton.show import Sheet
from support.browser import Site, Visit, visit
from support.odd_studies import ALIASES, LONG, NAMES, PATH, QUERY, UNBROKEN

PHONES = (320, 360, 390)
SCREENS = (*PHONES, 768, 1280)
HEIGHT = 740
SHORT = QUERY.replace(QUERY[QUERY.index(" WHERE") : QUERY.index(" GROUP BY")], "")
WIDE = "/studies/wide"
WIDE_PAGES = [WIDE, f"{WIDE}/ask", f"{WIDE}/receipts", f"{WIDE}/budget", f"{WIDE}/access"]
DOCUMENTS = ["/help", "/help/guarantee.md", "/help/reference/http.md", "/help/how-to/figures.md"]
PLANS = ["/plan?rows=10000&tolerance=0.1", "/lab/averaging"]
TOUCHED = 40  # pixels, of what a finger meets
FAINTEST = 0.85  # of a picture that is drawn for a phone: letters of 12 are then of 10

# What is wrong with the page, in words.
MEASURE = """
async ({phone, touched}) => {
  for (const one of document.querySelectorAll("details")) one.open = true;
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  const wide = document.documentElement.clientWidth, found = [];
  const say = (what, one) => found.push(what + ": " + one.outerHTML.slice(0, 120));
  if (document.documentElement.scrollWidth > wide) found.push("the page scrolls sideways");
  for (const one of document.querySelectorAll("body *")) {
    if (one.closest(".unseen, .skip, option, [hidden]") || !one.getClientRects().length) continue;
    const box = one.closest(".scroll"), style = getComputedStyle(one), place = one.getBoundingClientRect();
    const more = one.scrollWidth > one.clientWidth + 1, field = one.matches("input, select, textarea");
    if (box === one) {
      const hint = one.previousElementSibling;
      if (more !== one.classList.contains("wider")) say("says wrongly that it is wider", one);
      if (more !== (hint.offsetHeight > 0)) say("a hint where there is no more, or none", one);
      if (more && style.overflowX !== "auto") say("cannot be scrolled", one);
      if (one.tabIndex !== 0 || !one.ariaLabel) say("cannot be reached by keyboard, or has no name", one);
      if (!style.backgroundImage.includes("gradient")) say("no shade", one);
      const first = one.querySelector("th");
      one.scrollLeft = 10000;
      if (first && Math.abs(first.getBoundingClientRect().left - place.left) > 1) say("the first column goes away", one);
      one.scrollLeft = 0;
    } else if (!box) {
      if (place.right > wide + 1 || place.left < -1) say("outside", one);
      if (more && style.display !== "inline" && !field) say("cut off", one);
    }
    if (!phone) continue;
    const target = "button, .button, input:not([type=hidden]), select, summary, nav a, .help, .row > a";
    if (one.matches(target) && place.height < touched) say("too small for a finger", one);
  }
  return found;
}
"""
# Words that are broken although they fit into their line; in a table, into a column of eight letters.
BROKEN = r"""
() => {
  const found = [], range = document.createRange(), column = 112;
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node; node = walker.nextNode();) {
    if (node.parentElement.closest(".unseen, option, textarea, pre") || !node.parentElement.getClientRects().length) continue;
    for (const word of node.data.matchAll(/\S+/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const pieces = [...range.getClientRects()], tops = pieces.map(one => one.top);
      if (Math.max(...tops) - Math.min(...tops) < 8) continue;
      const long = pieces.reduce((sum, one) => sum + one.width, 0);
      let box = node.parentElement;
      while (getComputedStyle(box).display === "inline") box = box.parentElement;
      const style = getComputedStyle(box);
      const fits = box.closest("td, th") ? column
        : box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      if (long <= fits && !/[-/?\u2026]/.test(word[0])) found.push(word[0] + " in " + box.outerHTML.slice(0, 80));
    }
  }
  return found;
}
"""
PICTURES = """
async () => {
  const found = [];
  for (const one of document.querySelectorAll(".figure img")) {
    await one.decode();
    found.push({address: one.currentSrc, shown: one.getBoundingClientRect().width, drawn: one.naturalWidth,
                place: one.closest("main").clientWidth});
  }
  return found;
}
"""


def asked(one: Visit, path: str, query: str, epsilon: str) -> None:
    """The page of an answer."""
    one.open(path)
    one.page.get_by_label("Query, in SQL").fill(query)
    one.page.get_by_label("Or a price: epsilon").fill(epsilon)
    one.page.get_by_role("button", name="Ask", exact=True).click()
    expect(one.page.get_by_role("heading", level=1)).to_have_text("Answer", timeout=60_000)
    one.page.wait_for_load_state("domcontentloaded")  # then our script has run


def everything(one: Visit) -> Iterator[str]:
    """Every page of an owner, one after another, with what is wide."""
    preview = f"{WIDE}/ask?{urlencode({'sql': SHORT, 'epsilon': '3'})}"
    for path in (*pages("owner"), *WIDE_PAGES, *DOCUMENTS, *PLANS, preview):
        one.open(path)
        yield path
    asked(one, f"{WIDE}/ask", QUERY, epsilon="3")
    yield "an answer of 1,000 groups and 12 values to a query of 10,000 letters"
    asked(
        one,
        "/studies/people/ask",
        "SELECT region, AVG(income) AS mean FROM people GROUP BY region",
        epsilon="0.5",
    )
    yield "an answer"
    one.open(f"{WIDE}/receipts")
    yield "receipts"


def test_on_no_screen_is_anything_cut_off_without_a_box_that_scrolls(site: Site, browser: Browser) -> None:
    """Mutants: boxes that do not scroll, or have no shade; no hint; the first column scrolls away; a table of the
    documentation without a box; a field wider than its card; a figure of 780 units; links of 30 pixels; a word of
    a table that may break anywhere."""
    with visit(browser, site.url, silent=False) as one:
        one.log_in(site.tokens["owner"])
        one.page.route("**/plan.svg*", lambda route: route.abort())  # seconds, for each width
        for path in everything(one):
            for width in SCREENS:
                one.page.set_viewport_size({"width": width, "height": HEIGHT})
                wrong = one.page.evaluate(MEASURE, {"phone": width in PHONES, "touched": TOUCHED})
                assert not wrong, (path, width, wrong)
                if PATH not in path:  # whose name turns the direction of writing in the middle of a word
                    broken = one.page.evaluate(BROKEN)
                    assert not broken, (path, width, broken)
        one.page.unroute("**/plan.svg*")


@pytest.mark.parametrize(("width", "drawn"), [(320, 320), (360, 320), (390, 320), (700, 560), (1280, 780)])
def test_a_figure_is_drawn_for_the_width_of_the_screen(
    site: Site, browser: Browser, width: int, drawn: int
) -> None:
    """Mutants: one picture for all screens; a picture that is scaled down until nobody can read it."""
    body = {"query": "SELECT COUNT(*) AS n FROM people", "within": 100}
    httpx2.post(f"{site.url}/v1/studies/people/ask", headers=site.headers("owner"), json=body)
    with visit(browser, site.url) as one:
        one.log_in(site.tokens["owner"])
        for scheme in ("light", "dark"):
            one.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            one.page.set_viewport_size({"width": width, "height": HEIGHT})
            for path in ("/studies/people/budget", "/lab/averaging"):
                one.open(path)
                (seen,) = one.page.evaluate(PICTURES)
                assert ("dark=1" in seen["address"]) == (scheme == "dark")
                assert (f"width={drawn}" in seen["address"]) == (drawn != WIDTHS[-1])
                assert seen["shown"] <= seen["place"]
                assert seen["shown"] >= FAINTEST * seen["drawn"]
        one.page.emulate_media(color_scheme="light")


def test_only_a_few_widths_are_drawn(site: Site, browser: Browser) -> None:
    """Mutant: any width is drawn, so anybody keeps the server drawing."""
    with visit(browser, site.url, silent=False) as one:
        one.log_in(site.tokens["owner"])
        for width in WIDTHS:
            assert one.get(f"/lab/averaging/figure.svg?width={width}").status == 200
        for text in ("319", "0", "-1", "1e3", "0320", "x", "320 "):
            assert one.get(f"/lab/averaging/figure.svg?{urlencode({'width': text})}").status == 404


def test_a_table_that_is_wider_scrolls_by_keyboard(site: Site, browser: Browser) -> None:
    with visit(browser, site.url, viewport={"width": 320, "height": HEIGHT}) as one:
        asked_by = site.token("keyboard", "owner", "wide")
        one.log_in(asked_by, f"{WIDE}/access")
        box = one.page.get_by_role("region", name="tokens")
        box.focus()
        for _ in range(5):
            one.page.keyboard.press("ArrowRight")
        one.page.wait_for_function("() => document.activeElement.scrollLeft > 30")


def test_names_can_be_copied_whole(site: Site, browser: Browser) -> None:
    """Mutant: a soft hyphen or a space where a name may break."""
    with visit(browser, site.url, viewport={"width": 320, "height": HEIGHT}) as one:
        one.log_in(site.tokens["owner"], WIDE)
        assert one.page.locator("tbody th").first.text_content() == LONG
        assert (one.page.locator("tbody td[dir]").first.text_content() or "").startswith(", ".join(NAMES))


# A notebook.


def sheet(page: Page, width: int) -> None:
    headers = ("region", *(f"{name}: noise interval" for name in ALIASES))
    rows = tuple((name, *("35,710 .. 37,219" for _ in ALIASES)) for name in NAMES)
    shown = Sheet(f"SELECT {LONG}", headers, rows, (f"A note about {UNBROKEN}.",)).html()
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.set_content(f'<!doctype html><meta name="viewport" content="width=device-width">{shown}')


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_notebook_a_table_scrolls_in_its_own_box(site: Site, browser: Browser, scheme: str) -> None:
    """Mutants: notes and title scroll along; the cell of the notebook scrolls; no name for the region."""
    with visit(browser, site.url, own=True, color_scheme=scheme) as one:
        for width in PHONES:
            sheet(one.page, width)
            assert one.page.evaluate("document.documentElement.scrollWidth") <= width
            box = one.page.get_by_role("region")
            assert box.get_attribute("tabindex") == "0"
            assert box.evaluate("one => one.scrollWidth > one.clientWidth")
            colours = box.evaluate(
                "one => [getComputedStyle(one.querySelector('td')).color, getComputedStyle(document.body).color]"
            )
            assert colours[0] == colours[1]  # those of the notebook, light or dark


def test_in_a_notebook_a_figure_is_no_wider_than_its_cell(site: Site, browser: Browser) -> None:
    people = Table("people", (CategoryColumn("region", tuple(NAMES)),), rows=100)
    study = Study(people, PrivacyUnit("replace-one"), Guarantee(epsilon=5, delta=1e-9))
    curator = adyton.open(study, data=pd.DataFrame({"region": [NAMES[i % len(NAMES)] for i in range(100)]}))
    shown = bundle(curator.ask("SELECT region, COUNT(*) AS n FROM people GROUP BY region", within=20))[
        "text/html"
    ]
    with visit(browser, site.url, own=True) as one:
        one.page.set_viewport_size({"width": 360, "height": HEIGHT})
        one.page.set_content(f"<!doctype html>{shown}")
        assert one.page.locator("svg").evaluate("one => one.getBoundingClientRect().width") <= 344
        assert one.page.evaluate("document.documentElement.scrollWidth") <= 360
