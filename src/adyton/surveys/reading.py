"""Reading a survey file: all that is wrong is said at once."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from adyton.errors import InvalidRequest
from adyton.kernel.exact import positive, rational
from adyton.kernel.privacy import Guarantee
from adyton.study.notes import Notes, known, text_at, toml_in
from adyton.surveys.questions import CategoryQuestion, NumberQuestion, SurveyQuestion
from adyton.surveys.survey import Survey


def read_survey(path: str | Path) -> Survey:
    """The survey in a file; InvalidRequest lists everything that is wrong with it."""
    path = Path(path)
    raw, notes = toml_in(path, "survey file", "docs/how-to/run-a-survey.md shows one"), Notes(path.name)
    notes.check_keys(raw, "", ("survey", "questions"))
    facts = notes.section(raw, "survey", ("name", "epsilon", "delta", "independent"))
    asked = notes.section(raw, "questions", None)
    name = notes.attempt(lambda: text_at(facts, "survey", "name", "what the survey is called"))
    budget = notes.attempt(lambda: _budget(facts))
    independent = notes.attempt(lambda: _yes_or_no(facts.get("independent", False)))
    questions: list[SurveyQuestion | None] = [
        notes.attempt(partial(_question, key, said, notes)) for key, said in asked.items()
    ]
    notes.stop_if_any()
    listed = tuple(question for question in questions if question is not None)

    def made() -> Survey:
        survey = Survey(known(name), listed, known(budget), known(independent))
        assert survey.randomizers  # made once here, to refuse a budget before anybody is asked
        return survey

    return notes.final(made)


def _budget(facts: dict[str, Any]) -> Guarantee:
    if "epsilon" not in facts:
        raise InvalidRequest("survey.epsilon is missing: what all answers of one person may cost, e.g. 2")
    return Guarantee(
        positive(facts["epsilon"], "survey.epsilon"), rational(facts.get("delta", 0), "survey.delta")
    )


def _yes_or_no(said: object) -> bool:
    if not isinstance(said, bool):
        raise InvalidRequest("survey.independent must be true or false")
    return said


def _question(name: str, said: Any, notes: Notes) -> SurveyQuestion:
    where = f"questions.{name}"
    if not isinstance(said, dict):
        raise InvalidRequest(f"{where} must be a section: [{where}]")
    notes.check_keys(said, f"{where}.", ("values", "low", "high"))
    if "values" in said:
        if "low" in said or "high" in said or not isinstance(said["values"], list):
            raise InvalidRequest(f"{where}: give either a list of values, or low and high")
        return CategoryQuestion(name, tuple(said["values"]))
    if "low" not in said or "high" not in said:
        raise InvalidRequest(f"{where}: give either values, or low and high")
    return NumberQuestion(
        name, rational(said["low"], f"{where}.low"), rational(said["high"], f"{where}.high")
    )
