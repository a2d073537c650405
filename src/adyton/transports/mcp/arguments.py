"""What each tool takes.  Nothing unknown is taken, so a misspelt price is never no price.

No tool takes a path or a token, and none has a word for a budget.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from adyton.transports.http.bodies import (
    Body,
    Name,
    Pair,
    Predictions,
    PreviewQueries,
    QueriesBody,
    QueryBody,
)

Study = Annotated[Name, Field(description="the name of a study, from list_studies")]
Holdout = Annotated[Name, Field(description="the name of a holdout, from list_studies")]


class Nothing(Body):
    """No arguments."""


class Named(Body):
    name: Name = Field(description="the name of a study or a holdout, from list_studies")


class ToAsk(QueryBody):
    study: Study


class ToAskMany(QueriesBody):
    study: Study


class ToTry(QueryBody):
    study: Study


class ToPreview(PreviewQueries):
    """One query, or several that are to be asked together."""

    study: Study
    query: str | None = Field(None, description="SQL; or several in queries")
    queries: list[str] = Field([], description="SQL; those that ask_many would ask together")

    @model_validator(mode="after")
    def one_or_several(self) -> ToPreview:
        if (self.query is None) == (not self.queries):
            raise ValueError("give query, or queries, and not both")
        return self

    @property
    def texts(self) -> list[str]:
        return self.queries if self.query is None else [self.query]


class ToScore(Predictions):
    holdout: Holdout
    predictions: list[Any] = Field(description="one for each item of the holdout, in the order of the items")


class ToCompare(Pair):
    holdout: Holdout
    first: list[Any] = Field(description="one prediction for each item, in the order of the items")
    second: list[Any] = Field(description="as many, of the other model")
