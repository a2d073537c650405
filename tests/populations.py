"""The population intervals of a study, as its curator makes them."""

from __future__ import annotations

from fractions import Fraction

from adyton.curator.hinge_population import HingePopulation
from adyton.curator.population import Position, Standing
from adyton.curator.subset_population import SubsetPopulation
from adyton.study import Study


def population_of(study: Study) -> HingePopulation | SubsetPopulation:
    return HingePopulation(study) if study.filter_name == "pure" else SubsetPopulation(study)


def standing_of(
    study: Study,
    units: int,
    *,
    question: int = 1,
    before: Fraction = Fraction(0),
    own: Fraction = Fraction(0),
    values: int = 1,
) -> Standing:
    """Where an answer with so many values stands, if so much was spent before it."""
    return Standing(population_of(study), Position(question, before, own, values), units)
