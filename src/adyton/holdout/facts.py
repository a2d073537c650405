"""The file of a holdout: public facts, written for people; whoever changes one loses the ledger."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np

from adyton.certify import toml_text
from adyton.errors import InvalidRequest
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.metrics import Array, LabelKind, Metric, Range, labels_digest, metric_named, table_digest
from adyton.holdout.weights import WEIGHT_STEPS
from adyton.kernel.exact import rational

_KEYS = (
    "items", "metric", "labels", "low", "high", "error_high", "top", "units", "weights", "squares", "stray",
    "groups", "hypothesis_class", "features",
    "confidence", "tolerance", "method",
)  # fmt: skip
_KINDS = {
    **dict.fromkeys(("items", "top", "units", "squares", "features"), int),
    **dict.fromkeys(("weights", "groups", "hypothesis_class", "method"), str),
}


@dataclass(frozen=True, slots=True)
class HoldoutFacts:
    """What everybody may know about a holdout.

    ``units`` is how many independent values of full weight a score is the mean of, if not one for each item:
    pairs, or items whose ``weights`` have this digest; ``squares`` is the sum of the squares of their steps.
    ``features``: how many numbers are kept of each item, where rules of a ``hypothesis_class`` are scored.
    """

    items: int
    metric: Metric
    kind: LabelKind
    range: Range
    confidence: Fraction
    tolerance: Fraction | None
    method: str
    settings: dict[str, str | int]
    units: int | None = None
    weights: str = ""
    stray: Fraction = Fraction(0)
    groups: str = ""
    squares: int | None = None
    hypothesis_class: str = ""
    features: int | None = None

    @property
    def frame(self) -> HoldoutSize:
        metric = self.metric
        units = self.items if self.units is None else self.units
        steps = metric.steps * (WEIGHT_STEPS if self.weights or self.balanced else 1)
        rounding = metric.rounding + self.stray
        squares = None if self.squares is None else Fraction(self.squares, WEIGHT_STEPS**2)
        return HoldoutSize(units, steps, rounding, 1 - self.confidence, metric.greater_is_better, squares)

    @property
    def unit(self) -> Fraction:
        """What a value of 1 is in the unit that scores are shown in; of a root its square."""
        return self.range.unit(self.metric)

    @property
    def balanced(self) -> bool:
        """Whether items are weighted by how rare their label is; such weights are as secret as the labels."""
        return self.metric.name == "balanced_accuracy"

    def fingerprint(self, labels: Array | None, features: Array | None = None) -> str:
        """All that gives the ledger its meaning, with labels and features; its header alone holds this."""
        facts = [list(self._table().items()), dict(sorted(self.settings.items())), labels_digest(labels)]
        facts += [] if features is None else [table_digest(features)]
        return hashlib.sha256(json.dumps(["holdout", 1, facts]).encode()).hexdigest()

    def to_toml(self) -> str:
        lines = [f"{key} = {toml_text(value)}" for key, value in self._table().items()]
        lines += ["", f"[{self.method}]", *(f"{k} = {toml_text(v)}" for k, v in self.settings.items())]
        return "\n".join([_HEAD, "[holdout]", *lines, ""])

    def _table(self) -> dict[str, str | int]:
        table: dict[str, str | int] = {"items": self.items, "metric": self.metric.name, "labels": self.kind}
        if self.range.error_high is not None:
            table |= {"error_high": str(self.range.error_high)}
        elif self.metric.bounds != "none":
            table |= {"low": str(self.range.low), "high": str(self.range.high)}
        if self.metric.name == "top_k":
            table |= {"top": self.range.top}
        if self.units is not None:
            table |= {"units": self.units}
        if self.weights:
            table |= {"weights": self.weights}
        if self.squares is not None:
            table |= {"squares": self.squares}
        if self.weights or self.balanced:
            table |= {"stray": str(self.stray)}
        if self.groups:
            table |= {"groups": self.groups}
        if self.features is not None:
            table |= {"hypothesis_class": self.hypothesis_class, "features": self.features}
        table |= {"confidence": str(self.confidence)}
        if self.tolerance is not None:
            table |= {"tolerance": str(self.tolerance)}
        return table | {"method": self.method}


_HEAD = """# A reusable holdout: public facts.  Beside it: labels (.labels.npy), what was scored (.ledger),
# and the features (.features.npy) where it applies rules of a class.
# Nothing here may be changed once it exists.
"""


def read_facts(path: Path) -> HoldoutFacts:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        table = raw["holdout"]
        if unknown := [key for key in table if key not in _KEYS]:
            raise InvalidRequest(f"{path.name}: unknown key holdout.{unknown[0]}")
        return _facts(raw, table)
    except FileNotFoundError:
        raise InvalidRequest(f"there is no holdout {path.name!r}; make one with create") from None
    except (OSError, UnicodeDecodeError):
        raise InvalidRequest(f"the holdout {path.name!r} cannot be read") from None
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidRequest(f"{path.name} is not the file of a holdout") from None


def _facts(raw: dict[str, Any], table: dict[str, Any]) -> HoldoutFacts:
    metric, method, kind = metric_named(table["metric"]), table["method"], table["labels"]
    other = any(type(table[key]) is not known for key, known in _KINDS.items() if key in table)
    if other or kind not in get_args(LabelKind):
        raise KeyError
    return HoldoutFacts(
        items=table["items"],
        metric=metric,
        kind=kind,
        range=Range(
            rational(table.get("low", 0), "low"),
            rational(table.get("high", 1), "high"),
            rational(table["error_high"], "error_high") if "error_high" in table else None,
            table.get("top", 1),
        ),
        confidence=rational(table["confidence"], "confidence"),
        tolerance=rational(table["tolerance"], "tolerance") if "tolerance" in table else None,
        method=method,
        settings=_settings(raw[method]),
        units=table.get("units"),
        weights=table.get("weights", ""),
        stray=rational(table.get("stray", 0), "stray"),
        groups=table.get("groups", ""),
        squares=table.get("squares"),
        hypothesis_class=table.get("hypothesis_class", ""),
        features=table.get("features"),
    )


def _settings(section: object) -> dict[str, str | int]:
    if not isinstance(section, dict) or any(type(value) not in (str, int) for value in section.values()):
        raise KeyError
    return section


def write_new(path: Path, data: bytes, mode: int) -> None:
    """A new file, flushed to the disk; an existing one is never overwritten."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise InvalidRequest(f"{path.name} exists already; a holdout is never overwritten") from None
    except OSError:
        raise InvalidRequest(f"{path.name} cannot be written") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise InvalidRequest(f"{path.name} cannot be written") from None


