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
from convrag.sdk.llm.prompts import complete_whole
from convrag.sdk.text.sentences import find_sentence_spans, get_first_sentence
from convrag_ginger.alignment import Aligner, keep_outermost

log = logging.getLogger(__name__)

_GAP = re.compile(r"\s")
_ROOM = 2
"""Tokens of a reply for each token of the passage: the copy, its tags, and other tokens than ours.
"""


class Untagged(LLMError):
    """A reply has no tags and is no copy of the passage: the model does not follow the format."""


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
        DataError: the prompt's file is missing or is no template.
    """

    libraries = ("rapidfuzz",)

    llm: LLM
    fuzzy: Annotated[float, Interval(gt=0, le=1)] = 0.9
    max_passage_tokens: Annotated[int, Ge(1)] = 2000
    prompt: Path | None = None
    temperature: float | None = 0.0
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        self.sampling = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        self.template = PromptTemplate("nuggets", package="convrag_ginger", path=self.prompt)
        self.prompt_templates = (self.template,)

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """One call of the LLM for each part of the passage; none for a blank passage. Raises
        LLMError, Untagged.
        """
        spans: list[tuple[int, int]] = []
        for start, end in split_passage(
            passage.text, self.max_passage_tokens, self.llm.count_tokens
        ):
            if part := passage.text[start:end].strip():
                offset = passage.text.index(part, start)
                spans += [
                    (offset + first, offset + last)
                    for first, last in self._tag(query, part, passage)
                ]
        return [
            Nugget(passage.text[start:end], passage.id, start, end)
            for start, end in keep_outermost(spans)
        ]

    def _tag(self, query: str, part: str, passage: Passage) -> list[tuple[int, int]]:
        """The spans of a part that the LLM tags, in the order of the reply."""
        title = "" if passage.text.startswith(passage.title) else passage.title
        prompt = self.template.render(self.sampling, question=query, passage=part, title=title)
        aligner = Aligner(part, self.fuzzy)
        spans: list[tuple[int, int]] = []
        reply = complete_whole(self.llm, prompt, _ROOM * self.llm.count_tokens(part))
        if not _TAG.search(reply) and fuzz.ratio(part, reply) < _COPIED:
            raise Untagged("the reply is neither a copy of the passage nor has it tags")
        tagged = read_tagged_texts(reply)
        for text in tagged:
            if aligned := aligner.align(text, after=spans[-1][1] if spans else 0):
                spans.append((aligned.start, aligned.end))
        if dropped := len(tagged) - len(spans):
            log.info(
                "passage %s: %d of %d nuggets are not in it: dropped",
                passage.id,
                dropped,
                len(tagged),
            )
        return spans


def split_passage(
    text: str, max_tokens: int, count_tokens: Callable[[str], int]
) -> list[tuple[int, int]]:
    """(start, end) of parts of at most `max_tokens` tokens, cut between sentences; a longer
    sentence between words.

    Args:
        text: of a passage.
        max_tokens: the most tokens of a part.
        count_tokens: how many tokens a text has.
    """
    if count_tokens(text) <= max_tokens:
        return [(0, len(text))]
    parts: list[tuple[int, int]] = []
    size = 0
    pieces = (
        piece
        for span in find_sentence_spans(text)
        for piece in _split_sentence(text, *span, max_tokens, count_tokens)
    )
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


_COPIED = 50
"""The least similarity of a reply without tags with its passage, in per cent, as where nothing
answers the question.
"""

_TAG = re.compile(r"<\s*(/?)\s*IN\s*>", re.IGNORECASE)


def read_tagged_texts(reply: str) -> list[str]:
    """The texts between <IN> and </IN>, in order, without the tags inside them.

    Of nested ones the outermost counts. Empty ones, and closing tags without an opening one, are
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
