"""`summarizer=llm`: one sentence for each cluster of nuggets."""

import re
from collections.abc import Sequence
from pathlib import Path

from convrag import LLM, LLMError, Nugget, Prompt, PromptTemplate, Summarizer
from convrag.sdk.llm.prompts import add_complaint
from convrag.sdk.llm.sampling import MaxTokens, Temperature
from convrag.sdk.text.analysis import count_words
from convrag.sdk.text.clauses import shorten_by_clauses
from convrag.sdk.text.sentences import get_first_sentence, remove_citations
from convrag.sdk.text.windows import clean_quote
from convrag_ginger.attribution import measure_lexical_support

_LABEL = re.compile(r"^(?:summary|sentence|answer)\s*:\s*", re.IGNORECASE)
_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")

LEAST_SUPPORT = 0.5
"""Least share of a sentence's content words that its nuggets have: half of them."""

_QUOTED = re.compile(r"""^(\*\*|["'`“])(?P<inner>[^"“”]+?)(\*\*|["'`”])$""")


class LlmSummarizer(Summarizer):
    """Ask the LLM to say in one sentence what the nuggets contribute to the answer (GINGER).

    Only the first sentence of a reply counts. If it is too long even without its last clauses, or
    is not supported by the nuggets, the LLM is asked once more, with the reason. Where the second
    reply is not better, a sentence of the nuggets that fits the limit is quoted; where none fits,
    the summary is empty.

    Args:
        llm: the language model that summarises.
        prompt: a Jinja file to use instead of this package's summarize.jinja; it is given
            `question`, `nuggets` (a list of texts) and `words` (the limit).
        temperature: 0 gives the likeliest sentence (GINGER leaves it to the model); None leaves it
            to the llm.
        max_tokens: the longest reply, in tokens (100: GINGER); None leaves it to the llm.

    Raises:
        DataError: the prompt's file is missing or is not a template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        prompt: Path | None = None,
        temperature: Temperature | None = 0.0,
        max_tokens: MaxTokens | None = 100,
    ) -> None:
        self.llm = llm
        self.sampling = {"temperature": temperature, "max_tokens": max_tokens}
        self.template = PromptTemplate("summarize", package="convrag_ginger", path=prompt)
        self.prompt_templates = (self.template,)

    def summarize(self, query: str, nuggets: Sequence[Nugget], words: int) -> str:
        """Call the LLM once or twice; without nuggets the text is empty. Raises LLMError."""
        texts = [clean_quote(nugget.text) for nugget in nuggets]
        if not texts:
            return ""
        prompt = self.template.render(self.sampling, question=query, nuggets=texts, words=words)
        reply = self.llm.complete(prompt).text
        sentence = _read_sentence(reply)
        complaint = _find_fault(sentence, texts, words)
        if complaint and self.llm.tasks is None:  # a rule would give the same reply again
            sentence = self._ask_again(prompt, reply, complaint) or sentence
        quotes = (get_first_sentence(text) for text in texts)
        fitting = (shorten_by_clauses(text, words) for text in (sentence, *quotes))
        return next(filter(None, fitting), "")

    def _ask_again(self, prompt: Prompt, reply: str, complaint: str) -> str:
        """Ask for a better sentence; empty where there is none."""
        try:
            second = self.llm.complete(add_complaint(prompt, reply, complaint))
        except LLMError:
            return ""
        return _read_sentence(second.text)


def _find_fault(sentence: str, texts: Sequence[str], words: int) -> str:
    """Say for a model why a sentence cannot be used; empty for a good one."""
    if not sentence:
        return "Your reply has no sentence. Reply with the sentence alone."
    if not shorten_by_clauses(sentence, words):
        return (
            f"Your sentence has {count_words(sentence)} words. "
            f"Say it in one complete sentence of at most {words}."
        )
    support = measure_lexical_support(sentence, texts)
    if support.unknown:
        return (
            f"The pieces do not say: {', '.join(support.unknown)}. "
            "Write the sentence again, with what they say alone."
        )
    if not support.suffices(LEAST_SUPPORT):
        return (
            "Most of your sentence is not in the pieces. Write it again, with what they say alone."
        )
    return ""


def _read_sentence(reply: str) -> str:
    return get_first_sentence(clean_sentence(reply))


def clean_sentence(reply: str) -> str:
    """Read the first line of a reply that has text.

    Its label, bullet, quotation marks and citations are removed.
    """
    for line in reply.splitlines():
        text = _LABEL.sub("", _BULLET.sub("", line.strip()))
        if text.startswith("```"):
            continue
        quoted = _QUOTED.match(text)
        if quoted:
            text = quoted["inner"]
        text = remove_citations(text).strip()
        if text:
            return text
    return ""
