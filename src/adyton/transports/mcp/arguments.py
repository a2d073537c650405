"""What each tool takes.  Nothing unknown is taken, so a misspelt price is never no price.

No tool takes a path or a token, and none has a word for a limit.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from adyton.transports.http.bodies import (
    Body,
    Name,
    Pair,
    Predictions,
    PreviewQuestions,
    QuestionBody,
    QuestionsBody,
)

Study = Annotated[Name, Field(description="the name of a study, from list_studies")]
Holdout = Annotated[Name, Field(description="the name of a holdout, from list_studies")]


class Nothing(Body):
    """No arguments."""


class Named(Body):
    name: Name = Field(description="the name of a study or a holdout, from list_studies")


class ToAsk(QuestionBody):
    study: Study


class ToAskMany(QuestionsBody):
    study: Study


class ToTry(QuestionBody):
    study: Study


class ToPreview(PreviewQuestions):
    """One question, or several that are to be asked together."""

    study: Study
    question: str | None = Field(None, description="SQL; or several in questions")
    questions: list[str] = Field([], description="SQL; those that ask_many would ask together")

    @model_validator(mode="after")
    def one_or_several(self) -> ToPreview:
        if (self.question is None) == (not self.questions):
            raise ValueError("give question, or questions, and not both")
        return self

    @property
    def texts(self) -> list[str]:
        return self.questions if self.question is None else [self.question]


class ToScore(Predictions):
    holdout: Holdout
    predictions: list[Any] = Field(description="one for each item of the holdout, in the order of the items")


class ToCompare(Pair):
    holdout: Holdout
    first: list[Any] = Field(description="one prediction for each item, in the order of the items")
    second: list[Any] = Field(description="as many, of the other model")
