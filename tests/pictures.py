"""Pictures of every page, light and dark, on three screens, to be looked at: make pictures, or
python tests/pictures.py FOLDER.  With a second folder, those of the documentation are put there.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

import httpx2

from adyton.transports.pages.mount import PAGES
from support.browser import MISSING, Visit, chromium, visit
from support.servers import Server, server, write_holdout, write_study

SIZES = {
    "wide": {"width": 1280, "height": 800},
    "tablet": {"width": 768, "height": 1024},
    "narrow": {"width": 360, "height": 740},
}
MEANS = "SELECT region, AVG(income) AS mean FROM people GROUP BY region"
COUNTS = "SELECT region, COUNT(*) AS n FROM people WHERE income > {} GROUP BY region"
KEPT = {"page-ask": "study-ask-preview-wide-light", "page-answer": "study-answer-wide-light"}
SETTINGS = "[server]\nrate_by_token = 1000000\nrate_by_address = 1000000\n"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        settings = Path(place, "server.toml")
        settings.write_text(SETTINGS, encoding="utf-8")
        files = [write_study(Path(place), rows=50_000), write_holdout(Path(place))]
        with server(files, "--settings", str(settings)) as running, chromium() as browser:
            _live(running)
            for size, viewport in SIZES.items():
                for scheme in ("light", "dark"):
                    with visit(
                        browser, running.url, silent=False, viewport=viewport, color_scheme=scheme
                    ) as one:
                        _taken(one, running, folder, f"{size}-{scheme}")
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")


def _live(running: Server) -> None:
    """A study that people have used."""
    for name, share in (("ana", "0.25"), ("bob", None)):
        body = {"name": name, "role": "analyst", "budget_share": share}
        made = httpx2.post(f"{running.url}/v1/tokens/people", headers=running.owner, json=body).json()
        headers = {"Authorization": f"Bearer {made['token']}"}
        for place in range(8):
            asked = {"query": COUNTS.format(1000 * place), "within": 200 + 30 * place}
            httpx2.post(f"{running.url}/v1/studies/people/ask", headers=headers, json=asked)


def _taken(one: Visit, running: Server, folder: Path, suffix: str) -> None:
    def take(name: str) -> None:
        one.page.wait_for_load_state("networkidle")
        one.page.screenshot(path=folder / f"{name}-{suffix}.png", full_page=True)

    one.open("/login")
    take("login")
    one.log_in(running.owner["Authorization"].removeprefix("Bearer "))
    for entry in PAGES:
        name = {"study": "people", "holdout": "test", "house": ""}[entry.of]
        one.open(entry.path.replace("{name}", name))
        take(re.sub(r"\W+", "-", f"{entry.of}-{entry.title}".lower()))
    query = urlencode({"sql": MEANS, "within": "1000", "expected_rows": "12000"})
    one.open(f"/studies/people/ask?{query}")
    take("study-ask-preview")
    one.page.get_by_role("button", name="Ask", exact=True).click()
    one.page.wait_for_url("**/answer?**")
    take("study-answer")
    one.open(f"/studies/people/ask?{query}&do=try")
    take("study-ask-made-up")
    one.open(f"/studies/people/ask?{query.replace('income', 'incom')}")
    take("study-ask-problem")
    one.open("/studies/people/receipts")
    one.page.get_by_role("button", name="Verify in this browser").click()
    one.page.locator("#verified .good").wait_for()
    take("study-receipts-verified")


if __name__ == "__main__":
    if MISSING:
        raise SystemExit(MISSING)
    made = Path(sys.argv[1] if len(sys.argv) > 1 else "build/pictures")
    main(made)
    for name, picture in KEPT.items() if len(sys.argv) > 2 else ():
        shutil.copyfile(made / f"{picture}.png", Path(sys.argv[2], f"{name}.png"))
