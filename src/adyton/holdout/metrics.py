"""Metrics: each item's value in [0, 1] as a whole number of steps, so that a score is an exact sum.

What is checked about predictions is decided from public facts alone, before anything is charged; labels are
touched by ``values_of`` only, which the reader of labels calls.
"""

from __future__ import annotations

import base64
import hashlib
import io
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from adyton.errors import InvalidRequest
from adyton.holdout.pairs import HALVES, pair_values
from adyton.holdout.unsupported_metrics import other_name_of, reason_against

Array = npt.NDArray[Any]
Steps = npt.NDArray[Any]
LabelKind = Literal["whole", "text", "real", "none"]
Bounds = Literal["none", "either", "error"]
"""Which bounds a metric needs: none, those of labels or of the error of one item, those of the error."""

FINE = 2**15
"""Steps of a value that is not just 0 or 1; a whole power of two, so that scaling a float is exact."""
COARSE = 2
"""Steps of a value that is 0 or 1: even, so that the phantom of the theorem stands on the lattice too."""
_BLOCK = 1 << 16
_LONG = 2**20  # bytes; hashing fewer takes no longer than starting a thread
_LOWEST_BITS = 2.0**52 / FINE
_BITS_OF_ONE = {
    np.dtype(real): (bits, np.ones(1, real).view(bits)[0])
    for real, bits in ((np.float64, np.uint64), (np.float32, np.uint32))
}
_NARROW = (np.int8, np.int16, np.int32)
_SQUARED = ("squared_error", "rmse")
_CHANCES = ("brier", "log_loss")
_CLOSE = 0.75  # less would take balanced_accuracy for a slip of the pen
_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
_SUMMED = 1 << 16  # times 2**15 is below 2**32
_LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True, slots=True)
class Metric:
    """What an item's value is: its name, whether more is better, its steps, and what labels must be."""

    name: str
    greater_is_better: bool
    steps: int
    labels: tuple[LabelKind, ...]
    bounds: Bounds = "none"

    @property
    def rounding(self) -> Fraction:
        """How far a value can be from the one that is counted."""
        return Fraction(1, 2 * self.steps) if self.steps == FINE else Fraction(0)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", True, COARSE, ("whole", "text")),
        Metric("balanced_accuracy", True, COARSE, ("whole", "text")),
        Metric("top_k", True, COARSE, ("whole", "text")),
        Metric("scores", True, FINE, ("none",)),
        Metric("absolute_error", False, FINE, ("real",), "either"),
        Metric("squared_error", False, FINE, ("real",), "either"),
        Metric("rmse", False, FINE, ("real",), "either"),
        Metric("brier", False, FINE, ("whole",)),
        Metric("log_loss", False, FINE, ("whole",), "error"),
        Metric("auc", True, HALVES, ("whole",)),
    )
}


@dataclass(frozen=True, slots=True)
class Range:
    """What an error is measured against: both numbers clipped to ``low`` and ``high``, or the error to
    its bound.

    ``top``: of how many predictions for an item one must be right.
    """

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    error_high: Fraction | None = None
    top: int = 1

    def unit(self, metric: Metric) -> Fraction:
        """What a value of 1 is in the unit of the labels, or in its square."""
        longest = self.high - self.low if self.error_high is None else self.error_high
        return longest**2 if metric.name in _SQUARED else longest


@dataclass(frozen=True, slots=True)
class HiddenLabels:
    """The labels.  They are never shown, compared, copied or sent anywhere."""

    labels: Array | None = field(repr=False)

    def __reduce__(self) -> str:
        raise InvalidRequest("labels of a holdout are not copied")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Submission:
    """Checked predictions, and the digest under which the same predictions are known again."""

    predictions: Array = field(repr=False)
    digest: str


