"""How the budget of one person is divided among the questions, and the noise that each of them gets.

Three ways: each question gets an equal part of epsilon and delta; or, where there is a delta, the epsilon0 of
which as many fit inside by optimal composition; or an equal part of the mu**2 that fits.  The second and the
third are quieter for many questions.  The quietest is taken; that depends on the survey file alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from adyton.accounting.textbook.comparison import THEOREMS, largest_price
from adyton.arithmetic.search import edge
from adyton.errors import InvalidRequest
from adyton.kernel.accounting import accounting_named, gaussian
from adyton.kernel.exact import UNITS_PER_ONE, float_down
from adyton.kernel.mechanisms.gaussian import GaussianNoise
from adyton.kernel.mechanisms.geometric import GeometricNoise
from adyton.kernel.privacy import Guarantee, PureCost
from adyton.kernel.special.mechanisms.randomized_response import LARGEST_EPSILON, RandomizedResponse
from adyton.kernel.special.mechanisms.sparse.numeric_sparse import one_integer
from adyton.noise_intervals.strategies import geometric_variance
from adyton.surveys.questions import STEPS, CategoryQuestion, SurveyQuestion

Randomizer = RandomizedResponse | GaussianNoise | GeometricNoise
MOVED = one_integer(STEPS)  # one answer may be at one bound or at the other


def randomizers(questions: Sequence[SurveyQuestion], budget: Guarantee) -> tuple[Randomizer, ...]:
    """One for each question, so that all reports of one person together keep ``budget``.

    Claim:    for any two lists of answers that one person may have, all reports together are
              (epsilon, delta)-DP; and for all people together, if each reports once.
    Assumes:  the words of ``bits`` are uniform and independent of everything the analyst has seen.
    Source:   basic and optimal composition, and that of Gaussian differential privacy.
    Theorem: LOCAL-REPORTS.
    """
    ways = [_by_parts(questions, budget)]
    if budget.delta > 0:
        ways += [_by_optimum(questions, budget), _by_mu(questions, budget)]
    return min(ways, key=lambda way: math.fsum(map(spread, way)))


def _by_parts(questions: Sequence[SurveyQuestion], budget: Guarantee) -> tuple[Randomizer, ...]:
    part = Guarantee(budget.epsilon / len(questions), budget.delta / len(questions))
    return tuple(_alone(question, part) for question in questions)


def _alone(question: SurveyQuestion, part: Guarantee) -> Randomizer:
    if isinstance(question, CategoryQuestion):
        return RandomizedResponse.for_guarantee(part, len(question.values))
    plain = GeometricNoise.for_cost(MOVED, part.epsilon)
    if part.delta == 0:
        return plain
    mu = Fraction(gaussian.mu_down(float_down(part.epsilon), float_down(part.delta)))
    both: list[Randomizer] = [plain, GaussianNoise.for_cost(MOVED, mu**2)]
    return min(both, key=spread)


def _by_optimum(questions: Sequence[SurveyQuestion], budget: Guarantee) -> tuple[Randomizer, ...]:
    price = largest_price(THEOREMS["optimal"], budget.epsilon, len(questions), budget.delta)
    part = Guarantee(min(Fraction(str(price)), LARGEST_EPSILON), 0)  # the decimal is what was certified
    return tuple(_alone(question, part) for question in questions)


def _by_mu(questions: Sequence[SurveyQuestion], budget: Guarantee) -> tuple[Randomizer, ...]:
    each = accounting_named("gdp").allowed(budget) // len(questions)
    if each < 1:
        raise InvalidRequest("nothing is left for one of so many questions: ask fewer, or allow more epsilon")
    mu_squared = Fraction(each, UNITS_PER_ONE)
    return tuple(
        RandomizedResponse.for_epsilon(_epsilon_within(mu_squared), len(question.values))
        if isinstance(question, CategoryQuestion)
        else GaussianNoise.for_cost(MOVED, mu_squared)
        for question in questions
    )


def _epsilon_within(mu_squared: Fraction) -> Fraction:
    """The largest epsilon, or a hair less, whose mu**2 is at most this; PureCost.gdp decides."""

    def fits(epsilon: float) -> bool:
        return PureCost(Fraction(epsilon)).gdp <= mu_squared

    most = float(LARGEST_EPSILON)
    if fits(most):
        return LARGEST_EPSILON
    low = math.sqrt(mu_squared) / 4  # mu <= epsilon sqrt(pi / 2), so this fits by far
    return Fraction(edge(fits, low, most, halvings=60))


def spread(randomizer: Randomizer) -> float:
    """The variance of one report, where 1 is the square of what an answer can change: to compare with."""
    match randomizer:
        case RandomizedResponse():
            return float(randomizer.variance(1, randomizer.categories - 1)) / randomizer.categories
        case GaussianNoise():
            return (float(randomizer.scales[0]) / STEPS) ** 2
        case GeometricNoise():
            return geometric_variance(float(randomizer.scales[0])) / STEPS**2
