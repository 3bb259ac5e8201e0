"""Detects the nuggets of a passage; sentences replace those of a model without tags."""

from typing import NamedTuple

from convrag import Detector, Nugget, Passage
from convrag_ginger.llm_detector import Untagged
from convrag_ginger.sentences_detector import SentencesDetector


class Detected(NamedTuple):
    """The nuggets of a passage.

    Args:
        nuggets: in the order of the passage.
        untagged: whether the model's reply had no tags, so that the nuggets are sentences.
    """

    nuggets: list[Nugget]
    untagged: bool


def detect_in_passage(detector: Detector, query: str, passage: Passage) -> Detected:
    """Detect the nuggets of a passage.

    If a model's reply ignores the format, the nuggets are the sentences that match the query.
    Raises LLMError where the detector does.
    """
    try:
        return Detected(detector.detect(query, passage), untagged=False)
    except Untagged:
        return Detected(SentencesDetector().detect(query, passage), untagged=True)
