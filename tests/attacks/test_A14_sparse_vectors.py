"""Case A14: the sparse vectors that Lyu, Su and Li 2017 found broken, planted into our own monitors.

Each mutant is put into the mechanism that ``Curator.open_monitor`` buys and charges for.  A real curator on two
neighboring tables opens the monitor and says what it cost; the machine that its receipt paid for is then run as
often as there are samples, and the auditor looks for an event that breaks the price.  The last test ties the two
together: what ``Monitor.feed`` says is what that machine says.

Bits are seeded, so nothing depends on luck; by AUDIT-LOWER-BOUND a sound monitor would be refuted by at most one
seed in a thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import adyton
from adyton.audit import audit
from adyton.audit.black_box import Verdict
from adyton.curator.curator import Curator
from adyton.kernel.ledger import Header, MemoryLedger, Receipt
from adyton.kernel.noise import two_sided_geometric
from adyton.kernel.privacy import Guarantee, PrivacyUnit, PureCost
from adyton.kernel.schema import IntegerColumn, Table
from adyton.kernel.special.mechanisms.sparse import numeric_sparse, sparse
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import NumericSparse
from adyton.kernel.special.mechanisms.sparse.sparse import Sparse, SparseState
from adyton.monitors import plan
from adyton.monitors.plan import machine_of
from adyton.noise_intervals.sparse import sparse_for_cost
from adyton.study import Study
from support.curators import kept_engine, open_kept
from support.randomness import Seeded, in_bulk
from support.tries import crossed, often

SAMPLES = 30_000  # every mutant is found with so many; of the third, 70,000
SOUND = often(10_000, 60_000)
TABLE = Table("people", (IntegerColumn("k", 0, 3),), 4)
STUDY = Study(TABLE, PrivacyUnit("replace-one"), Guarantee(Fraction(10), Fraction(0)), "pure")
# One unit moves from k = 0 to k = 1; nobody else has either, and nobody at all has 3.
TABLES = pd.DataFrame({"k": [0, 2, 2, 2]}), pd.DataFrame({"k": [1, 2, 2, 2]})
LOSES, GAINS, STAYS = 0, 1, 3
AGAINST = (GAINS,) * 6 + (LOSES,) * 6  # six counts rise, then six fall


def opened(positives: int, epsilon: str, numeric: bool = False) -> Receipt:
    """What the curator charged for a monitor; it is the same on both tables."""
    receipts = []
    for frame in TABLES:
        with open_kept(STUDY, frame) as curator:
            curator.open_monitor(positives=positives, epsilon=epsilon, numeric=numeric)
            receipts.append(curator.receipts()[0])
    assert receipts[0].order == receipts[1].order
    return receipts[0]


def counts(frame: pd.DataFrame, asked: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int((frame["k"] == k).sum()) for k in asked)


def audited(receipt: Receipt, asked: tuple[int, ...], samples: int = SAMPLES) -> Verdict:
    """Each count is compared with 1: is anybody there?"""
    machine, bits = machine_of(receipt), Seeded(15)

    def release(exact: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(machine.release(exact, (1,) * len(exact), bits))

    pair = counts(TABLES[0], asked), counts(TABLES[1], asked)
    return audit(release, pair, STUDY.epsilon_of(receipt.order.amount), samples=samples, vectorised=False)


@pytest.fixture(autouse=True)
def _drawn_in_bulk(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Noise of our own sampler, drawn in blocks: one at a time takes too long for so many monitors."""
    if "seed" in request.fixturenames:
        return
    draw = in_bulk(two_sided_geometric.draw, Seeded(14))
    blocks = dict[int, tuple[Fraction, list[int]]]()  # by who they are: fractions are slow to compare

    def draw_one(scale: Fraction, bits: Any) -> int:
        _, block = blocks.setdefault(id(scale), (scale, []))
        if not block:
            block.extend(draw(float(scale), 2**12, bits).tolist())
        return block.pop()

    monkeypatch.setattr(two_sided_geometric, "draw", draw)
    for module in (sparse, numeric_sparse):
        if hasattr(module, "draw_one"):
            monkeypatch.setattr(module, "draw_one", draw_one)


# Ours ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "numeric"),
    crossed([AGAINST, (GAINS,) * 4 + (STAYS,), (GAINS, LOSES), (STAYS,) * 8 + (GAINS,)], [False, True]),
)
def test_A14_our_monitors_keep_their_price(asked: tuple[int, ...], numeric: bool) -> None:
    """Also where the counts cross their thresholds late.  The mutants are those of the tests below."""
    assert not audited(opened(2, "1", numeric), asked, SOUND).refuted


