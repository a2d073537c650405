"""Every page for every role: nothing is said to the console, every control has a name, headings are in order, what
has the focus can be seen, nothing is wider than a phone."""

from __future__ import annotations

import re
from importlib.resources import files
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from adyton.operations.roles import Role, may
from adyton.transports.pages.mount import PAGES
from support.browser import ROLES, Site, Visit, visit
from support.odd_studies import HOSTILE, NAME, PATH

CSS = files("adyton.transports.pages").joinpath("assets", "adyton.css").read_text(encoding="utf-8")
ASKED = "/studies/people/ask?" + "sql=SELECT+region,+COUNT(*)+AS+n+FROM+people+GROUP+BY+region&within=44"
# What is wrong with the page, in words.
CHECK = r"""
() => {
  const found = [], say = (what, one) => found.push(what + ": " + (one ? one.outerHTML.slice(0, 150) : ""));
  const text = id => (document.getElementById(id) || {}).textContent || "";
  const named = one => (one.getAttribute("aria-label")
    || (one.getAttribute("aria-labelledby") || "").split(/\s+/).map(text).join("")
    || [...(one.labels || [])].map(l => l.textContent).join("")
    || (one.matches("input, select, textarea") ? "" : one.textContent)
    || [...one.querySelectorAll("img")].map(i => i.alt).join("")).trim();
  const controls = "a[href], button, input:not([type=hidden]):not([hidden]), select, textarea, summary, progress, [role=region], nav";
  for (const one of document.querySelectorAll(controls)) if (!named(one)) say("a control without a name", one);
  for (const one of document.querySelectorAll("img")) if (!one.hasAttribute("alt")) say("a picture without words", one);
  const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(h => Number(h.tagName[1]));
  if (levels[0] !== 1 || levels.filter(n => n === 1).length !== 1) say("not one first heading " + levels);
  levels.forEach((n, i) => i && n > levels[i - 1] + 1 && say("a heading skips a level " + levels));
  const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
  ids.forEach((id, i) => ids.indexOf(id) !== i && say("an id twice " + id));
  for (const one of document.querySelectorAll("[aria-describedby], [aria-labelledby]"))
    for (const id of ((one.getAttribute("aria-describedby") || "") + " " + (one.getAttribute("aria-labelledby") || "")).trim().split(/\s+/))
      if (!document.getElementById(id)) say("described by nothing", one);
  for (const one of document.querySelectorAll("table")) if (one.querySelector("tbody tr") && !one.querySelector("th[scope]")) say("a table without headers", one);
  for (const one of document.querySelectorAll("th:not([scope])")) say("a header of nothing", one);
  if (document.querySelectorAll("main").length !== 1) say("not one main part");
  if (document.documentElement.lang !== "en") say("no language");
  if (!document.title.endsWith("adyton") || document.title.length < 10) say("no title");
  if (!document.querySelector("a.skip[href='#main']")) say("no way past the navigation");
  for (const one of document.querySelectorAll("form[method=post]")) if (!one.querySelector("input[name=form_value]")) say("a form without its value", one);
  for (const one of document.querySelectorAll("[style], style, script:not([src])")) say("something inline", one);
  for (const one of document.querySelectorAll("*")) for (const a of one.attributes) if (/^on/.test(a.name)) say("an inline handler", one);
  for (const one of document.querySelectorAll("[src], link[href]")) if (new URL(one.src || one.href).origin !== location.origin) say("from elsewhere", one);
  return found;
}
"""
FOCUS = """
() => { const one = document.activeElement, s = getComputedStyle(one);
  return {what: one.tagName, seen: parseFloat(s.outlineWidth) >= 2 && s.outlineStyle !== "none",
          place: one.getBoundingClientRect().top + scrollY}; }
"""


def pages(role: str) -> list[str]:
    found = ["/login"]
    for entry in PAGES:
        name = {"study": "people", "holdout": "test", "house": ""}[entry.of]
        if name == "test" and role != "owner":
            continue  # tokens of the others are for the study alone
        if entry.of == "study" and role == "owner":
            found.append(entry.path.replace("{name}", PATH))
        if entry.action is None or may(Role(role), entry.action):
            found.append(entry.path.replace("{name}", quote(name)))
    return [
        *found,
        *([ASKED, ASKED + "&do=try", ASKED.replace("region,", "nothing,")] if role != "auditor" else []),
    ]


def checked(one: Visit, path: str) -> None:
    wrong = one.page.evaluate(CHECK)
    assert not wrong, (path, wrong)


