"""Which theorem speaks about the population: by the noise of the study, and by its method."""

from __future__ import annotations

from adyton.curator.hinge_population import HingePopulation
from adyton.curator.population import Population
from adyton.curator.split_population import SplitPopulation
from adyton.curator.subset_population import SubsetPopulation
from adyton.study import Study


def population_of(study: Study) -> Population:
    if study.filter_name == "pure":
        return HingePopulation(study)
    return SplitPopulation(study) if study.parts > 1 else SubsetPopulation(study)
