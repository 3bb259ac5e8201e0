"""The users of dataset=simulated: by rules, and played by a language model."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from convrag import LLM, LLMError, PromptTemplate, Turn, TurnRecord
from convrag.sdk.llm_rewriter import format_exchanges
from convrag.sdk.played import PlayedConversation
from convrag.sdk.storage import UsageMeter
from convrag_datasets.conversations import format_turn_id

if TYPE_CHECKING:
    from convrag_datasets.user_reply import UserReply

REACHED, GIVEN_UP, TURNS_OVER, NO_REPLY = "reached", "given up", "turns over", "no usable reply"
"""How a conversation ends: the label `goal` of its last turn, or of the one that reached the goal."""


class RuleUser:
    """Asks for each fact in turn, once more in other words where the answer lacks it, and stops when all are given.

    Args:
        confirm: whether a fact is asked for once more at the end, to see whether answers keep it: the first.
    """

    def __init__(self, confirm: bool) -> None:
        self.confirm = confirm

    def play(self, talk: PlayedConversation, records: list[TurnRecord]) -> Iterator[Turn]:
        """Yield the questions; label the record that reached the goal, or the last one."""
        for number, fact in enumerate(talk.facts, 1):
            for asked, question in (("first", fact.question), ("again", fact.again)):
                if any(fact.is_given(record.answer.text) for record in records):
                    break
                labels = {"fact": number, "asked": asked}
                yield Turn(format_turn_id(talk.id, len(records) + 1), question, fact.text, labels=labels)
                if talk.is_reached([record.answer.text for record in records]):
                    _add_labels(records, goal=REACHED)
                    if self.confirm and len(records) < talk.most_turns:
                        labels, first = {"fact": 1, "asked": "confirm"}, talk.facts[0]
                        yield Turn(format_turn_id(talk.id, len(records) + 1), first.again, first.text, labels=labels)
                    return
                if len(records) == talk.most_turns:
                    _add_labels(records, goal=TURNS_OVER)
                    return
        _add_labels(records, goal=GIVEN_UP)


class ModelUser:
    """A language model that is told the goal and the facts, and what was said; it says when the goal is reached.

    A reply that cannot be read is asked for once more; where none comes, the conversation ends, and its last record has
    the reason as a fallback of `dataset`. Calls count as the usage of `dataset` in the record of the turn before.

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
        """Yield what the model says. Raises RunStopped at a cost limit."""
        from convrag_datasets.user_reply import UserReply

        first, meter, problem = talk.turns[0], UsageMeter(), ""
        reply = UserReply(say=first.question, fact=1)
        if first.question == talk.goal:  # the file has no first question; without a reply, the goal is one
            opening, problem = self._ask(talk, records, meter)
            reply = opening if opening and opening.say.strip() else reply
        for number in range(1, talk.most_turns + 1):
            labels = {"fact": reply.fact, "asked": "again" if reply.again else "first"}
            yield Turn(format_turn_id(talk.id, number), reply.say, labels=labels)
            heard, problem = (None, problem) if problem else self._ask(talk, records, meter)
            usage = {**records[-1].usage, **meter.usage}
            records[-1] = replace(records[-1], usage=usage, replies=(*records[-1].replies, *meter.replies))
            meter = UsageMeter()
            if heard is None:
                told = {
                    **records[-1].fallbacks,
                    "dataset": f"the conversation ended, for its user gave none: {problem}",
                }
                records[-1] = replace(records[-1], fallbacks=told)
                return _add_labels(records, goal=NO_REPLY)
            if heard.done or number == talk.most_turns:
                return _add_labels(records, goal=REACHED if heard.done else TURNS_OVER)
            reply = heard

    def _ask(
        self, talk: PlayedConversation, records: list[TurnRecord], meter: UsageMeter
    ) -> "tuple[UserReply | None, str]":
        """The model's reply, or why there is none."""
        from convrag.sdk.structured_output import ask_json
        from convrag_datasets.user_reply import UserReply

        said = [Turn(record.turn_id, record.original_query, record.answer.text) for record in records]
        inputs = {"goal": talk.goal, "facts": [fact.text for fact in talk.facts], "answer": talk.reached_by}
        prompt = self.template.render(
            self.sampling, **inputs, history=format_exchanges(said), left=talk.most_turns - len(said)
        )
        try:
            with meter.measure_stage("dataset"):
                return ask_json(self.llm, prompt, UserReply), ""
        except LLMError as error:
            return None, str(error)


def _add_labels(records: list[TurnRecord], **labels: Any) -> None:
    records[-1] = replace(records[-1], labels={**records[-1].labels, **labels})
