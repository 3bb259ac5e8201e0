"""`detector=sentences`: the sentences of a passage that match the query best, the first ones
preferred.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Interval

from convrag import LLM, Detector, Nugget, Passage, use
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.matching import Asked, match_sentences


@dataclass(kw_only=True, eq=False)
class SentencesDetector(Detector):
    """Take the sentences that match the query best: no LLM, no model, no cost.

    A sentence is relevant by the share of the query's words (English stems, without stop words)
    that it or its title has. Words that stand only in the sentence before count for a part, since a
    sentence often continues what was named there. Headings, questions, menus and code are no
    sentences that answer. The relevance of the n-th sentence is divided by log2(n + 1), as nDCG
    discounts a rank (Jarvelin and Kekalainen 2002), since texts say first what matters most
    (Edmundson 1969).

    Args:
        threshold: the least share of the query's words that a passage has, 0 to 1; with less, it
            has no nugget. A higher one leaves more questions unanswered. Default: one word will do,
            since the retriever has found the passage for this query, and which of the nuggets the
            answer has room for is up to the ranker.
        best: the least share of the best discounted relevance in the passage, 0 to 1. F1 is highest
            if everything is kept that is likelier than half of that F1 (Lipton et al. 2014); with
            an F1 of about .4, and a best sentence that is more likely a nugget than not, that is a
            third.
        context: weight of a word that stands only in the sentence before, 0 to 1.
        lead: whether later sentences are discounted.
        least_words: the fewest words of a sentence.
    """

    threshold: Annotated[float, Interval(ge=0, le=1)] = 0.0
    best: Annotated[float, Interval(ge=0, le=1)] = 0.33
    context: Annotated[float, Interval(ge=0, le=1)] = 0.5
    lead: bool = True
    least_words: Annotated[int, Ge(1)] = 3

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """The sentences that match, in order."""
        wanted = find_stems(query)
        shared = wanted & find_stems(passage.content)
        if not shared or len(shared) < self.threshold * len(wanted):
            return []
        asked = Asked.of(dict.fromkeys(wanted, 1.0))
        found = match_sentences(asked, passage.text, passage.title, self.context, self.least_words)
        scores = [
            match.share / math.log2(n + 1) if self.lead else match.share
            for n, match in enumerate(found, 1)
        ]
        least = self.best * max(scores, default=0.0)
        return [
            Nugget(passage.text[match.start : match.end], passage.id, match.start, match.end)
            for match, score in zip(found, scores, strict=True)
            if score >= least and score > 0
        ]


class AutoDetector(Detector):
    """Detect nuggets with detector=llm if the run's llm is a language model, else with detector=sentences.

    So `llm=gpt4` alone has GPT-4 detect them, and a run without a model needs none. A stage that
    works by rules says so itself (`LLM.tasks`). `detector=llm` or `detector=sentences` decide it
    instead, whatever the llm is. The run's summary says which of the two was used.

    Args:
        llm: decides which detector is used, and detects the nuggets if it is a language model.
        tagging: the detector for a language model, with its parameters: `detector.tagging.fuzzy=1`.
        matching: the detector without one: `detector.matching.best=.75`.
    """

    def __init__(
        self, *, llm: LLM, tagging: Detector = use("llm"), matching: Detector = use("sentences")
    ) -> None:
        self.uses_model = llm.tasks is None
        self.detector = tagging if self.uses_model else matching

    @classmethod
    def uses_stage(cls, name: str, parameters: Mapping[str, Any]) -> bool:
        """The llm, and the detector that it decides on."""
        return name == "llm" or (parameters["llm"].tasks is None) == (name == "tagging")

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """What the chosen detector finds. Raises LLMError where it does."""
        return self.detector.detect(query, passage)

    def note(self) -> str:
        """Which detector was chosen."""
        if self.uses_model:
            return "the llm is a language model, and detects the nuggets (detector=llm)"
        return "the llm is no language model: nuggets are sentences that match the question (detector=sentences)"
