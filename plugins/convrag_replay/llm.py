"""`llm=replay`: recorded replies, by prompt."""

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from convrag import LLM, Completion, LLMError, Prompt
from convrag.sdk.identity import file_hash
from convrag.sdk.lazy import Lazy, collect_problems
from convrag.sdk.llm import recording

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


class ReplayLLM(LLM):
    """Replay recorded replies (task=record): without a model, a key, a network or costs.

    A reply is found by the prompt's messages, its sampling and its attempt, whichever model gave
    it. A prompt without a reply fails, and the stage that asked falls back or fails as it would
    without a model. Tokens of recorded replies are those that the model counted; other texts are
    counted roughly, so a stage that cuts its prompt to a number of tokens may ask for what was not
    recorded.

    Args:
        path: the recording.
    """

    def __init__(self, *, path: Path) -> None:
        self.path = path
        self._replies = Lazy(partial(recording.read_recording, path))

    def check(self) -> Iterable[str]:
        """Say why the recording cannot be read."""
        return collect_problems(self._replies)

    def content_hash(self) -> str:
        """Hash the recording, wherever it lies."""
        return file_hash(self.path)

    def note(self) -> str:
        """Say that no model was asked."""
        return f"The replies are replayed from {self.path}; no model was asked."

    def complete(self, prompt: Prompt) -> Completion:
        """Return the recorded reply, which costs nothing. Raises LLMError where there is none."""
        reply = self._replies().get(recording.compute_prompt_key(prompt))
        if reply is not None:
            return reply
        raise LLMError(
            f"{self.path} has no reply to this prompt (task {prompt.task!r}, attempt "
            f"{prompt.attempt}): {recording.make_excerpt(prompt)!r}. It was recorded with other "
            "questions, passages, prompts or sampling: record again (task=record)",
            provider="convrag",
            model="replay",
        )

    def count_tokens(self, text: str) -> int:
        """Count words and punctuation marks, roughly: the model that counted is not here."""
        return len(_WORD_OR_MARK.findall(text))
