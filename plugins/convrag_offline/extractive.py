"""An LLM stage that is no language model."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from convrag import LLM, Completion, Dataset, Prompt, Store

if TYPE_CHECKING:
    from convrag_offline.document_frequencies import Frequencies


class ExtractiveLLM(LLM):
    """Rewrite and answer with rules and the words at hand: no language model, no key, no network, no cost.

    It does not read the prompt's messages but its named inputs. A rewrite is the question and the words that it lacks,
    taken from the history that it is given; an answer quotes sentences of the evidence with their citations, or says
    that it found nothing; nuggets are the sentences of a passage that match the question; a summary quotes one of them.
    As a judge of answers it counts words in common, which is no judgement, and it is none of faithfulness and the like.
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

    @property
    def tasks(self) -> frozenset[str]:
        """What it has a rule for; a language model has no such list."""
        from convrag_offline.prompt_tasks import NAMES

        return NAMES

    def prepare(self) -> None:
        """Count the words of the corpus, once for each corpus."""
        self._counted()

    def note(self) -> str:
        """Says what it is."""
        return "no language model: questions get words of the history added, answers are sentences quoted from passages"

    def complete(self, prompt: Prompt) -> Completion:
        """Answer from the inputs. Raises LLMError for a task or inputs that it does not know."""
        from convrag_offline.prompt_tasks import perform

        start = time.perf_counter()
        text = perform(prompt.task, prompt.inputs, self._counted())
        read = sum(self.count_tokens(message.content) for message in prompt.messages)
        seconds = time.perf_counter() - start
        return Completion(text, read, self.count_tokens(text), cost_usd=0.0, seconds=seconds, model="extractive")

    def count_tokens(self, text: str) -> int:
        """Words and punctuation marks."""
        from convrag_offline.tokens import count_tokens

        return count_tokens(text)

    def _counted(self) -> Frequencies:
        with self._lock:
            if self._frequencies is None:
                from convrag_offline.corpora import corpora
                from convrag_offline.document_frequencies import frequencies

                self._frequencies = frequencies(corpora(self.dataset, self.store), self.store)
            return self._frequencies
