"""`llm=extractive`: rules in place of a language model."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from convrag import LLM, Completion, Dataset, Prompt, Store

if TYPE_CHECKING:
    from convrag_offline.document_frequencies import DocumentFrequencies
import re

log = logging.getLogger(__name__)


class ExtractiveLLM(LLM):
    """Rewrite and answer with rules that copy words and sentences: no language model, no key, no network, no cost.

    It reads the named inputs of a prompt, not its messages. A rewrite is the question and the words of the history that
    it lacks. An answer quotes sentences of the evidence with their citations, or says that it found nothing; hints at
    passages of earlier messages (context=dedup) are followed. Nuggets are the sentences of a passage that match the
    question, and a summary quotes one of them. Nuggets of answers are judged by the words in common, which tests the
    pipeline but is no judgement; other judgements it does not make. It suggests to ask about the titles of passages.
    Words that are rare in the run's corpus weigh more. It knows English stop words only. Sampling has no effect.

    Args:
        dataset: the data set whose corpus tells rare words from common ones; without a corpus all weigh the same.
        store: keeps the document frequencies of the corpus.
    """

    def __init__(self, *, dataset: Dataset, store: Store) -> None:
        self.dataset = dataset
        self.store = store
        self._lock = threading.Lock()
        self._frequencies: DocumentFrequencies | None = None
        self._refused: set[str] = set()

    @property
    def tasks(self) -> frozenset[str]:
        """The tasks that it has a rule for."""
        from convrag_offline.prompt_tasks import TASK_NAMES

        return TASK_NAMES

    def prepare(self) -> None:
        """Count the words of the corpus, once for each corpus."""
        self._load_frequencies()

    def note(self) -> str:
        """A sentence for the run's summary: this is no language model."""
        return "no language model: what it is asked is done by rules that copy words and sentences"

    def complete(self, prompt: Prompt) -> Completion:
        """Apply the rule for the prompt's task to its inputs. Raises LLMError for an unknown task or missing inputs."""
        from convrag_offline.prompt_tasks import perform_task

        self._warn_of_unknown_task(prompt.task)
        start = time.perf_counter()
        text = perform_task(prompt.task, prompt.inputs, self._load_frequencies())
        read = sum(self.count_tokens(message.content) for message in prompt.messages)
        seconds = time.perf_counter() - start
        return Completion(text, read, self.count_tokens(text), cost_usd=0.0, seconds=seconds, model="extractive")

    def count_tokens(self, text: str) -> int:
        """The number of words and punctuation marks of a text."""
        return count_tokens(text)

    def _warn_of_unknown_task(self, task: str) -> None:
        """Say once that a task has no rule: most stages then fall back, and only the records would say why."""
        with self._lock:
            known = task in self.tasks or task in self._refused
            self._refused.add(task)
        if not known:
            log.warning(
                "llm=extractive is no language model, and has no rule for the task %r: what asks for it falls back in "
                "each turn, or fails. Choose a language model: llm=litellm llm.model=...",
                task,
            )

    def _load_frequencies(self) -> DocumentFrequencies:
        with self._lock:
            if self._frequencies is None:
                from convrag_offline.document_frequencies import count_document_frequencies, open_corpora

                self._frequencies = count_document_frequencies(open_corpora(self.dataset, self.store), self.store)
            return self._frequencies


_TOKEN = re.compile(r"\w+|[^\w\s]")


def count_tokens(text: str) -> int:
    """The number of words and punctuation marks of a text."""
    return sum(1 for _ in _TOKEN.finditer(text))
