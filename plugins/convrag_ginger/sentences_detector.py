"""`detector=sentences`, the sentences that match the query best, and `detector=auto`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Interval

from convrag import LLM, Detector, Nugget, Passage, use
from convrag.sdk.text.analysis import find_stems
from convrag.sdk.text.overlap import compute_share
from convrag.sdk.text.windows import NEAR_BEST, Source, select_sentences


@dataclass(kw_only=True, eq=False)
class SentencesDetector(Detector):
    """Take the sentences that match the query best: no LLM, no model, no cost.

    A sentence is rated by the share of the query's words that it, its title or the heading above it
    has (`convrag.sdk.text.windows`). Headings are not nuggets. The rate of the n-th sentence is
    divided by log2(n + 1), as nDCG discounts a rank (Jarvelin and Kekalainen 2002), since texts
    begin with what matters most (Edmundson 1969).

    Args:
        threshold: the least share of the query's words that a passage has, 0 to 1; with less, it
            has no nugget. A higher one leaves more questions unanswered. Default: one word is
            enough, since the retriever has found the passage for this query, and the ranker chooses
            the nuggets for which the answer has room.
        best: the least share of the best discounted rate in the passage, 0 to 1. F1 is highest if
            everything is kept that is likelier than half of that F1 (Lipton et al. 2014); with an
            F1 of about .4, and a best sentence that is more likely a nugget than not, that is a
            third.
        lead: whether later sentences are discounted.
        least_words: the fewest words of a sentence.
    """

    threshold: Annotated[float, Interval(ge=0, le=1)] = 0.0
    best: Annotated[float, Interval(ge=0, le=1)] = NEAR_BEST
    lead: bool = True
    least_words: Annotated[int, Ge(1)] = 3

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """Return the sentences that match, in order."""
        weights = dict.fromkeys(find_stems(query), 1.0)
        share = compute_share(passage.content, weights)
        if share < self.threshold:
            return []
        source = Source(passage.text, passage.title)
        found = select_sentences(
            source, weights, best=self.best, lead=self.lead, least_words=self.least_words
        )
        text = passage.text
        return [
            Nugget(text[each.start : each.end], passage.id, each.start, each.end) for each in found
        ]


class AutoDetector(Detector):
    """Detect nuggets with detector=llm if the llm is a language model, else detector=sentences.

    So `llm=gpt4` alone has GPT-4 detect them, and a run without a model needs none. An llm that
    works by rules says so itself (`LLM.tasks`). The run's summary says which detector was used.

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
        """Use the llm, and the detector that it decides on."""
        return name == "llm" or (parameters["llm"].tasks is None) == (name == "tagging")

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """Detect nuggets with the chosen detector. Raises LLMError where it does."""
        return self.detector.detect(query, passage)

    def note(self) -> str:
        """Say which detector was chosen."""
        if self.uses_model:
            return "the llm is a language model, and detects the nuggets (detector=llm)"
        return (
            "the llm is no language model: nuggets are sentences that match the question "
            "(detector=sentences)"
        )
