"""The methods of a holdout as an owner names them: each checks its own words, before any file is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any, get_args

import pytest

from adyton.errors import InvalidRequest
from adyton.holdout import Auto, Gaussian, Ladder, Method, Slices, SparseValidate, Thresholdout
from adyton.holdout.methods.options import method_named


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Gaussian(noise="loud"), "'constant' or 'decreasing'"),
        (lambda: Gaussian(expected=0), "what is expected"),
        (lambda: Slices([1, 2], expected=-1), "what is expected"),
        (lambda: Auto(noise="loud"), "'constant' or 'decreasing'"),
        (lambda: Auto(expected=-1), "what is expected"),
        (lambda: Thresholdout(overfits=0), "the number of overfits"),
        (lambda: Thresholdout(overfits=True), "the number of overfits"),
        (lambda: Thresholdout(threshold="-1"), "the threshold"),
        (lambda: Thresholdout(overfits=1, threshold="0.1", scale=0), "the scale"),
        (lambda: Thresholdout(scale="0.1"), "give the threshold and the number of overfits"),
        (lambda: SparseValidate(rejections=0), "how often it may say no"),
        (lambda: Ladder(rung=0), "the rung"),
    ],
)
def test_a_method_checks_its_own_words(make: Callable[[], Method], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        make()


@pytest.mark.parametrize("kind", get_args(Method))
def test_methods_are_frozen(kind: Any) -> None:
    method = kind([0, 1]) if kind is Slices else kind()
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        method.name = "other"


@pytest.mark.parametrize(
    ("name", "words", "groups", "says"),
    [
        ("magic", {}, None, "no method 'magic'; known: auto, gaussian, thresholdout"),
        ("slices", {}, None, "no method 'slices'"),
        ("gaussian", {"rejections": 3}, None, "the method 'gaussian' takes no rejections"),
        ("ladder", {"overfits": 1}, None, "takes no overfits"),
        ("auto", {"anytime": True}, None, "takes no anytime"),
        ("rounding", {}, [0, 1], "groups go with the method 'gaussian' alone"),
        ("gaussian", {"anytime": True}, [0, 1], "groups go with the method 'gaussian' alone"),
        ("gaussian", {"noise": "decreasing"}, [0, 1], "groups go with the method 'gaussian' alone"),
    ],
)
def test_a_name_and_words_that_do_not_belong_together_are_refused(
    name: str, words: dict[str, object], groups: object, says: str
) -> None:
    with pytest.raises(InvalidRequest, match=says):
        method_named(name, words, groups)


def test_words_that_were_not_given_are_no_words() -> None:
    """A command line has every option, most of them at their default."""
    silent = {"overfits": None, "anytime": False, "noise": "constant", "rung": None}
    assert method_named("gaussian", silent) == Gaussian()
    assert method_named("thresholdout", {**silent, "overfits": 3}) == Thresholdout(overfits=3)
    made = method_named("gaussian", {**silent, "expected": "0.9"}, [0, 1])
    assert isinstance(made, Slices)
    assert made.expected == "0.9"


@pytest.mark.parametrize(
    ("method", "word"), [("sparse_validate", "rejections"), ("thresholdout", "overfits")]
)
def test_a_command_that_says_0_is_refused(method: str, word: str) -> None:
    """Mutant: 0 counts as not said, because it equals False."""
    with pytest.raises(InvalidRequest, match="at least 1"):
        method_named(method, {word: 0, "anytime": False, "noise": "constant", "rung": None})