def metric_named(name: object) -> Metric:
    """Refuses a metric without a theorem, by its name."""
    if isinstance(name, str) and name in METRICS:
        return METRICS[name]
    known = f"known: {', '.join(METRICS)}"
    if isinstance(name, str) and (why := reason_against(name)) is not None:
        raise InvalidRequest(f"{name} {why}, and no theorem here certifies it; {known}")
    close = get_close_matches(other_name_of(str(name)), METRICS, n=1, cutoff=_CLOSE)
    raise InvalidRequest(f"no metric {name!r}; {f'did you mean {close[0]!r}?' if close else known}")


# Labels ----------------------------------------------------------------------------------------------------


def labels_from(metric: Metric, labels: object) -> tuple[Array, LabelKind]:
    """The owner's labels as an array of whole numbers, texts or reals, as the metric needs them."""
    array = one_list(labels, "labels")
    if "text" in metric.labels and array.dtype.kind == "U":
        return array, "text"
    if "real" in metric.labels:
        return finite_numbers(array, "labels"), "real"
    whole = _whole(array, "labels")
    if metric.name in (*_CHANCES, "auc") and not np.isin(whole, (0, 1)).all():
        raise InvalidRequest(f"labels for {metric.name} must be 0 or 1")
    return whole, "whole"


def labels_digest(labels: Array | None) -> str:
    return "" if labels is None else digest_of(labels)


def table_digest(table: Array) -> str:
    """Of rows of numbers: how many columns there are is part of it."""
    return f"{table.shape[1]} {digest_of(np.ascontiguousarray(table).reshape(-1))}"


# Predictions -----------------------------------------------------------------------------------------------


def check_predictions(
    metric: Metric, kind: LabelKind, items: int, predictions: object, top: int = 1
) -> Submission:
    """InvalidRequest for a wrong length, type, NaN or range: public facts only, free of charge."""
    if metric.name == "top_k":
        return _ranked(kind, items, predictions, top)
    array = one_list(predictions, "predictions")
    if array.size != items:
        raise InvalidRequest(f"{items:,} predictions are needed, one for each item, not {array.size:,}")
    made = _checked(metric, kind, array)
    return Submission(made, digest_of(_narrow(made) if made.dtype == np.int64 else made))


def _ranked(kind: LabelKind, items: int, predictions: object, top: int) -> Submission:
    """So many classes for each item, a row for each."""
    try:
        table = np.asarray(predictions)
    except (ValueError, TypeError, RuntimeError):
        table = np.empty(0)
    if table.shape != (items, top):
        raise InvalidRequest(f"{items:,} rows of {top:,} predictions are needed, not {table.shape}")
    flat = _checked(METRICS["accuracy"], kind, one_list(table.reshape(-1), "predictions"))
    made = (_narrow(flat) if flat.dtype == np.int64 else flat).reshape(items, top)
    return Submission(made, digest_of(made.reshape(-1)))


def _checked(metric: Metric, kind: LabelKind, array: Array) -> Array:
    if kind == "text":
        if array.dtype.kind != "U":
            raise InvalidRequest("predictions must be strings, as the labels are")
        longest = max(1, int(np.char.str_len(array).max()))
        made: Array = np.ascontiguousarray(array.astype(f"U{longest}"))
        return made
    if metric.name in ("accuracy", "balanced_accuracy"):
        return _whole(array, "predictions")
    if metric.bounds == "either" or metric.name == "auc":
        return finite_numbers(array, "predictions")
    if metric.name == "scores":
        return _quantised(array, _check_unit)
    _check_unit(array)
    return np.ascontiguousarray(array, dtype=np.float64)


def values_of(metric: Metric, key: HiddenLabels, within: Range, submission: Submission) -> Steps:
    """Each item's value in steps.  The only function that sees labels and predictions together."""
    given, truth = submission.predictions, key.labels
    if truth is None:
        return given
    if metric.steps == COARSE:
        hits = given == truth if given.ndim == 1 else (given == truth[:, None]).any(axis=1)
        right: Steps = hits.view(np.uint8)
        right *= COARSE
        return right
    if metric.name == "auc":
        return pair_values(truth, given)
    if metric.name == "brier":
        return _quantised((given - truth) ** 2)
    if metric.name == "log_loss":
        return _quantised(_log_losses(given, truth, float(within.error_high or 1)))
    error = _errors(given, truth, within)
    return _quantised(error**2 if metric.name in _SQUARED else error)


