"""Documents: what is written, what is read, and what is refused, from the declaration of a class."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

from adyton.certify import Absent, Bound, json_text
from adyton.certify.preview import PlannedValue
from adyton.documents import Document, HighEnd, LowEnd, Units, schemas
from adyton.errors import InvalidRequest

SECRET = "seen in a row"


@dataclass(frozen=True, slots=True)
class Inner(Document):
    units: Units
    word: Literal["one", "two"] = "one"

    json_keys = "amount=units word?"


@dataclass(frozen=True, slots=True)
class Whole(Document):
    name: str
    inner: Inner
    several: tuple[Inner, ...] = ()
    by_name: Mapping[str, Inner] = field(default_factory=dict)
    share: Fraction = Fraction(1, 4)
    low: LowEnd = -math.inf
    high: HighEnd = math.inf
    found: float = 0.5
    pair: tuple[int, int] = (1, 2)

    json_keys = "name doubled inner first=inner.units several? by_name? share low high found pair"

    @property
    def doubled(self) -> str:
        return 2 * self.name


PLAIN = Whole("a", Inner(10**17))
WRITTEN: dict[str, Any] = {
    "name": "a", "doubled": "aa", "inner": {"amount": "0.1"}, "first": "0.1", "share": 0.25, "low": None, "high": None,
    "found": 0.5, "pair": [1, 2],
}  # fmt: skip


def test_keys_have_their_order_their_names_and_what_is_computed() -> None:
    """Mutants: a key has the name of its attribute; what has its default is written; an end is infinity."""
    assert json.dumps(PLAIN.to_json()) == json.dumps(WRITTEN)
    more = Whole("a", Inner(1, "two"), (Inner(2),), {"b": Inner(3)}, low=-1.5, high=2.0)
    told = more.to_json()
    assert told["inner"] == {"amount": "0.000000000000000001", "word": "two"}
    assert told["several"] == [{"amount": "0.000000000000000002"}]
    assert told["by_name"] == {"b": {"amount": "0.000000000000000003"}}
    assert (told["low"], told["high"]) == (-1.5, 2.0)
    assert json.loads(json_text(Whole("a", Inner(1), found=np.float64(2.5)).to_json()))["found"] == 2.5


def test_what_is_written_is_read_back() -> None:
    """Mutants: an amount stays a text; a list stays a list; a null end is the other infinity."""
    more = Whole("a", Inner(1, "two"), (Inner(2), Inner(3)), {"b": Inner(3)}, Fraction(1, 4), -1.5, 2.0, 7.0)
    for made in (PLAIN, more):
        again = Whole.from_json(json.loads(json_text(made.to_json())))
        assert again == made
        assert (type(again.inner.units), type(again.low), type(again.share)) == (int, float, Fraction)


def test_keys_that_are_not_known_are_left_alone() -> None:
    assert Whole.from_json({**WRITTEN, "new": [SECRET]}) == PLAIN


WRONG: dict[str, tuple[Any, ...]] = {  # by its place
    "$.name": ({"name": 1}, {"name": None}),
    "$.found": ({"found": "0.5"}, {"found": True}, {"found": math.nan}, {"found": math.inf}),
    "$.low": ({"low": math.nan}, {"low": SECRET}),
    "$.share": ({"share": math.nan}, {"share": SECRET}),
    "amount` - at `$.inner": ({"inner": {}},),
    "$.inner.amount": ({"inner": {"amount": 0.1}}, {"inner": {"amount": f"0.1{SECRET}"}}, {"inner": {"amount": "nan"}}),
    "$.inner.word": ({"inner": {"amount": "1", "word": SECRET}}, {"inner": {"amount": "1", "word": f"{SECRET} - at `$.x`"}}),
    "$.several[1].amount": ({"several": [{"amount": "1"}, {"amount": []}]},),
    "$.several": ({"several": {SECRET: 1}},),
    "$.pair": ({"pair": [1]},),
}  # fmt: skip


@pytest.mark.parametrize(
    ("where", "changed"), [(where, one) for where, each in WRONG.items() for one in each]
)
def test_what_is_wrong_is_named_by_its_place_and_not_shown(where: str, changed: dict[str, Any]) -> None:
    """Mutants: a number may be NaN; a word that is none of those listed is in the message."""
    with pytest.raises(InvalidRequest) as caught:
        Whole.from_json(WRITTEN | changed)
    assert where in caught.value.message
    assert SECRET not in caught.value.message
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    with pytest.raises(InvalidRequest, match="no Whole of adyton: Expected `object`"):
        Whole.from_json([changed])  # type: ignore[arg-type]


@pytest.mark.parametrize("key", list(WRITTEN))
def test_each_key_must_be_there(key: str) -> None:
    with pytest.raises(InvalidRequest, match=f"`{key}`"):
        Whole.from_json({name: value for name, value in WRITTEN.items() if name != key})


def test_one_of_several_documents_is_told_by_its_keys() -> None:
    """Mutant: the first of them is always taken."""
    bound = PlannedValue(Bound(0.95, 2.0), Bound(0.95, 3.0, way="both"))
    absent = PlannedValue(Bound(0.95, 2.0), Absent("not declared"))
    for made in (bound, absent):
        assert PlannedValue.from_json(json.loads(json_text(made.to_json()))) == made
    assert absent.to_json()["population_interval"] == {"absent": "not declared"}
    with pytest.raises(InvalidRequest):
        PlannedValue.from_json({"noise_interval": bound.noise_interval.to_json(), "population_interval": {}})


def test_schemas_follow_from_the_class() -> None:
    """Mutant: a key that may be left out is required."""
    found = schemas(Whole)
    assert set(found) == {"Whole", "Inner"}
    assert found["Whole"]["required"] == list(WRITTEN)
    assert found["Inner"]["properties"]["word"] == {"enum": ["one", "two"]}
    assert found["Inner"]["properties"]["amount"]["type"] == "string"
    assert found["Whole"]["properties"]["low"] == {"type": ["number", "null"]}
    assert found["Whole"]["properties"]["found"] == {"type": "number"}
