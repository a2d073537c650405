"""A holdout is held by the kernel as a study is: what is charged is what is released of the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adyton.errors import BudgetRefused, InvalidRequest, LedgerCorrupt
from adyton.holdout import Holdout
from adyton.holdout.facts import read_facts
from adyton.holdout.labels import LabelReader
from adyton.holdout.measures import Measures, ScoreTexts
from adyton.holdout.methods.base import HoldoutSize
from adyton.holdout.methods.baselines import RoundingPlan, SplitPlan
from adyton.holdout.methods.gaussian import GaussianPlan
from adyton.holdout.methods.ladder import LadderPlan
from adyton.holdout.methods.slices import SlicesPlan
from adyton.holdout.methods.thresholdout import ThresholdoutPlan
from adyton.holdout.metrics import HiddenLabels, Submission
from adyton.kernel.data import Data
from adyton.kernel.ledger import Header, MemoryLedger
from adyton.kernel.measurement import Due
from adyton.kernel.mechanisms import GaussianNoise
from adyton.kernel.noise import SystemBits
from adyton.kernel.paid import charge, order_of, resume
from adyton.kernel.price import Label, Priced, price
from adyton.kernel.privacy import BoundedRangeCost, GaussianCost, PrivacyUnit
from adyton.kernel.release import release
from adyton.kernel.sensitivity import Reading
from adyton.kernel.special.comparing import Asked, Comparisons
from adyton.kernel.special.scores import ExactScore, ModelVote, NoisyScore, ScoreBlocks, ScoreGrid

ITEMS = 60
LABELS = np.arange(ITEMS) % 3
FRAME = HoldoutSize(ITEMS, 2, Fraction(0), Fraction(1, 20))
PLAN = GaussianPlan(FRAME, ScoreBlocks((4, 4), (8.0, 4.0)), (30.0, 30.0))


class CountingReader(LabelReader):
    """A reader of labels that counts what it was asked."""

    read = 0

    def exact(self, readings: Sequence[Reading]) -> Any:
        self.read += len(readings)
        return super().exact(readings)


@pytest.fixture
def labels(tmp_path: Path) -> CountingReader:
    Holdout.create(tmp_path / "h.toml", labels=LABELS, scores=1).close()
    facts = read_facts(tmp_path / "h.toml")
    return CountingReader(tmp_path / "h.toml", facts, HiddenLabels(LABELS), 1)


def ledger_of(measures: Measures) -> MemoryLedger:
    return MemoryLedger(Header.fresh("holdout", measures.plan.accounting, measures.budget))


def submitted(wrong: int) -> Submission:
    return Submission(np.where(np.arange(ITEMS) < wrong, 9, LABELS), f"digest {wrong}")


MEASURES = Measures(PLAN)
SCORED = MEASURES.scored("digest 3")


def priced(measurement: Any, measures: Measures = MEASURES, query: str = "q") -> Priced:
    return measures.priced(measurement, query)


def test_a_score_of_ones_own_that_costs_nothing_is_refused() -> None:
    """Mutant: ``price`` that takes subclasses of what a holdout measures."""

    @dataclass(frozen=True)
    class Exactly(NoisyScore):
        def due(self, protection: Any) -> Due:
            return Due(1, 0)

        def release(self, source: Any, bits: Any) -> Any:
            return list(source.exact())

    with pytest.raises(TypeError, match="not one whose cost is proved"):
        priced(Exactly(SCORED.readings, (PLAN.blocks,)))


def test_only_a_holdout_scores_and_only_some_without_noise() -> None:
    """Mutants: ``_check_holdout`` without each of its parts; ``ExactScore.due`` without the accounting."""
    pure = Measures(RoundingPlan(FRAME, 2)).protection
    exact, counted = ExactScore(SCORED.readings), Measures(RoundingPlan(FRAME, 2)).scored("x")
    assert price(counted, pure, Label(("q",), "d")).due == Due(1, 0)
    for measurement in (exact, replace(exact, last=True), SCORED, MEASURES.voted(PLAN, ["a", "b"])):
        for protection in (MEASURES.protection, pure):
            with pytest.raises(InvalidRequest, match="by a holdout alone"):
                price(measurement, replace(protection, holdout=False), Label(("q",), "d"))
            for unit in (PrivacyUnit("add-remove"), PrivacyUnit("replace-one", person="p", rows=2)):
                with pytest.raises(InvalidRequest, match="by a holdout alone"):
                    price(measurement, replace(protection, unit=unit), Label(("q",), "d"))
    with pytest.raises(InvalidRequest, match="counted, or one is the last"):
        priced(exact)
    with pytest.raises(InvalidRequest, match="counted, or one is the last"):
        price(replace(exact, last=True), pure, Label(("q",), "d"))


def test_one_accounting_does_not_pay_for_another() -> None:
    """Mutant: ``order_of`` that does not compare them: one unit of a noisy holdout would pay an exact score."""
    ledger, counted = ledger_of(MEASURES), Measures(RoundingPlan(FRAME, 2))
    with pytest.raises(TypeError, match="under one accounting"):
        charge(ledger, counted.priced(counted.scored("x"), "q"))
    assert ledger.count() == 0


def test_labels_are_read_for_those_alone_who_paid(labels: CountingReader) -> None:
    """Mutant: a reader that is asked without a ``Paid``."""
    ledger, good, other = ledger_of(MEASURES), submitted(3), submitted(7)
    paid = charge(ledger, priced(MEASURES.scored(labels.name(good))))
    data = Data(labels)
    for name in (labels.name(other), labels.name(good), labels.name(good, other)):
        with pytest.raises(TypeError, match="not paid for"):
            data.exact(paid, [MEASURES.reading(name)])
    with pytest.raises(TypeError, match="comparisons"):
        data.one_cell(paid, MEASURES.reading(labels.name(good)))
    assert labels.read == 0
    released = release(paid, data, SystemBits(), ScoreTexts()).read()
    assert abs(int(released) - 2 * (ITEMS - 3)) < 8 * 40
    assert labels.read == 1


def test_a_score_is_priced_by_its_least_noise_and_a_comparison_alike() -> None:
    """Mutants: the largest scale; a range of one side for a comparison; noise for too few cells."""
    least = GaussianNoise((Fraction(4),))
    for measurement in (SCORED, MEASURES.compared(PLAN, "a b"), MEASURES.voted(PLAN, ["a", "b"])):
        assert priced(measurement).due == Due(10**18 * 4 // 16, 10**18 // 16)
    assert least.cost(SCORED.readings[0].sensitivity).mu_squared == Fraction(4, 16)
    narrow = NoisyScore(MEASURES.compared(PLAN, "a b").readings, (PLAN.blocks,))
    assert priced(narrow).due.amount == 4 * priced(SCORED).due.amount
    with pytest.raises(InvalidRequest, match="noise of its own"):
        priced(NoisyScore(SCORED.readings, (PLAN.blocks, PLAN.blocks)))
    (plain,) = SCORED.readings
    for reading in (MEASURES.reading_beside("a b"), replace(plain, kept=(0,))):
        with pytest.raises(InvalidRequest, match="one number over all items"):
            priced(NoisyScore((reading,), (PLAN.blocks,)))


def test_slices_cost_what_the_one_with_the_least_noise_costs() -> None:
    """Mutants: the least of their amounts; a label that could move from one slice to another."""
    quiet, sizes = ((30.0, 30.0), (30.0, 30.0)), (20, 40)
    for scales in ((8.0, 4.0), (4.0, 8.0)):
        measures = Measures(SlicesPlan(FRAME, 2, ("a", "b"), sizes, scales, quiet))
        assert measures.priced(measures.scored("x"), "q").due == Due(10**18 * 4 // 16, 10**18 // 16)


# Choices ---------------------------------------------------------------------------------------------------


def voted(labels: LabelReader, rate: Any, earlier: tuple[int, ...] | None) -> ModelVote:
    readings = tuple(MEASURES.reading(labels.name(one)) for one in SENT)
    return ModelVote(readings, PLAN.blocks, lambda _: Fraction(rate), True, earlier)


SENT = [submitted(wrong) for wrong in (0, 20, 40)]


@pytest.mark.parametrize("places", [1, 3])
def test_a_choice_is_no_sharper_than_its_places(labels: CountingReader, places: int) -> None:
    """Mutants: the bound of another place; ``<`` for ``<=`` of the sum; labels read before it is checked."""
    for rate, fits in ((Fraction(1, 8), True), (Fraction(1, 8) + Fraction(1, 10**12), places > 1)):
        ledger = ledger_of(MEASURES)
        parts = [charge(ledger, priced(voted(labels, rate, None), query=f"p{i}")) for i in range(places - 1)]
        numbers = tuple(part.receipt.number for part in parts)
        last = charge(ledger, priced(voted(labels, rate, numbers)))
        before = labels.read
        if fits:
            assert release(last, Data(labels), SystemBits(), ScoreTexts()).read() in ("0", "1", "2")
        else:
            with pytest.raises(InvalidRequest, match="sharper"):
                release(last, Data(labels), SystemBits(), ScoreTexts())
            assert labels.read == before


def test_theorem_CHOICE_AS_SCORES_costs_the_rho_of_its_places() -> None:
    """The range of the choice is twice rate times step, whatever the step: rho is half of mu**2 at most."""
    for step in (1, 2, 2**15):
        for scale in (Fraction(1, 3), Fraction(8), Fraction(10**6)):
            mu_squared = (step / scale) ** 2
            choice = BoundedRangeCost(2 * step / scale)
            assert choice.zcdp <= GaussianCost(mu_squared).zcdp
            assert choice.zcdp * Fraction(101, 100) > GaussianCost(mu_squared).zcdp or mu_squared > Fraction(
                1, 9
            )


def test_a_part_of_a_choice_is_used_once(labels: CountingReader) -> None:
    """Mutants: ``claim`` without each of its checks; ``ModelVote`` that takes a place twice, or not its own."""
    ledger = ledger_of(MEASURES)
    part = charge(ledger, priced(voted(labels, Fraction(1, 8), None), query="p")).receipt.number
    score = charge(ledger, priced(SCORED, query="s")).receipt.number
    first, second, third, fourth, unknown = (
        charge(ledger, priced(voted(labels, Fraction(1, 8), earlier)))
        for earlier in ((part,), (part,), (score,), (part, part), (8,))
    )
    for lost in (third, unknown):
        with pytest.raises(LedgerCorrupt, match="no part of what"):
            release(lost, Data(labels), SystemBits(), ScoreTexts())
    with pytest.raises(InvalidRequest, match="each of its places once"):
        release(fourth, Data(labels), SystemBits(), ScoreTexts())
    assert release(first, Data(labels), SystemBits(), ScoreTexts()).read() in ("0", "1", "2")
    made = first.receipt.number
    of_another = charge(ledger, priced(voted(labels, Fraction(1, 8), (made,)), query="of another"))
    read = labels.read
    for paid in (second, of_another):
        with pytest.raises(InvalidRequest, match="part of another choice"):
            release(paid, Data(labels), SystemBits(), ScoreTexts())
    assert labels.read == read


# The last score, and methods that are paid for at once -----------------------------------------------------


def test_the_last_score_takes_all_that_is_left() -> None:
    """Mutants: ``everything`` that is the price of one; ``_is_for`` that lets any amount, or any score, be the last."""
    ledger = ledger_of(MEASURES)
    charge(ledger, priced(SCORED, query="s"))
    last = priced(MEASURES.last("digest 3"))
    paid = charge(ledger, last)
    assert ledger.spent() == MEASURES.budget
    assert paid.receipt.order.unproved
    assert resume(ledger, last, paid.receipt).receipt == paid.receipt
    with pytest.raises(BudgetRefused):
        charge(ledger, last)
    with pytest.raises(LedgerCorrupt, match="did not pay for this"):  # it paid for another one
        resume(ledger, priced(MEASURES.last("digest 4"), query="another"), paid.receipt)
    almost = ledger_of(MEASURES)
    almost.charge(replace(order_of(almost, priced(SCORED, query="s")), amount=MEASURES.budget - 1))
    assert charge(almost, last).receipt.order.amount == 1
    other = ledger_of(MEASURES)
    cheap = other.charge(replace(order_of(other, last), amount=1)).receipt
    with pytest.raises(LedgerCorrupt, match="did not pay for this"):
        resume(other, last, cheap)


def test_guesses_are_compared_with_what_was_paid_for(labels: CountingReader) -> None:
    """Mutants: ``GuessedScores.check`` without the reach; answers after the last positive."""
    measures = Measures(ThresholdoutPlan(FRAME, 1, 9, 0, 1 / 64))
    assert measures.amount == 2 * 2 * 64 * 10**18
    plan, ledger = measures.plan, ledger_of(measures)
    assert isinstance(plan, ThresholdoutPlan)
    machine = plan.measurement.machine
    one_way = replace(
        plan.measurement, machine=replace(machine, sparse=replace(machine.sparse, monotone=True))
    )
    with pytest.raises(InvalidRequest, match="not of a kind whose cost is proved"):
        measures.priced(one_way, "q")
    comparisons = Comparisons(
        charge(ledger, measures.priced(plan.measurement, "q")), Data(labels), SystemBits()
    )
    sent = submitted(3)
    name, wide = labels.name(sent), MEASURES.compared(PLAN, labels.name(*SENT[:2])).readings[0]
    for reading, factor in ((wide, 1), (measures.reading(name), 2)):
        with pytest.raises(InvalidRequest, match="farther than was paid for"):
            comparisons.compare(reading, factor, lambda: Asked(0, 0, {}))
    assert labels.read == 0
    noted = comparisons.compare(measures.reading(name), 1, lambda: Asked(0, 0, {}))
    assert noted is not None
    assert noted[0]["value"] == 2 * (ITEMS - 3)
    with pytest.raises(TypeError, match="after the end"):
        comparisons.compare(measures.reading(name), 1, lambda: Asked(1, 0, {}))
    assert "offset" not in str(comparisons.notes(0))


@pytest.mark.parametrize(("guess", "value"), [(7, None), (13, None), (6, 10), (14, 10)])
def test_a_guess_may_be_off_by_the_threshold(guess: int, value: int | None) -> None:
    """Mutant: ``<`` for at most.  Noise of these scales is 0 but for one of a million draws."""
    machine = ThresholdoutPlan(FRAME, 1, 9, 3, 1 / 64).measurement
    watch, _ = machine.begin(lambda _: (), SystemBits())
    assert machine.compare(watch, [10], guess, SystemBits())[0] == {"value": value}


def test_answers_without_noise_are_counted(labels: CountingReader) -> None:
    """Mutants: one more than all of them; a receipt for a score that is opened; Gaussian accounting."""
    plan = LadderPlan(FRAME, 2, 1)
    measures, sent = Measures(plan), submitted(3)
    with pytest.raises(InvalidRequest, match="without noise are counted"):
        priced(plan.measurement)
    with pytest.raises(TypeError, match="did not pay for comparisons"):
        Comparisons(charge(ledger_of(MEASURES), priced(SCORED)), Data(labels), SystemBits())
    paid = charge(ledger_of(measures), measures.priced(plan.measurement, "q"))
    comparisons, reading = Comparisons(paid, Data(labels), SystemBits()), measures.reading(labels.name(sent))
    for feeds in (0, 1):
        asked = Asked(feeds, ScoreGrid(), {})
        assert comparisons.compare(reading, 1, lambda asked=asked: asked) == (  # type: ignore[misc]
            {"value": 2 * (ITEMS - 3), "left": 1 - feeds},
            feeds + 1,
        )
    with pytest.raises(TypeError, match="after the end"):
        comparisons.compare(reading, 1, lambda: Asked(2, ScoreGrid(), {}))


def test_a_grid_says_nothing_of_what_is_quiet() -> None:
    """Mutants: each comparison of ``ScoreGrid.of``; a square that is not that of the difference."""
    assert [ScoreGrid(quiet=(3, 5)).of(x) for x in range(2, 7)] == [2, None, None, None, 6]
    assert [ScoreGrid(4, 0, 8, 3).of(x) for x in (0, 1, 2, 7, 8)] == [0, 0, 1, 3, 3]
    grid = ScoreGrid(quiet=(0, 10), items=5)  # farther out than sqrt((5 * squares - apart**2) / 4)
    assert [grid.of(x, 2, 4) for x in (11, 12, 13)] == [None, None, 13]
    assert ScoreGrid(quiet=(0, 10), items=1).of(11, 1, 1) == 11


# The reader of labels --------------------------------------------------------------------------------------


def test_the_reader_keeps_to_the_declared_bounds(tmp_path: Path) -> None:
    """Mutant: ``_values`` without the least of the two."""
    Holdout.create(tmp_path / "h.toml", items=4, metric="scores", scores=1, confidence="0.5").close()
    facts = read_facts(tmp_path / "h.toml")
    reader, steps = LabelReader(tmp_path / "h.toml", facts, HiddenLabels(None), 1), facts.frame.steps
    wild = Submission(np.array([0, steps, steps + 1, 2**16 - 1], dtype=np.uint16), "wild")
    reading = Measures(GaussianPlan(facts.frame, PLAN.blocks, (1.0, 1.0))).reading(reader.name(wild))
    assert reader.exact([reading]) == [[[3 * steps]]]
    with pytest.raises(InvalidRequest, match="while somebody holds it"):
        reader.prepare([replace(reading, name="unknown")])


def test_a_split_reads_the_part_of_its_receipt(labels: CountingReader) -> None:
    """Mutants: a part one further; parts that overlap."""
    measures = Measures(SplitPlan(FRAME, 4))
    labels._each, ledger, sent = ITEMS // 4, ledger_of(measures), submitted(20)
    for exact in (0, 20, 30, 30):
        paid = charge(ledger, measures.priced(measures.scored(labels.name(sent)), f"q{exact}"))
        assert release(paid, Data(labels), SystemBits(), ScoreTexts()).read() == str(exact)
    assert ledger.spent() == measures.budget == 4
