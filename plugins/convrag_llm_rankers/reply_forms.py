"""The form of a reply in which a language model grades a passage."""

from pydantic import BaseModel, Field


class GradeReply(BaseModel):
    """A grade of how well a passage helps, from 0 (not at all) to 10."""

    grade: int = Field(ge=0, le=10)