def _errors(given: Array, truth: Array, within: Range) -> Array:
    """Each as a part of the largest that counts."""
    if within.error_high is not None:
        longest = float(within.error_high)
        with np.errstate(over="ignore"):  # an infinite error is clipped like any other
            cut: Array = np.minimum(np.abs(given - truth), longest) / longest
        return cut
    low, high = float(within.low), float(within.high)
    error: Array = np.abs(np.clip(given, low, high) - np.clip(truth, low, high)) / (high - low)
    return error


def _log_losses(given: Array, truth: Array, longest: float) -> Array:
    """-log of the chance that was given to the label, at most ``longest``, as a part of it."""
    chance = np.where(truth == 1, given, 1 - given)
    losses: Array = np.minimum(-np.log(np.maximum(chance, np.exp(-2 * longest))), longest) / longest
    return np.maximum(losses, 0.0)


def differing(a: Submission, b: Submission) -> Array:
    """For each item whether two submissions say different things of it: public, and all that can differ."""
    apart: Array = a.predictions != b.predictions
    return apart if apart.ndim == 1 else np.asarray(apart.any(axis=1))


def packed(submission: Submission) -> str:
    """Predictions as a text."""
    paper = io.BytesIO()
    np.save(paper, submission.predictions, allow_pickle=False)
    return base64.b64encode(zlib.compress(paper.getvalue(), 1)).decode()


def unpacked(text: str, digest: str) -> Submission:
    """ValueError where it is no such text."""
    try:
        paper = io.BytesIO(zlib.decompress(base64.b64decode(text)))
        return Submission(np.load(paper, allow_pickle=False), digest)
    except (zlib.error, EOFError, OSError):
        raise ValueError from None


# Arrays ----------------------------------------------------------------------------------------------------


def one_list(values: object, what: str) -> Array:
    if np.ma.is_masked(values):
        raise InvalidRequest(f"{what}: none may be missing, and some are masked")
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError):
        array = np.empty((0, 0))
    if array.ndim != 1 or array.size == 0:
        found = "a single value" if array.ndim == 0 else f"an array of shape {array.shape}"
        raise InvalidRequest(f"{what} must be one list of values, one for each item, not {found}")
    if array.dtype.kind == "U" and isinstance(values, list | tuple):  # numpy makes texts of whatever is in it
        array = np.array(values, dtype=object)
    if array.dtype.kind == "T":  # numpy's texts of any length
        array = array.astype(object)
    return _of_objects(array, what) if array.dtype.kind == "O" else array


def _of_objects(array: Array, what: str) -> Array:
    """Lists of Python texts or numbers, as data frames keep them; nothing is guessed from mixtures."""
    kinds = {type(value) for value in array}
    if any(all(issubclass(kind, one) for kind in kinds) for one in (str, _NUMBERS)):
        try:
            return np.array(array.tolist())
        except OverflowError:
            pass
    raise InvalidRequest(f"{what} must be all numbers or all strings, and none may be missing")


def finite_numbers(array: Array, what: str) -> Array:
    if array.dtype.kind not in "biuf":
        raise InvalidRequest(f"{what} must be numbers")
    reals = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(reals).all():
        raise InvalidRequest(f"{what} must be finite numbers, and none may be missing")
    return reals


