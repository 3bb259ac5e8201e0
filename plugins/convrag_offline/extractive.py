"""An LLM stage that is no language model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from convrag.errors import LLMError
from convrag.stages import LLM, Dataset
from convrag.store import Store
from convrag.types import Completion, Prompt
from convrag_offline.answering import answer
from convrag_offline.corpora import corpora
from convrag_offline.fluency import fluency
from convrag_offline.frequencies import Frequencies, frequencies
from convrag_offline.nuggets import nuggets
from convrag_offline.rewriting import rewrite
from convrag_offline.summarizing import summarize
from convrag_offline.words import count_tokens

_TASKS: dict[str, Callable[..., str]] = {
    "answer": answer,
    "rewrite": rewrite,
    "nuggets": nuggets,
    "summarize": summarize,
    "fluency": fluency,
}
_INPUTS = {
    "answer": ("question", "history", "evidence"),
    "rewrite": ("question", "history"),
    "nuggets": ("question", "passage"),
    "summarize": ("question", "nuggets", "words"),
    "fluency": ("text",),
}
_OPTIONAL = {"rewrite": ("question_weight",), "nuggets": ("title",)}


class ExtractiveLLM(LLM):
    """Rewrite and answer with rules and the words at hand: no language model, no key, no network, no cost.

    It does not read the prompt's messages but its named inputs. A rewrite is the question and the words that it lacks,
    taken from the history that it is given; an answer quotes sentences of the evidence with their citations, or says
    that it found nothing; nuggets are the sentences of a passage that match the question; a summary quotes one of them.
    All prefer words that are rare in the run's corpus. It knows English function words only.
    Sampling has no effect.

    Args:
        dataset: the data set whose corpus tells rare words from common ones; without a corpus all weigh the same.
        store: where the counts of the corpus are kept.
    """

    def __init__(self, *, dataset: Dataset, store: Store) -> None:
        self.dataset = dataset
        self.store = store
        self._lock = threading.Lock()
        self._frequencies: Frequencies | None = None

    def prepare(self) -> None:
        """Count the words of the corpus, once for each corpus."""
        self._counted()

    def describe(self) -> str:
        """Says what it is."""
        return "no language model: questions get words of the history added, answers are sentences quoted from passages"

    def complete(self, prompt: Prompt) -> Completion:
        """Answer from the inputs. Raises LLMError for a task or inputs that it does not know."""
        start = time.perf_counter()
        if prompt.task not in _TASKS:
            raise _failure(
                f"knows the tasks {', '.join(_TASKS)}, not {prompt.task!r}: choose a language model for it "
                "(llm=litellm llm.model=...)"
            )
        if lacking := [name for name in _INPUTS[prompt.task] if name not in prompt.inputs]:
            raise _failure(f"reads a prompt's inputs, and this one for {prompt.task!r} lacks {', '.join(lacking)}")
        known = (*_INPUTS[prompt.task], *_OPTIONAL.get(prompt.task, ()))
        inputs = {name: prompt.inputs[name] for name in known if name in prompt.inputs}
        text = _TASKS[prompt.task](**inputs, frequencies=self._counted())
        read = sum(count_tokens(message.content) for message in prompt.messages)
        seconds = time.perf_counter() - start
        return Completion(text, read, count_tokens(text), cost_usd=0.0, seconds=seconds, model="extractive")

    def count_tokens(self, text: str) -> int:
        """Words and punctuation marks."""
        return count_tokens(text)

    def _counted(self) -> Frequencies:
        with self._lock:
            if self._frequencies is None:
                self._frequencies = frequencies(corpora(self.dataset, self.store), self.store)
            return self._frequencies


def _failure(what: str) -> LLMError:
    return LLMError(f"llm=extractive is no language model: it {what}", provider="convrag", model="extractive")
