"""The population intervals of a study, as its curator makes them; and curators whose noise is seeded."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from adyton.curator.curator import Curator
from adyton.population.base import PopulationContext, Position
from adyton.population.hinge import HingePopulation
from adyton.population.subset import SubsetPopulation
from adyton.study import Study
from kept_rows import open_kept
from seeded import SeededByHash


def population_of(study: Study) -> HingePopulation | SubsetPopulation:
    return HingePopulation(study) if study.accounting == "pure" else SubsetPopulation(study)


def standing_of(
    study: Study,
    units: int,
    *,
    query: int = 1,
    before: Fraction = Fraction(0),
    own: Fraction = Fraction(0),
    values: int = 1,
) -> PopulationContext:
    """Where an answer with so many values stands, if so much was spent before it."""
    return PopulationContext(population_of(study), Position(query, before, own, values), units)


def undescribed(study: Study) -> Study:
    """Without descriptions of queries, as where another study of a shared budget was asked first."""
    return study.after_its_first_receipt(amended=False, described=False)


def seeded(study: Study, data: Any, seed: int) -> Curator:
    """A test that passes once passes always."""
    plain = open_kept(study, data)
    return Curator(study, plain._engine, plain._ledger, SeededByHash(seed))
