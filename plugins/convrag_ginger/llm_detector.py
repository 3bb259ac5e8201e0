"""`detector=llm`: a model tags the nuggets in its copy of the passage."""

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Interval
from rapidfuzz import fuzz

from convrag import LLM, Detector, LLMError, Nugget, Passage, PromptTemplate
from convrag.sdk.llm.marks import protect_passage
from convrag.sdk.llm.prompts import complete_whole
from convrag.sdk.llm.sampling import MaxTokens, Temperature
from convrag.sdk.text.sentences import find_sentence_spans, get_first_sentence
from convrag_ginger.alignment import Aligner, keep_outermost

log = logging.getLogger(__name__)

_GAP = re.compile(r"\s")
_TAG = re.compile(r"<\s*(/?)\s*IN\s*>", re.IGNORECASE)

_ROOM = 2
"""Tokens of a reply for each token of the passage: the copy, its tags, and a margin."""

_COPIED = 50
"""Least similarity with the passage, in per cent, of a reply without tags that is a copy of it.

Such a reply says that nothing in the passage answers the question.
"""


class Untagged(LLMError):
    """A reply without tags that is not a copy of the passage: the model ignores the format."""


@dataclass(kw_only=True, eq=False)
class LlmDetector(Detector):
    """Ask the LLM to copy the passage with tags around the parts that answer the query (GINGER).

    Each tagged text is aligned with the passage: an exact match, then one that ignores case, white
    space and typography, then a similar one. The nugget is the matched text of the passage. A
    tagged text without a match is not from the passage and is dropped; the log counts them (level
    INFO).

    Args:
        llm: the language model that tags.
        fuzzy: the least similarity of a tagged text with its match, 0 to 1; 1 accepts exact copies
            only. With 0.9, one character in ten may differ.
        max_passage_tokens: a longer passage is tagged in parts, cut between sentences. The reply
            repeats the part, and many models write at most 4,096 tokens: the default leaves room
            for the tags, and for miscounting.
        prompt: a Jinja file to use instead of this package's nuggets.jinja; it is given `question`,
            `passage`, `title`.
        temperature: 0 gives the likeliest reply, which suits copying; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None: the llm's, or as many as the copy needs
            where that is more. A reply that is cut all the same is asked for once more, and then is
            an error.

    Raises:
        DataError: the prompt's file is missing or is not a template.
    """

    libraries = ("rapidfuzz",)

    llm: LLM
    fuzzy: Annotated[float, Interval(gt=0, le=1)] = 0.9
    max_passage_tokens: Annotated[int, Ge(1)] = 2000
    prompt: Path | None = None
    temperature: Temperature | None = 0.0
    max_tokens: MaxTokens | None = None

    def __post_init__(self) -> None:
        self.sampling = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        self.template = PromptTemplate("nuggets", package="convrag_ginger", path=self.prompt)
        self.prompt_templates = (self.template,)

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """Call the LLM once for each part of the passage. Raises LLMError, Untagged."""
        text = passage.text
        spans: list[tuple[int, int]] = []
        for start, end in split_passage(text, self.max_passage_tokens, self.llm.count_tokens):
            part = text[start:end].strip()
            if not part:
                continue
            offset = text.index(part, start)
            for first, last in self._tag(query, part, passage):
                spans.append((offset + first, offset + last))
        return [
            Nugget(text[start:end], passage.id, start, end) for start, end in keep_outermost(spans)
        ]

    def _tag(self, query: str, part: str, passage: Passage) -> list[tuple[int, int]]:
        """Ask the LLM to tag a part, and find the tagged spans, in the order of the reply."""
        title = passage.title_above
        part = protect_passage(part)  # of the same length: a tag in it is not one of the model's
        prompt = self.template.render(self.sampling, question=query, passage=part, title=title)
        aligner = Aligner(part, self.fuzzy)
        spans: list[tuple[int, int]] = []
        reply = complete_whole(self.llm, prompt, _ROOM * self.llm.count_tokens(part))
        if not _TAG.search(reply) and fuzz.ratio(part, reply) < _COPIED:
            raise Untagged("the reply is neither a copy of the passage nor has it tags")
        tagged = read_tagged_texts(reply)
        for text in tagged:
            aligned = aligner.align(text, after=spans[-1][1] if spans else 0)
            if aligned:
                spans.append((aligned.start, aligned.end))
        dropped = len(tagged) - len(spans)
        if dropped:
            message = "passage %s: %d of %d nuggets are not in it: dropped"
            log.info(message, passage.id, dropped, len(tagged))
        return spans


def split_passage(
    text: str, max_tokens: int, count_tokens: Callable[[str], int]
) -> list[tuple[int, int]]:
    """Split a passage into parts of at most `max_tokens` tokens, between sentences.

    A longer sentence is cut between words.

    Args:
        text: of a passage.
        max_tokens: the most tokens of a part.
        count_tokens: counts the tokens of a text.

    Returns:
        The (start, end) of each part.
    """
    if count_tokens(text) <= max_tokens:
        return [(0, len(text))]
    pieces: list[tuple[int, int]] = []
    for start, end in find_sentence_spans(text):
        pieces += _split_sentence(text, start, end, max_tokens, count_tokens)
    parts: list[tuple[int, int]] = []
    size = 0
    for start, end in pieces:
        tokens = count_tokens(text[start:end])
        if parts and size + tokens <= max_tokens:
            parts[-1] = parts[-1][0], end
            size += tokens
        else:
            parts.append((start, end))
            size = tokens
    return parts


def _split_sentence(
    text: str, start: int, end: int, max_tokens: int, count_tokens: Callable[[str], int]
) -> Iterator[tuple[int, int]]:
    """Halve a sentence between words until its pieces fit; a single word stays whole."""
    gaps = [gap.start() for gap in _GAP.finditer(text, start + 1, end - 1)]
    middle = min(gaps, key=lambda gap: abs(2 * gap - start - end), default=-1)
    if middle < 0 or count_tokens(text[start:end]) <= max_tokens:
        yield start, end
        return
    yield from _split_sentence(text, start, middle, max_tokens, count_tokens)
    yield from _split_sentence(text, middle + 1, end, max_tokens, count_tokens)


def read_tagged_texts(reply: str) -> list[str]:
    """Read the texts between <IN> and </IN>, in order, without the tags inside them.

    The outermost of nested tags count. Empty texts, and closing tags without an opening one, are
    ignored. A text without a closing tag ends with its sentence, or at the next tag.
    """
    tags = list(_TAG.finditer(reply))
    spans: list[tuple[int, int]] = []
    opened: list[int] = []
    for index, tag in enumerate(tags):
        if not tag[1]:
            opened.append(index)
        elif opened:
            spans.append((tags[opened.pop()].end(), tag.start()))
    for index in opened:
        start = tags[index].end()
        end = tags[index + 1].start() if index + 1 < len(tags) else len(reply)
        sentence = get_first_sentence(reply[start:end])
        spans.append((start, start + reply[start:end].find(sentence) + len(sentence)))
    texts = (_TAG.sub("", reply[start:end]).strip() for start, end in keep_outermost(spans))
    return [text for text in texts if text]
