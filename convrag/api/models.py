"""The stages that are models: language models and embedders."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from convrag.api.stage import Stage, remembered
from convrag.api.types import Completion, Prompt

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LLM(Stage):
    """Answers prompts, as a language model does."""

    streams: bool = False
    """Whether `complete` calls `convrag.store.streaming.current_listener()`, if any, with each piece of its reply."""

    @property
    def tasks(self) -> Collection[str] | None:
        """The tasks (see `Prompt`) that a rule-based stage can do; None if it can do any, as language models can."""
        return None

    @abstractmethod
    @remembered()
    def complete(self, prompt: Prompt) -> Completion:
        """Answer a prompt. Raises LLMError if there is no usable reply after the retries."""

    @abstractmethod
    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, as this model's tokenizer does."""

    def request(self, prompt: Prompt) -> Mapping[str, Any]:
        """Return what determines the reply, as plain data without secrets: with the attempt, the key of the reply."""
        return {
            "llm": self.fingerprint,
            "task": prompt.task,
            "messages": prompt.messages,
            "inputs": prompt.inputs,
            "sampling": prompt.sampling,
        }


class Embedder(Stage):
    """Turns texts into vectors."""

    @abstractmethod
    @remembered(each="texts", array="float32")
    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Embed n texts as (n, d) float32. Rows have unit length; a text without any known word gives a row of zeros.

        Args:
            texts: short texts (utterances, sentences); n may be 0.
            query: whether the texts are queries, for models that embed queries and passages differently.
        """
