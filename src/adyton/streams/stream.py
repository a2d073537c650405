"""A stream of counts: any number of questions for one price, until so many were found above their threshold.

The price is charged when the stream is opened.  Its state lives in the ledger, as notes on the receipt that
paid for it: the noise of the threshold before the first answer, then each answer before it leaves.  So
neither a crash nor a second process can see another threshold or get a positive back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from adyton.accounting.noisy_reading import LEVEL
from adyton.certify import Amount, Interval, Proof
from adyton.errors import InvalidRequest, LedgerCorrupt, PrivacyRefused
from adyton.exact import Number
from adyton.ledger import Ledger, Receipt, Verification
from adyton.ledger.texts import check_head
from adyton.mechanisms import NumericSparse, SparseState
from adyton.noise import Bits
from adyton.planning.known import left_out_of
from adyton.query.draft import Draft
from adyton.query.measures import Count
from adyton.query.nodes import Question
from adyton.query.persons import TableOfPersons
from adyton.query.request import request_of
from adyton.query.text import question_text
from adyton.sensitivity import Reading, readings_of
from adyton.streams.answer import StreamAnswer, StreamStatement
from adyton.streams.notes import (
    StreamEntry,
    chained,
    fed_from,
    fed_text,
    following,
    nearest_float,
    start_from,
    start_text,
)
from adyton.streams.plan import certificate_of, checked_threshold, machine_of
from adyton.study import Study


class Stream:
    """``feed`` it again and again; it halts after its positives.  Made by ``Curator.open_stream``."""

    def __init__(
        self, study: Study, ledger: Ledger, bits: Bits, read: Callable[[Reading], int], receipt: Receipt
    ) -> None:
        self.number = receipt.number
        self._study, self._ledger, self._bits, self._read, self._receipt = study, ledger, bits, read, receipt
        self._machine = machine_of(receipt)
        self._sparse = self._machine.sparse if isinstance(self._machine, NumericSparse) else self._machine
        self._seen = (self._begin(), 0)  # what to keep for the next question, and how many came before it

    def feed(self, question: str | Draft | Question, *, above: Number | None = None) -> StreamAnswer:
        """Whether the count is above a threshold, noisily; if so, a numeric stream adds a noisy value.

        The question is one COUNT without groups.  Below costs nothing, above costs one of the positives.
        The threshold is one that a count of this table could pass or miss, from 0 on.
        """
        asked = request_of(question, self._study.table).alone
        reading = self._reading(asked)
        threshold = checked_threshold(self._study, above)
        self._running()  # public facts end here: until now a refusal reads nothing
        exact = self._read(reading)  # the only line that sees private data
        while True:
            watch, before = self._running()
            fed, after = self._compare(watch, exact, question_text(asked), threshold)
            if self._ledger.annotate(self.number, before + 1, fed_text(fed)):
                self._seen = (after, before + 1)
                return self._answer(fed, before + 1)
            # Another thread or process was first: what was compared here is forgotten, never released.

    def answers(self) -> list[StreamAnswer]:
        """Every answer so far, oldest first; also one that a crash kept from its asker.  Free of charge."""
        notes = self._ledger.notes(self.number, 1)
        return [self._answer(fed_from(text), index) for index, text in enumerate(notes, start=1)]

    def statement(self) -> StreamStatement:
        """How far the stream is, and what it cost."""
        heads, last = self._heads()
        return StreamStatement(
            stream=self._receipt.order.question,
            positives=self._sparse.positives,
            positives_left=last.left,
            feeds=len(heads) - 1,
            head=heads[-1],
            cost=Amount(self._study.filter_name, self._receipt.order.amount, self._study.allowed),
            receipt=Proof(self.number, self._receipt.digest, self._receipt.previous),
            certificate=certificate_of(self._study, self._machine),
        )

    def verify(self, head: str | None = None) -> Verification:
        """Its answers and their newest head; LedgerCorrupt if ``head``, kept from earlier, is not among them.

        ``Curator.verify`` replays the receipts and notes themselves.
        """
        check_head(head)
        heads, _ = self._heads()
        if head not in (None, *heads):
            raise LedgerCorrupt("the stream was rolled back or exchanged: the expected head is not in it")
        return Verification(len(heads) - 1, heads[-1], self._receipt.order.amount)

    def error(self, questions: int, confidence: float = LEVEL) -> int:
        """With this probability ``questions`` answers are all right, for counts farther from their threshold.

        Theorem: SPARSE-ACCURACY.
        """
        return self._machine.error(confidence, questions)

    def __repr__(self) -> str:
        return f"<Stream {self.number}: {self._receipt.order.question}>"

    # Steps of feed, in the order in which they happen.

    def _reading(self, asked: Question) -> Reading:
        if asked.by or len(asked.measures) != 1 or not isinstance(asked.measures[0][1], Count):
            raise InvalidRequest("a stream takes one COUNT without GROUP BY at a time; nothing was charged")
        if isinstance(asked.table, TableOfPersons):
            raise InvalidRequest("a stream asks about rows, not about numbers of each person")
        (reading,) = readings_of(asked, self._study.unit)
        if reading.sensitivity.l1_diameter((Fraction(1),)) > self._sparse.sensitivity:
            raise InvalidRequest("one unit can move this count farther than the stream allows for")
        return reading

    def _running(self) -> tuple[SparseState, int]:
        """The state, if the stream has not halted."""
        watch, feeds = self._state()
        if watch.left < 1:
            positives = str(self._sparse.positives)
            raise PrivacyRefused(
                f"stream {self.number} has halted: all its {positives} positives are used up; "
                "nothing was read and nothing was charged",
                requested="1",
                spent=positives,
                limit=positives,
                largest="0",
                counted_in="positives",
            )
        return watch, feeds

    def _compare(
        self, watch: SparseState, exact: int, text: str, threshold: Fraction
    ) -> tuple[StreamEntry, SparseState]:
        """A count is above t if it is at least the next whole number after t."""
        whole, value = math.floor(threshold) + 1, None
        if isinstance(self._machine, NumericSparse):
            value, after = self._machine.step(watch, exact, whole, self._bits)
            above = value is not None
        else:
            above, after = self._machine.step(watch, exact, whole, self._bits)
        return StreamEntry(text, threshold, above, value, after.left, after.offset), after

    def _answer(self, fed: StreamEntry, feeds: int) -> StreamAnswer:
        interval = None
        if fed.value is not None and isinstance(self._machine, NumericSparse):
            error = self._machine.value_error(LEVEL)
            interval = Interval(LEVEL, float(fed.value - error), float(fed.value + error))
        value = None if fed.value is None else float(fed.value)
        return StreamAnswer(
            fed.question,
            nearest_float(fed.threshold),
            fed.above,
            value,
            interval,
            fed.left,
            feeds,
            self.number,
            left_out_of(self._study, self._study.table),
        )

    # The state, which is the ledger's.

    def _begin(self) -> SparseState:
        """The first noise of the threshold: drawn and stored once, whoever comes first."""
        if not self._ledger.notes(self.number):
            self._ledger.annotate(self.number, 0, start_text(self._machine.start(self._bits)))
        return start_from(self._ledger.notes(self.number)[0])

    def _heads(self) -> tuple[list[str], SparseState]:
        """The digests of the receipt and of every answer with all before it, and the newest state."""
        start, *notes = self._ledger.notes(self.number)
        heads, last = [self._receipt.digest], start_from(start)
        for text in notes:
            fed = fed_from(text)
            heads.append(chained(heads[-1], fed))
            last = following(last, fed)
        return heads, last

    def _state(self) -> tuple[SparseState, int]:
        """What this object knows and what others have added since."""
        watch, feeds = self._seen
        for text in self._ledger.notes(self.number, feeds + 1):
            watch, feeds = following(watch, fed_from(text)), feeds + 1
        self._seen = (watch, feeds)
        return watch, feeds
