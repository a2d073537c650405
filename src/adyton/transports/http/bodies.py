"""What comes in: one class a body, nothing unknown in it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from adyton.service.chain import PAGE

Number = str | int | float
Name = Annotated[str, Field(min_length=1, max_length=200)]
After = Annotated[int, Query(ge=0, description="receipts after this number; a page has 500")]
Newest = Annotated[
    int | None, Query(ge=1, le=PAGE, description="the newest receipts, so many; in place of after")
]


class Body(BaseModel):
    """What is not listed is refused: a misspelt price must not be no price."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def words(self, *without: str) -> dict[str, Any]:
        """Everything that was said, but for what has a place of its own."""
        return {name: value for name, value in self if value is not None and name not in without}


class ErrorFacts(BaseModel):
    """What went wrong; some kinds say more."""

    model_config = ConfigDict(extra="allow")
    kind: str
    message: str


class ErrorBody(BaseModel):
    error: ErrorFacts


class PricedBody(Body):
    """At most one of the first four; none where the study plans its queries."""

    within: Number | dict[str, Number] | None = Field(
        None, description="half-width of each value's 95 % noise interval, or of each by its name"
    )
    epsilon: Number | None = Field(None, description="of this query")
    share: Number | None = Field(None, description="of what is left to whoever asks")
    scale: Number | None = Field(None, description="of the noise of each value")
    expected_rows: int | None = Field(None, description="rows that are expected to match, for a mean")


class _AskBody(PricedBody):
    dialect: Name | None = Field(None, description="the database in whose SQL it is written")
    strategy: Name | None = Field(None, description="how a batch of counts is measured together")


class QueryBody(_AskBody):
    query: str = Field(description="SQL, see docs/reference/sql.md")
    request: Name | None = Field(None, description="an id that makes a retry safe: one id is charged once")


class QueriesBody(_AskBody):
    queries: list[str] = Field(min_length=1, description="all are answered, or none")
    request: Name | None = Field(None, description="an id that makes a retry safe: one id is charged once")


class PreviewQuery(_AskBody):
    query: str = Field(description="SQL, see docs/reference/sql.md")
    expect: Number | dict[str, Number] | None = Field(
        None, description="population widths for this value, or for values by their names"
    )


class PreviewQueries(_AskBody):
    queries: list[str] = Field(min_length=1)
    expect: Number | dict[str, Number] | None = None


class Bounds(PricedBody):
    column: Name
    low_fraction: Number | None = None
    high_fraction: Number | None = None
    where: str | None = None
    request: Name | None = Field(None, description="an id that makes a retry safe: one id is charged once")


class LastLookBody(Body):
    alpha: Number = Field(description="level of a test on the rows")
    p_value: Number | None = Field(None, description="one that was computed")
    query: str | None = Field(None, description="what the test is about: a query with one value")
    null: Number | None = Field(None, description="that value under the null hypothesis, if it is a number")
    method: str = Field("t", description="which test it is: t, z, permutation, rank-sum, ...")


class MonitorOrder(PricedBody):
    positives: int
    of: Name = Field("counts", description="counts, sums or means")
    numeric: bool = False
    refresh: bool | None = None
    request: Name | None = None


class Fed(Body):
    query: str
    above: Number | None = None
    dialect: Name | None = Field(None, description="the database in whose SQL it is written")


class Predictions(Body):
    predictions: list[Any]
    guess: Number | None = None


class Submitted(Predictions):
    entrant: str | None = Field(None, description="the name of the token, if it is given at all")
    name: str | None = Field(None, description="what the model is called on the leaderboard")


class Models(Body):
    models: dict[str, list[Any]] = Field(description="predictions of each model, by its name")
    scores: int = Field(1, description="what the choice may cost, in scores")


class Last(Body):
    predictions: list[Any]


class Pair(Body):
    first: list[Any]
    second: list[Any]


class Verify(Body):
    head: str | None = Field(None, description="a digest that must be in the chain")


class NewToken(Body):
    name: Name
    role: Name
    budget_share: Number | None = None
    price_share: Number | None = None
    rate: int | None = None
    expires: Name | None = None


class Revoked(Body):
    token: Name = Field(description="the id of a token, or the name whose tokens all end")
