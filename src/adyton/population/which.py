"""Which theorem speaks about the population: by the noise of the study, and by its method."""

from __future__ import annotations

from adyton.population.base import Population
from adyton.population.hinge import HingePopulation
from adyton.population.split import SplitPopulation
from adyton.population.subset import SubsetPopulation
from adyton.study import Study


def population_of(study: Study) -> Population:
    if study.rule.capped:
        return HingePopulation(study)
    if study.grid is not None:
        from adyton.population.rounding import RoundingPopulation

        return RoundingPopulation(study)
    return SplitPopulation(study) if study.parts > 1 else SubsetPopulation(study)
