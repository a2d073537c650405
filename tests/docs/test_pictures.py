"""Every picture of the documentation is one that a script draws, and is used."""

import pytest
from pages import ROOT, all_pages, program

from pictures import KEPT


def test_every_picture_is_drawn_by_the_script_and_shown_on_a_page() -> None:
    """Mutants: a picture that nobody draws; one that no page shows."""
    pytest.importorskip("altair", reason="figures need the extra 'plot'")
    script = program("make_figures")
    there = {path.stem for path in (ROOT / "docs" / "figures").glob("*.png")}
    assert there == {*script.PICTURES, *KEPT}, (
        "python docs/make_figures.py, and tests/pictures.py for those of pages"
    )
    text = "".join(page.read_text(encoding="utf-8") for page in all_pages())
    assert [name for name in sorted(there) if f"figures/{name}.png" not in text] == []
