"""`context=snippets`: of each passage the sentences that answer the question most likely."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence

from convrag import LLM, ConfigError, Context, Evidence, EvidenceItem, Hit, Message, Question
from convrag.sdk.sentences import find_sentence_spans
from convrag.sdk.words import stem_words

_WORD = re.compile(r"\w{3,}")  # shorter words say little


class SnippetContext(Context):
    """Show the model a snippet of each retrieved passage: consecutive sentences with most words of the question.

    For small context windows. A passage that is short enough is shown in full, and each with its title. The trace has
    the number of passages that were cut (`cut`), and of their tokens that the model does not see (`tokens_left_out`).

    Args:
        llm: counts tokens.
        tokens: of a snippet, with its title (200: the Perplexity-style seed).

    Raises:
        ConfigError: tokens is below 1.
    """

    libraries = ("pysbd", "PyStemmer")

    def __init__(self, *, llm: LLM, tokens: int = 200) -> None:
        if tokens < 1:
            raise ConfigError(f"context.tokens={tokens}: it must be at least 1")
        self.llm = llm
        self.tokens = tokens

    def assemble(self, question: Question, hits: Sequence[Hit], messages: Sequence[Message]) -> Evidence:
        """Each distinct passage once, best first, numbered from 1."""
        wanted = _stem(question.standalone or question.text)
        items: dict[str, EvidenceItem] = {}
        left_out = []
        for hit in hits:
            passage = hit.passage
            if passage.id in items:
                continue
            size = self.llm.count_tokens(passage.content)
            text = passage.content
            if size > self.tokens:
                title = "" if passage.text.startswith(passage.title) else f"{passage.title}\n"
                room = self.tokens - self.llm.count_tokens(title)
                text = title + find_snippet(passage.text, wanted, room, self.llm.count_tokens)
                left_out.append(size - self.llm.count_tokens(text))
            items[passage.id] = EvidenceItem(len(items) + 1, passage, text)
        trace = {"cut": len(left_out), "tokens_left_out": sum(left_out), "repeated": len(hits) - len(items)}
        return Evidence(tuple(items.values()), trace)


def find_snippet(text: str, wanted: Collection[str], tokens: int, count_tokens: Callable[[str], int]) -> str:
    """The consecutive sentences of a text with most of the wanted words; of several such, the first.

    Args:
        text: a passage's text.
        wanted: stems of words.
        tokens: that the snippet may have. A single sentence that has more is cut between words.
        count_tokens: counts the tokens of a text.
    """
    spans = find_sentence_spans(text)
    stems = [_stem(text[start:end]) & set(wanted) for start, end in spans]
    best, most, last = (0, 0), -1, 0
    for first, (start, _) in enumerate(spans):
        last = max(last, first)
        while last + 1 < len(spans) and count_tokens(text[start : spans[last + 1][1]]) <= tokens:
            last += 1
        found = len(set().union(*stems[first : last + 1]))
        if found > most:
            best, most = (start, spans[last][1]), found
    return _cut_at_word(text[best[0] : best[1]], tokens, count_tokens)


def _cut_at_word(text: str, tokens: int, count_tokens: Callable[[str], int]) -> str:
    """The longest beginning of a text, in whole words, that has so many tokens."""
    ends = [word.end() for word in re.finditer(r"\S+", text)]
    if not ends or count_tokens(text) <= tokens:
        return text
    return text[: ends[max(bisect_right(ends, tokens, key=lambda end: count_tokens(text[:end])) - 1, 0)]]


def _stem(text: str) -> set[str]:
    return set(stem_words(_WORD.findall(text.lower())))
