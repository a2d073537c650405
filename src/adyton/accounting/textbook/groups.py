"""Groups of people, and people in disjoint groups: how a guarantee about one unit is read for several."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from adyton.arithmetic.interval import exp, interval, upper
from adyton.errors import InvalidRequest
from adyton.kernel.privacy import ADJACENCIES, Adjacency, Guarantee

MOST_MEMBERS = 10**6


def group_guarantee(one: Guarantee, members: int) -> Guarantee:
    """What a guarantee for one unit means for a group of so many; delta is rounded up.

    Claim:    (epsilon, delta)-DP for one unit is (k epsilon, delta (1 + e^epsilon + ... + e^((k-1)
              epsilon)))-DP for k.
    Assumes:  tables that differ in k units are joined by a chain of k neighboring steps.
    Source:   Dwork, Roth 2014, Theorem 2.2 (pure); Vadhan 2017, Lemma 2.2.  Theorem: GROUP-PRIVACY.
    """
    count = _members(members)
    if not one.delta:
        return Guarantee(count * one.epsilon, Fraction(0))
    grown = exp(interval(one.epsilon))
    delta = upper(interval(one.delta) * (grown**count - 1) / (grown - 1))
    if delta >= 1:
        raise InvalidRequest(f"for a group of {count:,} this guarantee says nothing: its delta passes 1")
    return Guarantee(count * one.epsilon, delta)


def group_rho(rho: Fraction, members: int) -> Fraction:
    """rho-zCDP for one unit is (k**2 rho)-zCDP for a group of k.

    Source:   Bun, Steinke 2016, Proposition 1.9.  Theorem: GROUP-PRIVACY-ZCDP.
    """
    return _members(members) ** 2 * rho


def group_mu_squared(mu_squared: Fraction, members: int) -> Fraction:
    """mu-GDP for one unit is (k mu)-GDP for a group of k; squares, as everywhere.

    Source:   Dong, Roth, Su 2022.  Theorem: GROUP-PRIVACY-GDP.
    """
    return _members(members) ** 2 * mu_squared


def parallel(parts: Sequence[Guarantee], adjacency: Adjacency) -> Guarantee:
    """What mechanisms reveal together that each see one cell of a partition of the table.

    Claim:    add-remove: the largest epsilon and the largest delta.  replace-one: a unit may leave one
              cell and enter another, or change within one: twice the largest epsilon, and delta
              (1 + e^epsilon) of the largest.
    Assumes:  each part is (epsilon_i, delta_i)-DP for **add-remove** on its own cell, the cell of a unit
              depends on that unit alone, and cells are disjoint.  A part that is private for replace-one
              only may publish the size of its cell, so nothing could be said.
    Source:   McSherry 2009 (Privacy integrated queries), Theorem 4; the second half derived here.
    Theorem: PARALLEL-COMPOSITION.
    """
    if not parts:
        raise InvalidRequest("there is nothing to compose: give at least one part")
    if adjacency not in ADJACENCIES:
        raise InvalidRequest(f"adjacency must be 'replace-one' or 'add-remove', not {adjacency!r}")
    most = Guarantee(max(part.epsilon for part in parts), max(part.delta for part in parts))
    return most if adjacency == "add-remove" else group_guarantee(most, 2)


def _members(members: int) -> int:
    if isinstance(members, bool) or not isinstance(members, int) or not 1 <= members <= MOST_MEMBERS:
        raise InvalidRequest("a group has from 1 to a million members")
    return members
