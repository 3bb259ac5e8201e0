"""Follow-up questions that a language model suggests."""

from __future__ import annotations

from collections.abc import Callable

from convrag import LLM, ConvragError, DataError, PromptTemplate, TurnRecord
from convrag.sdk.errors import RunStopped
from convrag.sdk.follow_ups import suggest_follow_ups


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
        if self.failed:
            return []
        try:
            return suggest_follow_ups(self.llm, self.template, record, self.count)
        except (RunStopped, DataError):  # the latter: a prompt of the user's
            raise
        except Exception as error:  # of any plugin: the chat goes on
            self.failed = True
            reason = str(error) if isinstance(error, ConvragError) else f"{type(error).__name__}: {error}"
            show(f"No suggestions from here on: {reason}", "dim")
            return []
