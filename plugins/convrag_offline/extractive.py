"""`llm=extractive`: quotes sentences and copies words in place of a language model."""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from inspect import signature
from itertools import islice
from typing import Any

from convrag import LLM, Completion, Dataset, LLMError, Prompt, Store
from convrag.sdk.lazy import Lazy
from convrag.sdk.search.frequencies import DocumentFrequencies, count_document_frequencies
from convrag_offline.nuggets import summarize, tag_nuggets
from convrag_offline.quoting import answer
from convrag_offline.rewriting import rewrite

log = logging.getLogger(__name__)

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


class ExtractiveLLM(LLM):
    """Quote passages, and rewrite with words of the history: no language model, no key, no cost.

    It reads the named inputs of a prompt, not its messages. A rewrite is the question and the words
    of the history that it lacks. An answer quotes two passages: in each, some 40 words around the
    sentence that has most of the query's words; without passages it says that nothing was found.
    Nuggets are the sentences of a passage that match the question, and a summary quotes one of
    them. It does not judge answers. It suggests titles of passages that are questions. Words that
    are rare in the run's corpus weigh more. Sampling has no effect.

    Args:
        dataset: the data set whose corpus tells rare words from common ones; without a corpus all
            weigh the same.
        store: keeps the document frequencies of the corpus.
    """

    def __init__(self, *, dataset: Dataset, store: Store) -> None:
        self._frequencies = Lazy(partial(count_document_frequencies, dataset, store))

    @property
    def tasks(self) -> frozenset[str]:
        """Return the tasks that it has a rule for."""
        return TASK_NAMES

    def prepare(self) -> None:
        """Count the words of the corpus, once for each corpus."""
        self._frequencies()

    def note(self) -> str:
        """Say in the run's summary that this is not a language model."""
        return "no language model: what it is asked is done by rules that copy words and sentences"

    def complete(self, prompt: Prompt) -> Completion:
        """Apply the rule for the prompt's task to its inputs. Raises LLMError for an unknown task
        or missing inputs.
        """
        if prompt.task not in TASK_NAMES:
            _warn_of_unknown_task(prompt.task)
        start = time.perf_counter()
        text = perform_task(prompt.task, prompt.inputs, self._frequencies())
        read = sum(self.count_tokens(message.content) for message in prompt.messages)
        written = self.count_tokens(text)
        seconds = time.perf_counter() - start
        return Completion(text, read, written, cost_usd=0.0, seconds=seconds, model="extractive")

    def count_tokens(self, text: str) -> int:
        """Count the words and punctuation marks of a text."""
        return sum(1 for _ in _WORD_OR_MARK.finditer(text))


@cache
def _warn_of_unknown_task(task: str) -> None:
    """Warn once that a task has no rule: most stages then fall back, and only records say why."""
    log.warning(
        "llm=extractive is no language model, and has no rule for the task %r: what asks for it "
        "falls back in each turn, or fails. Choose a language model: llm=litellm llm.model=...",
        task,
    )


_QUESTION_END = re.compile(r"[?？؟][\s\"'”’»)]*$")
"""The end of a title that is a question itself."""


def suggest(titles: Sequence[str], count: int, frequencies: DocumentFrequencies) -> str:
    """Do task "suggest": list the titles that are questions, a line each.

    The last heading of a path counts: "FAQ > What do you want?" suggests "What do you want?".
    """
    headings = (" ".join(title.rpartition(" > ")[2].split()) for title in titles)
    questions = dict.fromkeys(filter(_QUESTION_END.search, headings))
    return "\n".join(islice(questions, count))


def keep_wording(text: str, frequencies: DocumentFrequencies) -> str:
    """Do task "fluency": return the text as it is."""
    return text


_TASKS: dict[str, Callable[..., str]] = {
    "answer": answer,
    "rewrite": rewrite,
    "nuggets": tag_nuggets,
    "summarize": summarize,
    "fluency": keep_wording,
    "suggest": suggest,
}
TASK_NAMES = frozenset(_TASKS)


def perform_task(task: str, inputs: Mapping[str, Any], frequencies: DocumentFrequencies) -> str:
    """Do a task with a prompt's inputs. Raises LLMError for an unknown task or missing inputs."""
    if task not in _TASKS:
        raise _error(
            f"knows the tasks {', '.join(_TASKS)}, not {task!r}: choose a language model for it "
            "(llm=litellm llm.model=...)"
        )
    given: dict[str, Any] = {"frequencies": frequencies}
    missing = []
    for name, parameter in signature(_TASKS[task]).parameters.items():
        if name in inputs and name not in given:
            given[name] = inputs[name]
        elif name not in given and parameter.default is parameter.empty:
            missing.append(name)
    if missing:
        raise _error(
            f"reads a prompt's inputs, and this one for {task!r} lacks {', '.join(missing)}"
        )
    return _TASKS[task](**given)


def _error(message: str) -> LLMError:
    return LLMError(
        f"llm=extractive is no language model: it {message}", provider="convrag", model="extractive"
    )
