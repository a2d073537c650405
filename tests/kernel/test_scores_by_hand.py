"""Scores of a holdout by hand: blocks of noise, grids, choices, and what is answered one after another."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from test_seam_of_holdouts import FRAME, MEASURES, PLAN, SCORED

from adyton.errors import InvalidRequest
from adyton.holdout.measures import Measures
from adyton.holdout.methods.ladder import LadderPlan
from adyton.kernel.accounting.noisy_reading import stability_units
from adyton.kernel.accounting.rules import PureAccounting
from adyton.kernel.measurement import Due
from adyton.kernel.mechanisms import GaussianNoise, GeometricNoise
from adyton.kernel.noise import SystemBits, rounded_gaussian
from adyton.kernel.price import Label, price
from adyton.kernel.privacy import PrivacyUnit
from adyton.kernel.schema import IntegerColumn
from adyton.kernel.sensitivity import Coordinate, Sensitivity
from adyton.kernel.sensitivity.reading import Persons
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, SparseState
from adyton.kernel.special.scores import (
    CountedAnswers,
    ExactScore,
    GuessedScores,
    ModelVote,
    NoisyScore,
    ScoreBlocks,
    ScoreGrid,
)
from adyton.kernel.terms.buckets import Bucket
from adyton.kernel.terms.leaves import Always, ValueOf
from adyton.kernel.terms.measures import Mean
from support.randomness import Seeded

F = Fraction
(READING,) = SCORED.readings
PURE = replace(MEASURES.protection, rule=PureAccounting())
QUIET = F(1, 100)  # noise that is 0 but once in 10**43 draws


class Given:
    """A source of integers that a test chose, and of the receipts that it saw claimed."""

    def __init__(self, exact: list[Any], place: int = 1) -> None:
        self._exact, self.place, self.claimed = exact, place, list[int]()

    def exact(self) -> Any:
        return iter(self._exact)

    def claim(self, number: int) -> None:
        self.claimed.append(number)


def due_of(measurement: Any, protection: Any = MEASURES.protection) -> Due:
    return price(measurement, protection, Label(("q",), "d")).due


# Blocks ----------------------------------------------------------------------------------------------------


def test_scores_of_a_block_have_its_noise() -> None:
    """Mutants: a score of the next block, a part that is counted twice, one that is left out."""
    for counts, scales in (
        ((1,), (1.0, 2.0)), ((1, 2), (1.0,)), ((), ()), ((1, 0), (1.0, 1.0)), ((1,), (0.0,)), ((1,), (-1.0,)),
        ((1, 1), (1.0, float("inf"))), ((1, 1), (float("nan"), 1.0)),
    ):  # fmt: skip
        with pytest.raises(ValueError):  # noqa: PT011  # it has no words
            ScoreBlocks(counts, scales)
    counts, scales = (3, 1, 2), (4.0, 1.0, 8.0)
    blocks = ScoreBlocks(counts, scales)
    each = [scale for count, scale in zip(counts, scales, strict=True) for _ in range(count)]
    assert (blocks.scores, [blocks.scale(number) for number in range(1, 7)]) == (6, each)
    with pytest.raises(InvalidRequest, match="no number 7"):
        blocks.scale(7)
    for number in range(1, 9):
        assert blocks.spent_before(number) == sum(F(1, 4) / F(scale) ** 2 for scale in each[: number - 1])


def test_a_score_has_the_noise_of_its_place() -> None:
    """Mutants: noise of another place, or of another cell; a comparison that is called a score."""
    two = (PLAN.blocks, ScoreBlocks((4, 4), (16.0, 2.0)))
    for place in (1, 4, 5, 8):
        bits = Seeded(place)
        drawn = [int(rounded_gaussian.draw(one.scale(place), 1, bits)[0]) for one in two]
        source = Given([([10, 2**40],)], place)
        found = NoisyScore((READING,), two).release(source, Seeded(place))  # type: ignore[arg-type]
        assert found == [10 + drawn[0], 2**40 + drawn[1]]
    assert (SCORED.kind, MEASURES.compared(PLAN, "a b").kind) == ("score", "comparison")  # type: ignore[attr-defined]
    gap = Coordinate(ValueOf(IntegerColumn("gap", -1, 1)))
    assert NoisyScore((replace(READING, coordinates=(gap,)),), two).kind == "comparison"


def test_what_a_score_costs_is_that_of_its_least_noise() -> None:
    """Mutants: the dearest of the cells, or of the places, left out; a score of any other reading."""
    apart = replace(READING.sensitivity, cells=1)
    for blocks in (ScoreBlocks((1, 1, 1), (8.0, 2.0, 4.0)), ScoreBlocks((1,), (2.0,))):
        least = GaussianNoise((F(2),))
        due = due_of(NoisyScore((READING,), (blocks,)))
        assert due == Due(
            MEASURES.protection.rule.amount(least.cost(apart)), stability_units(least.radius(apart))
        )
        vote = ModelVote((READING, READING), blocks, lambda _: F(1), True, None)
        assert due_of(vote) == due
    protection = MEASURES.protection
    wrong = (
        replace(READING, measure=Mean(ValueOf(IntegerColumn("score", 0, 2)))),
        replace(READING, persons=Persons(0, 2, 1)),
        replace(READING, kept=(0,)),
        replace(READING, coordinates=READING.coordinates * 2),
        replace(READING, where=Always(False)),
    )
    for reading in wrong:
        with pytest.raises(InvalidRequest, match="one number over all items"):
            due_of(NoisyScore((reading,), (PLAN.blocks,)))
        with pytest.raises(InvalidRequest, match="one number over all items"):
            due_of(ExactScore((reading,), last=True))
    for hidden in (
        replace(protection, holdout=False),
        replace(protection, unit=PrivacyUnit("add-remove")),
        replace(protection, unit=PrivacyUnit("replace-one", person="p", rows=2)),
    ):
        for own in (SCORED, CountedAnswers(3), guessed()):
            with pytest.raises(InvalidRequest, match="by a holdout alone"):
                own.due(hidden)


# Grids -----------------------------------------------------------------------------------------------------


def test_a_grid_says_what_is_farther_out_than_chance() -> None:
    """Mutants: each sign, border and factor of ``ScoreGrid.of``; another default."""
    for exact in range(-5, 9):
        assert ScoreGrid().of(exact) == exact == ScoreGrid().of(exact, 3, 9)
    for times, plus, by, most in itertools.product((1, 3), (0, 2), (1, 4), (None, 2)):
        for exact in range(7):
            cell = (times * exact + plus) // by
            assert ScoreGrid(times, plus, by, most).of(exact) == (cell if most is None else min(2, cell))
    for items, apart, squares in itertools.product((None, 1, 2, 3, 7), (-3, 0, 2, 4), (0, 5, 9, 16)):
        grid = ScoreGrid(quiet=(2, 5), items=items)
        for exact in range(-8, 16):
            outside = 2 - exact if exact < 2 else exact - 5
            if items is None or outside <= 0:
                said = outside > 0
            else:  # its square is more than the variance of the difference, times as many
                said = outside**2 > F(items * squares - apart**2, max(1, items - 1))
            assert grid.of(exact, apart, squares) == (exact if said else None)


def test_a_score_without_noise_is_what_its_grid_says() -> None:
    """Mutants: another cell, a last score among others, one that is charged more than once."""
    grid = ScoreGrid(2, 1, 3)
    found = ExactScore((READING,), grid).release(Given([([4],), ([7],)]), SystemBits())  # type: ignore[arg-type]
    assert found == [3, 5]
    plain, last = ExactScore((READING,)), ExactScore((READING,), last=True)
    assert (plain.kind, last.kind, plain.grid, plain.last) == ("score", "last score", ScoreGrid(), False)
    assert due_of(plain, PURE) == Due(1, 0)
    assert due_of(last) == Due(1, 0, unproved=True, everything=True)
    for own, protection in ((plain, MEASURES.protection), (last, PURE)):
        with pytest.raises(InvalidRequest, match="counted, or one is the last"):
            due_of(own, protection)


# Choices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("largest", [True, False])
def test_the_last_place_of_a_choice_makes_it(largest: bool) -> None:
    """Mutants: the other end; a place that is not claimed, or twice; a rate that the places did not pay for."""
    asked: list[tuple[int, ...]] = []
    blocks = ScoreBlocks((2, 2), (0.01, 0.02))
    paid = 2 * F(1, 1) / F(0.01) ** 2 + F(1, 1) / F(0.02) ** 2  # places 1, 2 and 3

    def vote(rate: Fraction, earlier: tuple[int, ...] | None) -> ModelVote:
        return ModelVote((READING,) * 3, blocks, lambda at: asked.append(at) or rate, largest, earlier)  # type: ignore[func-returns-value]

    exact = [[[500]], [[90_000]], [[-700]]]
    source = Given(exact, place=3)
    assert vote(F(140), (1, 2)).release(source, SystemBits()) == (1 if largest else 2)  # type: ignore[arg-type]
    assert (asked, source.claimed) == ([(1, 2, 3)], [1, 2, 3])
    assert F(140) ** 2 <= paid < F(151) ** 2
    for rate in (F(0), F(-151), F(151)):
        with pytest.raises(InvalidRequest, match="sharper"):
            vote(rate, (1, 2)).release(Given(exact, place=3), SystemBits())  # type: ignore[arg-type]
    just = ModelVote((READING,) * 3, blocks, lambda _: F(100), largest, ())
    for rate, scale in ((F(2), 0.5), (F(4), 0.25)):
        even = replace(just, noise=ScoreBlocks((4,), (scale,)), rate=lambda _, rate=rate: rate)
        assert even.release(Given(exact), SystemBits()) is not None  # type: ignore[arg-type]
    for earlier in ((3,), (1, 1), (1, 2, 3)):
        own = Given(exact, place=3)
        with pytest.raises(InvalidRequest, match="once"):
            vote(F(1), earlier).release(own, SystemBits())  # type: ignore[arg-type]
        assert own.claimed == []
    assert vote(F(1), None).release(Given([]), SystemBits()) is None  # type: ignore[arg-type]


# One after another -----------------------------------------------------------------------------------------


def guessed(**facts: Any) -> GuessedScores:
    sparse = Sparse(2, QUIET, QUIET, sensitivity=facts.pop("sensitivity", 2), **facts)
    return GuessedScores(NumericSparse(sparse, QUIET), 3)


def test_answers_without_noise_are_as_many_as_were_paid_for() -> None:
    """Mutants: one more of them, one that is not used up, several scores at once."""
    own, protection = CountedAnswers(3), MEASURES.protection
    assert (own.readings, own.kind, own.word) == ((), "holdout method", "a holdout")
    assert own.begin(lambda _: (), SystemBits()) == (SparseState(3, 0), {})
    assert own.compare(SparseState(2, 5), [7], ScoreGrid(2), SystemBits()) == (
        {"value": 14},
        SparseState(1, 5),
    )
    assert own.uses_up({"value": None})
    own.check(READING, 1, protection)
    wide = replace(READING, by=(Bucket("group", ValueOf(IntegerColumn("group", 0, 1))),))
    assert wide.cells == 2
    for reading, factor in ((READING, 2), (READING, 0), (wide, 1)):
        with pytest.raises(InvalidRequest, match="one score is answered at a time"):
            own.check(reading, factor, protection)
    counted = Measures(LadderPlan(FRAME, 2, 1)).protection
    assert due_of(own, counted) == Due(1, 0)
    with pytest.raises(InvalidRequest, match="are counted"):
        due_of(own)
    for one in (own, guessed()):
        with pytest.raises(TypeError, match="not released at once"):
            one.release(Given([]), SystemBits())  # type: ignore[arg-type]
        assert not one.refines(READING)


def test_guesses_are_compared_by_a_machine_that_is_proved() -> None:
    """Mutants: each kind that is not looked at; a price of less; a score that moves farther."""
    own, protection = guessed(), MEASURES.protection
    assert due_of(own, PURE) == Due(PURE.rule.amount(own.machine.cost()), 0)
    assert due_of(own) == Due(protection.rule.amount(own.machine.cost()), 0)

    class OwnSparse(Sparse):
        """Costs as much, and may add nothing."""

    class OwnMachine(NumericSparse):
        """The same."""

    cheap = OwnSparse(2, QUIET, QUIET, sensitivity=2)
    for machine in (
        NumericSparse(own.machine.sparse, QUIET, gaussian=True), NumericSparse(cheap, QUIET),
        OwnMachine(own.machine.sparse, QUIET), guessed(monotone=True).machine,
    ):  # fmt: skip
        with pytest.raises(InvalidRequest, match="not of a kind whose cost is proved"):
            due_of(replace(own, machine=machine))
    assert READING.sensitivity == Sensitivity(((0, 2),), 1, "replace-one")
    own.check(READING, 1, protection)
    guessed(sensitivity=3).check(READING, 1, protection)
    (gap,) = MEASURES.compared(PLAN, "a b").readings
    guessed(sensitivity=4).check(gap, 1, protection)
    bins = (Bucket("group", ValueOf(IntegerColumn("score", 0, 2))),)
    cells = replace(
        READING, by=bins, groups=1, sensitivity=replace(READING.sensitivity, cells=3), table=READING.table
    )
    with pytest.raises(InvalidRequest, match="farther than was paid for"):
        own.check(cells, 1, protection)
    for one, reading, factor in ((guessed(sensitivity=1), READING, 1), (own, READING, 2), (own, READING, 0),
                                 (guessed(sensitivity=3), gap, 1)):  # fmt: skip
        with pytest.raises(InvalidRequest, match="farther than was paid for"):
            one.check(reading, factor, protection)


def test_a_guess_that_is_too_far_off_is_answered_with_the_sum() -> None:
    """Mutants: the other side, another threshold, a value that was not found."""
    own = guessed()
    watch, said = own.begin(lambda _: (), Seeded(1))
    assert (watch.left, said) == (2, {})
    for guess in range(-2, 13):
        outcome, after = own.compare(watch, [5], guess, SystemBits())
        found = abs(guess - 5) > 3
        assert (outcome, after.left) == ({"value": 5 if found else None}, 2 - found)
        assert own.uses_up(outcome) == found
    assert isinstance(own.machine.values, GeometricNoise)