# The broken ones -------------------------------------------------------------------------------------------------


def price_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise and cost as if there were one positive, however many there are."""
    real = Sparse.cost

    def for_cost(epsilon: Fraction, positives: int, **words: Any) -> Sparse:
        return replace(sparse_for_cost(epsilon, 1, **words), positives=positives)

    def cost(self: Sparse) -> PureCost:
        return real(replace(self, positives=1))

    monkeypatch.setattr(plan, "sparse_for_cost", for_cost)
    monkeypatch.setattr(Sparse, "cost", cost)


def never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sparse, "after", lambda self, watch, above, bits: watch)


def no_noise_on_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_above(exact: int, threshold: int, offset: int, scale: Fraction, bits: Any) -> bool:
        return exact >= threshold + offset

    monkeypatch.setattr(sparse, "is_above", is_above)
    monkeypatch.setattr(numeric_sparse, "is_above", is_above, raising=False)


def tells_what_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noisy count of the comparison itself, which has passed the secret threshold, as if it were free."""

    def for_cost(epsilon: Fraction, positives: int, **words: Any) -> NumericSparse:
        machine = sparse_for_cost(epsilon, positives, **words)
        return NumericSparse(machine, machine.query_scale)

    monkeypatch.setattr(plan, "numeric_sparse_for_cost", for_cost)
    monkeypatch.setattr(NumericSparse, "cost", lambda self: self.sparse.cost())

    def step(
        self: NumericSparse, watch: SparseState, exact: int, threshold: int, bits: Any
    ) -> tuple[int | None, SparseState]:
        noisy = exact + sparse.draw_one(self.sparse.query_scale, bits)
        above = noisy >= threshold + watch.offset
        return (noisy if above else None), self.sparse.after(watch, above, bits)

    monkeypatch.setattr(NumericSparse, "step", step)


Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize(
    ("plants", "asked", "positives", "epsilon", "numeric"),
    [
        pytest.param(
            (tells_what_was_compared,),
            (GAINS,) * 8 + (STAYS,),
            1,
            "3",
            True,
            id="Algorithm 3, tells the value",
        ),
        pytest.param((price_of_one,), AGAINST, 6, "1", False, id="Algorithm 4, noise does not grow with c"),
        pytest.param(
            (no_noise_on_queries, never_ends),
            (GAINS, LOSES),
            1,
            "1",
            False,
            id="Algorithm 5, no noise on queries",
        ),
        pytest.param((never_ends,), AGAINST, 1, "1", False, id="Algorithm 6, no cutoff"),
    ],
)
def test_A14_a_broken_sparse_vector_in_our_monitors_is_found(
    monkeypatch: pytest.MonkeyPatch,
    plants: tuple[Plant, ...],
    asked: tuple[int, ...],
    positives: int,
    epsilon: str,
    numeric: bool,
) -> None:
    """The four mutants are ``tells_what_was_compared``, ``price_of_one``, ``no_noise_on_queries`` and
    ``never_ends`` of this file, put into adyton.kernel.mechanisms; without them the same audit finds nothing.
    """
    samples = 70_000 if numeric else SAMPLES
    assert not audited(opened(positives, epsilon, numeric), asked, SOUND).refuted
    for plant in plants:
        plant(monkeypatch)
    found = audited(opened(positives, epsilon, numeric), asked, samples)
    assert found.refuted, found.lower_bound


# What is fed is what is audited ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("numeric", [False, True])
def test_A14_a_monitor_says_what_its_machine_says(seed: int, numeric: bool) -> None:
    """Mutant: ``Monitor._compare`` with ``math.floor(threshold)`` for the next whole number."""
    ledger = MemoryLedger(Header.fresh(STUDY.fingerprint, "pure", STUDY.allowed))
    engine = kept_engine(TABLE, STUDY.unit, TABLES[0])
    with Curator(STUDY, engine, ledger, Seeded(seed)) as curator:
        monitor = curator.open_monitor(positives=3, epsilon=9, numeric=numeric)
        said: list[Any] = []
        for k in AGAINST:
            try:
                answer = monitor.feed(f"SELECT COUNT(*) FROM people WHERE k = {k}", above=0)
            except adyton.BudgetRefused:
                break
            said.append(answer.value if numeric else answer.above)
        machine = machine_of(curator.receipts()[0])
    exact = counts(TABLES[0], AGAINST)
    assert said == machine.release(exact, (1,) * len(exact), Seeded(seed))
