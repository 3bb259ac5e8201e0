"""Follow-up questions that a language model suggests."""

from __future__ import annotations

from collections.abc import Callable

from convrag import LLM, ConvragError, PromptTemplate, RunStopped, TurnRecord
from convrag.sdk.llm_rewriter import clean_reply


class FollowUpSuggester:
    """Asks a language model for follow-up questions that the retrieved passages could answer.

    Args:
        llm: the language model. One that fails, as llm=extractive does, is not asked again.
        template: the prompt for the task "suggest".
        count: how many questions.
    """

    def __init__(self, llm: LLM, template: PromptTemplate, count: int) -> None:
        self.llm = llm
        self.template = template
        self.count = count
        self.failed = False

    def suggest(self, record: TurnRecord, show: Callable[[str, str], None]) -> list[str]:
        """Suggest at most `count` different questions; none for a turn without an answer, or where the model fails.

        Args:
            record: the turn that was answered.
            show: prints a line, which says so where the model fails, in a style.
        """
        if self.failed or record.error or not record.answer.text:
            return []
        unused = (item.passage for item in record.evidence.items if item.passage.id not in record.answer.citations)
        titles = list(dict.fromkeys(passage.title for passage in unused if passage.title))
        prompt = self.template.render(
            question=record.original_query, answer=record.answer.text, titles=titles, count=self.count
        )
        try:
            completion = self.llm.complete(prompt)
        except RunStopped:
            raise
        except Exception as error:  # of any plugin: the chat goes on
            self.failed = True
            reason = str(error) if isinstance(error, ConvragError) else f"{type(error).__name__}: {error}"
            show(f"No suggestions from here on: {reason}", "dim")
            return []
        questions = (clean_reply(line.strip().lstrip("-*•0123456789.) ")) for line in completion.text.splitlines())
        return list(dict.fromkeys(filter(None, questions)))[: self.count]
