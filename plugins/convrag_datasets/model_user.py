"""A user of dataset=simulated who is played by a language model."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Self

from pydantic import BaseModel, model_validator

from convrag import LLM, LLMError, PromptTemplate, Turn, TurnRecord
from convrag.sdk.llm_rewriter import format_exchanges
from convrag.sdk.played import PlayedConversation
from convrag.sdk.storage import UsageMeter
from convrag.sdk.structured_output import ask_json
from convrag_datasets.conversations import format_turn_id


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


class ModelUser:
    """A language model that is told the goal and the facts, and what was said; it says when the goal is reached.

    A reply that cannot be read is asked for once more; where none comes, the conversation ends, and its last record has
    the reason as a fallback of `dataset`. Calls count as the usage of `dataset`, in the record of the answer that the
    user has heard.

    Args:
        llm: the model.
        template: the prompt.
        temperature: of the prompt; None leaves it to the llm.
    """

    def __init__(self, llm: LLM, template: PromptTemplate, temperature: float | None) -> None:
        self.llm = llm
        self.template = template
        self.sampling = {"temperature": temperature}

    def play(self, talk: PlayedConversation, records: list[TurnRecord]) -> Iterator[Turn]:
        """Yield what the model says; the goal where it does not find the first words. Raises RunStopped."""
        meter = UsageMeter()
        while True:
            reply, problem = self._ask(talk, records, meter)
            if records:
                last, over = records[-1], len(records) == talk.most_turns
                end = "no usable reply" if reply is None else "reached" if reply.done else "turns over" if over else ""
                told = {"dataset": f"the model that plays the user failed: {problem}"} if problem else {}
                labels = {**last.labels, **({"goal": end} if end else {})}
                heard = replace(last, labels=labels, fallbacks={**last.fallbacks, **told})
                usage, timings = {**last.usage, **meter.usage}, {**last.timings, **meter.timings}
                records[-1] = replace(heard, usage=usage, timings=timings, replies=(*last.replies, *meter.replies))
                meter = UsageMeter()
                if end:
                    return
            said = reply if reply and reply.say.strip() else UserReply(say=talk.goal)
            labels = {"fact": said.fact, "asked": "again" if said.again else "first"}
            yield Turn(format_turn_id(talk.id, len(records) + 1), said.say, labels=labels)

    def _ask(
        self, talk: PlayedConversation, records: list[TurnRecord], meter: UsageMeter
    ) -> tuple[UserReply | None, str]:
        """What the user says, or why there is nothing."""
        if not records and (opening := talk.turns[0].question) != talk.goal:
            return UserReply(say=opening, fact=1), ""
        said = [Turn(record.turn_id, record.original_query, record.answer.text) for record in records]
        inputs = {**talk.prompt_inputs(), "history": format_exchanges(said), "left": talk.most_turns - len(said)}
        try:
            with meter.measure_stage("dataset"):
                return ask_json(self.llm, self.template.render(self.sampling, **inputs), UserReply), ""
        except LLMError as error:
            return None, str(error)
