"""The binary representation attack: the digits of one mean name the rows, and the next query fits them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from adyton.figures.report import Chart, ChartLine, LabFinding, LabReport, Topic
from adyton.figures.sources import LI
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.noise import Bits
from adyton.textbook.rounding import RoundedMeans

BINARY_REPRESENTATION = Topic(
    "binary-representation",
    (LI,),
    "One mean with all its digits names the rows; a few digits do not",
    story="Somebody asks for one mean, reads the rows off its digits, and asks a second query that fits "
    "exactly these rows.",
)
_UNIVERSE, _ROWS, _RUNS = 40, 20, 4000
_NOISE = 0.01
_PUBLISHED = {15: 0.474, 4: None, 2: 0.016}  # the gap at so many digits; for the others see the notes
_TOLERANCE = 6 * 0.075 / _RUNS**0.5  # one run has a deviation of at most 0.075

Answering = Callable[[Fraction], Fraction]


def binary_representation(bits: Bits, rng: np.random.Generator) -> LabReport:
    """20 of 40 values are in the table.  "What is the mean of 2**-x?", and then "is x one of those?"."""
    samples = [frozenset(rng.permutation(_UNIVERSE)[:_ROWS].tolist()) for _ in range(_RUNS)]
    seed = sum(Fraction(1, 2**x) for x in (1, 2, 3, 4))
    rounded = {digits: mean_gap(samples, to_digits(digits)) for digits in (1, 2, 3, 4, 6, 8, 10, 12, 15)}
    findings = (
        LabFinding("the sum of rows 1, 2, 3, 4 in the notes", float(seed), 15 / 16, 0),
        LabFinding("as a mean", float(seed / 4), 0.234375, 0),
        LabFinding("how far off the second answer is, all digits", mean_gap(samples, lambda mean: mean), 0.5),
        *(
            LabFinding(f"the same, {digits} digits", rounded[digits], expected, _TOLERANCE)
            for digits, expected in _PUBLISHED.items()
        ),
        LabFinding(
            f"the same, Gaussian noise of {_NOISE:g}",
            mean_gap(samples, with_noise(bits)),
        ),
    )
    line = ChartLine("rounded answers", tuple(map(float, rounded)), tuple(rounded.values()))
    chart = Chart("digits", "how far off the second answer is", (line,), percent=("y",))
    return LabReport(BINARY_REPRESENTATION, findings, _NOTES, chart)


def to_digits(digits: int) -> Answering:
    rounding = RoundedMeans(10**digits)
    return lambda mean: rounding.release([mean])[0]


def with_noise(bits: Bits) -> Answering:
    """Our Gaussian noise on the whole number of steps that a mean has."""
    steps = _ROWS * 2**_UNIVERSE
    noise = GaussianNoise((Fraction(_NOISE) * steps,))
    return lambda mean: Fraction(noise.release([[int(mean * steps)]], bits)[0][0], steps)


def mean_gap(samples: list[frozenset[int]], mechanism: Answering) -> float:
    return sum(gap(sample, mechanism) for sample in samples) / len(samples)


def gap(sample: frozenset[int], mechanism: Answering) -> float:
    """Share of the rows among the values that were read, minus their share of the universe."""
    exact = Fraction(sum(2 ** (_UNIVERSE - 1 - x) for x in sample), len(sample) * 2**_UNIVERSE)
    digits = int(mechanism(exact) * len(sample) * 2**_UNIVERSE)
    digits = min(max(digits, 0), 2**_UNIVERSE - 1)
    read = {x for x in range(_UNIVERSE) if digits >> (_UNIVERSE - 1 - x) & 1}
    return len(read & sample) / len(sample) - len(read) / _UNIVERSE


_NOTES = (
    "A sum of powers of two has one digit for every value; over the number of rows it is a mean in 0..1.",
    "Rounding and noise leave the first digits only, and with them few of the rows.",
    "Not reproduced: 0.093 is published for 4 digits and 0.022 for the noise, without saying how rows are "
    "read from them.",
)
