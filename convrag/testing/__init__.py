"""Contracts for plugin authors: subclass one in your tests, say how to make your stage, and pytest checks the rest.

from convrag.testing import RewriterContract

class TestGentleRewriter(RewriterContract):
    def make(self):
        return GentleRewriter(strength=2)
"""

from convrag.testing.answering import (
    ContextContract,
    DetectorContract,
    GeneratorContract,
    LLMContract,
    SummarizerContract,
)
from convrag.testing.running import DatasetContract, MetricsContract, TaskContract, TrackerContract
from convrag.testing.samples import ask, conversation, passages, question
from convrag.testing.searching import RankerContract, RetrieverContract, RewriterContract
from convrag.testing.stage import StageContract
from convrag.testing.texts import ClustererContract, EmbedderContract

__all__ = [
    "ClustererContract",
    "ContextContract",
    "DatasetContract",
    "DetectorContract",
    "EmbedderContract",
    "GeneratorContract",
    "LLMContract",
    "MetricsContract",
    "RankerContract",
    "RetrieverContract",
    "RewriterContract",
    "StageContract",
    "SummarizerContract",
    "TaskContract",
    "TrackerContract",
    "ask",
    "conversation",
    "passages",
    "question",
]
