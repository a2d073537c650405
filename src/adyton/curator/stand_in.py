"""How many units there are: public under ``replace``, else an upper end from a noisy count of all of them."""

from __future__ import annotations

import json

from adyton.curator.population import Population
from adyton.ledger import Ledger, Receipt
from adyton.query.nodes import Count, Question
from adyton.query.text import question_text
from adyton.study import Study
from adyton.wire import released_from_text


class StandIn:
    """Looks for the newest answer to COUNT(*) of the whole table, which anyone may have asked."""

    def __init__(self, study: Study, ledger: Ledger, population: Population) -> None:
        self._study, self._ledger, self._population = study, ledger, population
        self._text = question_text(Question(study.table, (("count", Count()),)))
        self._looked_at = 0
        self._found: int | None = None

    def units(self) -> int | None:
        if self._population.validity is None:
            return None
        if self._study.unit.neighbours == "replace":
            return self._study.table.rows
        if self._study.unit.rows > 1:
            return None  # a count of rows is no count of persons
        self._look()
        return self._found

    def _look(self) -> None:
        """Only at receipts that are new since the last look."""
        if self._ledger.count() == self._looked_at:
            return
        for receipt in self._ledger.receipts():
            if receipt.number > self._looked_at and receipt.order.question == self._text:
                self._take(receipt)
        self._looked_at = self._ledger.count()

    def _take(self, receipt: Receipt) -> None:
        stored = self._ledger.recall(receipt.number)
        if stored is None:
            return
        ((_, noise, scale),) = json.loads(receipt.order.detail)
        (((released,),),) = released_from_text(stored)
        self._found = self._population.units_at_most(float(scale), noise, released, receipt.number)
