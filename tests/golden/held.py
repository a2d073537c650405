"""Golden files: one line an entry, its name, a tab, and JSON; how they are written, compared and shown.

An entry is what is held of it, and all there is to say: where these differ the first has digests of the second, and
``python tests/golden/write.py --show FILE ENTRY`` prints the second, in the old version of the code and in the new one.

Another kind of processor, or another library of mathematics, computes the last digits of a float otherwise.  Where
``probe`` says so, six digits of each are compared, and not what is chosen or hashed by the last ones (``BY_FLOATS``);
integers, texts, amounts and nearly all heads are the same everywhere.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

FOLDER = Path(__file__).parent / "files"
MOST_SHOWN, MOST_PLACES, MOST_CHARACTERS = 12, 6, 300
NOTHING = "(nothing)"
# Strategies that a search chose, a fingerprint of a plan, and floats as bytes.
BY_FLOATS = re.compile(r"^batches |gaussian expected|cubes\.toml|arrow|: (cube|rollup|grouping|union)")
_DIGEST = re.compile(r"[0-9a-f]{12}\.[0-9a-f]{12}")
_LONG_DECIMAL = re.compile(r"\d+\.\d{7,}")


@dataclass(frozen=True)
class Entry:
    name: str
    held: Any
    whole: Any = None

    @property
    def line(self) -> str:
        return f"{self.name}\t{told(self.held)}\n"


def told(value: Any) -> str:
    """As JSON: the order of keys is what it is, and a float is its shortest decimal, which is exact."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def digest(value: Any) -> str:
    """Of what it is to six digits, and of what it is."""
    return f"{_hashed(told(loosely(value)))}.{_hashed(told(value))}"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def loosely(value: Any) -> Any:
    """With six digits of each float, also where it is written in a text."""
    match value:
        case float():
            return float(f"{value:.5e}")
        case str() if _DIGEST.fullmatch(value):
            return value.partition(".")[0]
        case str():
            return _LONG_DECIMAL.sub(lambda found: f"{float(found[0]):.5e}", value)
        case dict():
            return {key: loosely(inner) for key, inner in value.items()}
        case list() | tuple():
            return [loosely(inner) for inner in value]
    return value


def probe() -> str:
    """The same on machines whose floats are the same: of numpy, its linear algebra, scipy, and the system."""
    line = np.linspace(0.01, 30, 3001)
    square = line[:2500].reshape(50, 50)
    each = [np.exp(-line), np.log(line), np.sin(line), np.power(line, 0.3), np.log1p(line), square @ square]
    each += [
        special.ndtr(-line),
        special.gammaln(line),
        special.betainc(line, 2.5, 0.3),
        np.linalg.inv(square + np.eye(50)),
    ]
    scalars = [f(x) for x in line.tolist() for f in (math.exp, math.log, math.erfc, math.lgamma, math.sqrt)]
    return hashlib.sha256(b"".join(one.tobytes() for one in [*each, np.array(scalars)])).hexdigest()


def shortened(text: str, most: int = 160) -> str:
    """A long text by its beginning and its digest."""
    return text if len(text) <= most else f"{text[:most]}... {_hashed(text)}"


def place_of(file: str) -> Path:
    return FOLDER / f"{file}.txt"


def write(file: str, entries: Iterable[Entry]) -> None:
    FOLDER.mkdir(exist_ok=True)
    place_of(file).write_text("".join(entry.line for entry in entries), encoding="utf-8")


def read(file: str) -> dict[str, str]:
    lines = place_of(file).read_text(encoding="utf-8").split("\n")[:-1]
    return dict(line.split("\t", 1) for line in lines)


def differences(file: str, entries: Iterable[Entry], *, whole: bool = True, exact: bool = True) -> list[str]:
    """What is no longer as it is held: the file, the entry, the place in it, before and after.

    Unless they are the ``whole`` file, entries are compared with those of their names.
    """
    before, found = read(file), list[str]()
    after = {entry.name: told(entry.held) for entry in entries}
    if not whole:
        before = {name: line for name, line in before.items() if name in after}
    for name in [*before, *(name for name in after if name not in before)]:
        if before.get(name) == after.get(name) or (not exact and BY_FLOATS.search(name)):
            continue
        old, new = (json.loads(each[name]) if name in each else NOTHING for each in (before, after))
        if exact or told(loosely(old)) != told(loosely(new)):
            found.append(f"{file}.txt, {name}:\n" + "\n".join(_places(old, new)))
    if not found and list(before) != list(after):
        found.append(f"{file}.txt: the same entries in another order")
    return found


def shown(found: list[str]) -> str:
    more = f"\n... and {len(found) - MOST_SHOWN} entries more" if len(found) > MOST_SHOWN else ""
    advice = (
        "\nIf this is meant: make golden.  All of one entry: python tests/golden/write.py --show FILE ENTRY"
    )
    return "\n".join(found[:MOST_SHOWN]) + more + advice


def _places(old: Any, new: Any) -> list[str]:
    places = list(_different("", old, new))
    lines = [f"  {where or 'all'}: {_short(before)} -> {_short(after)}" for where, before, after in places]
    if not lines:
        lines = ["  the same values, written in another order"]
    return lines[:MOST_PLACES] + [f"  ... and {len(lines) - MOST_PLACES} places more"] * (
        len(lines) > MOST_PLACES
    )


def _different(where: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{where}.{key}" if where else str(key)
            yield from _different(inner, old.get(key, NOTHING), new.get(key, NOTHING))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _different(f"{where}[{number}]", before, after)
    elif old != new or type(old) is not type(new):
        yield where, old, new


def _short(value: Any) -> str:
    text = value if value is NOTHING else told(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."
