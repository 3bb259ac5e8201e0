"""A language model that rates answers by a rubric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from convrag import LLM, Passage, PromptTemplate
from convrag_judging.assessors import ask_for_form, passage_inputs
from convrag_judging.ratings import Rating
from convrag_judging.references import ReferenceTurn
from convrag_judging.rubric import Rubric


@dataclass
class RubricJudge:
    """Asks one LLM to rate an answer by all criteria in one call.

    Args:
        name: the judge's name: the parameter that the LLM was given as.
        llm: the model.
        template: the prompt.
        sampling: sampling parameters of all calls.
    """

    name: str
    llm: LLM
    template: PromptTemplate
    sampling: dict[str, Any] = field(default_factory=dict)

    def rate(
        self,
        turn_id: str,
        turn: ReferenceTurn,
        passages: Sequence[Passage],
        answer: str,
        rubric: Rubric,
        problems: list[str],
    ) -> list[Rating]:
        """A rating for each criterion that the judge scored on the scale.

        `problems` gets a message where the call failed, or a score was missing or off the scale, also when asked again.
        """
        from convrag_judging.reply_forms import ScoreReply, parse_score, scores_form

        inputs = {"passages": [passage_inputs(passage) for passage in passages], "reference": turn.answer}
        inputs = {**turn.prompt_inputs(), **inputs, "answer": answer, **rubric.prompt_inputs()}
        prompt = self.template.render(dict(self.sampling), **inputs)
        form = scores_form(rubric.names, rubric.lowest, rubric.highest)
        reply = ask_for_form(self.llm, prompt, form, ScoreReply, self.name, problems)
        if reply is None:
            return []
        scores = {name: parse_score(reply.scores.get(name), rubric.lowest, rubric.highest) for name in rubric.names}
        return [
            Rating(turn_id, name, float(score), self.name, reply.reason)
            for name, score in scores.items()
            if score is not None
        ]