def array_path(path: Path, what: str) -> Path:
    """Of labels, weights, groups or features."""
    return path.with_suffix(f".{what}.npy")


def ledger_path(path: Path) -> Path:
    return path.with_suffix(".ledger")


def read_labels(path: Path, facts: HoldoutFacts) -> Array | None:
    """None of a metric without labels.  Without pickle: a file of labels can hold nothing that runs."""
    if facts.kind == "none":
        return None
    found = _array(array_path(path, "labels"))
    if found.shape != (facts.items,):
        raise InvalidRequest(f"the labels of {path.name} are not the ones it was made with")
    return found


def read_weights(path: Path, facts: HoldoutFacts) -> Array | None:
    """Public, and part of what the ledger's meaning rests on."""
    return _public(array_path(path, "weights"), facts.items, facts.weights)


def read_groups(path: Path, facts: HoldoutFacts) -> Array | None:
    return _public(array_path(path, "groups"), facts.items, facts.groups)


def read_features(path: Path, facts: HoldoutFacts) -> Array | None:
    """As secret as the labels: the fingerprint says whether they are the right ones."""
    if facts.features is None:
        return None
    found = _array(array_path(path, "features"))
    if found.shape != (facts.items, facts.features) or found.dtype != np.float64:
        raise InvalidRequest(f"the features of {path.name} are not the ones it was made with")
    return found


def _public(path: Path, items: int, digest: str) -> Array | None:
    if not digest:
        return None
    found = _array(path)
    if found.shape != (items,) or labels_digest(found) != digest:
        raise InvalidRequest(f"{path.name} is not the one that the holdout was made with")
    return found


def _array(path: Path) -> Array:
    try:
        made: Array | None = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        made = None
    if made is None:
        raise InvalidRequest(f"{path.name} is missing or cannot be read")
    return made
