"""What is counted for an item, from predictions of every type; what is known again, and what is refused."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest

from adyton.errors import InvalidRequest
from adyton.holdout.metrics import FINE, check_predictions, metric_named, total

KINDS = ["f8", "f4", "f2", ">f8", ">f4", "g", "?", "i1", "u1", "i2", "u2", "i4", "i8", "u8", ">i8"]
LONG = 2**16 + 7  # more than one block


def test_values_are_counted_to_the_nearest_step() -> None:
    """Against whole-number arithmetic: every half step, its neighbors, and both ends."""
    halves = np.arange(2 * FINE + 1) / (2 * FINE)
    values = np.concatenate([halves, np.nextafter(halves, 0), np.nextafter(halves, 1), [5e-324, 0.0, 1.0]])
    given = check_predictions(metric_named("scores"), "none", values.size, values).predictions
    expected = [round(Fraction(value) * FINE) for value in values.tolist()]
    assert given.tolist() == expected
    assert total(given) == sum(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_and_ones_are_the_same_scores_in_every_type(kind: str) -> None:
    values = np.random.default_rng(1).integers(0, 2, LONG)
    metric = metric_named("scores")
    plain = check_predictions(metric, "none", LONG, values.astype(float))
    given = values.astype(kind)
    with_gaps = np.repeat(given, 2)[::2]
    for same in (given, with_gaps):
        found = check_predictions(metric, "none", LONG, same)
        assert (found.predictions == FINE * values).all()
        assert found.digest == plain.digest
    assert check_predictions(metric, "none", LONG, 1 - values).digest != plain.digest


@pytest.mark.parametrize("kind", ["f8", "f4", "f2", "g"])
def test_floats_are_rounded_once_and_a_minus_zero_is_a_zero(kind: str) -> None:
    """Singles and halves are doubles too: their steps are those of the double they stand for."""
    values = np.random.default_rng(1).random(LONG).astype(kind)
    values[:5] = [-0.0, 0.0, 1.0, 2.0**-16, 3 * 2.0**-16]
    steps = check_predictions(metric_named("scores"), "none", LONG, values).predictions
    assert steps.tolist() == [round(Fraction(float(value)) * FINE) for value in values]
    assert steps[:5].tolist() == [0, 0, FINE, 0, 2]


def test_what_is_masked_is_missing() -> None:
    values = np.ma.array(np.linspace(0, 1, 10), mask=False)
    metric = metric_named("scores")
    plain = check_predictions(metric, "none", 10, np.linspace(0, 1, 10))
    assert check_predictions(metric, "none", 10, values).digest == plain.digest
    values[3] = np.ma.masked
    with pytest.raises(InvalidRequest, match="none may be missing"):
        check_predictions(metric, "none", 10, values)


def test_texts_are_known_again_in_any_type_that_holds_them() -> None:
    texts = ["cat", "a much longer dog", "κύων"]
    kinds: list[object] = [
        texts,
        np.array(texts),
        np.array(texts, dtype=object),
        np.array(texts, dtype="U99"),
        list(np.array(texts)),
    ]
    kinds += [np.array(texts, dtype=np.dtypes.StringDType())]
    metric = metric_named("accuracy")
    assert len({check_predictions(metric, "text", 3, kind).digest for kind in kinds}) == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "a single value"),
        ("p.npy", "a single value"),
        (0.5, "a single value"),
        ({"a": 1}, "a single value"),
        ([], r"shape \(0,\)"),
        (np.ones((3, 2)), r"shape \(3, 2\)"),
        ([[1], [1, 2]], "one list"),
    ],
)
def test_what_is_no_list_of_values_is_refused(given: object, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        check_predictions(metric_named("scores"), "none", 3, given)


@pytest.mark.parametrize(
    "given", [["cat", float("nan"), "dog"], ["cat", None, "dog"], ("cat", 1, "dog"), ["1", True, "2"]]
)
def test_a_list_of_texts_holds_nothing_else(given: object) -> None:
    """numpy would make the text "nan" of what is missing."""
    with pytest.raises(InvalidRequest, match="all numbers or all strings"):
        check_predictions(metric_named("accuracy"), "text", 3, given)


@pytest.mark.parametrize("place", [0, LONG - 1])
@pytest.mark.parametrize(
    ("kind", "wrong"),
    [(k, w) for k in ("f8", "f4", "f2", "g") for w in (np.nan, -np.nan, np.inf, -np.inf, -1e-7, 1.001)]
    + [("f8", -5e-324), ("f8", 1 + 2.0**-52), ("f4", 1 + 2.0**-23), ("f4", -1e-45)]
    + [("i1", -1), ("i8", 2), ("u1", 255), ("u8", 2**64 - 1), ("i8", -(2**63)), ("i8", 2**16), ("u8", 2**16)],
)
def test_one_value_outside_of_the_unit_interval_is_refused(kind: str, wrong: float, place: int) -> None:
    for metric in ("scores", "brier"):
        values = np.ones(LONG, dtype=kind)
        values[place] = wrong
        with pytest.raises(InvalidRequest, match="from 0 to 1"):
            check_predictions(metric_named(metric), "none", LONG, values)


@pytest.mark.parametrize("largest", [1, 127, 128, 2**15, 2**31, 2**40])
def test_predictions_are_known_again_in_any_type_that_holds_them(largest: int) -> None:
    values = np.array([-largest, 0, largest, 1])
    other = values + np.array([0, 1, 0, 0])
    kinds = [np.int64, np.float64, object, *([np.int32] if largest < 2**31 else [])]
    kinds += [np.float16] if largest <= 128 else []
    metric = metric_named("accuracy")
    known = {check_predictions(metric, "whole", 4, values.astype(kind)).digest for kind in kinds}
    assert len(known) == 1
    assert check_predictions(metric, "whole", 4, other).digest not in known


def test_a_digest_is_the_same_however_computed_and_tells_bytes_apart() -> None:
    """Side by side for long arrays; every half, the type and the size are in it."""
    from adyton.holdout import metrics

    long = np.zeros(metrics._LONG, np.uint8)
    halves = bytes(long[: long.size // 2]), bytes(long[long.size // 2 :])
    leaves = b"".join(hashlib.sha256(half).digest() for half in halves)
    assert metrics.digest_of(long) == hashlib.sha256(f"|u1 {long.size} ".encode() + leaves).hexdigest()
    seen = {metrics.digest_of(long)}
    for place in (0, long.size // 2 - 1, long.size // 2, long.size - 1):
        changed = long.copy()
        changed[place] = 1
        seen.add(metrics.digest_of(changed))
    seen |= {
        metrics.digest_of(long[:-1]),
        metrics.digest_of(long.view(np.uint16)),
        metrics.digest_of(long[:4]),
    }
    assert len(seen) == 8
