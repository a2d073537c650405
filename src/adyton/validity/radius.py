"""What a release costs validity: privacy pays the diameter of what one row can do, validity the radius.

The phantom row of the theorem stands at the centre of everything that a row can contribute, so a row is never
farther from it than the radius.  Half a diameter is the least that a radius can be, and Jung's theorem says
the most.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.exact import Number, positive, rational
from adyton.validity.outward import whole

MEAN = Fraction(1, 4)
"""The squared radius of values in [0, 1]; of values in [-1, 1], as paired differences have, it is 1."""


def spent_by(radius_squared: Number, rows: int, sigma: Number) -> Fraction:
    """(radius / (rows sigma))**2: what one vector of means with Gaussian noise adds to mu0**2, exactly.

    Claim:    against a phantom row at the centre, a release of means of vectors in a ball, with noise
              N(0, sigma**2) in every coordinate, is no more telling than N(radius / (rows sigma), 1) against
              N(0, 1); centre and radius may depend on earlier answers.
    Assumes:  every row's image lies in the ball; ``rows`` is public and fixed.
    Source:   derived here.  Theorem: VALIDITY-PAYS-THE-RADIUS.
    """
    n, noise = whole(rows, "the number of rows"), positive(sigma, "the scale of the noise")
    return positive(radius_squared, "the squared radius") / (n * noise) ** 2


def one_hot_radius_squared(cells: int) -> Fraction:
    """1 - 1/m for a histogram: every row has a 1 in one of m cells, and the centre is 1/m in each."""
    return 1 - Fraction(1, whole(cells, "the number of cells", least=2))


def jung_radius_squared(diameter: Number, dimension: int) -> Fraction:
    """D**2 d / (2 (d + 1)): a ball that holds any set of diameter D in d dimensions.

    Source:   Jung 1901.  Theorem: VALIDITY-PAYS-THE-RADIUS.
    """
    d = whole(dimension, "the dimension")
    return positive(diameter, "the diameter") ** 2 * Fraction(d, 2 * (d + 1))


def rounding_margin(step: Number) -> Fraction:
    """Half a step: what rounding an answer to a grid adds to its half-width, and nothing else.

    For integer sums with rounded noise the step is 1/rows.  Theorem: ROUNDED-ANSWERS.
    """
    return positive(step, "the step") / 2


def person_as_row(values: Sequence[Number], most_records: int) -> tuple[Fraction, Fraction]:
    """The two numbers f <= g, both in [0, 1], that make a person with several records into one row.

    f is the sum of the values (each in [0, 1]) and g the number of records, over the most that a person may
    have.  E f / E g is the mean over records; what a person's records have to do with each other is free.
    Theorem: PERSONS-AS-ROWS.
    """
    most, numbers = whole(most_records, "the most records"), [rational(v, "a value") for v in values]
    if len(numbers) > most:
        raise InvalidRequest(f"{len(numbers)} records are more than the {most} that were declared")
    if not all(0 <= v <= 1 for v in numbers):
        raise InvalidRequest("values must be between 0 and 1: scale them by their public bounds")
    return sum(numbers, Fraction(0)) / most, Fraction(len(numbers), most)
