"""What the product does is what the golden files hold, to the bit: before and after whatever moves code.

Where it is not, each difference is named by its file, its entry and its place in the JSON, with before and after.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from golden import held
from golden.held import Entry, differences, place_of, shown, write
from golden.worlds import FILES, entries, is_alike, is_whole

HELD = [file for file in FILES if file != "machine"]


@pytest.mark.parametrize("file", HELD)
def test_nothing_has_changed(file: str) -> None:
    found = differences(file, entries(file), whole=is_whole(file), exact=is_alike())
    assert not found, shown(found)


def test_everything_was_compared_to_the_bit() -> None:
    if not is_alike():
        pytest.skip(
            "the golden files were written where floats end otherwise: six digits of them were compared"
        )


def test_every_golden_file_is_made_by_something() -> None:
    assert {path.name for path in held.FOLDER.iterdir()} == {place_of(file).name for file in FILES}


def test_a_difference_is_named_by_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants of what is held: a value, a type, a key, an order of keys, an entry less, more, or elsewhere."""
    monkeypatch.setattr(held, "FOLDER", tmp_path)
    one, two = Entry("one", {"a": [1, {"b": 2}], "c": "x"}), Entry("two", 0.1)
    write("f", [one, two])
    assert differences("f", [one, two]) == []
    for after, said in (
        ([Entry("one", {"a": [1, {"b": 3}], "c": "x"}), two], "f.txt, one:\n  a[1].b: 2 -> 3"),
        ([Entry("one", {"a": [1.0, {"b": 2}], "c": "x"}), two], "f.txt, one:\n  a[0]: 1 -> 1.0"),
        ([Entry("one", {"a": [1, {"b": 2}], "d": "x"}), two], 'f.txt, one:\n  c: "x" -> (nothing)\n  d: (nothing) -> "x"'),
        ([Entry("one", {"c": "x", "a": [1, {"b": 2}]}), two], "f.txt, one:\n  the same values, written in another order"),
        ([one, Entry("two", 0.1 + 2**-55)], "f.txt, two:\n  all: 0.1 -> 0.10000000000000003"),
        ([one], "f.txt, two:\n  all: 0.1 -> (nothing)"),
        ([one, two, Entry("three", [])], "f.txt, three:\n  all: (nothing) -> []"),
        ([two, one], "f.txt: the same entries in another order"),
    ):  # fmt: skip
        assert differences("f", after) == [said]
    assert differences("f", [one, Entry("two", 0.1 + 2**-55)], exact=False) == []
    assert differences("f", [one, Entry("two", 0.100001)], exact=False) == [
        "f.txt, two:\n  all: 0.1 -> 0.100001"
    ]
    assert differences("f", [two], whole=False) == []
    assert differences("f", [Entry("two", None)], whole=False) == ["f.txt, two:\n  all: 0.1 -> null"]
