"""The forms of replies in which language models judge statements and answers."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, create_model


class Statements(BaseModel):
    """The statements of an answer."""

    statements: list[str]


class Verdicts(BaseModel):
    """Whether each of some statements is supported."""

    verdicts: list[bool]


def verdicts_form(count: int) -> type[Verdicts]:
    """The form of `count` verdicts."""
    exact: Any = (Annotated[list[bool], Field(min_length=count, max_length=count)], ...)
    return create_model("Verdicts", __base__=Verdicts, verdicts=exact)


class Mark(BaseModel):
    """A mark from 1 to 10."""

    mark: Annotated[float, Field(ge=1, le=10)]


def _lower(value: Any) -> Any:
    return value.strip(" .").lower() if isinstance(value, str) else value


class Verdict(BaseModel):
    """Whether something is so, or partly."""

    verdict: Annotated[Literal["yes", "partly", "no"], BeforeValidator(_lower)]


class GoalVerdict(BaseModel):
    """What a judge says of a conversation: which facts are given, whether the goal is reached, and contradictions."""

    facts: list[bool]
    reached: bool
    contradiction: bool


def goal_form(count: int) -> type[GoalVerdict]:
    """The form of a verdict on `count` facts."""
    exact: Any = (Annotated[list[bool], Field(min_length=count, max_length=count)], ...)
    return create_model("GoalVerdict", __base__=GoalVerdict, facts=exact)
