"""P-values after queries: a test that the answers led to, and the level at which it keeps its guarantee."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BASSI
from adyton.kernel.exact.cells import Floats
from adyton.kernel.exact.special import special
from adyton.kernel.noise import Bits
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.textbook.noisy_max import NoisyMax
from adyton.validity.textbook.max_information import event_bound, independent_rows_nats

P_VALUES = Topic(
    "p-values",
    (BASSI,),
    "P-values: after a look at the answers 5 % is not 5 %, and max-information says what is",
    story="Nothing is related to anything in these data; somebody asks which of 200 columns looks best, and "
    "then tests that very column on the same rows.",
)
ROWS, COLUMNS = 5000, 200
_EPSILON, _ALPHA = Fraction(1, 50), 0.05
_RUNS = 800
_LEVELS = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2)


def p_values(bits: Bits, rng: np.random.Generator) -> LabReport:
    """How often the test of a chosen column rejects, by how it was chosen and at which level."""
    level = safe_level(_ALPHA)
    exact, private, fixed = _simulated(bits, rng)
    sure = 6 * math.sqrt(_ALPHA * (1 - _ALPHA) / _RUNS)
    at = {name: float(np.mean(p <= _ALPHA)) for name, p in (("exact", exact), ("fixed", fixed))}
    findings = (
        LabFinding(
            "a column fixed before: false alarms at 5 %", at["fixed"], _level_of(_ALPHA), sure, share=True
        ),
        LabFinding(
            "the best of 200, told exactly: false alarms at 5 %",
            at["exact"],
            _best_of(_ALPHA),
            0.01,
            share=True,
        ),
        LabFinding(
            "told privately, epsilon 0.02: false alarms at 5 %", float(np.mean(private <= _ALPHA)), share=True
        ),
        LabFinding("level that keeps 5 % after one answer of epsilon 0.02", level, 0.0036, 5e-5, share=True),
        LabFinding("false alarms at that level", float(np.mean(private <= level)), share=True),
        LabFinding("are they at most 5 %", float(np.mean(private <= level) <= _ALPHA + sure), 1, 0),
    )
    return LabReport(P_VALUES, findings, _NOTES, _chart(exact, private, fixed))


def safe_level(alpha: float) -> float:
    """The largest level p with exp(I) p + beta <= alpha, over a grid of beta: all of them are valid."""
    best = 0.0
    for share in np.linspace(0.01, 0.99, 99):
        beta = float(share) * alpha
        nats = independent_rows_nats(ROWS, _EPSILON, Fraction(beta))
        level = (alpha - beta) * math.exp(-nats) * (1 - 1e-6)
        if event_bound(level, nats, Fraction(beta)) <= alpha:
            best = max(best, level)
    return best


def _simulated(bits: Bits, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """One-sided p-values of the chosen column: exactly, by our report noisy max, and of the first one."""
    choice = NoisyMax(tuple(range(COLUMNS)), _EPSILON, ScoreSensitivity.of_counts("replace-one"))
    counts = rng.binomial(ROWS, 0.5, (_RUNS, COLUMNS))
    chosen = [choice.release(row, bits) for row in counts]
    return (
        p_value(counts.max(axis=1)),
        p_value(counts[np.arange(_RUNS), chosen]),
        p_value(counts[:, 0]),
    )


def p_value(count: npt.ArrayLike) -> Floats:
    """P(X >= count) for a fair coin tossed as often as there are rows, exactly."""
    found: Floats = special().bdtrc(np.asarray(count) - 1, ROWS, 0.5)
    return found


def _level_of(alpha: float) -> float:
    """What the exact test of a fixed column keeps: a little less than alpha, because counts are whole."""
    tails = p_value(np.arange(ROWS + 1, dtype=np.float64))
    return float(tails[tails <= alpha].max())


def _best_of(alpha: float) -> float:
    return 1 - (1 - _level_of(alpha)) ** COLUMNS


def _chart(exact: Floats, private: Floats, fixed: Floats) -> Chart:
    def rates(p: Floats) -> tuple[float, ...]:
        return tuple(float(np.mean(p <= level)) for level in _LEVELS)

    corrected = tuple(float(np.mean(private <= safe_level(level))) for level in _LEVELS)
    return Chart(
        "level that is claimed",
        "share of false alarms",
        (
            ChartLine("best column, told exactly", _LEVELS, rates(exact), strong=True),
            ChartLine("told privately, level as claimed", _LEVELS, rates(private)),
            ChartLine("told privately, level by max-information", _LEVELS, corrected),
            ChartLine("fixed before", _LEVELS, rates(fixed)),
            ChartLine("as claimed", _LEVELS, _LEVELS, limit=True),
        ),
        ("x",),
        ("x", "y"),
    )


_NOTES = (
    "Max-information I bounds how much likelier any event gets: at most e^I times, plus a failure beta.",
    "A reserve of rows that no query reads needs no correction at all; adyton p-value takes the best of "
    "several theorems.",
)
