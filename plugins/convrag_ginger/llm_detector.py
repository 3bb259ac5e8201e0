"""`detector=llm`: a model marks the nuggets in a copy of the passage."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from pathlib import Path

from convrag import LLM, ConfigError, Detector, Nugget, Passage, PromptTemplate
from convrag_ginger.alignment import Source
from convrag_ginger.splitting import parts
from convrag_ginger.tags import outermost, tagged

log = logging.getLogger(__name__)


class LlmDetector(Detector):
    """Ask the LLM to copy the passage with tags around the parts that answer the query (GINGER).

    What is tagged is looked up in the passage: literally, then without regard to case, white space and typography, then
    by similarity. A nugget is what stands in the passage there; what is not found was made up, and is dropped. The log
    counts what was dropped (level INFO).

    Args:
        llm: the language model that marks.
        fuzzy: the least similarity of a copy with its place in the passage, 0 to 1; 1 accepts literal copies only. .9
            forgives a slip in ten characters.
        max_passage_tokens: a longer passage is marked in parts, cut between sentences. The reply repeats the part, and
            many models write at most 4,096 tokens: the default leaves room for the tags, and for miscounting.
        prompt: a Jinja file to use instead of this package's nuggets.jinja; it is given `question`, `passage`, `title`.
        temperature: 0 gives the likeliest reply: copying is no place for variety; None leaves it to the llm.
        max_tokens: the longest reply, in tokens; None leaves it to the llm.

    Raises:
        ConfigError: a number is out of range.
        DataError: the prompt's file is missing or is no template.
    """

    def __init__(
        self,
        *,
        llm: LLM,
        fuzzy: float = 0.9,
        max_passage_tokens: int = 2000,
        prompt: Path | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
    ) -> None:
        if not 0 < fuzzy <= 1:
            raise ConfigError(f"detector.fuzzy={fuzzy}: above 0, at most 1 (literal copies only)")
        if max_passage_tokens < 1:
            raise ConfigError(f"detector.max_passage_tokens={max_passage_tokens}: at least 1")
        self.llm = llm
        self.fuzzy = fuzzy
        self.max_passage_tokens = max_passage_tokens
        self.sampling = {"temperature": temperature, "max_tokens": max_tokens}
        self.template = PromptTemplate("nuggets", package="convrag_ginger", path=prompt)
        self.found: Counter[str] = Counter()
        """How the nuggets of this process were found: exact, normalised, fuzzy, or dropped."""
        self._lock = threading.Lock()

    def content_hash(self) -> str:
        """The wording of the prompt."""
        return self.template.hash

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """One call of the LLM for each part of the passage; none for a blank one. Raises LLMError."""
        spans: list[tuple[int, int]] = []
        for start, end in parts(passage.text, self.max_passage_tokens, self.llm.count_tokens):
            if part := passage.text[start:end].strip():
                offset = passage.text.index(part, start)
                spans += [(offset + first, offset + last) for first, last in self._marked(query, part, passage)]
        return [Nugget(passage.text[start:end], passage.id, start, end) for start, end in outermost(spans)]

    def _marked(self, query: str, part: str, passage: Passage) -> list[tuple[int, int]]:
        title = "" if passage.text.startswith(passage.title) else passage.title
        prompt = self.template.render(self.sampling, question=query, passage=part, title=title)
        source = Source(part, self.fuzzy)
        spans: list[tuple[int, int]] = []
        how: Counter[str] = Counter()
        for copy in tagged(self.llm.complete(prompt).text):
            place = source.locate(copy, after=spans[-1][1] if spans else 0)
            how[place.how if place else "dropped"] += 1
            if place:
                spans.append((place.start, place.end))
        if how["dropped"]:
            log.info("passage %s: %d of %d nuggets are not in it: dropped", passage.id, how["dropped"], how.total())
        with self._lock:
            self.found += how
        return spans
