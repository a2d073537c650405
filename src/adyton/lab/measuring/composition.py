"""Bob in ten thousand data sets: how small losses add up, by every theorem that adds them up."""

from __future__ import annotations

import math
from fractions import Fraction

from adyton.accounting.textbook.comparison import THEOREMS, largest_price
from adyton.accounting.textbook.corollaries import approximate_epsilon0, cautious_epsilon0
from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI, BELLET
from adyton.kernel.accounting import accounting_named
from adyton.kernel.exact import UNITS_PER_ONE
from adyton.kernel.privacy import Guarantee, PureCost

COMPOSITION = Topic(
    "composition",
    (BASSI, BELLET),
    "Composition: Bob is in 10,000 data sets, and what each may say about him",
    story="Bob is in 10,000 data sets, each of which answers with the same small epsilon: what does "
    "everything together say about him, and by which theorem?",
)
_SETS = 10_000
_DELTA = Fraction(math.exp(-32))
_EACH = Fraction(1, 800)
_TOTALS = {"basic": 12.5, "advanced": 1.01563, "strong": 1.00781, "optimal": 0.8916}
_INVERSES = {"advanced": 812.3, "strong": 806.2, "optimal": 715.5}
_ALONG = tuple(round(10 ** (exponent / 4)) for exponent in range(17))


def composition() -> LabReport:
    """What 1/800 in each of 10,000 comes to, and what each may cost for 1 in all."""
    findings = [
        LabFinding(
            f"{_SETS:,} times 1/800, by the theorem {name!r}: epsilon",
            THEOREMS[name].epsilon(_EACH, _SETS, _DELTA),
            expected,
            5e-4 if name == "optimal" else 1e-5 if name != "basic" else 1e-9,
        )
        for name, expected in _TOTALS.items()
    ]
    findings += [
        LabFinding(f"for epsilon 1 in all, by {name!r}: one over", 1 / _price(name), expected, 0.05)
        for name, expected in _INVERSES.items()
    ]
    rough, cautious = approximate_epsilon0(1, _SETS, _DELTA), cautious_epsilon0(1, _SETS, _DELTA)
    findings += [
        LabFinding("the rule of thumb, which is no proof: one over", 1 / rough, 800, 1e-6),
        LabFinding("the cautious rule: one over", 1 / cautious, 1600, 1e-6),
        LabFinding("what the cautious rule really comes to", _advanced(cautious), 0.504, 5e-4),
        LabFinding("answers of 1/800 that pure accounting admits for epsilon 1", _admitted("pure"), 800, 0),
        LabFinding("answers of 1/800 that gdp accounting admits", _admitted("gdp")),
    ]
    return LabReport(COMPOSITION, tuple(findings), _NOTES, _chart())


def _price(name: str) -> float:
    return largest_price(THEOREMS[name], Fraction(1), _SETS, _DELTA)


def _advanced(each: float) -> float:
    return THEOREMS["advanced"].epsilon(Fraction(each), _SETS, _DELTA)


def _admitted(name: str) -> int:
    """The accounting of a study decides one answer at a time, with nothing planned."""
    chosen, delta = accounting_named(name), Fraction(0) if name == "pure" else _DELTA
    return chosen.allowed(Guarantee(Fraction(1), delta)) // chosen.amount(PureCost(_EACH))


def _chart() -> Chart:
    lines = [
        ChartLine(
            name,
            _ALONG,
            tuple(THEOREMS[name].epsilon(_EACH, k, _DELTA) for k in _ALONG),
            strong=name == "optimal",
        )
        for name in ("basic", "advanced", "optimal")
    ]
    units = [accounting_named("gdp").amount(PureCost(_EACH)) * k for k in _ALONG]
    gdp = tuple(accounting_named("gdp").epsilon(spent, _DELTA) for spent in units)
    assert max(units) < UNITS_PER_ONE
    return Chart(
        "data sets with Bob in them, epsilon 1/800 each",
        "epsilon of all together, delta e^-32",
        (
            *lines,
            ChartLine("gdp accounting of a study", _ALONG, gdp),
            ChartLine("guaranteed: 1", _ALONG, (1.0,) * len(_ALONG), limit=True),
        ),
        ("x", "y"),
    )


_NOTES = (
    "Bassi's 1/800 is right, and advanced composition does not prove it: it gives 1.0156. Optimal does.",
    "A shared budget keeps the sum for Bob across studies: a charge must fit the study and the shared "
    "budget.",
)
