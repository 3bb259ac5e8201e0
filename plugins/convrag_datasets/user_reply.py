"""The form in which a language model that plays a user replies."""

from typing import Self

from pydantic import BaseModel, model_validator


class UserReply(BaseModel):
    """What the user says next, which fact that asks for (from 1; 0: none of them), or that the goal is reached."""

    done: bool = False
    say: str = ""
    fact: int = 0
    again: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.done and not self.say.strip():
            raise ValueError('"say" is empty, and "done" is not true')
        return self
