"""The averaging attack: ask the same again and again until the noise has cancelled itself."""

from __future__ import annotations

import math

from adyton.errors import BudgetRefused
from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.noise import Bits, rounded_gaussian
from adyton.lab.attacks.cigarettes import HISTOGRAM, curator_of

AVERAGING = Topic(
    "averaging",
    (BASSI,),
    "Averaging: fresh noise cancels out, a stored answer does not",
    story="Somebody asks the same query again and again and takes the average: fresh noise cancels out, "
    "so a curator gives the stored answer, and makes every rewording pay.",
)
_SIGMA = 60.0
_ASKED = 40_000
_AGAIN = 50
_SQL = "SELECT COUNT(*) FROM people"


def averaging(bits: Bits) -> LabReport:
    """The average of many fresh answers is the truth; the same query to a curator has one answer."""
    truth = sum(HISTOGRAM)
    noise = rounded_gaussian.draw(_SIGMA, _ASKED, bits)
    average = truth + float(noise.mean())
    answers, charged_once, charged_in_all = asked_again()
    findings = (
        LabFinding(
            f"average of {_ASKED:,} fresh answers, sigma {_SIGMA:g}", average, truth, 6 * _SIGMA / _ASKED**0.5
        ),
        LabFinding(f"different answers of a curator asked {_AGAIN} times", len(answers), 1, 0),
        LabFinding("what all of them cost, over what one costs", charged_in_all / charged_once, 1, 0),
        LabFinding("rewordings with fresh noise until the curator refuses", rewordings(), _allowed(), 0),
    )
    return LabReport(AVERAGING, findings, _NOTES, _chart(noise.tolist()))


def asked_again() -> tuple[set[float], int, int]:
    """The answers to one query asked many times, what the first cost, and what all cost."""
    with curator_of(HISTOGRAM) as curator:
        answers = {curator.ask(_SQL, scale=_SIGMA).rows[0].values["count"].value}
        once = sum(receipt.order.amount for receipt in curator.receipts())
        answers |= {curator.ask(_SQL, scale=_SIGMA).rows[0].values["count"].value for _ in range(_AGAIN - 1)}
        return answers, once, sum(receipt.order.amount for receipt in curator.receipts())


def rewordings() -> int:
    """How many queries that mean the same, but are not the same, the curator answers."""
    with curator_of(HISTOGRAM) as curator:
        for asked in range(10_000):
            try:
                curator.ask(f"{_SQL} WHERE cigarettes > 0.{asked + 1:05}", scale=10)
            except BudgetRefused:
                return asked
    raise AssertionError("a budget that is never reached")


def _allowed() -> int:
    """The mu**2 of one such query is 1/100."""
    with curator_of(HISTOGRAM) as curator:
        budget = curator.study.rule.allowed(curator.study.budget)
    return budget * 100 // UNITS_PER_ONE


def _chart(noise: list[int]) -> Chart:
    asked = [2**i for i in range(int(math.log2(len(noise))) + 1)]
    return Chart(
        "answers averaged",
        "distance from the truth",
        (
            ChartLine("fresh noise", tuple(asked), tuple(abs(sum(noise[:k])) / k + 1e-3 for k in asked)),
            ChartLine("a stored answer", tuple(asked), tuple(float(abs(noise[0])) + 1e-3 for _ in asked)),
        ),
        ("x", "y"),
    )


_NOTES = (
    "A repeated query is answered from the ledger: post-processing, free of charge, and no new noise.",
    "A rewording is a new query. It gets new noise and pays for it, so the budget ends the averaging.",
)
