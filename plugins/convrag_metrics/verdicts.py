"""The forms of replies in which language models judge statements and answers."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, create_model


class Statements(BaseModel):
    """The statements of an answer."""

    statements: list[str]


V = TypeVar("V", bound="Verdicts")


class Verdicts(BaseModel):
    """Whether each of some statements is supported."""

    verdicts: list[bool]


class GoalVerdicts(Verdicts):
    """The facts of a conversation, whether its goal is reached, and whether answers clash."""

    reached: bool
    contradiction: bool


def verdicts_form(count: int, base: type[V] = Verdicts) -> type[V]:  # type: ignore[assignment]
    """Make the form of `count` verdicts."""
    exact: Any = (Annotated[list[bool], Field(min_length=count, max_length=count)], ...)
    return create_model(base.__name__, __base__=base, verdicts=exact)


class Mark(BaseModel):
    """A mark from 1 to 10."""

    mark: Annotated[float, Field(ge=1, le=10)]


def _lower(value: Any) -> Any:
    return value.strip(" .").lower() if isinstance(value, str) else value


class Verdict(BaseModel):
    """Whether something is so, or partly."""

    verdict: Annotated[Literal["yes", "partly", "no"], BeforeValidator(_lower)]
