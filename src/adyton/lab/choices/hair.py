"""Hair colours: how often a private choice is wrong, by the theorem, by its exact law, and by trying."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import BELLET
from adyton.kernel.noise import Bits
from adyton.kernel.privacy import Adjacency
from adyton.kernel.special.mechanisms.selection.exponential import ExponentialMechanism
from adyton.kernel.special.mechanisms.selection.permute_and_flip import PermuteAndFlip
from adyton.kernel.special.mechanisms.selection.scores import ScoreSensitivity
from adyton.noise_intervals.selections import classical_chance, exponential_chance

HAIR = Topic(
    "hair",
    (BELLET,),
    "Hair colours: how often the exponential mechanism is wrong",
    story="The most frequent hair colour is wanted, 500 people have dark hair and 400 that of the runner-up: "
    "how often does a private choice name another colour?",
)
COLOURS = ("dark", "brown", "blond", "red")
_EPSILON = Fraction(1, 10)
_LEAD, _TRIES = 100, 3000
_OTHERS = {(400, 400, 400): 0.019813, (400, 400, 0): 0.01330, (400, 0, 0): 0.006693}


def hair(bits: Bits) -> LabReport:
    """The bound, the truth, and what comes out of choosing again and again."""
    worst = wrong((400, 400, 400))
    findings = (
        LabFinding(
            "bound of the theorem, 4 e^-5", float(_bound(classical_chance)), 0.026952, 5e-7, share=True
        ),
        LabFinding(
            "sharper bound, that keeps the normalising sum",
            float(_bound(exponential_chance)),
            worst,
            share=True,
        ),
        *(
            LabFinding(
                f"true chance of a wrong colour, others {', '.join(map(str, others))}",
                wrong(others),
                expected,
                5e-6,
                share=True,
            )
            for others, expected in _OTHERS.items()
        ),
        LabFinding(
            "if people are only added or removed, the exponent may be twice as large",
            wrong((400, 400, 400), "add-remove"),
            1.36e-4,
            5e-7,
            share=True,
        ),
        LabFinding(
            f"wrong colours in {_TRIES:,} choices, the worst case",
            _tried(bits),
            worst,
            6 * math.sqrt(worst / _TRIES),
            share=True,
        ),
        LabFinding(
            "the same by permute-and-flip, which pure studies use", flipped((400, 400, 400)), share=True
        ),
    )
    return LabReport(HAIR, findings, _NOTES, _chart())


def mechanism(adjacency: Adjacency = "replace-one") -> ExponentialMechanism[str]:
    return ExponentialMechanism(COLOURS, _EPSILON, ScoreSensitivity.of_counts(adjacency))


def wrong(others: Sequence[int], adjacency: Adjacency = "replace-one") -> float:
    """The chance of not choosing the colour with 500."""
    return 1 - float(mechanism(adjacency).law([500, *others])[0])


def flipped(others: Sequence[int]) -> float:
    chosen = PermuteAndFlip(COLOURS, _EPSILON, ScoreSensitivity.of_counts("replace-one"))
    return 1 - float(chosen.law([500, *others])[0])


def _bound(chance: object, lead: int = _LEAD) -> Fraction:
    assert callable(chance)
    found: Fraction = chance(mechanism().rate, Fraction(lead), len(COLOURS))
    return found


def _tried(bits: Bits) -> float:
    chosen = mechanism()
    return sum(chosen.release([500, 400, 400, 400], bits) != "dark" for _ in range(_TRIES)) / _TRIES


def _chart() -> Chart:
    leads = tuple(range(10, 201, 10))
    bound = tuple(min(1.0, float(_bound(classical_chance, lead))) for lead in leads)
    true = tuple(wrong((500 - lead,) * 3) for lead in leads)
    flips = tuple(flipped((500 - lead,) * 3) for lead in leads)
    return Chart(
        "lead of dark hair",
        "chance of a wrong colour, epsilon 0.1",
        (
            ChartLine("bound of the theorem", leads, bound, limit=True),
            ChartLine("exponential mechanism, worst case", leads, true, strong=True),
            ChartLine("permute-and-flip, worst case", leads, flips),
        ),
        ("y",),
        ("y",),
    )


_NOTES = (
    "The bound holds whatever the other counts are; the worst case has all three at 400.",
    "Only the name is told. A study asks for it as: SELECT hair, COUNT(*) ... with --best.",
)