def _whole(array: Array, what: str) -> Array:
    if array.dtype.kind not in "biuf":
        raise InvalidRequest(f"{what} must be whole numbers, as classes are")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidRequest(f"{what} must be whole numbers, as classes are, and none may be missing")
    if array.dtype.kind == "f" and not (np.rint(array) == array).all():
        raise InvalidRequest(f"{what} must be whole numbers, as classes are, not shares or scores")
    longer = array.dtype.kind == "f" and array.itemsize > 2  # half a word holds no such numbers
    if longer and not (abs(array) < _LARGEST_WHOLE).all():
        raise InvalidRequest(f"{what} must be whole numbers below 2**53, or not be floats")
    if array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
        raise InvalidRequest(f"{what} must be whole numbers of at most 63 bits")
    return np.ascontiguousarray(array, dtype=np.int64)


def _check_unit(array: Array) -> None:
    if array.dtype.kind not in "biuf":
        raise InvalidRequest("predictions must be numbers from 0 to 1")
    if not (_small_bits(array) or (array.min() >= 0 and array.max() <= 1)):  # NaN fails the comparison too
        raise InvalidRequest("predictions must be numbers from 0 to 1, and none may be missing")


def _small_bits(array: Array) -> bool:
    """True only of floats from 0 to 1, found in one pass instead of two.

    Read as whole numbers, floats without a sign are in order, NaN at the end, and those with a sign come
    after them; -0 too, so False decides nothing.
    """
    bits, one = _BITS_OF_ONE.get(array.dtype, (None, 0))
    return bits is not None and bool(array.view(bits).max() <= one)


def _narrow(whole: Array) -> Array:
    """In the smallest type that holds all of them, which the values alone decide: there is less to hash."""
    low, high = int(whole.min()), int(whole.max())
    fits = (np.iinfo(t).min <= low and high <= np.iinfo(t).max for t in _NARROW)
    return whole.astype(next((t for t, fit in zip(_NARROW, fits, strict=True) if fit), np.int64))


def _quantised(values: Array, check: Callable[[Array], None] = lambda _: None) -> Steps:
    """To the nearest step.  Block by block, so that what was checked is still in the processor's cache.

    From 2**52 / FINE on doubles are one step apart, so adding it rounds and leaves the steps in the lowest
    bits.
    """
    made = np.empty(values.size, dtype=np.uint16)
    room = np.empty(min(_BLOCK, values.size))
    for start in range(0, values.size, _BLOCK):
        part, steps = values[start : start + _BLOCK], made[start : start + _BLOCK]
        check(part)
        if values.dtype.kind == "f":
            moved = np.add(part, _LOWEST_BITS, out=room[: part.size], dtype=np.float64)
            np.copyto(steps, moved.view(np.uint64), casting="unsafe")
        else:
            np.copyto(steps, part, casting="unsafe")
            steps *= FINE
    return made


def total(values: Steps) -> int:
    """The exact sum; 32 bits are enough for a block of values without weights, and twice as fast."""
    wide = np.uint32 if values.itemsize <= 2 else np.int64
    return sum(int(values[i : i + _SUMMED].sum(dtype=wide)) for i in range(0, values.size, _SUMMED))


def digest_of(array: Array) -> str:
    """Of the canonical array: its type, its size, and the digests of the two halves of its bytes.

    Hashing is most of the cost of a score of a million items, so long halves are hashed side by side.
    """
    data = array.data.cast("B")
    halves = data[: len(data) // 2], data[len(data) // 2 :]
    leaves = _side_by_side(*halves) if len(data) >= _LONG else [_leaf(half) for half in halves]
    return hashlib.sha256(f"{array.dtype.str} {array.size} ".encode() + b"".join(leaves)).hexdigest()


def _leaf(data: memoryview) -> bytes:
    return hashlib.sha256(data).digest()


def _side_by_side(first: memoryview, second: memoryview) -> list[bytes]:
    """A thread of its own, not a pool: a pool does not survive a fork."""
    found: list[bytes] = []
    helper = threading.Thread(target=lambda: found.append(_leaf(first)))
    helper.start()
    last = _leaf(second)
    helper.join()
    return [*found, last]
