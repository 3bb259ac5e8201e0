"""One model that scores answers by a rubric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from convrag import LLM, LLMError, Passage, PromptTemplate
from convrag.sdk.structured_output import UnreadableReply, ask_json, read_json
from convrag_judging.asked import Asked
from convrag_judging.assessor import as_input
from convrag_judging.opinions import Opinion
from convrag_judging.rubric import Rubric


@dataclass
class Judge:
    """Asks one LLM for all criteria at once. What it does not score on the scale, also when asked again, is left open.

    Args:
        name: of the parameter that the LLM was given as.
        llm: the model.
        template: the prompt.
        sampling: of all calls.
    """

    name: str
    llm: LLM
    template: PromptTemplate
    sampling: dict[str, Any] = field(default_factory=dict)

    def opinions(
        self,
        turn_id: str,
        asked: Asked,
        passages: Sequence[Passage],
        answer: str,
        rubric: Rubric,
        problems: list[str],
    ) -> list[Opinion]:
        """A score for each criterion that it scored; `problems` gets what was wrong."""
        from convrag_judging.forms import Scores, on_scale, scores_form

        shown = {"passages": [as_input(passage) for passage in passages], "reference": asked.reference}
        inputs = {**asked.inputs(), **shown, "answer": answer}
        prompt = self.template.render(dict(self.sampling), **inputs, **rubric.inputs())
        try:
            reply: Scores = ask_json(self.llm, prompt, scores_form(rubric.names, rubric.lowest, rubric.highest))
        except UnreadableReply as error:
            problems.append(f"{self.name}: {error.complaint}")
            try:
                reply = read_json(error.text, Scores)
            except UnreadableReply:
                return []
        except LLMError as error:
            problems.append(f"{self.name}: {error}")
            return []
        read = {name: on_scale(reply.scores.get(name), rubric.lowest, rubric.highest) for name in rubric.names}
        return [
            Opinion(turn_id, name, float(score), self.name, reply.reason)
            for name, score in read.items()
            if score is not None
        ]
