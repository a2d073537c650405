"""How many units there are: public under ``replace``, else an upper end from a noisy count of all of them."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import chain

from adyton.ledger import Ledger, Receipt
from adyton.population.base import Counted, Population
from adyton.query.measures import Count, CountPersons
from adyton.query.nodes import Question
from adyton.query.text import question_text
from adyton.study import Study
from adyton.wire import released_from_text


class StandIn:
    """Looks for the newest count of all units, rows or persons, which anyone may have asked."""

    def __init__(self, study: Study, ledger: Ledger, population: Population) -> None:
        self._study, self._ledger, self._population = study, ledger, population
        counted = Count() if study.unit.rows == 1 else CountPersons()
        # The name of the value stands between these two, and a question of one value has nothing else there.
        before, _, after = question_text(Question(study.table, (("x", counted),))).partition(" AS x ")
        self._before, self._after = before + " AS ", " " + after
        self._looked_at = 0
        self._unanswered: set[int] = set()  # counts that were charged, perhaps by others who are not done yet
        self._found: Counted | None = None

    def units(self, failure: Fraction | None = None) -> int | None:
        """``failure``: of all counts together, in place of the part of the study's own that they may use."""
        if self._population.validity is None:
            return None
        if self.public:
            return self._study.table.rows
        count = self.counted
        return self._population.units_at_most(count, failure) if count is not None else None

    @property
    def public(self) -> bool:
        """Whether their number is a public fact."""
        return self._study.unit.neighbours == "replace"

    @property
    def counted(self) -> Counted | None:
        """The newest count of all units, if one was asked."""
        self._look()
        return self._found

    def _look(self) -> None:
        """From the newest receipt on, until one will do; of those seen before only at unanswered counts."""
        newest, before = self._ledger.count(), sorted(self._unanswered, reverse=True)
        for number in chain(range(newest, self._looked_at, -1), before):
            receipt = self._ledger.receipt(number)
            if receipt is not None and self._counts_units(receipt) and self._take(receipt):
                self._unanswered = {later for later in sorted(self._unanswered) if later > number}
                break
        self._looked_at = newest

    def _counts_units(self, receipt: Receipt) -> bool:
        text = receipt.order.question
        counts = text.startswith(self._before) and text.endswith(self._after)
        return counts and self._population.certifies(receipt.number)

    def _take(self, receipt: Receipt) -> bool:
        stored, mechanisms = self._ledger.recall(receipt.number), json.loads(receipt.order.detail)
        if len(mechanisms) != 1:
            return False
        if stored is None:
            self._unanswered.add(receipt.number)
            return False
        ((_, noise, scale),) = mechanisms
        (((released,),),) = released_from_text(stored)
        self._found = Counted(released, float(scale), noise, receipt.number)
        return True
