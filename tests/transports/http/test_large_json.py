"""Large JSON in small steps says the same as in one step, and is bounded."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest

from adyton.certify import json_text
from adyton.errors import CuratorError, InvalidRequest, TooLarge
from adyton.service.limits import LIMITS
from adyton.transports.http import large_json
from adyton.transports.http.large_json import json_bytes, parsed

LETTERS = 'ab,"[]{}\\é\n:'


def drawn(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(8 if depth < 4 else 5)
    if kind == 0:
        return chance.choice([True, False, None])
    if kind == 1:
        return chance.randrange(-(10**6), 10**6)
    if kind == 2:
        return chance.random() * 10.0 ** chance.randrange(-20, 20)
    if kind == 5:
        return {text(chance): drawn(chance, depth + 1) for _ in range(chance.randrange(4))}
    if kind > 5:
        long = chance.random() < 0.1
        return [drawn(chance, depth + 1) for _ in range(chance.randrange(90 if long else 6))]
    return text(chance)


def text(chance: random.Random) -> str:
    return "".join(chance.choice(LETTERS) for _ in range(chance.randrange(6)))


def damaged(chance: random.Random, content: bytes) -> bytes:
    made = bytearray(content)
    for _ in range(chance.randrange(1, 3)):
        place = chance.randrange(len(made))
        made[place : place + chance.randrange(2)] = chance.choice(
            [b"", bytes([chance.choice(b',[]{}":1e\\ ')])]
        )
    return bytes(made) or b"1"


def outcome(read: Any, content: bytes) -> str:
    try:
        return repr(read(content))
    except (ValueError, CuratorError):
        return "refused"


def test_it_is_read_as_the_standard_library_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is broken, and with steps of a few bytes.  Mutants: a comma in a text ends an element; one at the end is fine."""
    chance = random.Random(1)
    for step in (3, 11, 65_536):
        monkeypatch.setattr(large_json, "_PLAIN", re.compile(rb"[^\[\]{}\\]{0,%d}" % step))
        for _ in range(400):
            value, style = drawn(chance), {"ensure_ascii": chance.random() < 0.5}
            content = json.dumps(value, indent=chance.choice([None, 1]), **style).encode()
            assert parsed(content) == value
            broken = damaged(chance, content)
            assert outcome(parsed, broken) == outcome(json.loads, broken), broken


def test_it_is_written_as_in_one_step() -> None:
    """Mutant: a piece of a list brings its brackets along."""
    chance = random.Random(2)
    for _ in range(500):
        value = [drawn(chance) for _ in range(chance.randrange(200))]
        for one in (value, {"a": value, "b": {"c": [value]}}, {}, []):
            assert json_bytes(one).decode() == json_text(one)
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_bytes({"a": [float("nan")]})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[" + "1," * 200 + "1]", "100 values"),
        ("[" + "[]," * 20 + "[]]", "100 values"),
        ("[" + '"\\n",' * 200 + "1]", "100 values"),
        ("[" * 9 + "]" * 9, "8 levels"),
        ('{"a":' * 9 + "1" + "}" * 9, "8 levels"),
        ("{" + ",".join(f'"{i}":1' for i in range(6)) + "}", "5 members"),
    ],
)
def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch, content: str, said: str) -> None:
    """Mutants: each of the limits taken away."""
    monkeypatch.setattr(large_json, "LIMITS", replace(LIMITS, body_values=100, body_members=5))
    with pytest.raises(TooLarge, match=said):
        parsed(content.encode())


def test_a_list_is_no_longer_than_what_it_is_for() -> None:
    assert parsed(b"[1, 2, 3]", 3) == [1, 2, 3]
    with pytest.raises(TooLarge, match="3 values here"):
        parsed(b"[1, 2, 3, 4]", 3)
    with pytest.raises(InvalidRequest, match="not JSON"):
        parsed(b"[1, 2,", 3)
