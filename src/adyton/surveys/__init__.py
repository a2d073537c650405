"""Surveys of the local model: all add noise to their own answers, and nobody ever collects the truth."""

from adyton.surveys.questions import CategoryQuestion, NumberQuestion
from adyton.surveys.reading import read_survey
from adyton.surveys.results import SurveyResult, SurveyResults
from adyton.surveys.survey import Survey

__all__ = ["CategoryQuestion", "NumberQuestion", "Survey", "SurveyResult", "SurveyResults", "read_survey"]