@pytest.mark.parametrize("role", ROLES)
def test_every_page_of_every_role_is_silent_and_in_order_and_fits_a_phone(
    site: Site, browser: Browser, role: str
) -> None:
    with visit(browser, site.url, silent=False, viewport={"width": 360, "height": 640}) as one:
        one.log_in(site.tokens[role])
        for path in pages(role):
            one.said.clear()
            one.open(path)
            checked(one, path)
            assert one.page.evaluate("document.documentElement.scrollWidth") <= 360, path
            refused = [said for said in one.said if "the server responded with a status of 4" in said]
            assert one.said == refused, path
            assert bool(refused) == ("nothing" in path), path
        if role in ("analyst", "owner"):
            one.open(ASKED)
            one.page.get_by_role("button", name="Ask", exact=True).click()
            one.page.wait_for_url("**/answer?**")
            checked(one, "answer")


def test_names_that_others_wrote_run_nothing(site: Site, browser: Browser) -> None:
    """Written by the form into SQL, asked, shown in the table and the figure, sealed in the chain, verified."""
    dialogs: list[str] = []

    def shown(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    with visit(browser, site.url) as one:
        page = one.page
        page.on("dialog", shown)
        one.log_in(site.token(f"{NAME} {NAME[::-1]}", "owner", PATH), f"/studies/{PATH}/ask")
        page.get_by_label("For each").select_option(HOSTILE)
        page.get_by_label("Or a price: epsilon").fill("1")
        expect(page.locator("#preview .big")).to_be_visible()
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator("tbody th").first).to_have_text(HOSTILE)
        one.open(f"/studies/{PATH}/receipts")
        page.get_by_role("button", name="Verify in this browser").click()
        expect(page.locator("#verified .good")).to_be_visible()
        one.open(f"/studies/{PATH}/budget")
        assert page.locator("script:not([src]), img[src='x']").count() == 0
        assert not dialogs
        page.remove_listener("dialog", shown)


def test_what_has_the_focus_can_be_seen_and_comes_in_order(site: Site, browser: Browser) -> None:
    with visit(browser, site.url) as one:
        one.log_in(site.tokens["analyst"], "/studies/people/ask")
        seen: list[dict[str, object]] = []
        for _ in range(60):
            one.page.keyboard.press("Tab")
            seen.append(one.page.evaluate(FOCUS))
            if seen[-1]["what"] == "BODY":
                break
        reached = [it for it in seen if it["what"] != "BODY"]
        assert len(reached) >= 20
        assert all(it["seen"] for it in reached), [it for it in reached if not it["seen"]]
        one.open("/studies/people/ask")
        one.page.keyboard.press("Tab")
        assert one.page.evaluate("document.activeElement.className") == "skip"
        one.page.keyboard.press("Enter")
        assert one.page.evaluate("document.activeElement.id") == "main"


def test_what_changes_is_announced(site: Site, browser: Browser) -> None:
    with visit(browser, site.url, silent=False) as one:
        page: Page = one.page
        one.log_in(site.tokens["analyst"], "/studies/people/ask")
        assert page.locator("#preview").get_attribute("aria-live") == "polite"
        page.get_by_role("button", name="Ask", exact=True).click()
        assert page.get_by_role("alert").count() == 1
        described = page.get_by_label("Query, in SQL").get_attribute("aria-describedby") or ""
        assert "sql-problem" in described.split()
        one.open("/studies/people/receipts")
        assert page.locator("#verified").get_attribute("role") == "status"


# Colours, from the stylesheet itself.


def colours(dark: bool) -> dict[str, str]:
    light, _, rest = CSS.partition("@media (prefers-color-scheme: dark)")
    found = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", light))
    block = rest[: rest.index("}\n}")]
    return found | dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block)) if dark else found


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


PAPERS = ("paper", "card", "note-paper")
PAIRS = [
    *((ink, paper) for ink in ("ink", "quiet", "accent") for paper in PAPERS),
    ("on-accent", "accent"),
    ("wrong", "wrong-paper"),
    ("good", "good-paper"),
    ("wrong", "card"),
]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("ink", "paper"), PAIRS)
def test_text_is_much_brighter_or_darker_than_its_paper(ink: str, paper: str, dark: bool) -> None:
    """Text is at least four and a half times as bright or dark as its paper."""
    named = colours(dark)
    assert contrast(named[ink], named[paper]) >= 4.5


def test_no_colour_is_written_anywhere_but_at_the_top() -> None:
    rules = CSS[CSS.index("* { box-sizing") :]
    assert not re.findall(r"#[0-9a-f]{3,8}\b|rgba?\(|hsl", rules)
    assert colours(True) != colours(False)
    assert colours(True).keys() == colours(False).keys()


def test_stylesheet_and_script_are_small_and_bring_nothing_along() -> None:
    script = files("adyton.transports.pages").joinpath("assets", "adyton.js").read_text(encoding="utf-8")
    assert len(CSS.encode()) + len(script.encode()) < 25_000
    for text in (CSS, script):
        assert not re.search(r"https?://|@import|url\(|\beval\b|innerHTML|document\.write|new Function", text)
