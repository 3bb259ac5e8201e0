"""`llm=extractive`: rules in place of a language model, and which of a prompt's inputs each of them
reads.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from inspect import signature
from typing import Any

from convrag import LLM, Completion, Dataset, LLMError, Prompt, Store
from convrag.sdk.lazy import Lazy
from convrag.sdk.search.frequencies import (
    DocumentFrequencies,
    add_weights,
    count_document_frequencies,
)
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.sentences import shorten_by_clauses, split_sentences
from convrag_offline.answering import answer, rewrite
from convrag_offline.nuggets import tag_nuggets

log = logging.getLogger(__name__)

_TOKEN = re.compile(r"\w+|[^\w\s]")


class ExtractiveLLM(LLM):
    """Rewrite and answer with rules that copy words and sentences: no language model, no key, no network, no cost.

    It reads the named inputs of a prompt, not its messages. A rewrite is the question and the words
    of the history that it lacks. An answer quotes sentences of the evidence with their citations,
    or says that it found nothing; hints at passages of earlier messages (context=dedup) are
    followed. Nuggets are the sentences of a passage that match the question, and a summary quotes
    one of them. It judges no answers. It suggests titles of passages that are questions. Words that
    are rare in the run's corpus weigh more. It knows English stop words only. Sampling has no
    effect.

    Args:
        dataset: the data set whose corpus tells rare words from common ones; without a corpus all
            weigh the same.
        store: keeps the document frequencies of the corpus.
    """

    def __init__(self, *, dataset: Dataset, store: Store) -> None:
        self._frequencies = Lazy(partial(count_document_frequencies, dataset, store))

    @property
    def tasks(self) -> frozenset[str]:
        """The tasks that it has a rule for."""
        return TASK_NAMES

    def prepare(self) -> None:
        """Count the words of the corpus, once for each corpus."""
        self._frequencies()

    def note(self) -> str:
        """A sentence for the run's summary: this is no language model."""
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
        seconds = time.perf_counter() - start
        return Completion(
            text, read, self.count_tokens(text), cost_usd=0.0, seconds=seconds, model="extractive"
        )

    def count_tokens(self, text: str) -> int:
        """The number of words and punctuation marks of a text."""
        return sum(1 for _ in _TOKEN.finditer(text))


@cache
def _warn_of_unknown_task(task: str) -> None:
    """Say once that a task has no rule: most stages then fall back, and only the records would say
    why.
    """
    log.warning(
        "llm=extractive is no language model, and has no rule for the task %r: what asks for it falls back in "
        "each turn, or fails. Choose a language model: llm=litellm llm.model=...",
        task,
    )


_END_MARKS = (".", "!", "?", "…")


def summarize(
    question: str, nuggets: Sequence[str], words: int, frequencies: DocumentFrequencies
) -> str:
    """A sentence of a nugget, of at most `words` words; the first clauses of one only where none is
    that short.

    It is empty where all sentences are longer, and none can be shortened by whole clauses. A
    sentence with an end mark is better than a heading or an item of a list. Then counts how much of
    the question it covers, then the number of its content words, then which comes first.
    """
    weights = frequencies.weigh_question(find_stems(question))
    found = dict.fromkeys(sentence for nugget in nuggets for sentence in split_sentences(nugget))
    quotes = [
        (text, text == sentence)
        for sentence in found
        if (text := shorten_by_clauses(sentence, words))
    ]

    def rate(quote: tuple[str, bool]) -> tuple[bool, bool, float, int]:
        text, is_complete = quote
        stems = find_stems(text)
        has_end_mark = text.rstrip("\"'”’) ").endswith(_END_MARKS)
        return is_complete, has_end_mark, add_weights(stems, weights), len(stems)

    return max(quotes, key=rate, default=("", False))[0]


_ASKS = re.compile(r"[?？؟][\s\"'”’»)]*$")
"""The end of a title that is a question itself."""


def suggest(titles: Sequence[str], count: int, frequencies: DocumentFrequencies) -> str:
    """Task "suggest" without a language model: the titles that are questions, a line each, of a
    path the last heading.

    FAQ > What do you want?  -> What do you want?
    """
    subjects = (" ".join(title.rpartition(" > ")[2].split()) for title in titles)
    return "\n".join(list(dict.fromkeys(filter(_ASKS.search, subjects)))[:count])


def keep_wording(text: str, frequencies: DocumentFrequencies) -> str:
    """Task "fluency" without a language model: the text as it is."""
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
    parameters = [
        each for each in signature(_TASKS[task]).parameters.values() if each.name != "frequencies"
    ]
    if missing := [
        each.name for each in parameters if each.default is each.empty and each.name not in inputs
    ]:
        raise _error(
            f"reads a prompt's inputs, and this one for {task!r} lacks {', '.join(missing)}"
        )
    given = {each.name: inputs[each.name] for each in parameters if each.name in inputs}
    return _TASKS[task](**given, frequencies=frequencies)


def _error(message: str) -> LLMError:
    return LLMError(
        f"llm=extractive is no language model: it {message}", provider="convrag", model="extractive"
    )
