"""What to ask next."""

from __future__ import annotations

from collections.abc import Callable

from convrag import LLM, LLMError, PromptTemplate, TurnRecord
from convrag.sdk.llm_rewriter import clean_reply


class Suggester:
    """Asks the LLM for follow-up questions, which the passages at hand could answer.

    Args:
        llm: the language model. One that cannot (llm=extractive) is not asked again.
        template: the prompt for the task "suggest".
        count: how many questions.
    """

    def __init__(self, llm: LLM, template: PromptTemplate, count: int) -> None:
        self.llm = llm
        self.template = template
        self.count = count
        self.silent = False

    def suggest(self, record: TurnRecord, say: Callable[[str, str], None]) -> list[str]:
        """At most `count` different questions; none for a turn without an answer. Where the LLM fails, that is said.

        Args:
            record: the turn that was answered.
            say: takes a line to show, and its style.
        """
        if self.silent or record.error or not record.answer.text:
            return []
        unused = (item.passage for item in record.evidence.items if item.passage.id not in record.answer.citations)
        titles = list(dict.fromkeys(passage.title for passage in unused if passage.title))
        prompt = self.template.render(
            question=record.original_query, answer=record.answer.text, titles=titles, count=self.count
        )
        try:
            completion = self.llm.complete(prompt)
        except LLMError as error:
            self.silent = True
            say(f"No suggestions from here on: {error}", "dim")
            return []
        questions = (clean_reply(line.strip().lstrip("-*•0123456789.) ")) for line in completion.text.splitlines())
        return list(dict.fromkeys(filter(None, questions)))[: self.count]
