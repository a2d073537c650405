"""Queries in Python, one function for each: what is asked, of which rows, in which groups.

mean("income / 12", where="age >= 18", by="region")

Numbers and conditions are written as in SQL.  ``by`` is the name of a column or an expression with few
values, such as "FLOOR(age / 10)" or "YEAR(born)"; or several; or expressions under names of their own, as in
``{"decade": "FLOOR(age / 10) * 10"}``.  ``groups`` says in how many groups a person counts, where persons are
counted or their sums are added up.

>>> curator.preview(adyton.queries.variance("age"), share="0.5").affordable
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from adyton.errors import InvalidRequest
from adyton.kernel.exact import Number as Written
from adyton.kernel.exact import rational
from adyton.kernel.terms.expressions import Condition, NumberExpression
from adyton.query.draft import By, Draft
from adyton.query.measures.geometric_mean import GEOMETRIC_MEAN

__all__ = [
    "cdf",
    "correlation",
    "count",
    "count_persons",
    "covariance",
    "geometric_mean",
    "histogram",
    "maximum",
    "mean",
    "median",
    "minimum",
    "proportion",
    "quantile",
    "slope",
    "stddev",
    "sum_of",
    "variance",
]

Value = str | NumberExpression
Where = str | Condition | None
Groups = str | Sequence[str] | Mapping[str, str]


def count(where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """How many rows.

    >>> curator.preview(adyton.count(where="smoker", by="region"), share="0.5").affordable
    True
    """
    return Draft("count", None, where, _by(by), name)


def count_persons(
    where: Where = None, by: Groups = (), name: str | None = None, *, groups: int | None = None
) -> Draft:
    """How many persons have such a row.

    >>> curator.preview(adyton.count_persons(where="age >= 65"), share="0.5").affordable
    True
    """
    return Draft("persons", None, where, _by(by), name, most_groups=groups)


def sum_of(
    value: Value,
    where: Where = None,
    by: Groups = (),
    name: str | None = None,
    *,
    per_person: tuple[Written, Written] | None = None,
    groups: int | None = None,
) -> Draft:
    """The sum of ``value`` over the rows where it is present.

    With ``per_person``, each person's own sum (in each group) is clipped to these bounds first.

    >>> curator.preview(adyton.sum_of("age", where="smoker"), share="0.5").affordable
    True
    """
    if per_person is None:
        if groups is not None:
            raise InvalidRequest("groups of a person are limited where sums of persons are: name per_person")
        return Draft("sum", value, where, _by(by), name)
    if not isinstance(per_person, tuple | list) or len(per_person) != 2:
        raise InvalidRequest("per_person is a pair of bounds, such as (0, 500)")
    return Draft("sum of persons", value, where, _by(by), name, _numbers(per_person, "per_person"), groups)


def mean(value: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """The average of ``value`` over the rows where it is present.

    >>> curator.preview(adyton.mean("age", by="region"), share="0.5").affordable
    True
    """
    return Draft("mean", value, where, _by(by), name)


def geometric_mean(value: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """e to the mean of the logarithms of ``value``, whose bounds must be above 0.

    >>> curator.preview(adyton.queries.geometric_mean("age", by="region"), share="0.5").affordable
    True
    """
    return Draft(GEOMETRIC_MEAN, value, where, _by(by), name)


def proportion(
    condition: str | Condition, where: Where = None, by: Groups = (), name: str | None = None
) -> Draft:
    """The fraction of rows for which ``condition`` is true; where it is missing it counts as not true.

    >>> curator.preview(adyton.proportion("smoker AND age >= 40"), share="0.5").affordable
    True
    """
    return Draft("proportion", condition, where, _by(by), name)


def variance(value: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """The mean squared distance of ``value`` from its mean."""
    return Draft("variance", value, where, _by(by), name)


def stddev(value: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """The standard deviation of ``value``: the root of its variance."""
    return Draft("stddev", value, where, _by(by), name)


def covariance(y: Value, x: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """The mean product of the distances of ``y`` and ``x`` from their means, where both are present."""
    return Draft("covariance", y, where, _by(by), name, beside=x)


def correlation(y: Value, x: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """How closely ``y`` and ``x`` follow a straight line, from -1 to 1: their covariance over the deviations.

    >>> curator.preview(adyton.queries.correlation("age", "smoker"), share="0.5").affordable
    True
    """
    return Draft("correlation", y, where, _by(by), name, beside=x)


def slope(y: Value, x: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """By how much ``y`` rises where ``x`` rises by 1, on the straight line of least squares."""
    return Draft("slope", y, where, _by(by), name, beside=x)


def quantile(
    value: Value, fraction: Written, where: Where = None, by: Groups = (), name: str | None = None
) -> Draft:
    """The least number that at least this ``fraction`` of the values do not exceed.

    >>> curator.preview(adyton.quantile("age", "0.9"), share="0.5").affordable
    True
    """
    return Draft("quantile", value, where, _by(by), name, _numbers([fraction], "fraction"))


def median(value: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """The least number that at least half of the values do not exceed.

    >>> curator.preview(adyton.median("age", where="smoker"), share="0.5").affordable
    True
    """
    return Draft("median", value, where, _by(by), name)


def minimum(value: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """About the least value: as far in from the end as the noise makes necessary."""
    return Draft("least", value, where, _by(by), name)


def maximum(value: Value, where: Where = None, by: Groups = (), name: str | None = None) -> Draft:
    """About the greatest value: as far in from the end as the noise makes necessary."""
    return Draft("greatest", value, where, _by(by), name)


def cdf(
    value: Value, points: Sequence[Written], where: Where = None, by: Groups = (), name: str | None = None
) -> Draft:
    """For each of ``points``, the fraction of values that do not exceed it."""
    if isinstance(points, str) or not isinstance(points, Sequence):
        raise InvalidRequest("the points of a distribution are a list of numbers")
    return Draft("cdf", value, where, _by(by), name, _numbers(points, "points"))


def histogram(
    column: str,
    where: Where = None,
    by: Groups = (),
    name: str | None = None,
    *,
    width: Written | None = None,
) -> Draft:
    """How many rows have each value of ``column``, or lie in each bin of this ``width``.

    >>> curator.preview(adyton.histogram("age", width=10), share="0.5").affordable
    True
    """
    if width is None:
        return Draft("count", None, where, (*_by(by), column), name)
    return Draft("count", None, where, _by(by), name, binned=(column, rational(width, "width")))


def _by(by: Groups) -> tuple[By, ...]:
    if isinstance(by, Mapping):
        return tuple(by.items())
    return (by,) if isinstance(by, str) else tuple(by)


def _numbers(written: Sequence[Written], what: str) -> tuple[Fraction, ...]:
    return tuple(rational(number, what) for number in written)
