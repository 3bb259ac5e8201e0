"""A user of dataset=simulated who is played by a language model."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, Self

from pydantic import BaseModel, model_validator

from convrag import LLM, LLMError, PromptTemplate, Turn, TurnRecord
from convrag.sdk.data.simulated import PlayedConversation
from convrag.sdk.llm.structured_output import ask_json
from convrag.sdk.storage import UsageMeter
from convrag_datasets.files.turns import format_turn_id


class UserReply(BaseModel):
    """The user's next words and the fact that they ask for (from 1; 0: none), or the end."""

    done: bool = False
    say: str = ""
    fact: int = 0
    again: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.done and not self.say.strip():
            raise ValueError('"say" is empty, and "done" is not true')
        return self


class ModelUser(NamedTuple):
    """A language model that plays a user: it knows the goal and facts, and says when it is content.

    A reply that cannot be read is asked for once more; where none comes, the conversation ends, and
    its last record has the reason as a fallback of `dataset`. Calls count as the usage of
    `dataset`, in the record of the answer that the user has heard.

    Args:
        llm: the model.
        template: the prompt.
    """

    llm: LLM
    template: PromptTemplate

    def play(self, talk: PlayedConversation, records: list[TurnRecord]) -> Iterator[Turn]:
        """Yield what the model says, or the goal where it does not find the first words.

        Raises RunStopped.
        """
        meter = UsageMeter()
        missed = ""
        while True:
            reply = self._ask(talk, records, meter)
            if records:
                over = len(records) == talk.most_turns
                records[-1] = _note(records[-1], reply, missed, over, meter)
                meter = UsageMeter()
                if "goal" in records[-1].labels:
                    return
            missed = ""
            if isinstance(reply, str):
                missed = reply
                reply = UserReply(say=talk.goal)
            elif not reply.say.strip():
                reply = UserReply(say=talk.goal)
            labels = {"fact": reply.fact, "asked": "again" if reply.again else "first"}
            yield Turn(format_turn_id(talk.id, len(records) + 1), reply.say, labels=labels)

    def _ask(
        self, talk: PlayedConversation, records: list[TurnRecord], meter: UsageMeter
    ) -> UserReply | str:
        """Ask the model what the user says; return the reason where it says nothing."""
        opening = talk.turns[0].question
        if not records and opening != talk.goal:
            return UserReply(say=opening, fact=1)
        inputs = {**talk.prompt_inputs(records), "left": talk.most_turns - len(records)}
        try:
            with meter.measure_stage("dataset"):
                return ask_json(self.llm, self.template.render(**inputs), UserReply)
        except LLMError as error:
            return f"the model that plays the user failed: {error}"


def _note(
    heard: TurnRecord, reply: UserReply | str, missed: str, over: bool, meter: UsageMeter
) -> TurnRecord:
    """Note in a record how its answer was received, and how the conversation ended, if it did.

    Args:
        heard: the record of the answer that the user has heard.
        reply: what the user says to it, or why there is nothing.
        missed: why the goal was asked in place of the model's first words; empty if it was not.
        over: whether the user has no turns left.
        meter: what the reply has cost.
    """
    failure = reply if isinstance(reply, str) else missed
    end = _find_end(reply, over)
    return replace(
        heard,
        labels={**heard.labels, "goal": end} if end else heard.labels,
        fallbacks={**heard.fallbacks, "dataset": failure} if failure else heard.fallbacks,
        usage={**heard.usage, **meter.usage},
        timings={**heard.timings, **meter.timings},
        replies=(*heard.replies, *meter.replies),
    )


def _find_end(reply: UserReply | str, over: bool) -> str:
    """Say how the conversation has ended; empty while it goes on."""
    if isinstance(reply, str):
        return "no usable reply"
    if reply.done:
        return "reached"
    return "turns over" if over else ""
