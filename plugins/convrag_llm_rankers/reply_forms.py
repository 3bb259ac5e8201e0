"""What a language model replies that grades a passage."""

from pydantic import BaseModel, Field


class GradeReply(BaseModel):
    """How well a passage helps, from 0 (not at all) to 10."""

    grade: int = Field(ge=0, le=10)
